/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/mr_dmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int sync_ioctl(int fd, uint64_t flags)
{
	struct dma_buf_sync sync = {.flags = flags};
	int err;

	do
		err = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
	while (err && (errno == EINTR || errno == EAGAIN));
	return err ? -errno : 0;
}

static void unmap(struct mr_dmabuf *m)
{
	if (m->map)
		munmap(m->map, m->map_bytes);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct mr_dmabuf){.fd = -1};
}

/* Maps from the beginning of a page. m->addr is the address of the byte at offset. */
static int map(struct mr_dmabuf *m, int fd, uint64_t offset, size_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lead = offset % page;
	void *at;

	if (!length || length > SIZE_MAX - lead)
		return -EINVAL;
	m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->fd < 0)
		return -errno;
	/* from here on the CPU may use the memory. Fails if fd is no dma-buf */
	if (sync_ioctl(m->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW))
		return -EINVAL;
	at = mmap(NULL, length + lead, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
		  (off_t)(offset - lead));
	if (at == MAP_FAILED)
		return errno == EINVAL || errno == ENOMEM ? -errno : -EOPNOTSUPP;
	m->map = at;
	m->map_bytes = length + lead;
	m->addr = (uintptr_t)at + lead;
	return 0;
}

static int register_mapped(struct mr_dmabuf *m, const struct qp_provider *provider,
			   struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
			   unsigned access)
{
	int err = map(m, fd, offset, length);

	if (!err)
		err = provider->mr_register(ep, (void *)(uintptr_t)m->addr, length, access, &m->mr);
	if (!err)
		return 0;
	unmap(m);
	/* -EFAULT: a device cannot pin a mapping that has no pages of its own */
	return err == -EFAULT ? -EOPNOTSUPP : err;
}

int mr_dmabuf_register(struct mr_dmabuf *out, const struct qp_provider *provider,
		       struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
		       uint64_t iova, unsigned access)
{
	int err = -EOPNOTSUPP;

	*out = (struct mr_dmabuf){.addr = iova, .fd = -1};
	if (provider->mr_register_dmabuf)
		err = provider->mr_register_dmabuf(ep, fd, offset, length, iova, access, &out->mr);
	return err == -EOPNOTSUPP ? register_mapped(out, provider, ep, fd, offset, length, access)
				  : err;
}

void mr_dmabuf_deregister(struct mr_dmabuf *m, const struct qp_provider *provider,
			  struct qp_endpoint *ep)
{
	provider->mr_deregister(ep, &m->mr);
	if (m->fd >= 0)
		(void)sync_ioctl(m->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	unmap(m);
}

int mr_dmabuf_sync(const struct mr_dmabuf *m)
{
	int err;

	if (m->fd < 0)
		return 0;
	err = sync_ioctl(m->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	return err ? err : sync_ioctl(m->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
}
