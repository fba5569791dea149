/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_tables.h - replies of the daemon as tables for people; commands that are more than that.
 *
 * Owns nothing. In: a reply (borrowed). Out: aligned text on stdout, 80 columns wide; bandwidths in
 * Gb/s. Thread: any. A member that is missing prints as "-": the daemon may be of another version.
 */
#ifndef FARECTL_TABLES_H
#define FARECTL_TABLES_H

#include <jansson.h>

#include "farectl_options.h"
#include "quiet.h"

void tables_planes(const json_t *reply);
void tables_peers(const json_t *reply);
void tables_paths(const json_t *reply);
void tables_flows(const json_t *reply);
void tables_qps(const json_t *reply);
void tables_events(const json_t *reply);
void tables_counters(const json_t *reply);
void tables_version(const json_t *reply);
void tables_why_all(const json_t *reply);
void tables_why(const json_t *reply);
void tables_drain(const json_t *reply);
void tables_drains(const json_t *reply);
void tables_config(const json_t *reply);
void tables_reload(const json_t *reply);
void tables_confirm(const json_t *reply);
void tables_event_head(const json_t *reply);
void tables_trace_head(const json_t *reply);
void tables_trace(const json_t *line);
void tables_event(const json_t *event);

/*
 * farectl_kernel.c: to each row of `show kernel` "kernel" (as its "hops") and "same"; to the reply
 * "rule": whether one leads to the table. 0 or -errno: the kernel cannot be asked.
 */
int farectl_kernel_compare(json_t *reply);
void farectl_kernel_print(const json_t *reply);

/* farectl_doctor.c: the exit status: 0 nothing is wrong; 1 something is; 3 it cannot be written. */
int farectl_doctor(const struct farectl_options *options);

/*
 * farectl_drain.c: the exit status: 1 if it is not quiet after so many seconds, or the daemon does
 * not answer.
 */
int farectl_drain_wait(const char *run_dir, const struct quiet_scope *scope, double limit_s);

#endif
