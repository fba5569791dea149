/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/octets.h"

#define MAGIC	  0x46415642u /* "FAVB" */
#define VERSION	  1
#define KEY_BYTES 6

/* whose body is the sender's own, to the end */
static bool has_payload(enum verbs_wire_type type)
{
	return type == VERBS_WIRE_GROUP || type == VERBS_WIRE_AUTHENTICATED;
}

int verbs_wire_encode(const struct verbs_wire_message *m, void *buf, size_t size)
{
	struct octets_out o = {buf, size < VERBS_WIRE_MAX ? size : VERBS_WIRE_MAX, false};
	const size_t room = o.left;

	if (m->type < VERBS_WIRE_GROUP || m->type > VERBS_WIRE_AUTHENTICATED)
		return -EINVAL;
	octets_put(&o, MAGIC, 4);
	octets_put(&o, VERSION, 1);
	octets_put(&o, m->type, 1);
	octets_put(&o, 0, 2);
	if (has_payload(m->type)) {
		octets_put_bytes(&o, m->payload, m->payload_bytes);
	} else {
		octets_put(&o, m->nonce, 8);
		octets_put(&o, m->key, 4);
	}
	if (m->type == VERBS_WIRE_KEY_QUERY) {
		octets_put(&o, m->port, 2);
	} else if (m->type == VERBS_WIRE_KEY_REPLY) {
		o.failed |= m->n_keys > VERBS_WIRE_MAX_KEYS;
		octets_put(&o, m->n_keys, 1);
		for (unsigned i = 0; !o.failed && i < m->n_keys; i++) {
			octets_put(&o, m->keys[i].plane, 1);
			octets_put(&o, m->keys[i].sub_port, 1);
			octets_put(&o, m->keys[i].rkey, 4);
		}
	}
	return o.failed ? -EMSGSIZE : (int)(room - o.left);
}

/*
 * These give the reason why a message is malformed, at *at; NULL: it is not. Of fields that are not
 * there the caller sees o->failed.
 */
static const char *decode_keys(struct verbs_wire_message *out, struct octets *o, size_t *at)
{
	*at = o->offset;
	out->n_keys = (uint8_t)octets_get(o, 1);
	if (out->n_keys > VERBS_WIRE_MAX_KEYS)
		return "more keys than sub-ports";
	if (o->left != (size_t)out->n_keys * KEY_BYTES)
		return "length does not match the number of keys";
	for (unsigned i = 0; i < out->n_keys; i++) {
		struct verbs_wire_key *key = &out->keys[i];

		*at = o->offset;
		key->plane = (uint8_t)octets_get(o, 1);
		key->sub_port = (uint8_t)octets_get(o, 1);
		key->rkey = (uint32_t)octets_get(o, 4);
		if (key->plane >= FARE_MAX_PLANES || key->sub_port >= FARE_MAX_SUB_PORTS)
			return "plane or sub-port out of range";
	}
	return NULL;
}

static const char *decode(struct verbs_wire_message *out, struct octets *o, size_t *at)
{
	*at = o->offset;
	if (octets_get(o, 4) != MAGIC)
		return "not a control datagram";
	*at = o->offset;
	if (octets_get(o, 1) != VERSION)
		return "unknown version";
	*at = o->offset;
	out->type = (enum verbs_wire_type)octets_get(o, 1);
	octets_skip(o, 2);
	if (has_payload(out->type)) {
		out->payload_bytes = o->left;
		out->payload = octets_borrow(o, o->left);
		return NULL;
	}
	if (out->type != VERBS_WIRE_KEY_QUERY && out->type != VERBS_WIRE_KEY_REPLY)
		return "unknown type";
	out->nonce = octets_get(o, 8);
	out->key = (uint32_t)octets_get(o, 4);
	if (out->type == VERBS_WIRE_KEY_REPLY)
		return decode_keys(out, o, at);
	out->port = (uint16_t)octets_get(o, 2);
	*at = o->offset;
	return o->left ? "bytes after the end" : NULL;
}

int verbs_wire_decode(struct verbs_wire_message *out, const void *buf, size_t length,
		      const char **reason, size_t *at)
{
	struct octets o;

	memset(out, 0, sizeof(*out));
	octets_init(&o, buf, length);
	*reason = decode(out, &o, at);
	if (o.failed) { /* the reason may be of bytes that are not there */
		*reason = "truncated";
		*at = o.offset;
	}
	return *reason ? -EBADMSG : 0;
}
