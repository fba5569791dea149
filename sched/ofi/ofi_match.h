/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_match.h - receives that wait for messages, and messages that wait for receives (pure).
 *
 * Owns the order of both: the first posted receive that accepts a message gets it, and a receive
 * gets the first message that it accepts (fi_tagged(3)). Tagged and untagged ones never meet.
 * What the entries hold besides is the caller's.
 */
#ifndef OFI_MATCH_H
#define OFI_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_ANY_SOURCE UINT64_MAX /* FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL */

/* first member of what the caller queues */
struct ofi_posted {
	struct ofi_posted *prev, *next;
	uint64_t source; /* OFI_ANY_SOURCE: any */
	uint64_t tag, ignore;
	bool tagged;
};

struct ofi_arrived {
	struct ofi_arrived *prev, *next;
	uint64_t source; /* OFI_ANY_SOURCE: not known to the receiver */
	uint64_t tag;
	bool tagged;
};

struct ofi_match {
	struct ofi_posted *posted[2];	/* untagged, tagged */
	struct ofi_arrived *arrived[2]; /* unexpected, in order of arrival */
	unsigned n_posted, n_arrived;
};

bool ofi_match_accepts(const struct ofi_posted *posted, const struct ofi_arrived *arrived);

void ofi_match_post(struct ofi_match *m, struct ofi_posted *posted);
void ofi_match_unpost(struct ofi_match *m, struct ofi_posted *posted);
void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *arrived);
void ofi_match_remove(struct ofi_match *m, struct ofi_arrived *arrived);
/* The posted receive for that message, still queued; NULL: none. */
struct ofi_posted *ofi_match_posted(const struct ofi_match *m, const struct ofi_arrived *arrived);
/* The message for that receive, still queued; NULL: none. */
struct ofi_arrived *ofi_match_arrived(const struct ofi_match *m, const struct ofi_posted *posted);

#endif
