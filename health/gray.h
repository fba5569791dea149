/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gray.h - which sub-ports of one path lose what they are given while the rest of the path works.
 *
 * Solely owns: the sub-ports found gray, and what each has shown since. In: a window of probes with
 * the sub-ports that each touched (loss_rtt.h), answers, and `now`. Out: which sub-port explains
 * the losses; which gray sub-port is to be tried next; when one is in use again. Thread: any, one
 * at a time. Pure.
 *
 * A probe touches the local sub-port that it leaves by, the remote one that its source port leads
 * to, and the local one that its answer comes in by. A sub-port is marked gray if without the
 * probes that touch it there is hardly a loss, and chance would hardly spread losses so. Once out
 * of use it is still tried, now and then, until enough tries in a row are answered: twice as many
 * each time that it was marked again soon after.
 */
#ifndef GRAY_H
#define GRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "loss_rtt.h"

#define GRAY_MAX_SUB_PORTS 8u

enum gray_side { GRAY_LOCAL, GRAY_REMOTE, GRAY_SIDES };

enum gray_finding {
	GRAY_NOTHING,	/* losses are spread, or there is too little to tell by */
	GRAY_SUSPICION, /* one sub-port would explain them, but so would chance */
	GRAY_FOUND,
};

struct gray_trial {
	uint32_t sequence; /* of the try under way; 0: none */
	uint16_t passes, wanted;
	uint64_t next_ns;
	uint64_t cleared_ns;
};

struct gray {
	uint8_t mask[GRAY_SIDES]; /* bit s: sub-port s is out of use */
	struct gray_trial trials[GRAY_SIDES][GRAY_MAX_SUB_PORTS];
};

/*
 * queues: those of ports may drop probes. GRAY_FOUND: that sub-port alone explains the losses of
 * the window, and is out of use from now on.
 */
enum gray_finding gray_find(struct gray *g, const struct loss_rtt *l, uint32_t max_loss_ppm,
			    bool queues, uint64_t now, enum gray_side *side, uint32_t *sub_port);
bool gray_is_over(const struct gray *g, uint8_t local, int8_t remote, int8_t back);
/* A gray sub-port whose next try is due. */
bool gray_is_due(const struct gray *g, uint64_t now, enum gray_side *side, uint32_t *sub_port);
void gray_tried(struct gray *g, enum gray_side side, uint32_t sub_port, uint32_t sequence,
		uint64_t now);
/* The answer to that probe came. true: its sub-port is in use again. */
bool gray_answered(struct gray *g, uint32_t sequence, uint64_t now, enum gray_side *side,
		   uint32_t *sub_port);
/* It went down, came up, or nothing leads to it any more: forgotten. true: it was gray. */
bool gray_forget(struct gray *g, enum gray_side side, uint32_t sub_port);

#endif
