/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn_segment.h - the client's end of conn_shm.h: makes the segment and lends rows of it.
 *
 * Solely owns: the memfd, its writable mapping, and which rows are lent. In: requests for
 * consecutive rows. Out: rows, which the borrower alone writes until he gives them back. One
 * thread.
 */
#ifndef CONN_SEGMENT_H
#define CONN_SEGMENT_H

#include "conn_shm.h"

struct conn_segment;

/*
 * Made once, sealed and written to, so that the daemon can read it without SIGBUS and at no cost of
 * memory: 11 MiB are the client's. 0 or -errno.
 */
int conn_segment_create(struct conn_segment **out);
void conn_segment_destroy(struct conn_segment *segment); /* NULL is fine */
int conn_segment_fd(const struct conn_segment *segment); /* stays the segment's */

/* n consecutive rows, as their last borrower left them, or NULL when there are not as many. */
struct conn_shm_entry *conn_segment_lend_entries(struct conn_segment *segment, uint32_t n);
struct conn_shm_qp *conn_segment_lend_qps(struct conn_segment *segment, uint32_t n);
struct conn_shm_path *conn_segment_lend_paths(struct conn_segment *segment, uint32_t n);
/*
 * The application opens (by 1) or closes (by -1) a spray or a flow table: no row shows where that
 * sends.
 */
void conn_segment_pickers(struct conn_segment *segment, int by);
/* rows: as lent, n too. NULL is fine. */
void conn_segment_return(struct conn_segment *segment, void *rows, uint32_t n);

#endif
