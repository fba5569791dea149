/* SPDX-License-Identifier: BSD-2-Clause */
/* key_file.c - see key_file.h */
#include "key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int failed(const char *path, char *why, size_t why_size)
{
	int rc = -errno;

	snprintf(why, why_size, "%s: %s%s", path, strerror(-rc),
		 rc == -EACCES	 ? "; the user that fared runs as has to be able to read it: "
				   "chown USER FILE"
		 : rc == -ENOENT ? "; copy another server's key, or make one: head -c 32 "
				   "/dev/urandom | base64 >FILE; chmod 600 FILE"
				 : "");
	return rc;
}

static int check_mode(int fd, const char *path, char *why, size_t why_size)
{
	struct stat st;

	if (fstat(fd, &st))
		return failed(path, why, why_size);
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, why_size, "%s: not a regular file", path);
		return -EINVAL;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		snprintf(why, why_size,
			 "%s: mode %04o lets other users use the key; chmod 0600 is expected", path,
			 (unsigned)st.st_mode & 07777);
		return -EPERM;
	}
	return 0;
}

static int read_key(int fd, const char *path, struct notice_key *key, char *why, size_t why_size)
{
	uint8_t bytes[NOTICE_WIRE_KEY_MAX + 8];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0)
		return failed(path, why, why_size);
	while (n && is_space(bytes[n - 1]))
		n--;
	if ((size_t)n < NOTICE_WIRE_KEY_MIN || (size_t)n > NOTICE_WIRE_KEY_MAX) {
		snprintf(why, why_size, "%s: the key has %s bytes; %u to %u are expected", path,
			 (size_t)n < NOTICE_WIRE_KEY_MIN ? "too few" : "too many",
			 NOTICE_WIRE_KEY_MIN, NOTICE_WIRE_KEY_MAX);
		return -EINVAL;
	}
	memcpy(key->bytes, bytes, (size_t)n);
	key->length = (size_t)n;
	return 0;
}

int key_file_read(const char *path, struct notice_key *key, char *why, size_t why_size)
{
	/* a FIFO must not stop the daemon */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return failed(path, why, why_size);
	rc = check_mode(fd, path, why, why_size);
	if (!rc)
		rc = read_key(fd, path, key, why, why_size);
	close(fd);
	return rc;
}

int key_file_read_all(const struct config_health *health, struct notice_keys *keys, unsigned *line,
		      char *why, size_t why_size)
{
	const struct {
		const char *name, *path;
		unsigned line;
		struct notice_key *key;
	} files[] = {{"key_file", health->key_file, health->key_file_line, &keys->own},
		     {"second_key_file", health->second_key_file, health->second_key_file_line,
		      &keys->second}};
	char reason[400];

	*keys = (struct notice_keys){0};
	for (size_t i = 0; health->enabled && i < sizeof(files) / sizeof(files[0]); i++) {
		int rc = files[i].path[0] ? key_file_read(files[i].path, files[i].key, reason,
							  sizeof(reason))
					  : 0;

		if (!rc)
			continue;
		explicit_bzero(keys, sizeof(*keys));
		snprintf(why, why_size, "health.%s: %s", files[i].name, reason);
		if (line)
			*line = files[i].line;
		return rc;
	}
	return 0;
}
