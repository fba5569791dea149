/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/hello.h"

#include <errno.h>
#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#define PROOF_BYTES SHA256_DIGEST_SIZE

static const struct {
	const char *name, *text;
} hello_refusals[HELLO_REFUSALS] = {
	[HELLO_KEY] = {"key", "the keys differ: both ends need the same --key file"},
	[HELLO_VERSIONS] = {"version",
			    "it is another version of farebench: install the same on all hosts"},
	[HELLO_MESSAGE] = {"message", "it does not speak as farebench does"},
};

static json_t *hello_hex(const uint8_t *bytes, size_t n)
{
	char text[2 * PROOF_BYTES];

	base16_encode_update(text, n, bytes);
	return json_stringn(text, BASE16_ENCODE_LENGTH(n));
}

/* Exactly n bytes. */
static int hello_bytes(const json_t *message, const char *name, uint8_t *out, size_t n)
{
	const json_t *value = json_object_get(message, name);
	struct base16_decode_ctx ctx;
	size_t got = n;

	if (json_string_length(value) != BASE16_ENCODE_LENGTH(n))
		return -EBADMSG;
	base16_decode_init(&ctx);
	if (!base16_decode_update(&ctx, &got, out, json_string_length(value),
				  json_string_value(value)) ||
	    !base16_decode_final(&ctx) || got != n)
		return -EBADMSG;
	return 0;
}

static void hello_proof(const struct control_auth *key, const char *role,
			const struct hello_challenge *coordinator,
			const struct hello_challenge *agent, uint8_t out[PROOF_BYTES])
{
	const uint8_t version = HELLO_VERSION;
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key->length, key->secret);
	hmac_sha256_update(&ctx, strlen(role) + 1, (const uint8_t *)role);
	hmac_sha256_update(&ctx, 1, &version);
	hmac_sha256_update(&ctx, HELLO_CHALLENGE, coordinator->bytes);
	hmac_sha256_update(&ctx, HELLO_CHALLENGE, agent->bytes);
	hmac_sha256_digest(&ctx, PROOF_BYTES, out);
}

json_t *hello_offer(const struct hello_challenge *coordinator)
{
	return json_pack("{s:i, s:o}", "farebench", HELLO_VERSION, "challenge",
			 hello_hex(coordinator->bytes, HELLO_CHALLENGE));
}

json_t *hello_answer(const struct control_auth *key, const struct hello_challenge *coordinator,
		     const struct hello_challenge *agent)
{
	uint8_t proof[PROOF_BYTES];

	hello_proof(key, "agent", coordinator, agent, proof);
	return json_pack("{s:i, s:o, s:o}", "farebench", HELLO_VERSION, "challenge",
			 hello_hex(agent->bytes, HELLO_CHALLENGE), "proof",
			 hello_hex(proof, PROOF_BYTES));
}

json_t *hello_welcome(const struct control_auth *key, const struct hello_challenge *coordinator,
		      const struct hello_challenge *agent)
{
	uint8_t proof[PROOF_BYTES];

	hello_proof(key, "coordinator", coordinator, agent, proof);
	return json_pack("{s:o}", "proof", hello_hex(proof, PROOF_BYTES));
}

json_t *hello_refuse(enum hello_refusal why)
{
	return json_pack("{s:s}", "refused", hello_refusals[why].name);
}

static int hello_no(enum hello_refusal *why, enum hello_refusal is)
{
	*why = is;
	return -EACCES;
}

/* Another version may look different in all else: so this is read first. */
static int hello_version(const json_t *message, enum hello_refusal *why)
{
	const json_t *version = json_object_get(message, "farebench");

	if (!json_is_integer(version))
		return hello_no(why, HELLO_MESSAGE);
	return json_integer_value(version) == HELLO_VERSION ? 0 : hello_no(why, HELLO_VERSIONS);
}

static int hello_check(const json_t *message, const struct control_auth *key, const char *role,
		       const struct hello_challenge *coordinator,
		       const struct hello_challenge *agent, enum hello_refusal *why)
{
	uint8_t want[PROOF_BYTES], have[PROOF_BYTES];

	if (hello_bytes(message, "proof", have, PROOF_BYTES))
		return hello_no(why, HELLO_MESSAGE);
	hello_proof(key, role, coordinator, agent, want);
	return memeql_sec(want, have, PROOF_BYTES) ? 0 : hello_no(why, HELLO_KEY);
}

int hello_read_offer(const json_t *message, struct hello_challenge *coordinator,
		     enum hello_refusal *why)
{
	struct hello_challenge got;
	int err = hello_version(message, why);

	if (!err && hello_bytes(message, "challenge", got.bytes, HELLO_CHALLENGE))
		err = hello_no(why, HELLO_MESSAGE);
	if (!err)
		*coordinator = got;
	return err;
}

int hello_read_answer(const json_t *message, const struct control_auth *key,
		      const struct hello_challenge *coordinator, struct hello_challenge *agent,
		      enum hello_refusal *why)
{
	struct hello_challenge got;
	int err = hello_read_offer(message, &got, why);

	if (err)
		return err;
	err = hello_check(message, key, "agent", coordinator, &got, why);
	if (!err)
		*agent = got;
	return err;
}

int hello_read_welcome(const json_t *message, const struct control_auth *key,
		       const struct hello_challenge *coordinator,
		       const struct hello_challenge *agent, enum hello_refusal *why)
{
	const char *refused = json_string_value(json_object_get(message, "refused"));

	for (unsigned i = 0; refused && i < HELLO_REFUSALS; i++)
		if (strcmp(refused, hello_refusals[i].name) == 0)
			return hello_no(why, (enum hello_refusal)i);
	return hello_check(message, key, "coordinator", coordinator, agent, why);
}

const char *hello_refusal_text(enum hello_refusal why)
{
	return hello_refusals[why].text;
}
