/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_release.h - what differs between releases of FRR in how it is configured and started.
 *
 * Owns the one table of it; pure. In: a version as FRR writes it. Out: the facts of that release.
 * Any thread. The layout of zebra's messages is zapi_parse.h's.
 */
#ifndef FRR_RELEASE_H
#define FRR_RELEASE_H

#include <stdbool.h>

struct frr_release {
	unsigned major, minor; /* from this release on */
	bool has_work_queue;   /* zebra takes `zebra work-queue` */
	bool wants_mgmtd;      /* zebra asks mgmtd, and logs without end if there is none */
	/* bgpd takes `extended-link-bandwidth`: 64 bits, for more than 25 Gb/s */
	bool has_extended_bandwidth;
};

/* version: "8.4.4", "10.7.0", "FRRouting 10.1", "10.6-dev"; what names none is the newest. */
const struct frr_release *frr_release_of(const char *version);
/*
 * What is known to be bad about that release, and what to do: static text; NULL: nothing. With
 * *is_unusable nothing of it can be read.
 */
const char *frr_release_trouble(const char *version, bool *is_unusable);

#endif
