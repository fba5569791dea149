/* SPDX-License-Identifier: BSD-2-Clause */
#include "pfc_program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <unistd.h>

#include "bpf_insn.h"
#include "roce_ports.h"
#include "tcx.h"

#define NAME	    "farelab_pfc"
#define FIELD(name) ((int)offsetof(struct pfc_slot, name))

enum { KEY = -4, TOS = -8, RECORD = -16 }; /* the stack */

/* Which port the packet counts for goes into KEY, its slot into R7; the jumps that it does not. */
struct pfc_jumps {
	unsigned uncounted, no_slot;
};

/* tc_index is the slot, and 1: 0 is a packet that no port counts. */
static struct pfc_jumps load_slot(struct bpf_code *c, int slots)
{
	struct pfc_jumps out;

	PUT(c, MOV(R6, R1), LOAD(BPF_W, R1, R6, SKB(tc_index)));
	out.uncounted = bpf_code_jump(c, BPF_JEQ, R1, 0);
	PUT(c, ALU_NUMBER(BPF_SUB, R1, 1), STORE(BPF_W, FP, KEY, R1), MOV(R2, FP),
	    ALU_NUMBER(BPF_ADD, R2, KEY), LOAD_MAP(R1, slots), HELPER(BPF_FUNC_map_lookup_elem));
	out.no_slot = bpf_code_jump(c, BPF_JEQ, R0, 0);
	PUT(c, MOV(R7, R0), LOAD(BPF_W, R8, R6, SKB(len)));
	return out;
}

/* The agent looks at all slots whenever something is there. */
static void wake_agent(struct bpf_code *c, int ring)
{
	PUT(c, STORE_NUMBER(BPF_DW, FP, RECORD, 0), MOV(R2, FP), ALU_NUMBER(BPF_ADD, R2, RECORD),
	    LOAD_MAP(R1, ring), MOV_NUMBER(R3, 8), MOV_NUMBER(R4, BPF_RB_FORCE_WAKEUP),
	    HELPER(BPF_FUNC_ringbuf_output));
}

/* What came in by another switch's port has left that switch. */
static void subtract(struct bpf_code *c, const struct pfc_maps *maps)
{
	struct pfc_jumps jumps = load_slot(c, maps->slots);
	unsigned above, sends;

	PUT(c, MOV_NUMBER(R1, 1), ATOMIC(R7, FIELD(left), R1, BPF_ADD), MOV(R1, R8),
	    ALU_NUMBER(BPF_NEG, R1, 0), ATOMIC(R7, FIELD(bytes), R1, BPF_ADD | BPF_FETCH),
	    ALU(BPF_SUB, R1, R8), LOAD(BPF_DW, R2, R7, FIELD(xon_bytes)), ALU(BPF_SUB, R1, R2));
	above = bpf_code_jump(c, BPF_JSGT, R1, 0);
	PUT(c, MOV_NUMBER(R1, 0), ATOMIC(R7, FIELD(xoff), R1, BPF_XCHG));
	sends = bpf_code_jump(c, BPF_JEQ, R1, 0);
	wake_agent(c, maps->ring);
	bpf_code_land(c, jumps.uncounted);
	bpf_code_land(c, jumps.no_slot);
	bpf_code_land(c, above);
	bpf_code_land(c, sends);
}

/* A port counts data: IP, but network control where that has a queue of its own. */
static void number_packet(struct bpf_code *c, unsigned slot, bool has_band)
{
	unsigned v4, other, shorter, control;

	PUT(c, MOV_NUMBER(R7, 0), LOAD(BPF_W, R8, R6, SKB(protocol)));
	v4 = bpf_code_jump(c, BPF_JEQ, R8, htons(ETH_P_IP));
	other = bpf_code_jump(c, BPF_JNE, R8, htons(ETH_P_IPV6));
	bpf_code_land(c, v4);
	PUT(c, MOV(R1, R6), MOV_NUMBER(R2, ETH_HLEN), MOV(R3, FP), ALU_NUMBER(BPF_ADD, R3, TOS),
	    MOV_NUMBER(R4, 2), HELPER(BPF_FUNC_skb_load_bytes));
	shorter = bpf_code_jump(c, BPF_JNE, R0, 0);
	PUT(c, LOAD(BPF_H, R1, FP, TOS), INSN(BPF_ALU | BPF_END | BPF_TO_BE, R1, 0, 0, 16),
	    JUMP_NUM(BPF_JEQ, R8, htons(ETH_P_IP), 1),
	    ALU_NUMBER(BPF_RSH, R1, 4), /* 4 bits of version, 8 of class */
	    ALU_NUMBER(BPF_AND, R1, 0xfc));
	control = bpf_code_jump(c, BPF_JEQ, R1, has_band ? FARE_PROBE_DSCP << 2 : 0x100);
	PUT(c, MOV_NUMBER(R7, slot + 1));
	bpf_code_land(c, other);
	bpf_code_land(c, shorter);
	bpf_code_land(c, control);
	PUT(c, STORE(BPF_W, R6, SKB(tc_index), R7));
}

void pfc_program_ingress(struct bpf_code *c, unsigned slot, bool is_switch,
			 const struct topology *t, const struct pfc_maps *maps)
{
	c->n = 0;
	subtract(c, maps);
	if (is_switch)
		number_packet(c, slot, t->priority_band);
	PUT(c, MOV_NUMBER(R0, TCX_NEXT), EXIT);
}

void pfc_program_egress(struct bpf_code *c, const struct pfc_maps *maps)
{
	unsigned fits, dropped, below, asked;
	struct pfc_jumps jumps;

	c->n = 0;
	jumps = load_slot(c, maps->slots);
	PUT(c, LOAD(BPF_DW, R9, R7, FIELD(bytes)), ALU(BPF_ADD, R9, R8),
	    LOAD(BPF_DW, R1, R7, FIELD(limit_bytes)), ALU(BPF_SUB, R1, R9));
	fits = bpf_code_jump(c, BPF_JSGE, R1, 0);
	PUT(c, MOV_NUMBER(R1, 1), ATOMIC(R7, FIELD(drops), R1, BPF_ADD), MOV_NUMBER(R6, TCX_DROP));
	dropped = bpf_code_jump(c, BPF_JA, 0, 0);
	bpf_code_land(c, fits);
	PUT(c, ATOMIC(R7, FIELD(bytes), R8, BPF_ADD), LOAD(BPF_DW, R1, R7, FIELD(peak)),
	    JUMP_IF(BPF_JSGE, R1, R9, 1), STORE(BPF_DW, R7, FIELD(peak), R9),
	    MOV_NUMBER(R6, TCX_NEXT));
	bpf_code_land(c, dropped); /* without headroom that is how XOFF is reached */
	PUT(c, LOAD(BPF_DW, R1, R7, FIELD(xoff_bytes)), ALU(BPF_SUB, R9, R1));
	below = bpf_code_jump(c, BPF_JSLT, R9, 0);
	PUT(c, MOV_NUMBER(R1, 1), ATOMIC(R7, FIELD(xoff), R1, BPF_XCHG));
	asked = bpf_code_jump(c, BPF_JNE, R1, 0);
	PUT(c, HELPER(BPF_FUNC_ktime_get_ns), STORE(BPF_DW, R7, FIELD(xoff_ns), R0));
	wake_agent(c, maps->ring);
	bpf_code_land(c, below);
	bpf_code_land(c, asked);
	PUT(c, MOV(R0, R6), EXIT);
	bpf_code_land(c, jumps.uncounted);
	bpf_code_land(c, jumps.no_slot);
	PUT(c, MOV_NUMBER(R0, TCX_NEXT), EXIT);
}

/* ---- maps and ports -------------------------------------------------------- */

int pfc_maps_create(unsigned n_slots, struct pfc_maps *out)
{
	out->slots = tcx_make_shared_array(NAME, sizeof(struct pfc_slot), n_slots);
	out->ring = out->slots < 0 ? out->slots : tcx_make_ring(NAME, PFC_PROGRAM_RING_BYTES);
	if (out->ring >= 0)
		return 0;
	pfc_maps_close(out);
	return out->ring;
}

int pfc_maps_open(const char *dev, struct pfc_maps *out)
{
	out->slots = tcx_map(dev, TCX_INGRESS, NAME, 0);
	out->ring = out->slots < 0 ? out->slots : tcx_map(dev, TCX_INGRESS, NAME, 1);
	if (out->ring >= 0)
		return 0;
	pfc_maps_close(out);
	return out->ring;
}

void pfc_maps_close(struct pfc_maps *maps)
{
	if (maps->slots >= 0)
		close(maps->slots);
	if (maps->ring >= 0)
		close(maps->ring);
}

static int attach(const char *dev, enum tcx_hook hook, const struct bpf_code *c)
{
	int program = tcx_load(NAME, c->insn, c->n);
	int rc = program < 0 ? program : tcx_attach(dev, hook, NAME, program);

	if (program >= 0)
		close(program);
	return rc;
}

int pfc_program_attach(const char *dev, unsigned slot, bool is_switch, const struct topology *t,
		       const struct pfc_maps *maps)
{
	struct bpf_code c;
	int rc;

	pfc_program_ingress(&c, slot, is_switch, t, maps);
	rc = attach(dev, TCX_INGRESS, &c);
	if (rc || !is_switch)
		return rc;
	pfc_program_egress(&c, maps);
	return attach(dev, TCX_EGRESS, &c);
}
