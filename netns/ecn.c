/* SPDX-License-Identifier: BSD-2-Clause */
/* ecn.c - see ecn.h */
#include "ecn.h"

#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.6; this header may be older. */
#define TCX_EGRESS 47
#define TCX_NEXT   (-1)

#define NAME "farelab_ecn"

static int call(int command, void *attributes, unsigned size)
{
	long rc = syscall(SYS_bpf, command, attributes, size);

	return rc < 0 ? -errno : (int)rc;
}

/* ---- the program --------------------------------------------------------- */

#define INSN(code_, dst, src, off_, imm_)                                                          \
	{                                                                                          \
		.code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (int16_t)(off_),       \
		.imm = (int32_t)(imm_)                                                             \
	}
#define MOV(dst, src)	      INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_NUMBER(dst, n)    INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, n)
#define ADD_NUMBER(dst, n)    INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, n)
#define SUB(dst, src)	      INSN(BPF_ALU64 | BPF_SUB | BPF_X, dst, src, 0, 0)
#define MUL_NUMBER(dst, n)    INSN(BPF_ALU64 | BPF_MUL | BPF_K, dst, 0, 0, n)
#define DIV_NUMBER(dst, n)    INSN(BPF_ALU64 | BPF_DIV | BPF_K, dst, 0, 0, n)
#define LOAD(size, d, s, off) INSN(BPF_LDX | BPF_MEM | (size), d, s, off, 0)
#define STORE(d, off, s)      INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, off, 0)
#define STORE_ZERO(d, off)    INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, off, 0)
#define ATOMIC(d, off, s, op) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, off, op)
#define JUMP_IF(op, d, s, n)  INSN(BPF_JMP | (op) | BPF_X, d, s, n, 0)
#define JUMP_NUM(op, d, k, n) INSN(BPF_JMP | (op) | BPF_K, d, 0, n, k)
#define HELPER(id)	      INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT		      INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define FIELD(name)	      ((int)offsetof(struct ecn_counters, name))
#define SKB(name)	      ((int)offsetof(struct __sk_buff, name))

enum { R0, R1, R2, R3, R4, R5, SKB_REG, NOW, BOOK, SEGMENTS, FP };

/* A time that fits an instruction's number: two seconds of queue are more than any shaper has. */
static int drain_ns(unsigned bytes, unsigned rate_mbps)
{
	uint64_t ns = (uint64_t)bytes * 8000 / rate_mbps;

	return ns > INT32_MAX ? INT32_MAX : (int)ns;
}

/* rate_mbps: not 0. */
static int load_program(int map, unsigned rate_mbps, unsigned bucket_bytes,
			unsigned threshold_bytes)
{
	const struct bpf_insn program[] = {
		MOV(SKB_REG, R1),
		HELPER(BPF_FUNC_ktime_get_ns),
		MOV(NOW, R0),
		STORE_ZERO(FP, -4),
		MOV(R2, FP),
		ADD_NUMBER(R2, -4),
		INSN(BPF_LD | BPF_IMM | BPF_DW, R1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		HELPER(BPF_FUNC_map_lookup_elem),
		JUMP_NUM(BPF_JNE, R0, 0, 2), /* always: the verifier wants to see it */
		MOV_NUMBER(R0, TCX_NEXT),
		EXIT,
		MOV(BOOK, R0),
		/* the books of all that is sent */
		LOAD(BPF_W, SEGMENTS, SKB_REG, SKB(gso_segs)),
		JUMP_NUM(BPF_JNE, SEGMENTS, 0, 1),
		MOV_NUMBER(SEGMENTS, 1),
		LOAD(BPF_W, R3, SKB_REG, SKB(wire_len)),
		ATOMIC(BOOK, FIELD(packets), SEGMENTS, BPF_ADD),
		ATOMIC(BOOK, FIELD(bytes), R3, BPF_ADD),
		JUMP_NUM(BPF_JLT, R3, ECN_DATA_BYTES, 3),
		LOAD(BPF_DW, R1, BOOK, FIELD(first_ns)),
		JUMP_NUM(BPF_JNE, R1, 0, 1),
		STORE(BOOK, FIELD(first_ns), NOW),
		/* a pause fills the bucket, and no more than that */
		MOV(R2, NOW),
		ADD_NUMBER(R2, -drain_ns(bucket_bytes, rate_mbps)),
		LOAD(BPF_DW, R0, BOOK, FIELD(queue_empty_ns)),
		JUMP_IF(BPF_JGE, R0, R2, 1),
		ATOMIC(BOOK, FIELD(queue_empty_ns), R2, BPF_CMPXCHG), /* if it still is R0 */
		/* what is ahead of this packet: time to drain */
		MUL_NUMBER(R3, 8000),
		DIV_NUMBER(R3, rate_mbps),
		ATOMIC(BOOK, FIELD(queue_empty_ns), R3, BPF_ADD | BPF_FETCH),
		JUMP_IF(BPF_JLE, R3, NOW, 12),
		SUB(R3, NOW),
		JUMP_NUM(BPF_JLT, R3, drain_ns(threshold_bytes, rate_mbps), 10),
		STORE(FP, -16, R3),
		MOV(R1, SKB_REG),
		HELPER(BPF_FUNC_skb_ecn_set_ce),
		JUMP_NUM(BPF_JEQ, R0, 0, 6),
		ATOMIC(BOOK, FIELD(marked), SEGMENTS, BPF_ADD),
		LOAD(BPF_DW, R1, BOOK, FIELD(first_mark_ns)),
		JUMP_NUM(BPF_JNE, R1, 0, 3),
		STORE(BOOK, FIELD(first_mark_ns), NOW),
		LOAD(BPF_DW, R1, FP, -16),
		STORE(BOOK, FIELD(queue_at_first_mark_ns), R1),
		MOV_NUMBER(R0, TCX_NEXT),
		EXIT,
	};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SCHED_CLS,
			    .insn_cnt = sizeof(program) / sizeof(*program),
			    .insns = (uintptr_t)program,
			    .license = (uintptr_t) "Dual BSD/GPL",
			    .prog_name = NAME};

	return call(BPF_PROG_LOAD, &a, sizeof(a));
}

static int make_map(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY,
			    .key_size = sizeof(uint32_t),
			    .value_size = sizeof(struct ecn_counters),
			    .max_entries = 1,
			    .map_name = NAME};

	return call(BPF_MAP_CREATE, &a, sizeof(a));
}

/* ---- where it is attached ------------------------------------------------ */

/* As the kernel has it since 6.6, for PROG_ATTACH and PROG_DETACH. */
struct attach {
	uint32_t ifindex, program, type, flags, replace, relative;
	uint64_t revision;
};

struct query {
	uint32_t ifindex, type, flags, attach_flags;
	uint64_t ids;
	uint32_t count, unused;
	uint64_t id_flags, link_ids, link_flags, revision;
};

static int open_id(int command, uint32_t id)
{
	union bpf_attr a = {.prog_id = id};

	return call(command, &a, sizeof(a));
}

/* Whether it is one of ours; *map is then the id of its counters. */
static bool ecn_is_ours(int program, uint32_t *map)
{
	struct bpf_prog_info info = {.nr_map_ids = 1, .map_ids = (uintptr_t)map};
	union bpf_attr a = {.info = {.bpf_fd = (uint32_t)program,
				     .info_len = sizeof(info),
				     .info = (uintptr_t)&info}};

	return !call(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) && !strcmp(info.name, NAME) &&
	       info.nr_map_ids == 1;
}

/* The program on dev, an open descriptor; -ENOENT. */
static int ecn_find(const char *dev, uint32_t *map)
{
	uint32_t ids[16];
	struct query q = {.ifindex = if_nametoindex(dev),
			  .type = TCX_EGRESS,
			  .ids = (uintptr_t)ids,
			  .count = sizeof(ids) / sizeof(*ids)};
	int rc = q.ifindex ? call(BPF_PROG_QUERY, &q, sizeof(q)) : -ENODEV;

	for (uint32_t i = 0; !rc && i < q.count; i++) {
		int program = open_id(BPF_PROG_GET_FD_BY_ID, ids[i]);

		if (program >= 0 && ecn_is_ours(program, map))
			return program;
		if (program >= 0)
			close(program);
	}
	return rc ? rc : -ENOENT;
}

int ecn_detach(const char *dev)
{
	uint32_t map;
	int program = ecn_find(dev, &map), rc;
	struct attach a = {
		.ifindex = if_nametoindex(dev), .program = (uint32_t)program, .type = TCX_EGRESS};

	if (program < 0)
		return program == -ENOENT || program == -EINVAL ? 0 : program;
	rc = call(BPF_PROG_DETACH, &a, sizeof(a));
	close(program);
	return rc;
}

int ecn_attach(const char *dev, unsigned rate_mbps, unsigned bucket_bytes, unsigned threshold_bytes)
{
	struct attach a = {.ifindex = if_nametoindex(dev), .type = TCX_EGRESS};
	int map, program, rc = ecn_detach(dev);

	if (rc || !a.ifindex)
		return rc ? rc : -ENODEV;
	map = make_map();
	if (map < 0)
		return map;
	program = load_program(map, rate_mbps, bucket_bytes, threshold_bytes);
	close(map); /* the program holds it */
	if (program < 0)
		return program;
	a.program = (uint32_t)program;
	rc = call(BPF_PROG_ATTACH, &a, sizeof(a));
	close(program); /* the device holds it */
	return rc == -EINVAL ? -EOPNOTSUPP : rc;
}

int ecn_read(const char *dev, struct ecn_counters *out)
{
	uint32_t id, key = 0;
	int program = ecn_find(dev, &id), map, rc;
	union bpf_attr a = {.key = (uintptr_t)&key, .value = (uintptr_t)out};

	if (program < 0)
		return program;
	close(program);
	map = open_id(BPF_MAP_GET_FD_BY_ID, id);
	if (map < 0)
		return map;
	a.map_fd = (uint32_t)map;
	rc = call(BPF_MAP_LOOKUP_ELEM, &a, sizeof(a));
	close(map);
	return rc;
}
