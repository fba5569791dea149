/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_internal.h - what the three files of a worker share: its state, and what each offers the
 * others.
 *
 * worker.c starts, loops and talks to the coordinator; worker_requests.c does what the coordinator
 * asks; worker_streams.c moves and verifies messages. Owns: struct worker, one per process. Thread:
 * the process has one.
 */
#ifndef WORKER_INTERNAL_H
#define WORKER_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare.h"
#include "rendezvous.h"
#include "stream.h"

#define WORKER_MAX_STREAMS 1024
#define WORKER_MAX_EARLY   256
#define WORKER_MAX_SAMPLES 100000 /* so that a report stays well below a rendezvous line */
#define WORKER_MAX_ROUNDS  100000
#define WORKER_OPEN_NS	   UINT64_C(20000000000)
#define WORKER_MAX_ARENA   (UINT64_C(4) << 30)
#define WORKER_MAX_BINS	   4000000 /* of a millisecond */
#define WORKER_SEND_BINS   300000  /* in an answer */
#define WORKER_BIN_NS	   UINT64_C(1000000)

struct worker_tx {
	struct fare_group *group;
	struct stream_tx books;
	uint32_t gpu; /* the peer's global index */
	bool connected;
	uint64_t offset, slot_bytes, remote_addr;
	uint32_t rkey;
	uint64_t *round_bytes; /* ep: per round; NULL: every message has slot_bytes */
};

struct worker_rx {
	struct fare_group *group;
	struct stream_rx books;
	struct in6_addr peer;
	uint32_t gpu;
	uint64_t offset, slot_bytes;
	uint64_t *round_bytes;
	uint64_t due[STREAM_MAX_SLOTS]; /* credits that found no room: sequence number + 1 */
};

struct worker {
	struct rendezvous *coordinator;
	struct fare *fare;
	struct fare_domain *domain;
	struct fare_mr *tx_mr, *rx_mr;
	uint8_t *tx_arena, *rx_arena;
	uint64_t arena_bytes;
	uint32_t gpu, local_gpu;

	struct worker_tx *tx;
	struct worker_rx *rx;
	unsigned n_tx, n_rx;
	/* accepted before the coordinator told us of the run: claimed when it does */
	struct fare_group *early[WORKER_MAX_EARLY];
	unsigned n_early;
	uint32_t nonce;
	uint64_t rounds; /* 0: until stopped */
	bool running, stopping, opened, done, no_times;
	uint64_t open_ns; /* when the run in force was asked for */
	uint64_t verified_bytes;
	uint64_t *samples; /* when each message was verified; with rounds: stream by stream, in
			      order of rounds */
	size_t n_samples;
	/* payload acknowledged per millisecond since bins_ns; NULL: not asked for */
	uint32_t *bins;
	uint64_t bins_ns, bin, acked_bytes; /* bin: the one under way */
};

uint64_t worker_now_ns(void);
/* Tells the coordinator and ends: nothing measured after an error is worth having. */
_Noreturn void worker_fail(struct worker *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void worker_send(struct worker *w, json_t *event); /* takes event */

/* Takes what the domain has, posts what may be posted, says "opened" and "done" when it is so. */
void worker_turn(struct worker *w);

/* Begins: the first messages are filled and posted on return. */
void worker_start(struct worker *w);

/* Books what was acknowledged since the last call to the millisecond that it belongs to. */
void worker_bin(struct worker *w, uint64_t now);

/* Gives every waiting receive stream the group that its peer opened meanwhile. */
void worker_claim_early(struct worker *w);

/* Does one request (borrowed); false: it was the last. */
bool worker_request(struct worker *w, json_t *request);
void worker_close_tx(struct worker *w);
void worker_close_rx(struct worker *w);

#endif
