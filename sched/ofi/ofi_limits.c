/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_limits.h"

#include "ofi/ofi_cookies.h"

#define LENIENCE 2

static bool wants_answer(const struct ofi_wire *w)
{
	return w->kind == OFI_RTS || w->kind == OFI_FIND || w->kind == OFI_ATOMIC ||
	       (w->kind == OFI_EAGER && w->flags & OFI_WIRE_ACK);
}

bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length)
{
	uint64_t cost = ofi_wire_cost(w->kind, length);

	if (cost && l->bytes + cost > LENIENCE * ofi_wire_room(w->kind, window_bytes))
		return false;
	if (wants_answer(w) && l->due >= OFI_COOKIES_MAX)
		return false;
	l->bytes += cost;
	l->due += wants_answer(w);
	return true;
}

void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes)
{
	l->bytes -= bytes < l->bytes ? bytes : l->bytes;
}

void ofi_limits_answered(struct ofi_limits *l)
{
	l->due -= l->due > 0;
}
