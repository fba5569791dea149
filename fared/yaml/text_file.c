/* SPDX-License-Identifier: BSD-2-Clause */
/* text_file.c - see text_file.h */
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int read_whole(int fd, char *text, size_t room, size_t *size)
{
	ssize_t n;

	*size = 0;
	while (*size < room && (n = read(fd, text + *size, room - *size)) != 0) {
		if (n > 0)
			*size += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return *size < room ? 0 : -EFBIG;
}

int text_file_read(const char *path, size_t max, char **text, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	*text = NULL;
	if (fd < 0)
		return -errno;
	*text = malloc(max + 1);
	rc = *text ? read_whole(fd, *text, max + 1, size) : -ENOMEM;
	close(fd);
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc;
}
