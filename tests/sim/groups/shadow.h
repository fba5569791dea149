/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shadow.h - what must hold of every byte and every event.
 *
 * Solely owns: who may use which slot of application memory now, and what became of each write. In:
 * every read and every placement of a NIC, every event that an application takes. Out: violations.
 *
 * A slot is a piece of a process's registered memory, for one write at a time. Rules:
 *   read      a NIC reads a source slot only while its write is the library's: until COMPLETED, or
 *             RELEASED if its deadline passed
 *   place     a byte lands in a target slot only while the write that owns the slot is outstanding
 *             at its sender and not RECEIVED, and the receiver's end is open; it has the value that
 *             the sender wrote
 *   release   after memory was deregistered, nothing lands in it and nothing is read there
 *             by the old key
 *   complete  once, with a status that fare.h allows; with status 0 all bytes are in place
 *   receive   once, with the right length, after all bytes are in place and can be seen, and all of
 *             what its sender saw completed before it began; before CLOSED if the sender was told
 *             of success, unless the receiver itself leaves; in order, if that was asked for
 * Whoever gets a slot back writes other bytes over it at once.
 */
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "host.h"
#include "sim.h"

#define SHADOW_WRITES 256
#define SHADOW_ENDS   96

/* One end of a group, as its application knows it. */
struct shadow_end {
	struct fare_group *group; /* NULL: closed, or its process is gone */
	unsigned host, peer;
	uint32_t process;
	struct host_group_key key;
	bool is_opener;
	bool is_announced, is_closed, is_leaving;
	bool was_told;			/* by CLOSED: no device uses its memory any more */
	uint64_t n_told, last_sequence; /* notifications of the peer's */
	uint32_t last_tag;
	int other;	       /* the peer's end; -1: not known */
	uint32_t peer_process; /* that it talks to, as far as is known */
	unsigned n_unfinished;
};

struct shadow_write {
	int end; /* the sender's */
	unsigned from, to;
	uint32_t from_process, to_process;
	int tx_slot, rx_slot; /* -1: none */
	uint32_t offset, length;
	uint64_t deadline_ns;
	bool notify, has_bad_key;
	bool is_send, is_read;
	unsigned n_hidden; /* packets that a device placed, and that nothing flushed yet */
	uint64_t begun,
		done; /* when: turns of the shadow's clock; done 0: not completed with success */
	bool is_completed, is_late, is_released, is_received;
	bool is_abandoned;  /* its process died, or closed the group */
	bool has_no_target; /* the peer released the memory that it names */
	uint32_t ro_number; /* what a read finds there */
	int status;
};

struct shadow {
	struct shadow_end ends[SHADOW_ENDS];
	unsigned n_ends;
	struct shadow_write writes[SHADOW_WRITES]; /* by id - 1 */
	unsigned n_writes;
	/* ids; 0: the application's own */
	uint32_t tx_owner[SIM_HOSTS][HOST_SLOTS], rx_owner[SIM_HOSTS][HOST_SLOTS];
	uint64_t n_placed, n_received, n_completed;
	uint64_t clock;
};

/* ---- by the NIC ---- */

/* Whose bytes they are; 0: not the application's. */
uint32_t shadow_on_read(struct sim *sim, unsigned host, const void *at, uint32_t length,
			uint64_t remote_addr);
/* Before or after the copy: data are the bytes. */
void shadow_on_place(struct sim *sim, unsigned host, uint64_t addr, const void *data,
		     uint32_t length, uint32_t write_id);
/* A packet was placed and cannot be seen yet; later: it can. */
void shadow_hide(struct sim *sim, uint32_t write_id);
void shadow_reveal(struct sim *sim, uint32_t write_id);

/* ---- by the application ---- */

/* The write is about to be posted: its slots are taken, its source filled. id, or 0: no room. */
uint32_t shadow_begin(struct sim *sim, const struct shadow_write *write);
void shadow_cancel_begin(struct sim *sim, uint32_t id); /* it was refused */
void shadow_on_completed(struct sim *sim, int end, uint32_t id, int status);
void shadow_on_released(struct sim *sim, int end, uint32_t id, int status);
/* RECEIVED or MESSAGE. */
void shadow_on_received(struct sim *sim, int end, const struct fare_event *event);
/* The bytes of a message. */
void shadow_fill(uint32_t id, uint8_t *to, uint32_t length);
/* What a process has for others to read. */
void shadow_fill_ro(uint32_t process, uint8_t *to, uint32_t length);
void shadow_on_closed(struct sim *sim, int end); /* CLOSED was taken */
/* The application closes it, or its process ends. */
void shadow_abandon(struct sim *sim, int end);
void shadow_on_process(struct sim *sim, unsigned host); /* begins, or ends */
/* From now on nothing lands there, and nothing is read there, by the keys of before. */
void shadow_on_released_memory(struct sim *sim, unsigned host);
/* After a poll of which all events were taken. */
void shadow_check_deadlines(struct sim *sim, unsigned host);
int shadow_add_end(struct sim *sim, const struct shadow_end *end);
int shadow_end_of(const struct sim *sim, const struct fare_group *group);
bool shadow_is_settled(const struct sim *sim); /* no write is unfinished, no notification missing */

#endif
