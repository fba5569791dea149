/* links: health; parses: health/notice_wire.c health/sbfd_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "notice_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted comes out of the encoder as it went in; trailers are read within bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct notice_keys keys = {{"0123456789abcdef", 16}, {"fedcba9876543210", 16}};
	static const struct notice_ends ends;
	uint8_t again[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t, back;
	struct sbfd_wire_error error;
	struct sbfd_packet p;
	size_t n;

	if (sbfd_wire_decode(data, size, &p, &error))
		return 0;
	sbfd_wire_encode(&p, again);
	again[1] |= data[1] & 0x08;  /* "control plane independent" is not kept, */
	if (memcmp(again, data, 20)) /* nor the echo interval */
		abort();
	if (notice_wire_decode(data, size, &keys, &ends, &t, &error))
		return 0;
	n = notice_wire_encode(&t, &keys.own, &ends, again);
	if (n > sizeof(again) || notice_wire_decode(again, n, &keys, &ends, &back, &error) ||
	    back.has_stamp != t.has_stamp || back.has_capacity != t.has_capacity ||
	    memcmp(&back.capacity, &t.capacity, sizeof(t.capacity)) ||
	    back.stamp.nonce != t.stamp.nonce || back.has_received != t.has_received ||
	    back.has_receiver != t.has_receiver || back.receiver != t.receiver ||
	    back.has_report != t.has_report || memcmp(&back.report, &t.report, sizeof(t.report)))
		abort();
	return 0;
}
