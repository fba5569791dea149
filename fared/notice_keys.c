/* SPDX-License-Identifier: BSD-2-Clause */
#include "notice_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/key_file.h"

_Static_assert(KEY_FILE_MIN == NOTICE_WIRE_KEY_MIN && KEY_FILE_MAX == NOTICE_WIRE_KEY_MAX,
	       "a file holds a notice's key");

static const char *advice(int rc)
{
	return rc == -EACCES   ? "; the user that fared runs as has to be able to read it: "
				 "chown USER FILE"
	       : rc == -ENOENT ? "; copy another server's key, or make one: head -c 32 "
				 "/dev/urandom | base64 >FILE; chmod 600 FILE"
			       : "";
}

int notice_keys_read(const struct config_health *health, struct notice_keys *keys, unsigned *line,
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
		int rc = 0;

		if (files[i].path[0])
			rc = key_file_read(files[i].path, S_IRWXG | S_IRWXO, files[i].key->bytes,
					   &files[i].key->length, reason, sizeof(reason));
		if (!rc)
			continue;
		explicit_bzero(keys, sizeof(*keys));
		snprintf(why, why_size, "health.%s: %s%s", files[i].name, reason, advice(rc));
		if (line)
			*line = files[i].line;
		return rc;
	}
	return 0;
}
