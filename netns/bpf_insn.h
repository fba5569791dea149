/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf_insn.h - BPF instructions by name, for programs that are written out in C (ecn.c,
 * lb_program.c, pfc_program.c), at once or piece by piece.
 *
 * Owns nothing. Registers: R0 is a helper's result, R1 to R5 its arguments, lost by the call; R6 to
 * R9 last.
 */
#ifndef BPF_INSN_H
#define BPF_INSN_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

#define INSN(code_, dst, src, off_, imm_)                                                          \
	{                                                                                          \
		.code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (int16_t)(off_),       \
		.imm = (int32_t)(imm_)                                                             \
	}
#define MOV(dst, src)		      INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_NUMBER(dst, n)	      INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, n)
#define ALU(op, dst, src)	      INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define ALU_NUMBER(op, d, n)	      INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, n)
#define ALU32(op, dst, src)	      INSN(BPF_ALU | (op) | BPF_X, dst, src, 0, 0)
#define ALU32_NUMBER(op, d, n)	      INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, n)
#define LOAD(size, d, s, off)	      INSN(BPF_LDX | BPF_MEM | (size), d, s, off, 0)
#define STORE(size, d, o, s)	      INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define STORE_NUMBER(size, d, off, n) INSN(BPF_ST | BPF_MEM | (size), d, 0, off, n)
#define ATOMIC(d, off, s, op)	      INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, off, op)
#define JUMP_IF(op, d, s, n)	      INSN(BPF_JMP | (op) | BPF_X, d, s, n, 0)
#define JUMP_NUM(op, d, k, n)	      INSN(BPF_JMP | (op) | BPF_K, d, 0, n, k)
#define HELPER(id)		      INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT			      INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LOAD_MAP(dst, fd)                                                                          \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define SKB(name) ((int)offsetof(struct __sk_buff, name))

/* A program as it grows. */
struct bpf_code {
	struct bpf_insn insn[1024];
	unsigned n;
};

static inline void bpf_code_put(struct bpf_code *c, const struct bpf_insn *insn, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		c->insn[c->n++] = insn[i];
}

#define PUT(c, ...)                                                                                \
	bpf_code_put(c, (const struct bpf_insn[]){__VA_ARGS__},                                    \
		     sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

/* A jump to what is put after bpf_code_land(). */
static inline unsigned bpf_code_jump(struct bpf_code *c, int op, int reg, int number)
{
	PUT(c, JUMP_NUM(op, reg, number, 0));
	return c->n - 1;
}

static inline void bpf_code_land(struct bpf_code *c, unsigned jump)
{
	c->insn[jump].off = (int16_t)(c->n - jump - 1);
}

#endif
