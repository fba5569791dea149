/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_profile.h - the planes' weights of one pair as the entries of an EV profile of a NIC that
 * sprays by itself (OCP MRC; docs/mrc.md).
 *
 * Solely owns: which plane each entry is for, as the device has it. In: usable bandwidth by plane.
 * Out: calls of struct mrc_device, which stands for a vendor's controller interface. Pure: no
 * clock, no socket.
 */
#ifndef MRC_PROFILE_H
#define MRC_PROFILE_H

#include <stdint.h>

#include "fare_limits.h"

#define MRC_PROFILE_MAX_ENTRIES 65536

/* An entropy value: a path of the fabric, from a port of the NIC. All zero: none. */
struct mrc_ev {
	uint32_t value;
	uint8_t port;
};

enum mrc_ev_state {
	MRC_EV_GOOD,
	MRC_EV_DENIED, /* the device sends nothing by it */
	MRC_EV_UNSURE  /* of a plane's: the device refused in the middle */
};

/* 0 or -errno. */
struct mrc_device {
	void *arg;
	/* One entry that has from has to instead, and is good. */
	int (*replace)(void *arg, struct mrc_ev from, struct mrc_ev to);
	/* Of all entries that have it. */
	int (*set_state)(void *arg, struct mrc_ev ev, enum mrc_ev_state state);
};

struct mrc_plane {
	const struct mrc_ev *evs; /* the plane's paths toward the peer, different from all others */
	uint32_t n_evs;		  /* at least 1 */
	uint32_t copies; /* entries of this plane: ev k has one more than ev k + 1, or as many */
	enum mrc_ev_state state;
};

struct mrc_profile {
	struct mrc_device device;
	uint32_t n_entries, n_planes;
	struct mrc_plane planes[FARE_MAX_PLANES];
};

/*
 * Fills the device's n_entries empty entries with all planes alike, good. planes: evs and n_evs are
 * read, evs borrowed for the life of the profile. 0; -EINVAL: no plane, no entry or too many; or
 * what the device says, and then the profile is of no use.
 */
int mrc_profile_init(struct mrc_profile *profile, const struct mrc_device *device,
		     uint32_t n_entries, const struct mrc_plane *planes, uint32_t n_planes);
/*
 * Makes the entries follow the weights, with the fewest calls: a plane without bandwidth is denied
 * and keeps its entries, up to one plane's part; the others share the rest by largest remainder. In
 * this order: planes are denied, entries move, planes become good. 0, or what the device said
 * first; the next call goes on from there.
 */
int mrc_profile_update(struct mrc_profile *profile, const uint64_t usable_bps[]);

#endif
