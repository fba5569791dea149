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
	LOSS_RTT_VOID,	 /* counts neither way */
	LOSS_RTT_QUEUED, /* lost where a queue was full, and full queues drop: no fault by itself */
};

struct loss_rtt_probe {
	uint64_t sent_ns;
	uint64_t nonce;
	uint8_t local_sub_port, port; /* what it was sent from and to: the caller's */
	/* the sub-ports where it should arrive, and the answer; -1: not known */
	int8_t remote, back;
	bool answered, void_; /* void: took a link that died; counts neither way */
	/* if answered: until the reply was read; and of that on the way, not waiting to be read */
	uint32_t rtt_us, way_us;
};

/* What is looked at each time comes first, in few cache lines: there are thousands of these. */
struct loss_rtt {
	uint32_t next;	       /* sequence number of the next probe; they start at 1 */
	uint32_t settled;      /* probes up to this one are decided */
	uint64_t undecided_ns; /* when the next one was sent; 0: all are decided */
	uint32_t newest_answered;
	uint32_t n_lost, n_queued, n_decided; /* within the window */
	uint64_t newest_answered_sent_ns;     /* when that one was sent */
	uint64_t rtt_peak_ns, way_peak_ns;    /* the longest of late; they decay */
	/* the caller's: what a full queue takes, 0: not known; what the way takes without queues */
	uint64_t full_ns, usual_ns;
	uint64_t forgotten_ns; /* what was sent until then is; 0: nothing */
	uint64_t n_lost_ever, n_sent_ever;
	uint32_t n_rtt;
	uint32_t histogram[LOSS_RTT_BUCKETS]; /* of way_us */
	uint8_t outcome[LOSS_RTT_WINDOW];     /* of decided ones */
	struct loss_rtt_probe ring[LOSS_RTT_WINDOW];
};

void loss_rtt_init(struct loss_rtt *l);
/* Notes a probe (who fills in sub-ports, port, nonce and void_) and returns its sequence number. */
uint32_t loss_rtt_sent(struct loss_rtt *l, uint64_t now, const struct loss_rtt_probe *probe);
/*
 * A reply with that stamp, read now; waited_ns: so long it and its probe waited to be read, here
 * and there. true once, if such a probe is still undecided; *probe then is it. false
 * for a forged or repeated reply, which changes nothing, and for a late one: its probe was not lost
 * after all, and counts neither way.
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
/*
 * Decides probes sent before `before`. Unanswered ones are lost; or queued, if one next to them in
 * time over one of the same cables took about as long as any did of late, and longer than half a
 * full queue takes beyond what is usual; or if both next to them took so long, whatever others did.
 */
void loss_rtt_settle(struct loss_rtt *l, uint64_t before);
/* Undecided probes that went out of a sub-port that died say nothing about the path. */
void loss_rtt_void(struct loss_rtt *l, uint8_t local_sub_port);
/*
 * When the oldest probe later than the newest answered one, and not sent before `after`, was sent;
 * 0: there is none. n counts them; *nth_sent_ns is when the nth of them was sent, 0 if they are
 * fewer.
 */
uint64_t loss_rtt_silent_since(const struct loss_rtt *l, uint64_t after, uint32_t nth, uint32_t *n,
			       uint64_t *nth_sent_ns);
/* How many of the window's that were sent since then are lost; or_queued: in full queues, too. */
uint32_t loss_rtt_lost_since(const struct loss_rtt *l, uint64_t since_ns, bool or_queued);
/* When the newest probe was sent whose reply had come by then; 0: none had. */
uint64_t loss_rtt_answered_by(const struct loss_rtt *l, uint64_t by_ns);
/*
 * The longest time, from since_ns to now, in which the peer may have answered nothing: it did
 * between a probe and its reply, and when is not known. Probes sent before since_ns do not count.
 */
uint64_t loss_rtt_longest_gap_ns(const struct loss_rtt *l, uint64_t since_ns, uint64_t now);
/*
 * The last time of which all is known by now, of probes sent before `before`: all that were sent
 * from *from_ns to *to_ns were answered, but for HEALTH_STRAY_MAX in a row, and none of them is
 * forgotten. false: there is none.
 */
bool loss_rtt_answering(const struct loss_rtt *l, uint64_t before, uint64_t *from_ns,
			uint64_t *to_ns);
/* Forgets what the window holds; probes under way do not count as lost any more. */
void loss_rtt_forget(struct loss_rtt *l);

/*
 * The decided probes of the window, the newest first, void ones left out. *at: 0 at first. false:
 * no more.
 */
bool loss_rtt_decided(const struct loss_rtt *l, uint32_t *at, const struct loss_rtt_probe **probe,
		      enum loss_rtt_outcome *outcome);

/*
 * When the oldest and the newest lost probe of the window were sent, the n_strays oldest and newest
 * ones left out. false: no other is lost.
 */
bool loss_rtt_lost_span(const struct loss_rtt *l, uint32_t n_strays, uint64_t *from_ns,
			uint64_t *to_ns);
/*
 * How many probes of the window were answered after what was forgotten, and after the newest one
 * that is missing: unanswered, decided or not, for longer than patience_ns; or overtaken by a later
 * one over the same cables: queues are first in, first out. A reply counts, either way, once it is
 * skew_ns old: before, what it overtakes may be waiting to be read, and what arrived together with
 * it is not known to have been overtaken. Void ones do not count. UINT32_MAX: nothing of the whole
 * window is missing or forgotten; the run may be longer than it.
 */
uint32_t loss_rtt_clean_run(const struct loss_rtt *l, uint64_t now, uint64_t patience_ns,
			    uint64_t skew_ns);
/*
 * Of the last LOSS_RTT_WINDOW probes those sent from from_ns to to_ns, decided or not, void ones
 * left out: how many, and how many of them are unanswered.
 */
void loss_rtt_between(const struct loss_rtt *l, uint64_t from_ns, uint64_t to_ns, uint32_t *n,
		      uint32_t *n_unanswered);

/* Of what was sent since then loss_rtt_between() knows all, and nothing of it was forgotten. */
uint64_t loss_rtt_known_since_ns(const struct loss_rtt *l);

uint32_t loss_rtt_ppm(const struct loss_rtt *l);
/* percent 0..100; 0 if nothing was measured. The upper edge of the bucket. */
uint64_t loss_rtt_percentile_ns(const struct loss_rtt *l, unsigned percent);

#endif
