/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic_op.h - atomic operations (fi_atomic(3)): which there are, what each does to memory,
 * and what it is in a record (pure).
 *
 * Owns nothing. In: libfabric's names of types and operations, operands as they are in memory. Out:
 * changed memory, and what was there before. An element is read and replaced as a whole, by the
 * CPU's compare-and-swap: a thread of the application whose own access is atomic sees it as it was
 * before or after. Several elements of one operation are several such steps. Any thread.
 */
#ifndef OFI_ATOMIC_OP_H
#define OFI_ATOMIC_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_atomic.h>

#include "ofi/ofi_wire.h"

/* fi_atomic(), fi_fetch_atomic(), fi_compare_atomic() and their kin */
enum ofi_atomic_form { OFI_ATOMIC_BASE, OFI_ATOMIC_FETCH, OFI_ATOMIC_COMPARE, OFI_ATOMIC_FORMS };

/* As of a peer or an application: nothing is checked before ofi_atomic_is_offered(). */
struct ofi_atomic {
	uint64_t address, key; /* as the application names them */
	uint32_t count;	       /* elements */
	uint8_t form, datatype, op;
	/* one behind the other, unaligned; NULL: the operation has none */
	const uint8_t *operands, *compares;
};

/* Bytes of an element; 0: no such type is offered. */
size_t ofi_atomic_size(unsigned datatype);
/* Whether that form of call has the operation for that type. */
bool ofi_atomic_is_offered(unsigned form, unsigned datatype, unsigned op);
/* Of one that is offered: bytes of the operands, of what they are compared with, of the result. */
uint64_t ofi_atomic_operand_bytes(const struct ofi_atomic *a);
uint64_t ofi_atomic_compare_bytes(const struct ofi_atomic *a);
uint64_t ofi_atomic_result_bytes(const struct ofi_atomic *a);
/* Whether it changes its target; it may be read-only otherwise. */
bool ofi_atomic_changes(const struct ofi_atomic *a);
/*
 * Does it, to a target that is aligned to the type's size. results: takes
 * ofi_atomic_result_bytes(), what was there before.
 */
void ofi_atomic_apply(const struct ofi_atomic *a, void *target, uint8_t *results);

/*
 * In a record: OFI_ATOMIC (ofi_wire.h) has one, whose cookie names the operation and whose status
 * is the bytes of the result. Behind the header, big-endian but for the values, which are as in
 * memory:
 *
 *   address (8) | key (8) | count (4) | form (1) | type (1) | operation (1) | 0 (1) |
 *   operands | what they are compared with
 *
 * OFI_RESULT answers it: status 0 and the result, or an errno and nothing.
 *
 * The peer is not trusted: ofi_atomic_decode() takes nothing that is not exactly this. Whether
 * there is such memory, and whether the peer may change it, is for the receiver to check.
 */
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
