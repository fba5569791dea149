/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_check.h - does what a configuration names exist on this machine?
 *
 * Owns nothing. In: a configuration that has been parsed. Out: log lines with file, line and key.
 * Thread: any. Apart from config.h, which knows the file's text alone.
 */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

struct config;
struct log;

/*
 * path is the file's, for the lines. An interface that is absent is a warning: the daemon uses it
 * as soon as it appears (links.h). 0; -errno with an error logged: the daemon cannot start so.
 */
int config_check(const struct config *config, const char *path, struct log *log);

#endif
