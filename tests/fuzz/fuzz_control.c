/* links: fared_core; parses: fared/control_request.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* Control requests from an adversary: refused with a reason, or within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control_request.h"
#include "fare_limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_request request;
	char why[200] = "";
	int rc = control_request_parse((const char *)data, size, &request, why, sizeof(why));

	if (rc && !why[0])
		abort();
	if (!rc && (request.command >= CONTROL_COMMAND_COUNT || request.plane >= FARE_MAX_PLANES ||
		    !request.limit || request.limit > CONTROL_LIMIT_MAX ||
		    !memchr(request.name, '\0', sizeof(request.name))))
		abort();
	return 0;
}
