/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_kernel.h - what the kernel has, beside what fared wants it to have.
 *
 * Owns nothing. In: the reply to "kernel"; the kernel's routes in that table. Out: the same reply,
 * each row with the kernel's next hops and whether they are the same. Thread: any.
 */
#ifndef FARECTL_KERNEL_H
#define FARECTL_KERNEL_H

#include <jansson.h>

/*
 * To each row "kernel" (as its "hops") and "same"; to the reply "rule": whether one leads to the
 * table. 0 or -errno: the kernel cannot be asked.
 */
int farectl_kernel_compare(json_t *reply);
void farectl_kernel_print(const json_t *reply);

#endif
