/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss_rtt.h - what the probes of one path have shown: which were lost, and how long the others
 * took.
 *
 * Solely owns: the outcomes of the last LOSS_RTT_WINDOW probes and a histogram of round-trip times.
 * In: a probe was sent, a probe was answered, and `now`. Out: loss in ppm, percentiles, the oldest
 * probe still unanswered. Thread: any, one at a time. Pure; nothing is allocated.
 */
#ifndef LOSS_RTT_H
#define LOSS_RTT_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_RTT_WINDOW	 256u
#define LOSS_RTT_BUCKETS 96u /* four to the octave: from 1 us to 16 s */

enum loss_rtt_outcome {
	LOSS_RTT_ANSWERED,
	LOSS_RTT_LOST,
	LOSS_RTT_VOID, /* counts neither way */
};

struct loss_rtt_probe {
	uint64_t sent_ns;
	uint64_t nonce;
	uint8_t local_sub_port, port; /* what it was sent from and to: the caller's */
	/* the sub-ports where it should arrive, and the answer; -1: not known */
	int8_t remote, back;
	bool answered, void_; /* void: took a link that died; counts neither way */
	bool is_try;	      /* ... was void from the start */
	uint32_t rtt_us;      /* if answered: until the reply was read */
};

/* What is looked at each time comes first, in few cache lines: there are thousands of these. */
struct loss_rtt {
	uint32_t next;	       /* sequence number of the next probe; they start at 1 */
	uint32_t settled;      /* probes up to this one are decided */
	uint64_t undecided_ns; /* when the next one was sent; 0: all are decided */
	uint32_t newest_answered;
	uint32_t n_lost, n_decided; /* within the window */
	uint64_t rtt_peak_ns;	    /* the longest of late; it decays */
	uint64_t forgotten_ns;	    /* what was sent until then is; 0: nothing */
	uint64_t n_lost_ever, n_sent_ever;
	uint32_t n_rtt;
	uint32_t histogram
		[LOSS_RTT_BUCKETS];	  /* of round trips, without what they waited to be read */
	uint8_t outcome[LOSS_RTT_WINDOW]; /* of decided ones */
	struct loss_rtt_probe ring[LOSS_RTT_WINDOW];
};

void loss_rtt_init(struct loss_rtt *l);
/* Notes a probe (who fills in sub-ports, port, nonce and void_) and returns its sequence number. */
uint32_t loss_rtt_sent(struct loss_rtt *l, uint64_t now, const struct loss_rtt_probe *probe);
/*
 * A reply with that stamp, read now; waited_ns: so long it and its probe waited to be read, here
 * and there. true once, if such a probe is still undecided; *probe then is it. false
 * for a spoofed or repeated reply, which changes nothing, and for a late one: its probe was not
 * lost after all, and counts neither way.
 */
bool loss_rtt_answered(struct loss_rtt *l, uint64_t now, uint32_t sequence, uint64_t nonce,
		       uint64_t waited_ns, struct loss_rtt_probe *probe);
/*
 * A reply that does not say to which probe: taken for the newest undecided one that is unanswered,
 * so that as many count as answered as there are replies, though a slow reply may count for a later
 * probe.
 */
bool loss_rtt_answered_one(struct loss_rtt *l, uint64_t now, uint64_t waited_ns,
			   struct loss_rtt_probe *probe);
/* Decides probes sent before `before`: unanswered ones are lost. */
void loss_rtt_settle(struct loss_rtt *l, uint64_t before);
/* Undecided probes that went out of a sub-port that died say nothing about the path. */
void loss_rtt_void(struct loss_rtt *l, uint8_t local_sub_port);
/* When the oldest probe later than the newest answered one was sent; 0: there is none. */
uint64_t loss_rtt_silent_since(const struct loss_rtt *l);
/* How many of the window's that were sent since then are lost. */
uint32_t loss_rtt_lost_since(const struct loss_rtt *l, uint64_t since_ns);
/* Forgets what the window holds; probes under way do not count as lost any more. */
void loss_rtt_forget(struct loss_rtt *l);

/*
 * The decided probes of the window, the newest first, void ones left out. *at: 0 at first. false:
 * no more.
 */
bool loss_rtt_decided(const struct loss_rtt *l, uint32_t *at, const struct loss_rtt_probe **probe,
		      enum loss_rtt_outcome *outcome);

/*
 * How many probes of the window were answered after what was forgotten, and after the newest one
 * that is missing: unanswered, decided or not, for longer than patience_ns; or overtaken by a later
 * one over the same cables: queues are first in, first out. A reply counts, either way, once it is
 * min_age_ns old: before, what it overtakes may be waiting to be read, and what arrived together
 * with it is not known to have been overtaken. Void ones do not count. UINT32_MAX: nothing of the
 * whole window is missing or forgotten; the run may be longer than it.
 */
uint32_t loss_rtt_clean_run(const struct loss_rtt *l, uint64_t now, uint64_t patience_ns,
			    uint64_t min_age_ns);
uint32_t loss_rtt_ppm(const struct loss_rtt *l);
/* percent 0..100; 0 if nothing was measured. The upper edge of the bucket. */
uint64_t loss_rtt_percentile_ns(const struct loss_rtt *l, unsigned percent);

#endif
