/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf_insn.h"
#include "netns.h"
#include "tcx.h"
#include "wire/roce_ports.h"

#define NAME	 "farebench_peers"
#define GPU_MAX	 200 /* four instructions each */
#define IP_BYTES ((int)sizeof(struct iphdr))

/* Adds the number of the GPU that has the address, so many times, to R9; none has: not counted. */
static void peers_find(struct bpf_code *c, const struct topo *topo, unsigned n, int address,
		       unsigned times)
{
	for (unsigned gpu = 0; gpu < n; gpu++) {
		struct in_addr at = {0};

		inet_pton(AF_INET, topo->gpus[gpu].ipv4, &at);
		PUT(c, MOV_NUMBER(R8, (int)(gpu * times)),
		    INSN(BPF_JMP32 | BPF_JEQ | BPF_K, address, 0, 2 * (n - 1 - gpu) + 2,
			 at.s_addr));
	}
	PUT(c, MOV_NUMBER(R0, TCX_NEXT), EXIT, ALU(BPF_ADD, R9, R8));
}

/*
 * A packet's wire length is added to the cell of the GPUs that it comes from and goes to. fared's
 * probes are left out: on a machine that is busy they are a tenth of what a job sends.
 */
static int peers_load(int map, const struct topo *topo, unsigned n)
{
	struct bpf_code *c = calloc(1, sizeof(*c));
	unsigned other;
	int program;

	if (!c)
		return -ENOMEM;
	PUT(c, MOV(R6, R1), LOAD(BPF_W, R7, R6, SKB(protocol)));
	other = bpf_code_jump(c, BPF_JEQ, R7, htons(ETH_P_IP));
	PUT(c, MOV_NUMBER(R0, TCX_NEXT), EXIT);
	bpf_code_land(c, other);
	/* the whole header: its last two words are the addresses */
	PUT(c, MOV(R1, R6), MOV_NUMBER(R2, ETH_HLEN), MOV(R3, FP),
	    ALU_NUMBER(BPF_ADD, R3, -IP_BYTES), MOV_NUMBER(R4, IP_BYTES),
	    HELPER(BPF_FUNC_skb_load_bytes),
	    LOAD(BPF_B, R7, FP, (int)offsetof(struct iphdr, tos) - IP_BYTES),
	    ALU_NUMBER(BPF_RSH, R7, 2));
	other = bpf_code_jump(c, BPF_JNE, R7, FARE_PROBE_DSCP);
	PUT(c, MOV_NUMBER(R0, TCX_NEXT), EXIT);
	bpf_code_land(c, other);
	PUT(c, MOV_NUMBER(R9, 0), LOAD(BPF_W, R7, FP, -8));
	peers_find(c, topo, n, R7, n);
	PUT(c, LOAD(BPF_W, R7, FP, -4));
	peers_find(c, topo, n, R7, 1);
	PUT(c, STORE(BPF_W, FP, -4, R9), MOV(R2, FP), ALU_NUMBER(BPF_ADD, R2, -4),
	    LOAD_MAP(R1, map), HELPER(BPF_FUNC_map_lookup_elem), JUMP_NUM(BPF_JEQ, R0, 0, 2),
	    LOAD(BPF_W, R3, R6, SKB(wire_len)), ATOMIC(R0, 0, R3, BPF_ADD),
	    MOV_NUMBER(R0, TCX_NEXT), EXIT);
	program = tcx_load(NAME, c->insn, c->n);
	free(c);
	return program;
}

/* Attaches that program to all sub-ports of all servers; < 0: takes away what is there. */
static int peers_attach(const struct topo *topo, int program)
{
	int err = 0;

	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++) {
		const struct topo_gpu *g = &topo->gpus[gpu];
		int home;

		err = netns_enter(topo->servers[g->server].netns, &home);
		if (err)
			break;
		for (unsigned p = 0; p < topo->n_planes; p++)
			for (unsigned s = 0; !err && s < g->plane[p].n_sub_ports; s++) {
				const char *dev = g->plane[p].sub_port[s].dev;

				err = program < 0 ? tcx_detach(dev, TCX_EGRESS, NAME)
						  : tcx_attach(dev, TCX_EGRESS, NAME, program);
			}
		netns_leave(home);
	}
	return err;
}

int peers_begin(struct peers *peers, const struct topo *topo, unsigned n)
{
	int program, err;

	*peers = (struct peers){.n = 0};
	if (n > GPU_MAX || n > topo->n_gpus)
		return -E2BIG;
	peers->map = tcx_make_array(NAME, sizeof(uint64_t), n * n);
	if (peers->map < 0)
		return peers->map;
	peers->n = n;
	program = peers_load(peers->map, topo, n);
	err = program < 0 ? program : peers_attach(topo, program);
	if (program >= 0)
		close(program); /* the devices hold it */
	if (err)
		peers_end(peers, topo);
	return err;
}

int peers_read(const struct peers *peers, double *cells)
{
	int err = 0;

	for (unsigned i = 0; !err && i < peers->n * peers->n; i++) {
		uint64_t bytes;

		err = tcx_map_read(peers->map, i, &bytes);
		cells[i] = (double)bytes;
	}
	return err;
}

void peers_end(struct peers *peers, const struct topo *topo)
{
	if (!peers->n)
		return;
	peers_attach(topo, -1);
	close(peers->map);
	*peers = (struct peers){.n = 0};
}
