/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pfc.h - priority flow control (IEEE 802.1Qbb): its frames, the headroom that a rate needs, and
 * what a port does that receives them.
 *
 * Owns nothing. Pure: bytes and the time come in, bytes and what to do go out. Any thread.
 */
#ifndef PFC_H
#define PFC_H

#include <linux/if_ether.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_CLASSES	8
#define PFC_FRAME_BYTES 60 /* without the checksum */
#define PFC_MAX_QUANTA	65535
#define PFC_QUANTUM_BIT 512
/*
 * From the packet that crosses XOFF to the stop of the neighbour's queue: what the agent may take,
 * and up to which rate of a link it does. Measured: see farelab(8).
 */
#define PFC_REACTION_US 4000
#define PFC_MOST_MBPS	400

/* What arrives after XOFF: what the link sends meanwhile, the shaper's bucket, and two frames. */
unsigned pfc_least_headroom(unsigned rate_mbps, unsigned bucket_bytes, unsigned frame_bytes);
/* How long a pause of so many quanta lasts at that speed. */
uint64_t pfc_quanta_ns(unsigned quanta, unsigned rate_mbps);

/* A frame that pauses a class for so many quanta; 0: it may send. */
void pfc_frame_write(uint8_t out[PFC_FRAME_BYTES], const uint8_t source[ETH_ALEN], unsigned class,
		     uint16_t quanta);
/* Whether it is a PFC frame that says something of that class. */
bool pfc_frame_read(const uint8_t *frame, size_t size, unsigned class, uint16_t *quanta);

/* ---- a switch's port that may pause its neighbour -------------------------- */

/* What came in by it and is still in the switch. Zeroed: nothing. */
struct pfc_buffer {
	int64_t bytes;
	bool wants_pause; /* from XOFF on, until XON */
};

struct pfc_limits {
	int64_t xoff_bytes, xon_bytes; /* at which it asks for a pause, and ends it */
	int64_t limit_bytes;	       /* XOFF and headroom: more is dropped */
};

/*
 * A packet comes, or one goes. The rules of the programs of a lab's switches (pfc_program.h), for
 * simulations: unit/netns/check_pfc_program compares. false: it is dropped.
 */
bool pfc_buffer_enter(struct pfc_buffer *b, const struct pfc_limits *limits, unsigned bytes);
void pfc_buffer_leave(struct pfc_buffer *b, const struct pfc_limits *limits, unsigned bytes);

/* ---- a port whose neighbour may pause it ---------------------------------- */

/* Zeroed: sends. */
struct pfc_pause {
	bool paused;
	bool ignores; /* the watchdog's: until the neighbour stops asking */
	uint64_t since_ns, until_ns;
	uint64_t paused_ns, storms; /* of pauses that have ended */
};

enum pfc_action { PFC_NOTHING, PFC_STOP, PFC_GO };

/* A frame of that duration; 0: XON. */
enum pfc_action pfc_pause_receive(struct pfc_pause *p, uint64_t now_ns, uint64_t duration_ns);
/* Time passed; watchdog_ns 0: there is none. */
enum pfc_action pfc_pause_tick(struct pfc_pause *p, uint64_t now_ns, uint64_t watchdog_ns);
/* When pfc_pause_tick() has something to do; UINT64_MAX: never. */
uint64_t pfc_pause_deadline(const struct pfc_pause *p, uint64_t watchdog_ns);

#endif
