/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *data_file_topologies(void)
{
	return FARE_DATA_DIR "/topologies";
}

const char *data_file_drills(void)
{
	return FARE_DATA_DIR "/drills";
}

int data_file_in(const char *folder, const char *name, char path[PATH_MAX])
{
	int n;

	if (!*name || strchr(name, '/'))
		return -EINVAL;
	n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int data_file_find(const char *folder, const char *name, char path[PATH_MAX], char *error)
{
	if (strlen(name) >= PATH_MAX) {
		snprintf(error, DATA_FILE_ERROR_MAX,
			 "the file name is longer than %d bytes; give a shorter path",
			 PATH_MAX - 1);
		return -ENAMETOOLONG;
	}
	if (strchr(name, '/') || !access(name, F_OK)) {
		snprintf(path, PATH_MAX, "%s", name);
		return 0;
	}
	if (!data_file_in(folder, name, path) && !access(path, F_OK))
		return 0;
	snprintf(error, DATA_FILE_ERROR_MAX,
		 "%s: no such file in the current directory or in %s; give a path, or a name that "
		 "`ls %s` lists",
		 name, folder, folder);
	return -ENOENT;
}
