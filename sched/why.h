/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * why.h - what is missing when an application cannot attach or open a domain, as one line for a log
 * (pure, but for looking at the files that it names).
 *
 * libfare returns an errno; the plugins, which have a log, say more: which directory, file, group
 * or limit it is.
 */
#ifndef WHY_H
#define WHY_H

#include <stddef.h>

#include "fare.h"

#define WHY_BYTES 256

/* What fare_attach(run_dir) returned. */
void why_attach(int err, const char *run_dir, char out[WHY_BYTES]);
/* What fare_domain_open() with these options returned. */
void why_domain(int err, const struct fare_domain_options *options, char out[WHY_BYTES]);
/* What registering memory, or opening a group, returned in a domain of that provider. */
void why_memory(int err, const char *provider, char out[WHY_BYTES]);

#endif
