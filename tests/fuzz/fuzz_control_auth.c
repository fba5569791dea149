/* links: sched; parses: sched/qp/control_auth.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "qp/control_auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Nothing opens by chance, and no length leads past the end; what is sealed opens to the same
 * bytes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct in6_addr from, to = {.s6_addr = {1}};
	uint8_t buf[1024];
	struct control_auth auth;
	const uint8_t *message;
	size_t n;

	if (control_auth_load(&auth, NULL, 5))
		abort();
	if (!control_auth_verify(&auth, &from, &to, data, size, &message, &n) &&
	    (message < data || n > size || message + n > data + size))
		abort();
	if (size > sizeof(buf) - CONTROL_AUTH_BYTES)
		return 0;
	memcpy(buf + CONTROL_AUTH_BYTES, data, size);
	control_auth_sign(&auth, &from, &to, buf, size);
	if (control_auth_verify(&auth, &from, &to, buf, CONTROL_AUTH_BYTES + size, &message, &n) ||
	    n != size || memcmp(message, data, size))
		abort();
	return 0;
}
