/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notice_keys.h - the keys of the capacity notices, from the files that health.key_file and
 * health.second_key_file name.
 *
 * Owns nothing. In: a configuration. Out: the keys, or the reason why a file cannot be used.
 * Thread: any.
 */
#ifndef NOTICE_KEYS_H
#define NOTICE_KEYS_H

#include <stddef.h>

#include "config.h"
#include "notice_wire.h"

/*
 * Both keys of a configuration (key_file.h; group and others must have no permission); one whose
 * file is not named has length 0, and so have both if health is off. 0; -errno with name of the
 * key, path and reason in why, its line in *line (may be NULL), and nothing in keys.
 */
int notice_keys_read(const struct config_health *health, struct notice_keys *keys, unsigned *line,
		     char *why, size_t why_size);

#endif
