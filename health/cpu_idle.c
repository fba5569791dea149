/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_idle.c - see cpu_idle.h */
#include "cpu_idle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int cpu_idle_open(void)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cpu_idle_read(int fd, uint64_t *idle, uint64_t *all)
{
	unsigned long long t[8];
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) != 8)
		return -EBADMSG;
	*idle = t[1] + t[3] + t[4]; /* user nice system idle iowait */
	*all = 0;
	for (unsigned i = 0; i < 8; i++)
		*all += t[i];
	return 0;
}
