/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_print.h - `fared --print-frr-config`: the configuration of FRR that goes with this one.
 *
 * Owns nothing. In: a configuration, and what it does not say: AS and router id. Out: text on a
 * stream. Thread: any. The text itself is frr_config.h's.
 */
#ifndef FRR_PRINT_H
#define FRR_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "config.h"

struct frr_print_options {
	const char *as;	       /* 1 to 4294967295, as given; NULL: missing */
	const char *router_id; /* NULL: the first IPv4 loopback (of a server) */
	const char *leaf;      /* a leaf's: the servers' addresses, with commas; NULL: a server's */
	bool zebra;	       /* zebra.conf, which needs none of these; false: bgpd.conf */
};

/* 0, or -EINVAL or -ENOMEM with why in words, and nothing is written. */
int frr_print(FILE *out, const struct config *config, const struct frr_print_options *options,
	      char *why, size_t why_size);

#endif
