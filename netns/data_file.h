/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data_file.h - where a topology or a drill plan lies that was named on the command line.
 *
 * Owns nothing. In: the name, and the data directory of the installation. Out: the path to open, or
 * one line of text that names both places. Reads the file system, keeps nothing. Any thread.
 */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include <limits.h>

#define DATA_FILE_ERROR_MAX (2 * PATH_MAX)

/* The data directory of this installation, fixed when it was configured, has one folder for each
 * kind of file. */
const char *data_file_topologies(void);
const char *data_file_drills(void);

/*
 * The path that name stands for in folder: -EINVAL if name is empty or has a slash, because such a
 * name is a path of its own; -ENAMETOOLONG. Pure.
 */
int data_file_in(const char *folder, const char *name, char path[PATH_MAX]);

/*
 * Finds the file: name itself if it has a slash or is in the current directory, else the file of
 * that name in folder. 0; -ENOENT or -ENAMETOOLONG with error (DATA_FILE_ERROR_MAX bytes) filled
 * in. A path with a slash is not checked: opening it reports what is wrong with it.
 */
int data_file_find(const char *folder, const char *name, char path[PATH_MAX], char *error);

#endif
