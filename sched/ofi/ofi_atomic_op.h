/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic_op.h - atomic operations (fi_atomic(3)): which there are, and what each does to memory
 * (pure).
 *
 * Owns nothing. In: libfabric's names of types and operations, operands as they are in memory.
 * Out: changed memory, and what was there before. An element is read and replaced as a whole, by
 * the CPU's compare-and-swap: a thread of the application whose own access is atomic sees it as it
 * was before or after. Several elements of one operation are several such steps. Any thread.
 */
#ifndef OFI_ATOMIC_OP_H
#define OFI_ATOMIC_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_atomic.h>

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

#endif
