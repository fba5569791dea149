/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/group_paths.h"

void group_paths_limit_mtu(struct group_paths *paths, uint32_t mtu)
{
	if (mtu >= paths->path_mtu)
		return;
	paths->path_mtu = mtu;
	paths->mtu_changes = UINT64_MAX; /* sub-ports may carry that */
}

/* A plane carries less without its sub-ports that are narrow. */
static void leave_out_narrow(struct group_paths *paths)
{
	const struct qp_mtus *mtus = paths->ep->info->mtus;

	for (unsigned p = 0; mtus && p < paths->now.n_planes; p++) {
		struct fare_path *path = &paths->now.path[p];
		uint32_t live = path->live_sub_ports, narrow = 0;

		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			narrow |= (uint32_t)(mtus->payload[p][s] < paths->path_mtu) << s;
		paths->narrow[p] = narrow;
		if (live & narrow)
			path->usable_bps = path->usable_bps *
					   (unsigned)__builtin_popcount(live & ~narrow) /
					   (unsigned)__builtin_popcount(live);
	}
	paths->mtu_changes = mtus ? mtus->changes : 0;
}

bool group_paths_changed(const struct group_paths *paths)
{
	const struct qp_mtus *mtus = paths->ep->info->mtus;

	return fare_pair_generation(paths->pair) != paths->generation ||
	       (mtus && mtus->changes != paths->mtu_changes);
}

bool group_paths_refresh(struct group_paths *paths)
{
	struct fare_paths now;

	if (!group_paths_changed(paths) || fare_pair_paths(paths->pair, &now))
		return false;
	paths->generation = now.generation;
	paths->now = now;
	leave_out_narrow(paths);
	return true;
}

bool group_paths_usable(const struct group_paths *paths, unsigned lane)
{
	bool any = paths->is_own_server;

	if (!paths->is_routed)
		return paths->now.path[lane].usable_bps > 0 && paths->now.path[lane].live_sub_ports;
	for (unsigned p = 0; p < paths->now.n_planes; p++)
		any |= paths->now.path[p].usable_bps > 0;
	return any;
}

uint32_t group_paths_sub_ports(const struct group_paths *paths, unsigned plane)
{
	uint32_t live = paths->now.path[plane].live_sub_ports, fit = live & ~paths->narrow[plane];

	return fit ? fit : live; /* of a plane without any, control messages are all that leaves */
}

uint16_t group_paths_sub_port(const struct group_paths *paths, unsigned plane, unsigned i)
{
	uint32_t live = group_paths_sub_ports(paths, plane);
	unsigned n = (unsigned)__builtin_popcount(live);

	if (!n)
		return 0;
	for (i %= n; i; i--)
		live &= live - 1;
	return (uint16_t)__builtin_ctz(live);
}

bool group_paths_narrow(const struct group_paths *paths, unsigned plane)
{
	uint32_t live = paths->now.path[plane].live_sub_ports;

	return live && !(live & ~paths->narrow[plane]);
}
