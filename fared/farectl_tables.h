/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_tables.h - replies of the daemon as tables for people.
 *
 * Owns nothing. In: a reply (borrowed). Out: aligned text on stdout, 80 columns wide; bandwidths in
 * Gb/s. Thread: any. A member that is missing prints as "-": the daemon may be of another version.
 */
#ifndef FARECTL_TABLES_H
#define FARECTL_TABLES_H

#include <jansson.h>

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
void tables_event_head(void);
void tables_trace_head(const json_t *reply);
void tables_trace(const json_t *line);
void tables_event(const json_t *event);

#endif
