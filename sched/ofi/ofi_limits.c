/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_limits.h"

#include "ofi/ofi_cookies.h"

static bool wants_answer(const struct ofi_wire *w)
{
	return w->kind == OFI_RTS || w->kind == OFI_FIND ||
	       (w->kind == OFI_EAGER && w->flags & OFI_WIRE_ACK);
}

bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length)
{
	uint64_t window = (uint64_t)window_bytes * (l->is_relinked ? 2 : 1);
	uint64_t bytes = w->kind == OFI_EAGER ? l->eager_bytes + ofi_eager_cost(length) : 0;

	if (bytes > window || (wants_answer(w) && l->due >= OFI_COOKIES_MAX))
		return false;
	if (w->kind == OFI_EAGER)
		l->eager_bytes = bytes;
	l->due += wants_answer(w);
	return true;
}

void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes)
{
	l->eager_bytes -= bytes < l->eager_bytes ? bytes : l->eager_bytes;
}

void ofi_limits_answered(struct ofi_limits *l)
{
	l->due -= l->due > 0;
}

void ofi_limits_relinked(struct ofi_limits *l)
{
	l->is_relinked = true;
}
