/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_atomic_wire.h"

#include <errno.h>
#include <string.h>

#include "base/octets.h"

uint32_t ofi_atomic_most(unsigned form, unsigned datatype)
{
	size_t each = ofi_atomic_size(datatype) * (form == OFI_ATOMIC_COMPARE ? 2 : 1);

	return (uint32_t)(OFI_ATOMIC_VALUES_MAX / each);
}

uint8_t *ofi_atomic_encode(const struct ofi_atomic *a, uint8_t *out)
{
	out = octets_store(out, a->address, 8);
	out = octets_store(out, a->key, 8);
	out = octets_store(out, a->count, 4);
	out = octets_store(out, a->form, 1);
	out = octets_store(out, a->datatype, 1);
	out = octets_store(out, a->op, 1);
	return octets_store(out, 0, 1);
}

int ofi_atomic_decode(const uint8_t *in, size_t bytes, uint64_t result_bytes,
		      struct ofi_atomic *out)
{
	struct octets o;
	uint64_t zero;

	memset(out, 0, sizeof(*out));
	octets_init(&o, in, bytes);
	out->address = octets_get(&o, 8);
	out->key = octets_get(&o, 8);
	out->count = (uint32_t)octets_get(&o, 4);
	out->form = (uint8_t)octets_get(&o, 1);
	out->datatype = (uint8_t)octets_get(&o, 1);
	out->op = (uint8_t)octets_get(&o, 1);
	zero = octets_get(&o, 1);
	if (o.failed || zero || !ofi_atomic_is_offered(out->form, out->datatype, out->op) ||
	    !out->count || out->count > ofi_atomic_most(out->form, out->datatype))
		return -EBADMSG;
	if (ofi_atomic_result_bytes(out) != result_bytes ||
	    o.left != ofi_atomic_operand_bytes(out) + ofi_atomic_compare_bytes(out))
		return -EBADMSG;
	out->operands = o.left ? o.p : NULL;
	out->compares = ofi_atomic_compare_bytes(out) ? o.p + ofi_atomic_operand_bytes(out) : NULL;
	return 0;
}
