/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello.h - how coordinator and agent prove to each other that they have the key.
 *
 * Owns: the format of three messages, one JSON object a line each. In: a key and challenges; out:
 * messages, or why one is refused. Pure. Thread: any.
 *
 *	coordinator	{"farebench":VERSION,"challenge":C}
 *	agent		{"farebench":VERSION,"challenge":A,"proof":HMAC("agent",VERSION,C,A)}
 *	coordinator	{"proof":HMAC("coordinator",VERSION,C,A)}, or {"refused":"key"|"version"}
 *
 * HMAC is SHA-256's; challenges are 16 random bytes, all in hexadecimal. Each end hashes its own
 * role, so a proof that is sent back proves nothing. The key itself never crosses the network. What
 * follows is neither encrypted nor authenticated again: the rendezvous belongs on a network for
 * management.
 */
#ifndef HELLO_H
#define HELLO_H

#include <jansson.h>
#include <stdint.h>

#include "qp/control_auth.h"

#define HELLO_VERSION	1 /* of these messages, of an agent's and of a worker's requests */
#define HELLO_MAX_LINE	512
#define HELLO_CHALLENGE 16

struct hello_challenge {
	uint8_t bytes[HELLO_CHALLENGE];
};

enum hello_refusal { HELLO_KEY, HELLO_VERSIONS, HELLO_MESSAGE, HELLO_REFUSALS };

/* Messages (the caller's; NULL: no memory). */
json_t *hello_offer(const struct hello_challenge *coordinator);
json_t *hello_answer(const struct control_auth *key, const struct hello_challenge *coordinator,
		     const struct hello_challenge *agent);
json_t *hello_welcome(const struct control_auth *key, const struct hello_challenge *coordinator,
		      const struct hello_challenge *agent);
json_t *hello_refuse(enum hello_refusal why);

/* What came in: 0, or -EACCES with *why. A challenge is set with 0 only. */
int hello_read_offer(const json_t *message, struct hello_challenge *coordinator,
		     enum hello_refusal *why);
int hello_read_answer(const json_t *message, const struct control_auth *key,
		      const struct hello_challenge *coordinator, struct hello_challenge *agent,
		      enum hello_refusal *why);
int hello_read_welcome(const json_t *message, const struct control_auth *key,
		       const struct hello_challenge *coordinator,
		       const struct hello_challenge *agent, enum hello_refusal *why);
/* What is wrong, and what to do about it. */
const char *hello_refusal_text(enum hello_refusal why);

#endif
