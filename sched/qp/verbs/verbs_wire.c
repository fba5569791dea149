/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/octets.h"

#define MAGIC	  0x46415642u /* "FAVB" */
#define VERSION	  1
#define QUERY_AT  VERBS_WIRE_HEADER
#define PORT_AT	  (QUERY_AT + 12) /* KEY_QUERY */
#define QUERY_END (PORT_AT + 2)
#define COUNT_AT  (QUERY_AT + 12) /* KEY_REPLY */
#define KEYS_AT	  (COUNT_AT + 1)
#define KEY_BYTES 6

/* whose body is the sender's own, to the end */
static bool has_payload(enum verbs_wire_type type)
{
	return type == VERBS_WIRE_GROUP || type == VERBS_WIRE_AUTHENTICATED;
}

static size_t encoded_bytes(const struct verbs_wire_message *m)
{
	if (has_payload(m->type))
		return VERBS_WIRE_HEADER + m->payload_bytes;
	return m->type == VERBS_WIRE_KEY_QUERY ? QUERY_END
					       : KEYS_AT + (size_t)m->n_keys * KEY_BYTES;
}

int verbs_wire_encode(const struct verbs_wire_message *m, void *buf, size_t size)
{
	uint8_t *b = buf;
	size_t n = encoded_bytes(m);

	if (m->type < VERBS_WIRE_GROUP || m->type > VERBS_WIRE_AUTHENTICATED)
		return -EINVAL;
	if (n > size || n > VERBS_WIRE_MAX || m->n_keys > VERBS_WIRE_MAX_KEYS)
		return -EMSGSIZE;
	octets_store(b, MAGIC, 4);
	octets_store(b + 4, VERSION, 1);
	octets_store(b + 5, m->type, 1);
	octets_store(b + 6, 0, 2);
	if (has_payload(m->type)) {
		if (m->payload_bytes)
			memcpy(b + VERBS_WIRE_HEADER, m->payload, m->payload_bytes);
		return (int)n;
	}
	octets_store(b + QUERY_AT, m->nonce, 8);
	octets_store(b + QUERY_AT + 8, m->key, 4);
	if (m->type == VERBS_WIRE_KEY_QUERY) {
		octets_store(b + PORT_AT, m->port, 2);
		return (int)n;
	}
	octets_store(b + COUNT_AT, m->n_keys, 1);
	for (unsigned i = 0; i < m->n_keys; i++) {
		uint8_t *at = b + KEYS_AT + (size_t)i * KEY_BYTES;

		octets_store(at, m->keys[i].plane, 1);
		octets_store(at + 1, m->keys[i].sub_port, 1);
		octets_store(at + 2, m->keys[i].rkey, 4);
	}
	return (int)n;
}

static int bad(const char **reason, size_t *at, const char *why, size_t where)
{
	*reason = why;
	*at = where;
	return -EBADMSG;
}

static int decode_keys(struct verbs_wire_message *out, const uint8_t *b, size_t length,
		       const char **reason, size_t *at)
{
	if (length < KEYS_AT)
		return bad(reason, at, "truncated", length);
	out->n_keys = (uint8_t)octets_load(b + COUNT_AT, 1);
	if (out->n_keys > VERBS_WIRE_MAX_KEYS)
		return bad(reason, at, "more keys than sub-ports", COUNT_AT);
	if (length != KEYS_AT + (size_t)out->n_keys * KEY_BYTES)
		return bad(reason, at, "length does not match the number of keys", COUNT_AT);
	for (unsigned i = 0; i < out->n_keys; i++) {
		size_t where = KEYS_AT + (size_t)i * KEY_BYTES;

		out->keys[i].plane = b[where];
		out->keys[i].sub_port = b[where + 1];
		out->keys[i].rkey = (uint32_t)octets_load(b + where + 2, 4);
		if (out->keys[i].plane >= FARE_MAX_PLANES ||
		    out->keys[i].sub_port >= FARE_MAX_SUB_PORTS)
			return bad(reason, at, "plane or sub-port out of range", where);
	}
	return 0;
}

int verbs_wire_decode(struct verbs_wire_message *out, const void *buf, size_t length,
		      const char **reason, size_t *at)
{
	const uint8_t *b = buf;

	memset(out, 0, sizeof(*out));
	if (length < VERBS_WIRE_HEADER)
		return bad(reason, at, "truncated", length);
	if (octets_load(b, 4) != MAGIC)
		return bad(reason, at, "not a control datagram", 0);
	if (b[4] != VERSION)
		return bad(reason, at, "unknown version", 4);
	out->type = (enum verbs_wire_type)b[5];
	if (has_payload(out->type)) {
		out->payload = b + VERBS_WIRE_HEADER;
		out->payload_bytes = length - VERBS_WIRE_HEADER;
		return 0;
	}
	if (out->type != VERBS_WIRE_KEY_QUERY && out->type != VERBS_WIRE_KEY_REPLY)
		return bad(reason, at, "unknown type", 5);
	if (length < PORT_AT)
		return bad(reason, at, "truncated", length);
	out->nonce = octets_load(b + QUERY_AT, 8);
	out->key = (uint32_t)octets_load(b + QUERY_AT + 8, 4);
	if (out->type == VERBS_WIRE_KEY_REPLY)
		return decode_keys(out, b, length, reason, at);
	if (length < QUERY_END)
		return bad(reason, at, "truncated", length);
	out->port = (uint16_t)octets_load(b + PORT_AT, 2);
	return length == QUERY_END ? 0 : bad(reason, at, "bytes after the end", QUERY_END);
}
