/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mtu.h - which path MTU a path carries, found by probes of full size (RFC 8899: packetization
 * layer path MTU discovery; ICMP is never asked).
 *
 * Solely owns: for each local and each remote sub-port of one path the largest path MTU that
 * passes; the probes under way. In: what is wanted, what devices allow, answers, losses, and `now`.
 * Out: which probe to send next, and by which sub-ports; what passes. Thread: any, one at a time.
 * Pure.
 *
 * A round is one padded probe; where there is doubt, between two short ones from the same source
 * port, so that a leaf's hash sends all three the same way. Only that the padded one is lost and
 * both short ones are answered is held against the sub-ports that it touched; a short one that is
 * lost makes up for two of these, so that what loses packets of any size is never taken for what
 * passes no large ones. After HEALTH_MTU_LOST of them, within HEALTH_MTU_SPAN_NS at least:
 * - if packets of that size have passed meanwhile by another sub-port of the same side, this
 *   sub-port alone carries less;
 * - if none has passed at all, the path carries less, by whatever sub-ports.
 * Then smaller path MTUs are tried, and now and then the next larger one, which is used again after
 * HEALTH_MTU_LOST answers in a row. Path MTUs are numbers of path_mtu.h.
 */
#ifndef MTU_H
#define MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "gray.h"
#include "path_mtu.h"

#define MTU_ROUNDS 16u /* a power of two: HEALTH_QUEUE_MAX_NS and HEALTH_PEAK_MAX_NS at full pace */

#define MTU_PROBES 3u
#define MTU_PADDED 1u /* of a round's probes; the others are short */

struct mtu_part {
	uint8_t passes;	    /* the largest that is not known to be lost; 0: none */
	uint8_t limit;	    /* what the device allows; no larger one is tried */
	uint8_t n_lost;	    /* padded probes of that size */
	uint8_t n_raised;   /* of the next larger size that were answered in a row */
	uint64_t losing_ns; /* the first of n_lost was sent */
	uint64_t passed_ns; /* one of that size was answered last; 0: not since it is that size */
};

struct mtu_round {
	bool has_short; /* short ones go with it */
	bool is_raise;	/* of a size that is not expected to pass */
	uint8_t number; /* path MTU of the padded one; 0: there is none */
	uint8_t local, port;
	int8_t remote;	   /* -1: not known */
	uint8_t answered;  /* bit k: probe k */
	uint32_t sequence; /* of probe 0 */
	uint64_t sent_ns, nonce;
};

struct mtu {
	uint8_t wanted;	     /* 0: nothing is probed */
	bool takes_padding;  /* the peer reports sizes: an older one drops what is padded */
	uint16_t open;	     /* bit i: answers to rounds[i] are waited for */
	uint32_t turn, next; /* rounds so far, since what is wanted changed and ever */
	uint64_t sent_ns, doubt_ns;
	uint64_t passed_ns[PATH_MTU_SIZES + 1]; /* one of at least that size was answered last */
	uint32_t reach[GRAY_SIDES];		/* bit s: probes can be sent by it, as of late */
	struct mtu_part parts[GRAY_SIDES][GRAY_MAX_SUB_PORTS];
	struct mtu_round rounds[MTU_ROUNDS];
};

/* By which sub-ports a round may go: live local ones, and where each source port leads (-1). */
struct mtu_routes {
	uint32_t live;
	const int8_t *remote;
	unsigned n_ports;
};

/* Begins anew. wanted: 0 to PATH_MTU_SIZES. */
void mtu_init(struct mtu *m, unsigned wanted);
/* What the device of a local sub-port allows; true: it changes what the path carries. */
bool mtu_limit(struct mtu *m, uint32_t local, unsigned number);
/* When the next round is due, if that many were sent at interval_ns in quiet times. */
uint64_t mtu_due_ns(const struct mtu *m, uint64_t interval_ns);
/*
 * Draws the next round; false: there is no way for one. Of its probes (MTU_PADDED is the padded
 * one) probe k has the sequence sequence + k.
 */
bool mtu_next(struct mtu *m, const struct mtu_routes *routes, uint64_t now, uint64_t nonce,
	      struct mtu_round *out);
/*
 * An answer came: from remote sub-port `remote`; bytes: the datagram's length as it arrived there.
 * false: to none of these probes. *changed: what the path carries.
 */
bool mtu_answered(struct mtu *m, uint32_t sequence, uint64_t nonce, int8_t remote, uint32_t bytes,
		  uint64_t now, bool *changed);
/* What was sent before then and is unanswered is lost. true: it changes what the path carries. */
bool mtu_settle(struct mtu *m, uint64_t before_ns, uint64_t now);
/* What is under way by that local sub-port says nothing: its carrier has changed. */
void mtu_void(struct mtu *m, uint32_t local);

/* What the path carries by its best sub-ports; *proven: probes of that size were answered. */
unsigned mtu_carried(const struct mtu *m, bool *proven);
/* Bit s: sub-port s carries less than that. */
uint32_t mtu_small(const struct mtu *m, enum gray_side side);

#endif
