/* SPDX-License-Identifier: BSD-2-Clause */
#include "fork_mark.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int fork_mark_init(struct fork_mark *mark)
{
	uint8_t *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mark->page = NULL;
	if (page == MAP_FAILED)
		return -errno;
	mark->page = page;
	if (madvise(page, page_bytes(), MADV_WIPEONFORK)) {
		int err = -errno;

		fork_mark_fini(mark);
		return err;
	}
	*page = 1;
	return 0;
}

void fork_mark_fini(struct fork_mark *mark)
{
	if (mark->page)
		munmap((void *)(uintptr_t)mark->page, page_bytes());
	mark->page = NULL;
}
