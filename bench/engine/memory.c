/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MEMORY_UDMABUF "/dev/udmabuf"

/* ---- a dma-buf ---- */

/* Its pages are those of a memory file that cannot shrink. */
static int memory_udmabuf(int device, uint64_t bytes)
{
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = bytes};
	int file = memfd_create("farebench", MFD_ALLOW_SEALING | MFD_CLOEXEC), fd = -1, err;

	create.memfd = (uint32_t)file;
	if (file >= 0 && !ftruncate(file, (off_t)bytes) && !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(device, UDMABUF_CREATE, &create);
	err = -errno;
	if (file >= 0)
		close(file);
	return fd < 0 ? err : fd;
}

static int memory_open_dmabuf(struct memory *m, char *text)
{
	int device = open(MEMORY_UDMABUF, O_RDWR | O_CLOEXEC), err = 0;

	m->fd = device < 0 ? -errno : memory_udmabuf(device, m->bytes);
	if (device >= 0)
		close(device);
	if (m->fd < 0)
		err = m->fd;
	if (err)
		snprintf(text, MEMORY_TEXT_MAX, "no dma-buf of %llu MiB by %s: %s",
			 (unsigned long long)(m->bytes >> 20), MEMORY_UDMABUF, strerror(-err));
	else
		snprintf(text, MEMORY_TEXT_MAX,
			 "emulated: a udmabuf of host memory stands for a GPU's");
	return err;
}

/* ---- a file ---- */

/* The block device below: "nvme0n1", or another that stands for NVMe. */
static void memory_describe(int fd, char *text)
{
	char path[64], target[256] = "", *name;
	struct stat st;
	ssize_t n = 0;

	if (!fstat(fd, &st)) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev),
			 minor(st.st_dev));
		n = readlink(path, target, sizeof(target) - 1);
	}
	target[n > 0 ? n : 0] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strncmp(name, "nvme", 4) == 0)
		snprintf(text, MEMORY_TEXT_MAX, "%.64s, opened O_DIRECT", name);
	else
		snprintf(text, MEMORY_TEXT_MAX,
			 "emulated: a file on %.64s, opened O_DIRECT, stands for NVMe",
			 *name ? name : "a file system without a device");
}

static int memory_open_file(struct memory *m, const char *store, char *text)
{
	int err = 0;

	if (!store) {
		snprintf(text, MEMORY_TEXT_MAX,
			 "no directory for files is named: --store DIR, or 'store' of a host in "
			 "the inventory");
		return -ENOENT;
	}
	m->fd = open(store, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	if (m->fd < 0)
		err = -errno;
	else
		err = -posix_fallocate(m->fd, 0, (off_t)m->bytes);
	if (err)
		snprintf(text, MEMORY_TEXT_MAX, "no file with O_DIRECT in %.80s: %s", store,
			 strerror(-err));
	else
		memory_describe(m->fd, text);
	return err;
}

/* ---- both ---- */

void memory_text_add(char *text, size_t size, const char *where, const char *what)
{
	static const char from[] = " from here on: ";
	const char *last = text;
	size_t used = strlen(text);

	for (const char *at = text; (at = strstr(at, from)); last = at)
		at += strlen(from);
	if (strcmp(last, what) == 0)
		return;
	if (used == 0)
		snprintf(text, size, "%s", what);
	else
		snprintf(text + used, size - used, "; %s%s%s", where, from, what);
}

int memory_open(struct memory *m, enum memory_kind kind, uint64_t bytes, const char *store,
		char *text)
{
	bool shared = kind == MEMORY_DMABUF;
	void *at = MAP_FAILED;
	int err = 0;

	*m = (struct memory){.kind = kind,
			     .bytes = (bytes + MEMORY_BLOCK - 1) & ~(uint64_t)(MEMORY_BLOCK - 1),
			     .fd = -1};
	snprintf(text, MEMORY_TEXT_MAX, "host memory");
	if (shared)
		err = memory_open_dmabuf(m, text);
	else if (kind == MEMORY_FILE)
		err = memory_open_file(m, store, text);
	if (!err)
		at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
			  shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, shared ? m->fd : -1,
			  0);
	if (!err && at == MAP_FAILED) {
		err = -errno;
		snprintf(text, MEMORY_TEXT_MAX, "%llu bytes of memory: %s",
			 (unsigned long long)m->bytes, strerror(-err));
	}
	if (!err)
		m->at = at;
	else
		memory_close(m);
	return err;
}

void memory_close(struct memory *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
	if (m->kind != MEMORY_HOST && m->fd >= 0)
		close(m->fd);
	*m = (struct memory){.fd = -1};
}

typedef ssize_t (*memory_move)(int fd, uint8_t *at, size_t bytes, off_t offset);

static ssize_t memory_write(int fd, uint8_t *at, size_t bytes, off_t offset)
{
	return pwrite(fd, at, bytes, offset);
}

static ssize_t memory_read(int fd, uint8_t *at, size_t bytes, off_t offset)
{
	return pread(fd, at, bytes, offset);
}

/* Whole blocks between the file and to, aligned as they are; NULL: the memory at that offset. */
static int memory_move_all(const struct memory *m, memory_move move, uint8_t *to, uint64_t offset,
			   uint64_t bytes)
{
	uint64_t whole = (bytes + MEMORY_BLOCK - 1) & ~(uint64_t)(MEMORY_BLOCK - 1);

	if (offset % MEMORY_BLOCK || offset > m->bytes || whole > m->bytes - offset)
		return -EINVAL;
	to = to ? to : m->at + offset;
	for (uint64_t done = 0; done < whole;) {
		ssize_t n = move(m->fd, to + done, whole - done, (off_t)(offset + done));

		if (n == 0 || (n < 0 && errno != EINTR))
			return n ? -errno : -EIO;
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

int memory_put(const struct memory *m, uint64_t offset, uint64_t bytes)
{
	return m->kind == MEMORY_FILE ? memory_move_all(m, memory_write, NULL, offset, bytes) : 0;
}

int memory_get(const struct memory *m, uint64_t offset, uint64_t bytes)
{
	return m->kind == MEMORY_FILE ? memory_move_all(m, memory_read, NULL, offset, bytes) : 0;
}

int memory_compare(const struct memory *m, uint64_t offset, uint64_t bytes)
{
	uint64_t whole = (bytes + MEMORY_BLOCK - 1) & ~(uint64_t)(MEMORY_BLOCK - 1);
	uint8_t *copy;
	int err;

	if (m->kind != MEMORY_FILE)
		return 0;
	copy = aligned_alloc(MEMORY_BLOCK, whole + MEMORY_BLOCK);
	if (!copy)
		return -ENOMEM;
	err = memory_move_all(m, memory_read, copy, offset, bytes);
	if (!err && memcmp(copy, m->at + offset, bytes) != 0)
		err = -EILSEQ;
	free(copy);
	return err;
}
