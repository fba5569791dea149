/* SPDX-License-Identifier: BSD-2-Clause */
#include "line_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES 64u
/* from here on pages of its own; below, a table is made as cheaply as any object */
#define MAPPED_BYTES (256u << 10)

void *line_memory_take(size_t bytes)
{
	void *memory;

	if (bytes < MAPPED_BYTES) {
		memory = aligned_alloc(LINE_BYTES, bytes);
		return memory ? memset(memory, 0, bytes) : NULL;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE); /* a wish */
	return memory;
}

void line_memory_give(void *memory, size_t bytes)
{
	if (bytes < MAPPED_BYTES)
		free(memory);
	else if (memory)
		munmap(memory, bytes);
}
