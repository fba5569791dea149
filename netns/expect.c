/* SPDX-License-Identifier: BSD-2-Clause */
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

/*
 * Spines by which one leaf reaches another: with their links to both, or in another pod to a
 * superspine and by the spine that this one joins there.
 */
static struct expect_range spines_between(const struct fault_state *f, struct plan_host from,
					  struct plan_host to)
{
	const struct topology *t = f->topology;
	bool pods = plan_pod(t, from) != plan_pod(t, to);
	struct expect_range r = {0, 0};

	for (unsigned spine = 0; spine < topology_pod_spines(t); spine++) {
		unsigned links[] = {plan_uplink_number(t, from.index, spine),
				    plan_uplink_number(t, to.index, spine), 0, 0},
			 live = 0, whole = 0, n = pods ? 4 : 2;

		for (unsigned i = 0; pods && i < 2; i++) {
			struct plan_link up;

			plan_link_ends(t, links[i], &up);
			links[2 + i] = plan_spine_uplink(t, up.far.index);
		}
		for (unsigned i = 0; i < n; i++) {
			live += fault_state_live(f, links[i]);
			whole += fault_state_live(f, links[i]) && !fault_state_gray(f, links[i]);
		}
		r.most += live == n;
		r.least += whole == n;
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
