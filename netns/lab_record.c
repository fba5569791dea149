/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "process.h"

#define LOCK_DIR LAB_RUN_DIR "/.locks"

void lab_record_path(const char *name, const char *file, char path[LAB_PATH_MAX])
{
	snprintf(path, LAB_PATH_MAX, LAB_RUN_DIR "/%.32s%s%.64s", name, *file ? "/" : "", file);
}

static void lock_path(const char *name, char path[LAB_PATH_MAX])
{
	snprintf(path, LAB_PATH_MAX, LOCK_DIR "/%.32s", name);
}

int lab_record_lock(const char *name, int operation)
{
	char path[LAB_PATH_MAX];
	struct stat held, there;

	lock_path(name, path);
	if ((mkdir(LAB_RUN_DIR, 0755) && errno != EEXIST) ||
	    (mkdir(LOCK_DIR, 0700) && errno != EEXIST))
		return -errno;
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return -errno;
		if (flock(fd, operation)) {
			int rc = -errno;

			close(fd);
			return rc;
		}
		/* The one before us may have removed the file on its way out: then ours locks
		 * nothing. */
		if (!fstat(fd, &held) && !stat(path, &there) && held.st_ino == there.st_ino)
			return fd;
		close(fd);
	}
}

void lab_record_unlock(const char *name, int fd, bool lab_is_gone)
{
	char path[LAB_PATH_MAX];

	lock_path(name, path);
	if (lab_is_gone) {
		unlink(path);
		rmdir(LOCK_DIR);
		rmdir(LAB_RUN_DIR); /* succeeds only for the last lab */
	}
	close(fd);
}

/* Takes o; NULL: -ENOMEM. Readers see the old record or the new one. */
static int replace_record(const char *name, json_t *o)
{
	char path[LAB_PATH_MAX], *text = json_dumps(o, JSON_INDENT(1));
	int rc;

	lab_record_path(name, "lab.json", path);
	rc = text ? text_file_replace(path, 0644, text, strlen(text)) : -ENOMEM;
	free(text);
	json_decref(o);
	return rc;
}

int lab_record_write(const struct lab *lab, const char *phase, const pid_t owners[2])
{
	json_t *o = json_pack("{s:s, s:s, s:[], s:s, s:s, s:s}", "lab", lab->name, "phase", phase,
			      "owners", "fared", lab->fared, "frr_dir", lab->frr.dir, "frr_version",
			      lab->frr.version);

	for (unsigned i = 0; i < 2 && owners[i]; i++)
		json_array_append_new(json_object_get(o, "owners"),
				      json_pack("{s:i, s:I}", "pid", (int)owners[i], "start",
						(json_int_t)process_start_time(owners[i])));
	return replace_record(lab->name, o);
}

static json_t *load_record(const char *name)
{
	char path[LAB_PATH_MAX];

	lab_record_path(name, "lab.json", path);
	return json_load_file(path, 0, NULL);
}

int lab_record_set(const char *name, const char *key, unsigned value)
{
	json_t *o = load_record(name);

	if (!o)
		return -EBADMSG;
	json_object_set_new(o, key, json_integer(value));
	return replace_record(name, o);
}

bool lab_record_get(const char *name, const char *key, unsigned *value)
{
	json_t *o = load_record(name), *number = json_object_get(o, key);
	bool found = json_is_integer(number);

	if (found)
		*value = (unsigned)json_integer_value(number);
	json_decref(o);
	return found;
}

static bool owner_alive(const json_t *owners)
{
	size_t i;
	json_t *one;

	json_array_foreach (owners, i, one) {
		json_int_t start = json_integer_value(json_object_get(one, "start"));

		if (process_start_time((pid_t)json_integer_value(json_object_get(one, "pid"))) ==
			    (unsigned long long)start &&
		    start)
			return true;
	}
	return json_array_size(owners) == 0;
}

static void lab_record_text(const json_t *o, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	snprintf(out, size, "%s", text ? text : "");
}

bool lab_record_up(const char *name, struct lab *out)
{
	json_t *o = load_record(name);
	const char *phase = json_string_value(json_object_get(o, "phase"));
	bool up = phase && !strcmp(phase, "up") && owner_alive(json_object_get(o, "owners"));

	if (out) {
		lab_record_text(o, "fared", out->fared, sizeof(out->fared));
		lab_record_text(o, "frr_dir", out->frr.dir, sizeof(out->frr.dir));
		lab_record_text(o, "frr_version", out->frr.version, sizeof(out->frr.version));
	}
	json_decref(o);
	return up;
}

bool lab_record_owned(const char *name, pid_t owner)
{
	json_t *o = load_record(name), *one;
	bool owned = false;
	size_t i;

	json_array_foreach (json_object_get(o, "owners"), i, one)
		owned |= json_integer_value(json_object_get(one, "pid")) == owner;
	json_decref(o);
	return owned;
}

const char *lab_record_phase(const char *name)
{
	int fd;

	if (lab_record_up(name, NULL))
		return "up";
	fd = lab_record_lock(name, LOCK_EX | LOCK_NB);
	if (fd == -EWOULDBLOCK)
		return "building";
	if (fd >= 0)
		lab_record_unlock(name, fd, false);
	return lab_record_up(name, NULL) ? "up" : "dead";
}
