/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf_run.h - the kernel runs a program once (BPF_PROG_TEST_RUN), on a packet that the test made.
 *
 * What a program asks the kernel for, the time and chance, the test says instead: one instruction
 * stands in for another, and the packet's mark brings a number.
 */
#ifndef BPF_RUN_H
#define BPF_RUN_H

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_insn.h"

static inline void bpf_run_replace(struct bpf_code *c, struct bpf_insn what, struct bpf_insn by)
{
	unsigned found = 0;

	for (unsigned i = 0; i < c->n; i++)
		if (!memcmp(&c->insn[i], &what, sizeof(what))) {
			c->insn[i] = by;
			found++;
		}
	ck_assert_uint_eq(found, 1);
}

/* What it returned; the packet is then as the program left it. */
static inline int bpf_run(int program, void *packet, unsigned size, uint32_t mark)
{
	struct __sk_buff skb = {.mark = mark};
	union bpf_attr a;

	memset(&a, 0, sizeof(a)); /* the kernel refuses what is set beyond the fields it knows */
	a.test.prog_fd = (uint32_t)program;
	a.test.data_in = a.test.data_out = (uintptr_t)packet;
	a.test.data_size_in = a.test.data_size_out = size;
	a.test.ctx_in = (uintptr_t)&skb;
	a.test.ctx_size_in = sizeof(skb);
	ck_assert_msg(!syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a)), "%s", strerror(errno));
	return (int)a.test.retval;
}

#endif
