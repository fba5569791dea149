/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.h - whether a peer's packets arrive, over each plane, by what the peer reports to have sent
 * (docs/health.md has the rules).
 *
 * Solely owns: what is known of one peer's packets: the newest report, how many in a row are
 * missing over each plane, and how many were lost in the last parts of the peer's time. In: reports
 * in the order in which they are read, and `now`. Out: which planes are dead or lossy. Thread: any,
 * one at a time. Pure.
 *
 * Each end judges one direction, and reports what it found. Compared are only numbers of the peer's
 * own clock, and what came in is read before anything is judged: so no lateness of either end
 * changes a verdict.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "report_wire.h"

#define JUDGE_PARTS 20u /* of the peer's time, the newest included */

/* By plane; docs/health.md has both. */
struct judge_limits {
	uint64_t allowance_ns;
	/* losses beside packets that took so much longer are those of a full queue; 0: none are */
	uint64_t queue_ns;
};

struct judge_times {
	uint64_t interval_ns;
	uint32_t n_missing;	  /* so many in a row are no chance */
	uint32_t n_missing_first; /* ... where none has ever come */
	uint32_t max_loss_ppm;
};

struct judge_part {
	uint64_t number;
	uint16_t sent, received;
	uint32_t delay_us; /* the longest, beyond the least of any plane of late */
};

struct judge_plane {
	uint64_t received_ns; /* a packet of the peer came over it last; 0: none did */
	uint32_t sent;	      /* the peer's count, as last reported */
	uint32_t n_missing;   /* in a row, of those that count */
	uint64_t decide_ns; /* so many are missing that they are lost if they do not come by then */
	bool is_dead;
	/* of our packets, as the peer reports: flags, new ones (judge_take_news()), and why */
	uint8_t reported, news, reported_lost;
	uint64_t reported_age_ns;
	/* of the peer's packets, as reported to it: counted once a part of time */
	uint64_t counted_number;
	uint8_t counted_lost;
	struct judge_part parts[JUDGE_PARTS];
};

struct judge {
	uint32_t n_planes, incarnation;
	uint64_t clock_us;    /* the peer's, extended */
	uint64_t reported_ns; /* the newest report was read; 0: none */
	unsigned part_shift;
	/* arrival minus the peer's clock, the least of this part of time and of the one before */
	int64_t least_us[2];
	uint64_t least_number;
	struct judge_plane planes[REPORT_WIRE_MAX_PLANES];
};

struct judge_losses {
	uint32_t sent, lost, n_parts; /* parts: with losses */
};

/*
 * A report came over that plane at came_ns, and is read now. flags_count: its flags are to be used.
 * limits: of each plane.
 */
void judge_report(struct judge *j, const struct judge_times *t, uint32_t plane,
		  const struct report_wire *r, bool flags_count, const struct judge_limits *limits,
		  uint64_t came_ns, uint64_t now);
/* All that had come in by now is read. true: the plane is dead, by our own counts. */
bool judge_decide(struct judge *j, uint32_t plane, uint64_t now);
/* The peer reports DEAD. A peer that is silent on all planes reports nothing any more. */
bool judge_is_reported_dead(const struct judge *j, uint32_t plane, uint64_t now);
/* The peer's packets of the window over that plane, but for those younger than the allowance. */
struct judge_losses judge_losses(const struct judge *j, uint32_t plane,
				 const struct judge_limits *limits);
bool judge_is_lossy(const struct judge_losses *l, const struct judge_times *t);
/* A packet of the peer came, over whatever plane. */
uint64_t judge_received_ns(const struct judge *j);
/* Flags of the peer that were not set before, once. */
uint8_t judge_take_news(struct judge *j, uint32_t plane);
/* What was lost or is missing so far says nothing of what comes. */
void judge_forget(struct judge *j, uint32_t plane);
/* age, lost and DEAD of what is reported to the peer. */
void judge_fill(struct judge *j, uint32_t plane, struct report_wire_plane *out, uint64_t now);

#endif
