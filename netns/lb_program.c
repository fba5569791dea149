/* SPDX-License-Identifier: BSD-2-Clause */
#include "lb_program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "bpf_insn.h"
#include "roce_ports.h"
#include "tcx.h"

#define CHOICES 4 /* next hops that adaptive compares, drawn at random */

#define GO_ON MOV_NUMBER(R0, TCX_NEXT), EXIT

/* Where things are in one family's packets; offsets from the IP header on. */
struct family {
	int ether_type, af;
	int ttl, protocol, addresses, address_bytes, ports;
};

static const struct family families[] = {
	{ETH_P_IP, AF_INET, 8, 9, 12, 4, 20},
	{ETH_P_IPV6, AF_INET6, 7, 6, 8, 16, 40},
};

/* The stack: copies of the headers, what bpf_fib_lookup() takes and gives, and the best of those.
 */
enum { LOOKUP = -64, HEADERS = -128, KEY = -132, QPN = -136, BEST = -160, TTL = -168 };
#define FIELD(name) (LOOKUP + (int)offsetof(struct bpf_fib_lookup, name))

/* ---- pieces -------------------------------------------------------------- */

/* Up to the ports; what is shorter goes on. */
static void load_headers(struct bpf_code *c, const struct family *f)
{
	PUT(c, MOV(R1, R6), MOV_NUMBER(R2, ETH_HLEN), MOV(R3, FP), ALU_NUMBER(BPF_ADD, R3, HEADERS),
	    MOV_NUMBER(R4, f->ports + 4), HELPER(BPF_FUNC_skb_load_bytes),
	    JUMP_NUM(BPF_JEQ, R0, 0, 2), GO_ON);
}

static void scramble(struct bpf_code *c, uint32_t factor, int shift)
{
	PUT(c, ALU32_NUMBER(BPF_MUL, R7, factor), MOV(R1, R7), ALU_NUMBER(BPF_RSH, R1, shift),
	    ALU32(BPF_XOR, R7, R1));
}

/* R7 is mixed with R1, both of 32 bits. */
static void mix(struct bpf_code *c)
{
	PUT(c, ALU32(BPF_XOR, R7, R1));
	scramble(c, 0x9e3779b1, 15);
}

/* The destination QP of a RoCEv2 packet. */
static void mix_qpn(struct bpf_code *c, const struct family *f)
{
	PUT(c, LOAD(BPF_H, R1, FP, HEADERS + f->ports + 2),
	    JUMP_NUM(BPF_JNE, R1, htons(ROCE_UDP_PORT), 15), MOV(R1, R6),
	    MOV_NUMBER(R2, ETH_HLEN + f->ports + 8 + 4), MOV(R3, FP), ALU_NUMBER(BPF_ADD, R3, QPN),
	    MOV_NUMBER(R4, 4), HELPER(BPF_FUNC_skb_load_bytes), JUMP_NUM(BPF_JEQ, R0, 0, 2), GO_ON,
	    LOAD(BPF_W, R1, FP, QPN));
	mix(c);
}

/* R7: a hash of the 5-tuple, and of the QP if wanted. */
static void hash(struct bpf_code *c, const struct family *f, uint32_t seed, bool qpn)
{
	int count = 2 * f->address_bytes / 4;

	PUT(c, ALU32_NUMBER(BPF_MOV, R7, seed), LOAD(BPF_B, R1, FP, HEADERS + f->protocol));
	mix(c);
	for (int i = 0; i <= count; i++) {
		int at = i < count ? f->addresses + 4 * i : f->ports;

		PUT(c, LOAD(BPF_W, R1, FP, HEADERS + at));
		mix(c);
	}
	if (qpn)
		mix_qpn(c, f);
	/* multipath goes by the highest bits: each bit of the input has to reach them */
	scramble(c, 0x85ebca6b, 13);
	scramble(c, 0xc2b2ae35, 16);
}

/* R0: the slot whose number is in the low bits of R7. */
static void find_slot(struct bpf_code *c, int map)
{
	PUT(c, ALU32_NUMBER(BPF_AND, R7, LB_PROGRAM_SLOTS - 1), STORE(BPF_W, FP, KEY, R7),
	    MOV(R2, FP), ALU_NUMBER(BPF_ADD, R2, KEY), LOAD_MAP(R1, map),
	    HELPER(BPF_FUNC_map_lookup_elem), JUMP_NUM(BPF_JNE, R0, 0, 2), GO_ON);
}

/* ---- modes --------------------------------------------------------------- */

/* R7: a flow that paused for gap_us gets another hash, at random. */
static void flowlet(struct bpf_code *c, const struct family *f, const struct topology_lb *lb,
		    int map)
{
	hash(c, f, lb->seed, false);
	find_slot(c, map);
	PUT(c, MOV(R9, R0), HELPER(BPF_FUNC_ktime_get_ns), MOV(R8, R0),
	    LOAD(BPF_DW, R1, R9, offsetof(struct lb_program_slot, time_ns)),
	    STORE(BPF_DW, R9, offsetof(struct lb_program_slot, time_ns), R8), ALU(BPF_SUB, R8, R1),
	    MOV_NUMBER(R1, (int)lb->gap_us), ALU_NUMBER(BPF_MUL, R1, 1000),
	    JUMP_IF(BPF_JLT, R8, R1, 2), HELPER(BPF_FUNC_get_prandom_u32),
	    STORE(BPF_DW, R9, offsetof(struct lb_program_slot, value), R0),
	    LOAD(BPF_DW, R7, R9, offsetof(struct lb_program_slot, value)));
}

static void fill_lookup(struct bpf_code *c, const struct family *f)
{
	for (unsigned i = 0; i < sizeof(struct bpf_fib_lookup) / 8; i++)
		PUT(c, STORE_NUMBER(BPF_DW, FP, LOOKUP + 8 * (int)i, 0));
	PUT(c, STORE_NUMBER(BPF_B, FP, FIELD(family), f->af),
	    STORE_NUMBER(BPF_B, FP, FIELD(l4_protocol), IPPROTO_UDP),
	    HELPER(BPF_FUNC_get_prandom_u32), STORE(BPF_H, FP, FIELD(sport), R0),
	    LOAD(BPF_W, R1, R6, SKB(ifindex)), STORE(BPF_W, FP, FIELD(ifindex), R1));
	for (int i = 0; i < f->address_bytes; i += 4)
		PUT(c, LOAD(BPF_W, R1, FP, HEADERS + f->addresses + i),
		    STORE(BPF_W, FP, FIELD(ipv6_src) + i, R1),
		    LOAD(BPF_W, R1, FP, HEADERS + f->addresses + f->address_bytes + i),
		    STORE(BPF_W, FP, FIELD(ipv6_dst) + i, R1));
}

/*
 * A next hop by a random port: R8 is what its queue takes to drain, in ns, and R9 its slot, if that
 * is less than before. Without a route, or a neighbour, the packet goes on.
 */
static void try_one(struct bpf_code *c, const struct family *f, int map, bool first)
{
	fill_lookup(c, f);
	PUT(c, MOV(R1, R6), MOV(R2, FP), ALU_NUMBER(BPF_ADD, R2, LOOKUP),
	    MOV_NUMBER(R3, sizeof(struct bpf_fib_lookup)), MOV_NUMBER(R4, 0),
	    HELPER(BPF_FUNC_fib_lookup), JUMP_NUM(BPF_JEQ, R0, 0, 2), GO_ON,
	    LOAD(BPF_W, R7, FP, FIELD(ifindex)));
	find_slot(c, map);
	PUT(c, MOV(R7, R0), HELPER(BPF_FUNC_ktime_get_ns),
	    LOAD(BPF_DW, R1, R7, offsetof(struct lb_program_slot, time_ns)),
	    JUMP_IF(BPF_JGT, R1, R0, 1), MOV(R1, R0), ALU(BPF_SUB, R1, R0));
	if (!first)
		PUT(c, JUMP_IF(BPF_JGE, R1, R8, 10));
	PUT(c, MOV(R8, R1), MOV(R9, R7), LOAD(BPF_W, R1, FP, FIELD(smac)),
	    STORE(BPF_W, FP, BEST, R1), LOAD(BPF_W, R1, FP, FIELD(smac) + 4),
	    STORE(BPF_W, FP, BEST + 4, R1), LOAD(BPF_W, R1, FP, FIELD(smac) + 8),
	    STORE(BPF_W, FP, BEST + 8, R1), LOAD(BPF_W, R1, FP, FIELD(ifindex)),
	    STORE(BPF_W, FP, BEST + 12, R1));
}

static void store_bytes(struct bpf_code *c, int offset, int from, int n)
{
	PUT(c, MOV(R1, R6), MOV_NUMBER(R2, offset), MOV(R3, FP), ALU_NUMBER(BPF_ADD, R3, from),
	    MOV_NUMBER(R4, n), MOV_NUMBER(R5, 0), HELPER(BPF_FUNC_skb_store_bytes));
}

/* What the kernel does to a packet that it forwards. */
static void forward(struct bpf_code *c, const struct family *f)
{
	PUT(c, LOAD(BPF_B, R1, FP, HEADERS + f->ttl), JUMP_NUM(BPF_JGT, R1, 1, 2), GO_ON,
	    ALU_NUMBER(BPF_SUB, R1, 1), STORE(BPF_B, FP, TTL, R1));
	if (f->af == AF_INET)
		PUT(c, MOV(R1, R6), MOV_NUMBER(R2, ETH_HLEN + 10),
		    LOAD(BPF_H, R3, FP, HEADERS + f->ttl), MOV(R4, R3),
		    ALU_NUMBER(BPF_SUB, R4, htons(0x100)), MOV_NUMBER(R5, 2),
		    HELPER(BPF_FUNC_l3_csum_replace));
	store_bytes(c, ETH_HLEN + f->ttl, TTL, 1);
	store_bytes(c, 0, BEST + ETH_ALEN, ETH_ALEN);
	store_bytes(c, ETH_ALEN, BEST, ETH_ALEN);
	PUT(c, LOAD(BPF_W, R1, FP, BEST + 12), MOV_NUMBER(R2, 0), HELPER(BPF_FUNC_redirect));
}

/* What goes on is sprayed. */
static void adaptive(struct bpf_code *c, const struct family *f, int map)
{
	for (unsigned i = 0; i < CHOICES; i++)
		try_one(c, f, map, i == 0);
	/* this packet is then in that queue */
	PUT(c, HELPER(BPF_FUNC_ktime_get_ns),
	    LOAD(BPF_DW, R1, R9, offsetof(struct lb_program_slot, time_ns)),
	    JUMP_IF(BPF_JGT, R1, R0, 1),
	    STORE(BPF_DW, R9, offsetof(struct lb_program_slot, time_ns), R0),
	    LOAD(BPF_W, R1, R6, SKB(wire_len)), ALU_NUMBER(BPF_MUL, R1, 8000),
	    LOAD(BPF_DW, R2, R9, offsetof(struct lb_program_slot, value)), ALU(BPF_DIV, R1, R2),
	    ATOMIC(R9, offsetof(struct lb_program_slot, time_ns), R1, BPF_ADD));
	forward(c, f);
}

/* Of a packet of that family; R0 is the verdict. */
static void choose(struct bpf_code *c, const struct family *f, const struct topology_lb *lb,
		   int map)
{
	if (lb->mode == TOPOLOGY_LB_SPRAY || lb->mode == TOPOLOGY_LB_ADAPTIVE) {
		PUT(c, HELPER(BPF_FUNC_get_prandom_u32), MOV(R7, R0));
	} else {
		load_headers(c, f);
		if (lb->mode == TOPOLOGY_LB_FLOWLET)
			flowlet(c, f, lb, map);
		else
			hash(c, f, lb->seed, lb->mode == TOPOLOGY_LB_BTH);
	}
	PUT(c, MOV(R1, R6), MOV(R2, R7), HELPER(BPF_FUNC_set_hash), MOV_NUMBER(R0, TCX_NEXT));
	if (lb->mode == TOPOLOGY_LB_ADAPTIVE) {
		load_headers(c, f);
		adaptive(c, f, map);
	}
}

int lb_program_load(const char *name, const struct topology_lb *lb, int map)
{
	struct bpf_code c = {.n = 0};

	PUT(&c, MOV(R6, R1));
	if (lb->mode == TOPOLOGY_LB_KERNEL) /* not by a hash that another switch set */
		PUT(&c, HELPER(BPF_FUNC_set_hash_invalid));
	for (unsigned i = 0; lb->mode != TOPOLOGY_LB_KERNEL && i < 2; i++) {
		unsigned jump;

		PUT(&c, LOAD(BPF_W, R1, R6, SKB(protocol)));
		jump = bpf_code_jump(&c, BPF_JNE, R1, htons((uint16_t)families[i].ether_type));
		choose(&c, &families[i], lb, map);
		PUT(&c, EXIT);
		bpf_code_land(&c, jump);
	}
	PUT(&c, GO_ON);
	return tcx_load(name, c.insn, c.n);
}
