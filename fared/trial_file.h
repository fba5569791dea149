/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial_file.h - which configuration is confirmed while another is on trial, across restarts:
 * RUN_DIR/confirmed.yaml.
 *
 * Solely owns: that file. In: the configuration that was in force before a reload on trial, and
 * the one on trial. Out: at a start, the former, if the configuration file still is the one on
 * trial: it has not been confirmed, and perhaps it is what ended the daemon. Thread: the loop's.
 *
 * The file begins with a comment that has the SHA-256 of the configuration on trial; the rest is
 * the text of the confirmed one. The user that fared runs as can write it, and a daemon that still
 * is root reads it. So it can name nothing that a reload could not change, and no key file: those
 * of the configuration file stay.
 */
#ifndef TRIAL_FILE_H
#define TRIAL_FILE_H

#include <stddef.h>
#include <sys/types.h>

#define TRIAL_FILE_NAME "confirmed.yaml"

struct config;

/* Replaces the file as a whole. Both were read from files. 0 or -errno. */
int trial_file_save(const struct config *confirmed, const struct config *on_trial);
/* The trial is over, or was of another file. 0, also if there is no file; or -errno. */
int trial_file_remove(const struct config *config);
/*
 * What to start with instead of config: *out, or NULL if it is not on trial. 0; or -errno with *out
 * NULL and why in words: then config is to be used. uid: of the user that fared runs as.
 */
int trial_file_load(struct config **out, const struct config *config, uid_t uid, char *why,
		    size_t why_size);
/* The same of its bytes. */
int trial_file_parse(struct config **out, const struct config *config, const char *bytes,
		     size_t length, char *why, size_t why_size);

#endif
