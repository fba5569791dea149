/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_check.h - what the files of checks share: a check's form, and how facts are read.
 *
 * Owns nothing. In: facts, and the text of what was found. Pure. Thread: any.
 */
#ifndef DOCTOR_CHECK_H
#define DOCTOR_CHECK_H

#include <netinet/in.h>
#include <stdbool.h>

#include "doctor.h"

/* Puts into text what was found; borrowed for the call. */
typedef enum doctor_state doctor_check_fn(const json_t *facts, struct doctor_line *line);

/* doctor_daemon.c: what fared says */
doctor_check_fn doctor_fared, doctor_config, doctor_in_force, doctor_trial, doctor_bmp,
	doctor_zserv, doctor_ports, doctor_realtime, doctor_memory, doctor_key_file, doctor_keys,
	doctor_packets, doctor_drains, doctor_peers, doctor_paths, doctor_probes, doctor_bandwidth,
	doctor_path_mtu, doctor_probe_class;
/* doctor_frr.c: what FRR is configured to do */
doctor_check_fn doctor_bgpd, doctor_bgpd_bmp, doctor_bmp_user, doctor_zebra, doctor_release,
	doctor_multipath_relax, doctor_maximum_paths, doctor_neighbors, doctor_soft_reconfiguration,
	doctor_network, doctor_bmp_targets, doctor_bmp_monitor, doctor_nexthop_groups,
	doctor_peer_prefixes;
/* doctor_system.c: devices, addresses, the kernel's settings */
doctor_check_fn doctor_namespace, doctor_devices, doctor_carrier, doctor_speed, doctor_mtu,
	doctor_subnets, doctor_addresses, doctor_vrf, doctor_rp_filter, doctor_reserved_ports,
	doctor_hash_policy, doctor_clock;

/* Sets the text of what was found, and returns state. */
enum doctor_state doctor_found(struct doctor_line *line, enum doctor_state state,
			       const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One more item of those that are wrong: the first few are named, the others counted. */
struct doctor_items {
	struct doctor_line *line;
	unsigned n;
};
void doctor_item(struct doctor_items *items, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the items come to: ok with the text `well` if there are none. */
enum doctor_state doctor_items_end(struct doctor_items *items, enum doctor_state state,
				   const char *well);

/* "" if it is no string. */
const char *doctor_text(const json_t *value);
/* Of the configuration, as `farectl show config` has it; "" if it has none or is not known. */
const char *doctor_value(const json_t *facts, const char *key);
/* The next item of "[a, b]" or "a, b"; *at begins as the text. false: there is no more. */
bool doctor_next(const char **at, char item[64]);

/* The process of that name; NULL: there is none, or it is not known. */
const json_t *doctor_process(const json_t *facts, const char *name);
/* The row of `show planes` of that source (bmp, zserv, probes); NULL: there is none. */
const json_t *doctor_source(const json_t *facts, const char *name);
bool doctor_source_is_up(const json_t *facts, const char *name);

/* A sub-port of the configuration. */
struct doctor_port {
	unsigned gpu, plane;
	const char *dev, *neighbors; /* a list for doctor_next() */
};
/* The next one; *key is NULL at first. false: there is no more. */
bool doctor_next_port(const json_t *facts, const char **key, struct doctor_port *out);

/* The next address of a local GPU; *gpu and *at are 0 and NULL at first. */
bool doctor_next_own(const json_t *facts, unsigned *gpu, const char **at, char address[64]);

/* "198.18.0.1/31"; false: it is no such text, or no length and no default (host: a host's). */
bool doctor_parse_prefix(const char *text, struct in6_addr *address, unsigned *length);

#endif
