/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/timing.h"

#include <sys/mman.h>

void *timing_map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

void timing_unmap(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}
