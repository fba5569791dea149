/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic_wire.h - what an atomic operation is in a record (pure).
 *
 * OFI_ATOMIC (ofi_wire.h) has one record, whose cookie names the operation and whose status is the
 * bytes of the result. Behind the header, big-endian but for the values, which are as in memory:
 *
 *   address (8) | key (8) | count (4) | form (1) | type (1) | operation (1) | 0 (1) |
 *   operands | what they are compared with
 *
 * OFI_RESULT answers it: status 0 and the result, or an errno and nothing.
 *
 * The peer is not trusted: ofi_atomic_decode() takes nothing that is not exactly this. Whether
 * there is such memory, and whether the peer may change it, is for the receiver to check.
 */
#ifndef OFI_ATOMIC_WIRE_H
#define OFI_ATOMIC_WIRE_H

#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi_wire.h"

#define OFI_ATOMIC_BYTES 24u
/* operands and what they are compared with: of all operations of one record */
#define OFI_ATOMIC_VALUES_MAX (OFI_RECORD_MAX - OFI_ATOMIC_BYTES)

/* Elements that one operation may have; it is offered. */
uint32_t ofi_atomic_most(unsigned form, unsigned datatype);
/* Writes OFI_ATOMIC_BYTES, and returns where the operands go. */
uint8_t *ofi_atomic_encode(const struct ofi_atomic *a, uint8_t *out);
/* result_bytes: as the header says. 0 or -EBADMSG. */
int ofi_atomic_decode(const uint8_t *in, size_t bytes, uint64_t result_bytes,
		      struct ofi_atomic *out);

#endif
