/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
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

static int read_and_close(int fd, size_t max, char **text, size_t *size)
{
	int rc;

	*text = malloc(max + 1);
	rc = *text ? read_whole(fd, *text, max + 1, size) : -ENOMEM;
	close(fd);
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc;
}

int text_file_read(const char *path, size_t max, char **text, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*text = NULL;
	return fd < 0 ? -errno : read_and_close(fd, max, text, size);
}

int text_file_read_regular(const char *path, size_t max, char **text, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
	struct stat st;

	*text = NULL;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (!rc)
		return read_and_close(fd, max, text, size);
	close(fd);
	return rc;
}

void text_file_discard(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
}
