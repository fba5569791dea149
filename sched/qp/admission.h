/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission.h - which GROUP_OPEN is fresh: asked for by this process, and not used before (pure).
 *
 * Solely owns: the domain's secret, and the list of openers' groups that were admitted lately. In:
 * who wants to open a group, the nonce that came with it, `now`. Out: nonces for GROUP_CHALLENGE;
 * whether a GROUP_OPEN may make a group. Thread: the domain's.
 *
 * A nonce is the time at which it was made and a MAC over that time and the opener's address, port,
 * incarnation and group, by a secret that is new for each domain. So nothing is kept for openers
 * that were only challenged, and nobody else can make or use a nonce. It is valid for
 * ADMISSION_NS.
 *
 * A group is admitted once. The list holds the last ADMISSION_ADMITTED of them. It may forget a
 * group after ADMISSION_NS, as all nonces for it are over then: none is made after the group was
 * admitted. If it must forget a group sooner, all nonces that were made before that group was
 * admitted end with it; their openers are challenged once more.
 */
#ifndef QP_ADMISSION_H
#define QP_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/control_wire.h"
#include "qp/peer_address.h"

/* An opener that is not answered gives up after as long (HANDSHAKE_SILENT_NS). */
#define ADMISSION_NS	   UINT64_C(10000000000)
#define ADMISSION_ADMITTED 1024u
#define ADMISSION_SECRET   32u

/* The group of an opener. */
struct admission_opener {
	struct peer_address address;
	uint64_t incarnation;
	uint32_t group;
};

struct admission {
	uint8_t secret[ADMISSION_SECRET];
	uint64_t floor_ns; /* nonces made until then are over */
	unsigned next;	   /* the place in admitted that is written next */
	struct admission_entry {
		uint64_t incarnation; /* 0: a free place */
		uint64_t admitted_ns;
		uint32_t group;
		int error; /* the group was refused: why; 0: it was made */
	} admitted[ADMISSION_ADMITTED];
};

/* The secret is random. */
void admission_init(struct admission *admission, const uint8_t secret[ADMISSION_SECRET]);
/* The nonce for a GROUP_CHALLENGE to an opener whose group was not admitted. */
void admission_challenge(const struct admission *admission, const struct admission_opener *opener,
			 uint64_t now_ns, uint8_t nonce[CONTROL_NONCE_BYTES]);
/* True: the nonce was made for this opener's group, and is not over. */
bool admission_is_fresh(const struct admission *admission, const struct admission_opener *opener,
			uint64_t now_ns, const uint8_t nonce[CONTROL_NONCE_BYTES]);
/* The opener's group is admitted from now on. The entry is valid until the next call. */
struct admission_entry *admission_add(struct admission *admission,
				      const struct admission_opener *opener, uint64_t now_ns);
/* NULL: it was not admitted within the last ADMISSION_NS. */
const struct admission_entry *admission_find(const struct admission *admission,
					     const struct admission_opener *opener,
					     uint64_t now_ns);

#endif
