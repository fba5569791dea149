/* links: bench_core; parses: bench/launch/agent_request.c bench/launch/hello.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rendezvous.h"
#include "launch/agent_request.h"
#include "launch/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct control_auth key = {.secret = "0123456789abcdef", .length = 16};
static const struct hello_challenge fixed = {{1}};

/* Whoever has not the key is let in by no message. */
static void try_hello(const json_t *message)
{
	struct hello_challenge got = fixed;
	enum hello_refusal why = HELLO_REFUSALS;

	if (hello_read_offer(message, &got, &why) && why >= HELLO_REFUSALS)
		abort();
	why = HELLO_REFUSALS;
	if (!hello_read_answer(message, &key, &fixed, &got, &why) || why >= HELLO_REFUSALS)
		abort();
	why = HELLO_REFUSALS;
	if (!hello_read_welcome(message, &key, &fixed, &fixed, &why) || why >= HELLO_REFUSALS)
		abort();
}

static void try_request(const json_t *message)
{
	static const struct inventory_host host = {.equal = "e", .bgp = "b", .n_faults = 3};
	struct agent_request request;
	const char *why = NULL;

	if (agent_request_read(message, &host, &request, &why)) {
		if (!why)
			abort();
		return;
	}
	if (request.fault >= host.n_faults && request.op == AGENT_FAULT)
		abort();
	if (strnlen(request.text, sizeof(request.text)) == sizeof(request.text))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rendezvous *r;
	json_t *message;

	if (rendezvous_create(&r, -1))
		return 0;
	rendezvous_limit(r, HELLO_MAX_LINE);
	if (!rendezvous_feed(r, data, size))
		while (rendezvous_next(r, &message) == 1) {
			try_hello(message);
			try_request(message);
			json_decref(message);
		}
	rendezvous_destroy(r);
	return 0;
}
