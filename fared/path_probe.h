/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_probe.h - what the prober says of a path, as the path table takes it; for the daemon and the
 * simulation alike.
 */
#ifndef PATH_PROBE_H
#define PATH_PROBE_H

#include "path_table.h"
#include "prober.h"

static inline struct path_probe path_probe_of(const struct prober_view *view)
{
	return (struct path_probe){
		.judged = true,
		.answered = view->state == PROBE_UP || view->state == PROBE_RECOVERING,
		.silent = view->state == PROBE_UNPROVEN || view->state == PROBE_DOWN,
		.permille = view->permille,
		.reason = view->reason,
		.gray_local = view->gray_local,
		.gray_remote = view->gray_remote,
		.returning_local = view->returning_local,
		.n_remote = view->n_remote,
		.small_local = view->small_local,
		.small_remote = view->small_remote,
		.crossed = view->crossed,
		.mtu_is_small = view->mtu_is_small,
		.mtu_wanted = (uint16_t)view->mtu_wanted,
		.mtu_carried = (uint16_t)view->mtu_carried,
	};
}

#endif
