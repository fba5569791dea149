/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

static int read_regular(const char *path, int flags, size_t max, char **text, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags), rc = 0;
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

int text_file_read_regular(const char *path, size_t max, char **text, size_t *size)
{
	return read_regular(path, 0, max, text, size);
}

int text_file_read_kept(const char *path, size_t max, char **text, size_t *size)
{
	return read_regular(path, O_NOFOLLOW, max, text, size);
}

static int write_whole(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

int text_file_replace(const char *path, mode_t mode, const char *text, size_t size)
{
	char next[PATH_MAX];
	int fd, rc = snprintf(next, sizeof(next), "%s.new", path);

	if (rc < 0 || (size_t)rc >= sizeof(next))
		return -ENAMETOOLONG;
	unlink(next);
	fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	rc = write_whole(fd, text, size);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(next, path))
		rc = -errno;
	if (rc)
		unlink(next);
	return rc;
}

void text_file_discard(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
}
