/* SPDX-License-Identifier: BSD-2-Clause */
#include "ecn.h"

#include <linux/if_ether.h>
#include <unistd.h>

#include "bpf_insn.h"
#include "tcx.h"

#define NAME	    "farelab_ecn"
#define FIELD(name) ((int)offsetof(struct ecn_counters, name))

enum { NOW = R7, BOOK = R8, SEGMENTS = R9 };

uint64_t ecn_drain_ns(uint64_t bytes, unsigned rate_mbps)
{
	return bytes * 8000 / rate_mbps;
}

/* A time that fits an instruction's number: two seconds of queue are more than any shaper has. */
static int drain_ns(unsigned bytes, unsigned rate_mbps)
{
	uint64_t ns = ecn_drain_ns(bytes, rate_mbps);

	return ns > INT32_MAX ? INT32_MAX : (int)ns;
}

struct ecn_rule ecn_rule(const struct ecn_ramp *ramp)
{
	int min_ns = drain_ns(ramp->min_bytes, ramp->rate_mbps),
	    max_ns = drain_ns(ramp->max_bytes, ramp->rate_mbps);

	return (struct ecn_rule){.rate_mbps = ramp->rate_mbps,
				 .min_ns = min_ns,
				 .max_ns = max_ns,
				 .width_ns = max_ns > min_ns ? max_ns - min_ns : 1,
				 .most = (int)((int64_t)INT32_MAX * ramp->max_percent / 100)};
}

bool ecn_marks(const struct ecn_rule *rule, uint64_t queue_ns, uint32_t random)
{
	if (!queue_ns || queue_ns < (uint64_t)rule->min_ns)
		return false;
	/* above the ramp always; on it, if a random share of it is below its height here */
	return queue_ns >= (uint64_t)rule->max_ns ||
	       (uint64_t)(random >> 1) * (unsigned)rule->width_ns <
		       (queue_ns - (unsigned)rule->min_ns) * (unsigned)rule->most;
}

void ecn_program(struct bpf_code *out, int map, const struct ecn_ramp *ramp)
{
	const struct ecn_rule rule = ecn_rule(ramp);
	const struct bpf_insn program[] = {
		MOV(R6, R1),
		HELPER(BPF_FUNC_ktime_get_ns),
		MOV(NOW, R0),
		STORE_NUMBER(BPF_W, FP, -4, 0),
		MOV(R2, FP),
		ALU_NUMBER(BPF_ADD, R2, -4),
		LOAD_MAP(R1, map),
		HELPER(BPF_FUNC_map_lookup_elem),
		JUMP_NUM(BPF_JNE, R0, 0, 2), /* always: the verifier wants to see it */
		MOV_NUMBER(R0, TCX_NEXT),
		EXIT,
		MOV(BOOK, R0),
		/* the books of all that is sent */
		LOAD(BPF_W, SEGMENTS, R6, SKB(gso_segs)),
		JUMP_NUM(BPF_JNE, SEGMENTS, 0, 1),
		MOV_NUMBER(SEGMENTS, 1),
		LOAD(BPF_W, R3, R6, SKB(wire_len)),
		ATOMIC(BOOK, FIELD(packets), SEGMENTS, BPF_ADD),
		ATOMIC(BOOK, FIELD(bytes), R3, BPF_ADD),
		JUMP_NUM(BPF_JLT, R3, ECN_DATA_BYTES, 3),
		LOAD(BPF_DW, R1, BOOK, FIELD(first_ns)),
		JUMP_NUM(BPF_JNE, R1, 0, 1),
		STORE(BPF_DW, BOOK, FIELD(first_ns), NOW),
		/* a pause fills the bucket, and no more than that */
		MOV(R2, NOW),
		ALU_NUMBER(BPF_ADD, R2, -drain_ns(ramp->bucket_bytes, ramp->rate_mbps)),
		LOAD(BPF_DW, R0, BOOK, FIELD(queue_empty_ns)),
		JUMP_IF(BPF_JGE, R0, R2, 1),
		ATOMIC(BOOK, FIELD(queue_empty_ns), R2, BPF_CMPXCHG), /* if it still is R0 */
		/* what is ahead of this packet: time to drain */
		ALU_NUMBER(BPF_MUL, R3, 8000),
		ALU_NUMBER(BPF_DIV, R3, ramp->rate_mbps),
		ATOMIC(BOOK, FIELD(queue_empty_ns), R3, BPF_ADD | BPF_FETCH),
		JUMP_IF(BPF_JLE, R3, NOW, 58),
		ALU(BPF_SUB, R3, NOW),
		LOAD(BPF_DW, R1, BOOK, FIELD(queue_peak_ns)),
		JUMP_IF(BPF_JGE, R1, R3, 1),
		STORE(BPF_DW, BOOK, FIELD(queue_peak_ns), R3),
		JUMP_NUM(BPF_JLT, R3, rule.min_ns, 53),
		STORE(BPF_DW, FP, -16, R3),
		/* its sender does ECN: the class' last two bits, four bits further on in IPv6 */
		MOV(R1, R6),
		MOV_NUMBER(R2, ETH_HLEN),
		MOV(R3, FP),
		ALU_NUMBER(BPF_ADD, R3, -8),
		MOV_NUMBER(R4, 2),
		HELPER(BPF_FUNC_skb_load_bytes),
		JUMP_NUM(BPF_JNE, R0, 0, 45),
		LOAD(BPF_H, R1, FP, -8),
		INSN(BPF_ALU | BPF_END | BPF_TO_BE, R1, 0, 0, 16),
		MOV(R2, R1),
		ALU_NUMBER(BPF_RSH, R2, 12),
		JUMP_NUM(BPF_JEQ, R2, 4, 1),
		ALU_NUMBER(BPF_RSH, R1, 4),
		ALU_NUMBER(BPF_AND, R1, 3),
		JUMP_NUM(BPF_JEQ, R1, 0, 37),
		LOAD(BPF_DW, R3, FP, -16),
		/* which part of the ramp */
		MOV_NUMBER(R2, ECN_RAMP_PARTS),
		JUMP_NUM(BPF_JGE, R3, rule.max_ns, 4),
		MOV(R2, R3),
		ALU_NUMBER(BPF_SUB, R2, rule.min_ns),
		ALU_NUMBER(BPF_MUL, R2, ECN_RAMP_PARTS),
		ALU_NUMBER(BPF_DIV, R2, rule.width_ns),
		JUMP_NUM(BPF_JLE, R2, ECN_RAMP_PARTS, 1), /* always: for the verifier */
		MOV_NUMBER(R2, ECN_RAMP_PARTS),
		STORE(BPF_DW, FP, -32, R2),
		ALU_NUMBER(BPF_LSH, R2, 3),
		ALU(BPF_ADD, R2, BOOK),
		STORE(BPF_DW, FP, -24, R2),
		ATOMIC(R2, FIELD(ramp_packets), SEGMENTS, BPF_ADD),
		MOV(R1, SEGMENTS),
		ALU(BPF_MUL, R1, SEGMENTS),
		ATOMIC(R2, FIELD(ramp_squares), R1, BPF_ADD),
		/* above it always; on it, if a random share of it is below its height here */
		HELPER(BPF_FUNC_get_prandom_u32),
		LOAD(BPF_DW, R2, FP, -32),
		JUMP_NUM(BPF_JEQ, R2, ECN_RAMP_PARTS, 6),
		ALU32_NUMBER(BPF_RSH, R0, 1),
		ALU_NUMBER(BPF_MUL, R0, rule.width_ns),
		LOAD(BPF_DW, R1, FP, -16),
		ALU_NUMBER(BPF_SUB, R1, rule.min_ns),
		ALU_NUMBER(BPF_MUL, R1, rule.most),
		JUMP_IF(BPF_JGE, R0, R1, 11),
		MOV(R1, R6),
		HELPER(BPF_FUNC_skb_ecn_set_ce),
		JUMP_NUM(BPF_JEQ, R0, 0, 8),
		ATOMIC(BOOK, FIELD(marked), SEGMENTS, BPF_ADD),
		LOAD(BPF_DW, R2, FP, -24),
		ATOMIC(R2, FIELD(ramp_marked), SEGMENTS, BPF_ADD),
		LOAD(BPF_DW, R1, BOOK, FIELD(first_mark_ns)),
		JUMP_NUM(BPF_JNE, R1, 0, 3),
		STORE(BPF_DW, BOOK, FIELD(first_mark_ns), NOW),
		LOAD(BPF_DW, R1, FP, -16),
		STORE(BPF_DW, BOOK, FIELD(queue_at_first_mark_ns), R1),
		MOV_NUMBER(R0, TCX_NEXT),
		EXIT,
	};

	out->n = 0;
	bpf_code_put(out, program, sizeof(program) / sizeof(*program));
}

int ecn_detach(const char *dev)
{
	return tcx_detach(dev, TCX_EGRESS, NAME);
}

int ecn_attach(const char *dev, const struct ecn_ramp *ramp)
{
	int map = tcx_make_array(NAME, sizeof(struct ecn_counters), 1), program, rc;
	struct bpf_code code;

	if (map < 0)
		return map;
	ecn_program(&code, map, ramp);
	program = tcx_load(NAME, code.insn, code.n);
	close(map); /* the program holds it */
	if (program < 0)
		return program;
	rc = tcx_attach(dev, TCX_EGRESS, NAME, program);
	close(program); /* the device holds it */
	return rc;
}

int ecn_read(const char *dev, struct ecn_counters *out)
{
	int map = tcx_map(dev, TCX_EGRESS, NAME, 0), rc;

	if (map < 0)
		return map;
	rc = tcx_map_read(map, 0, out);
	close(map);
	return rc;
}
