/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - the configuration files that a lab's daemons read.
 *
 * Owns the text of fared.yaml, and what of a topology goes into FRR's, which frr_config.h writes.
 * In: a topology, an index. Out: text on a stream. Pure but for the stream; write errors are left
 * for the caller's ferror().
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdio.h>

#include "plan.h"

#define CONFIG_BMP_PORT 5001

/* 0, or -ENOMEM and nothing is written. */
int config_server_bgpd(FILE *out, const struct topology *t, unsigned server);
int config_leaf_bgpd(FILE *out, const struct topology *t, unsigned plane);

/*
 * run_dir: where fared puts its segment and socket; zserv_path: zebra's socket on that server;
 * frr_version: what bgpd --version says, "" if unknown (the key is left out then); key_file: the
 * lab's key for capacity notices.
 */
void config_fared(FILE *out, const struct topology *t, unsigned server, const char *run_dir,
		  const char *zserv_path, const char *frr_version, const char *key_file);

#endif
