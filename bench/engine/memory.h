/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - where a worker's blocks lie: host memory, a dma-buf, or a file behind host memory.
 *
 * Owns: a mapping, and the descriptor of the dma-buf or of the file. In: a kind, a size, a
 * directory for files; out: memory that the CPU reads and writes. A dma-buf is one of the kernel's
 * udmabuf: host memory that is registered and synchronised as a GPU's is. A file has no name and is
 * opened with O_DIRECT, so that blocks reach the device, and not the kernel's page cache. Thread:
 * the worker's.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_BLOCK	4096 /* offsets and lengths of a file's blocks are multiples: O_DIRECT */
#define MEMORY_TEXT_MAX 160

enum memory_kind { MEMORY_HOST, MEMORY_DMABUF, MEMORY_FILE, MEMORY_KINDS };

/* Of both ends of all streams of a run; zeroes: host memory. */
struct memory_pair {
	enum memory_kind source, target;
};

struct memory {
	enum memory_kind kind;
	uint8_t *at;
	uint64_t bytes;
	int fd; /* -1: host memory */
};

/*
 * store: the directory of files; NULL: there is none. text (MEMORY_TEXT_MAX bytes): what stands for
 * a GPU's memory or for NVMe, or why it cannot be had. 0 or -errno.
 */
int memory_open(struct memory *m, enum memory_kind kind, uint64_t bytes, const char *store,
		char *text);
/*
 * What many have, one after the other: text (size bytes, empty before the first) names it where it
 * is not as with the one before: "A; GPU h1/g0 from here on: B".
 */
void memory_text_add(char *text, size_t size, const char *where, const char *what);
void memory_close(struct memory *m); /* of one that was zeroed, too */

/*
 * Of MEMORY_FILE, else nothing happens: a block goes to the file, or comes from there; or is
 * compared with it (-EILSEQ: they differ). -EINVAL: it does not begin at a multiple of
 * MEMORY_BLOCK.
 */
int memory_put(const struct memory *m, uint64_t offset, uint64_t bytes);
int memory_get(const struct memory *m, uint64_t offset, uint64_t bytes);
int memory_compare(const struct memory *m, uint64_t offset, uint64_t bytes);

#endif
