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

#include "frr_release.h"
#include "plan.h"

#define CONFIG_BMP_PORT 5001

/*
 * bgpd.conf of any host. announced_mbps: the rate of each link that BGP announces, by its number;
 * borrowed. release: of the lab's FRR. 0, or -ENOMEM and nothing is written.
 */
int config_bgpd(FILE *out, const struct topology *t, struct plan_host host,
		const unsigned *announced_mbps, const struct frr_release *release);

/* Commands for a running bgpd of a server when the rate of a sub-link changes. */
void config_link_rate(FILE *out, const struct topology *t, unsigned number, unsigned mbps);

/*
 * Mbit/s that a leaf announces to its servers for a live sub-link of that announced rate: the rate
 * where rates are announced, 1 where live sub-links are counted; with spines, as many as a plane
 * has, for that is what counts from another leaf add up to, one by each spine.
 */
unsigned config_link_units(const struct topology *t, unsigned announced_mbps);

/*
 * run_dir: where fared puts its segment and socket; zserv_path: zebra's socket on that server;
 * frr_version: what bgpd --version says, "" if unknown (the key is left out then); key_file: the
 * lab's key for capacity notices. announced_mbps as above.
 */
void config_fared(FILE *out, const struct topology *t, unsigned server,
		  const unsigned *announced_mbps, const char *run_dir, const char *zserv_path,
		  const char *frr_version, const char *key_file);

#endif
