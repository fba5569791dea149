/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int key_file_failed(const char *path, char *why, size_t why_size)
{
	int rc = -errno;

	snprintf(why, why_size, "%s: %s", path, strerror(-rc));
	return rc;
}

static int check_kind(int fd, const char *path, mode_t forbidden, char *why, size_t why_size)
{
	struct stat st;

	if (fstat(fd, &st))
		return key_file_failed(path, why, why_size);
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, why_size, "%s: not a regular file", path);
		return -EINVAL;
	}
	if (st.st_mode & forbidden) {
		snprintf(why, why_size,
			 "%s: mode %04o lets other users use the key; chmod 0600 is expected", path,
			 (unsigned)st.st_mode & 07777);
		return -EKEYREJECTED;
	}
	return 0;
}

static int read_key(int fd, const char *path, uint8_t *key, size_t *length, char *why,
		    size_t why_size)
{
	uint8_t bytes[KEY_FILE_MAX + 8];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0)
		return key_file_failed(path, why, why_size);
	while (n && is_space(bytes[n - 1]))
		n--;
	if ((size_t)n < KEY_FILE_MIN || (size_t)n > KEY_FILE_MAX) {
		snprintf(why, why_size, "%s: the key has %s bytes; %u to %u are expected", path,
			 (size_t)n < KEY_FILE_MIN ? "too few" : "too many", KEY_FILE_MIN,
			 KEY_FILE_MAX);
		explicit_bzero(bytes, sizeof(bytes));
		return -EKEYREJECTED;
	}
	memcpy(key, bytes, (size_t)n);
	*length = (size_t)n;
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int key_file_read(const char *path, mode_t forbidden, uint8_t key[KEY_FILE_MAX], size_t *length,
		  char *why, size_t why_size)
{
	/* a FIFO without a writer must not stop the process, nor a terminal become its own */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (fd < 0)
		return key_file_failed(path, why, why_size);
	rc = check_kind(fd, path, forbidden, why, why_size);
	if (!rc)
		rc = read_key(fd, path, key, length, why, why_size);
	close(fd);
	return rc;
}
