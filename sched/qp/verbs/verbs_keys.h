/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_keys.h - what peers said their regions' rkeys are, device by device (pure).
 *
 * Solely owns: the table of answers; zeroed: none. In: lookups before a write is posted, KEY_REPLY
 * messages, `now`. Out: an rkey, or that a question is due. Bounded: an old answer makes room for a
 * new one and is asked for again if needed. One thread.
 *
 * A reply counts only if it carries the nonce of a question that is open, and comes from the
 * address that was asked. The nonce says which process there answers.
 */
#ifndef VERBS_KEYS_H
#define VERBS_KEYS_H

#include <netinet/in.h>
#include <stdint.h>

#include "qp/verbs/verbs_wire.h"

#define VERBS_KEYS_SETS	     64
#define VERBS_KEYS_PER_SET   8
#define VERBS_KEYS_ASK_NS    UINT64_C(5000000)	 /* a question is repeated after that */
#define VERBS_KEYS_REFUSE_NS UINT64_C(100000000) /* "no such region" is accepted that long */

enum verbs_key_state { VERBS_KEY_FREE, VERBS_KEY_ASKED, VERBS_KEY_KNOWN, VERBS_KEY_REFUSED };

/* A process: several may be at one address, each with regions of its own. */
struct verbs_key_peer {
	struct in6_addr address;
	uint16_t port; /* of its control channel */
};

struct verbs_key_entry {
	enum verbs_key_state state;
	struct verbs_key_peer peer;
	uint32_t key;
	uint64_t nonce;
	uint64_t asked_ns, answered_ns, used_ns; /* asked_ns 0: never */
	uint8_t has[FARE_MAX_PLANES];		 /* bit per sub-port */
	uint32_t rkeys[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

struct verbs_keys {
	struct verbs_key_entry entries[VERBS_KEYS_SETS][VERBS_KEYS_PER_SET];
};

/*
 * The rkey of the peer's region `key` on its device at (plane, sub_port). 0; -EACCES: it has no
 * such region; -EAGAIN: not known yet. With -EAGAIN, *nonce is that of the KEY_QUERY to send now,
 * or 0 if one is under way. random: 8 random bytes, not 0, for a new question.
 */
int verbs_keys_lookup(struct verbs_keys *keys, const struct verbs_key_peer *peer, uint32_t key,
		      uint16_t plane, uint16_t sub_port, uint64_t now_ns, uint64_t random,
		      uint32_t *rkey, uint64_t *nonce);
/* What was learned of the peer's device at (plane, sub_port), or is being asked, does not hold. */
void verbs_keys_forget(struct verbs_keys *keys, const struct verbs_key_peer *peer, uint16_t plane,
		       uint16_t sub_port);
/* Takes a KEY_REPLY from that address. 0, or -ENOENT: nobody there was asked that. */
int verbs_keys_answer(struct verbs_keys *keys, const struct in6_addr *from,
		      const struct verbs_wire_message *m, uint64_t now_ns);

#endif
