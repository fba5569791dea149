/* SPDX-License-Identifier: BSD-2-Clause */
#include "trial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "config.h"
#include "config_diff.h"

#define HEAD	   "# fared: confirmed, while on trial is sha256 "
#define HEAD_BYTES (sizeof(HEAD) - 1 + 2 * SHA256_DIGEST_SIZE + 1)
#define FILE_BYTES (HEAD_BYTES + CONFIG_MAX_BYTES)

static void trial_file_write_head(const struct config *on_trial, char out[HEAD_BYTES + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	char *at = out + snprintf(out, HEAD_BYTES, HEAD);

	sha256_init(&sha);
	sha256_update(&sha, on_trial->text_bytes, (const uint8_t *)on_trial->text);
	sha256_digest(&sha, sizeof(digest), digest);
	for (unsigned i = 0; i < sizeof(digest); i++)
		at += snprintf(at, 3, "%02x", digest[i]);
	memcpy(at, "\n", 2);
}

static void trial_file_path_of(const struct config *config, char out[300])
{
	snprintf(out, 300, "%s/" TRIAL_FILE_NAME, config->run_dir);
}

/* ---- out ----------------------------------------------------------------- */

int trial_file_save(const struct config *confirmed, const struct config *on_trial)
{
	size_t length = HEAD_BYTES + confirmed->text_bytes;
	char path[300], *bytes = malloc(length + 1);
	int rc = -ENOMEM;

	if (bytes) {
		trial_file_write_head(on_trial, bytes);
		memcpy(bytes + HEAD_BYTES, confirmed->text, confirmed->text_bytes);
		trial_file_path_of(confirmed, path);
		rc = text_file_replace(path, 0600, bytes, length);
	}
	free(bytes);
	return rc;
}

int trial_file_remove(const struct config *config)
{
	char path[300];

	trial_file_path_of(config, path);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* ---- in ------------------------------------------------------------------ */

/* What a reload could not have changed is not this file's to say. */
static int trial_file_check_reloadable(const struct config *config, const struct config *confirmed,
				       char *why, size_t why_size)
{
	struct config_diff *diff;
	char keys[200];
	int rc = config_diff_create(&diff, config, confirmed);

	if (rc) {
		snprintf(why, why_size, "%s", strerror(-rc));
		return rc;
	}
	if (config_diff_has(diff, CONFIG_RESTART)) {
		rc = -EPERM;
		snprintf(why, why_size, "no reload could have changed %s",
			 config_diff_keys(diff, CONFIG_RESTART, keys, sizeof(keys)));
	}
	config_diff_destroy(diff);
	return rc;
}

int trial_file_parse(struct config **out, const struct config *config, const char *bytes,
		     size_t length, char *why, size_t why_size)
{
	struct config_error error;
	char head[HEAD_BYTES + 1];
	int rc;

	*out = NULL;
	*why = '\0';
	trial_file_write_head(config, head);
	if (length < HEAD_BYTES || memcmp(bytes, head, HEAD_BYTES))
		return 0; /* another configuration was on trial */
	rc = config_parse(out, bytes + HEAD_BYTES, length - HEAD_BYTES, TRIAL_FILE_NAME, &error);
	if (!rc)
		rc = config_override_run_dir(*out, config->run_dir, &error);
	if (rc) {
		snprintf(why, why_size, "%s", error.text);
	} else {
		config_override_keys(*out, config);
		rc = trial_file_check_reloadable(config, *out, why, why_size);
	}
	if (rc) {
		config_destroy(*out);
		*out = NULL;
	}
	return rc;
}

/* Ours: written by root, or the user that fared runs as, and by nobody else. */
static bool trial_file_is_ours(const struct stat *st, uid_t uid)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && !(st->st_mode & 022) &&
	       (st->st_uid == 0 || st->st_uid == uid || st->st_uid == geteuid()) &&
	       (size_t)st->st_size <= FILE_BYTES;
}

static int trial_file_read_file(const char *path, uid_t uid, char *bytes, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;
	struct stat st;
	ssize_t n = 0;

	*length = 0;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (!trial_file_is_ours(&st, uid))
		rc = -EINVAL;
	while (!rc && *length < FILE_BYTES &&
	       (n = read(fd, bytes + *length, FILE_BYTES - *length)) > 0)
		*length += (size_t)n;
	if (n < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int trial_file_load(struct config **out, const struct config *config, uid_t uid, char *why,
		    size_t why_size)
{
	char *bytes = malloc(FILE_BYTES);
	size_t length;
	char path[300];
	int rc;

	*out = NULL;
	*why = '\0';
	trial_file_path_of(config, path);
	rc = bytes ? trial_file_read_file(path, uid, bytes, &length) : -ENOMEM;
	if (!rc)
		rc = trial_file_parse(out, config, bytes, length, why, why_size);
	else if (rc != -ENOENT)
		snprintf(why, why_size, "%s",
			 rc == -EINVAL ? "not a file that fared wrote" : strerror(-rc));
	free(bytes);
	return rc == -ENOENT ? 0 : rc;
}
