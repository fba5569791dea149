/* SPDX-License-Identifier: BSD-2-Clause */
/* expect.c - see expect.h */
#include "expect.h"

#include "config.h"

/* Adds what a link is worth. */
static void expect_add(struct expect_range *r, const struct fault_state *f, unsigned link,
		       unsigned units)
{
	if (!fault_state_live(f, link))
		return;
	r->most += units;
	r->least += fault_state_gray(f, link) ? 0 : units;
}

struct expect_range expect_sub_links(const struct fault_state *f, struct plan_gpu gpu,
				     unsigned plane)
{
	unsigned first = plan_link_number(f->topology, gpu, plane, 0);
	struct expect_range r = {0, 0};

	for (unsigned sub = 0; sub < f->topology->sub_ports; sub++)
		expect_add(&r, f, first + sub, 1);
	return r;
}

/* Spines that lead from one leaf to another. */
static struct expect_range spines_between(const struct fault_state *f, struct plan_host from,
					  struct plan_host to)
{
	struct expect_range r = {0, 0};

	for (unsigned spine = 0; spine < f->topology->spines_per_plane; spine++) {
		unsigned up = plan_uplink_number(f->topology, from.index, spine),
			 down = plan_uplink_number(f->topology, to.index, spine);

		if (fault_state_live(f, up) && !fault_state_gray(f, up))
			expect_add(&r, f, down, 1);
		else if (fault_state_live(f, up) && fault_state_live(f, down))
			r.most++;
	}
	return r;
}

struct expect_range expect_announced(const struct fault_state *f, unsigned server,
				     struct plan_gpu peer, unsigned plane)
{
	const struct topology *t = f->topology;
	struct plan_host here = plan_leaf_of(t, server, plane),
			 there = plan_leaf_of(t, peer.server, plane);
	unsigned first = plan_link_number(t, peer, plane, 0);
	struct expect_range r = {0, 0}, links, spines;

	if (here.index == there.index) {
		for (unsigned sub = 0; sub < t->sub_ports; sub++)
			expect_add(&r, f, first + sub,
				   config_link_units(t, f->announced_mbps[first + sub]));
		return r;
	}
	links = expect_sub_links(f, peer, plane);
	spines = spines_between(f, here, there);
	return (struct expect_range){links.least * spines.least, links.most * spines.most};
}
