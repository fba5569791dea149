/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/timing.h"

#include <sys/mman.h>
#include <time.h>

uint64_t timing_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
