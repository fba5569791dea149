/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr_dmabuf.h - a dma-buf (a GPU's memory, udmabuf) as a memory region of any provider.
 *
 * Owns the region's registration and, where needed, its mapping. In: a dma-buf's descriptor. Out: a
 * region, and the address that it is named by. The endpoint's thread.
 *
 * A device that can reaches the memory by itself (qp_provider.mr_register_dmabuf). Else the dma-buf
 * is mapped, if its exporter allows, and registered as host memory: then the CPU moves the bytes
 * (soft), and mr_dmabuf_sync() has to be called whenever the memory changes hands.
 */
#ifndef MR_DMABUF_H
#define MR_DMABUF_H

#include <stddef.h>
#include <stdint.h>

#include "qp/provider.h"

struct mr_dmabuf {
	struct qp_mr mr;
	uint64_t addr;	  /* names the first byte, for peers and for work requests */
	void *map;	  /* NULL: the device needs none */
	size_t map_bytes; /* from a page's boundary */
	int fd;		  /* ours, for synchronisation; -1 */
};

/*
 * length bytes from offset. iova: the address wanted; addr is another where the memory is mapped.
 * access as for mr_register. fd is borrowed for the call. 0 or -errno: -EOPNOTSUPP (neither the
 * device nor the CPU reaches it), -EINVAL (nonsense, or no dma-buf), -EBADF.
 */
int mr_dmabuf_register(struct mr_dmabuf *out, const struct qp_provider *provider,
		       struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
		       uint64_t iova, unsigned access);
void mr_dmabuf_deregister(struct mr_dmabuf *m, const struct qp_provider *provider,
			  struct qp_endpoint *ep);
/*
 * What the CPU wrote is there for devices, and what devices wrote for the CPU (DMA_BUF_IOCTL_SYNC).
 * Call it before a write from the region is posted, and before what arrived is reported. Nothing to
 * do, and 0, where a device reaches the memory by itself. 0 or -errno.
 */
int mr_dmabuf_sync(const struct mr_dmabuf *m);

#endif
