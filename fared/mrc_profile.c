/* SPDX-License-Identifier: BSD-2-Clause */
/* mrc_profile.c - see mrc_profile.h */
#include "mrc_profile.h"

#include <errno.h>

/* The entry that a plane gets next. */
static struct mrc_ev next_ev(const struct mrc_plane *plane)
{
	return plane->evs[plane->copies % plane->n_evs];
}

/* The entry that a plane got last. */
static struct mrc_ev last_ev(const struct mrc_plane *plane)
{
	return plane->evs[(plane->copies - 1) % plane->n_evs];
}

static int mrc_profile_set_state(struct mrc_profile *profile, struct mrc_plane *plane,
				 enum mrc_ev_state state)
{
	const struct mrc_device *device = &profile->device;

	plane->state = MRC_EV_UNSURE;
	for (uint32_t i = 0; i < plane->n_evs && i < plane->copies; i++) {
		int err = device->set_state(device->arg, plane->evs[i], state);

		if (err)
			return err;
	}
	plane->state = state;
	return 0;
}

int mrc_profile_init(struct mrc_profile *profile, const struct mrc_device *device,
		     uint32_t n_entries, const struct mrc_plane *planes, uint32_t n_planes)
{
	static const struct mrc_ev empty = {0};

	if (!n_planes || n_planes > FARE_MAX_PLANES || !n_entries ||
	    n_entries > MRC_PROFILE_MAX_ENTRIES)
		return -EINVAL;
	*profile = (struct mrc_profile){
		.device = *device, .n_entries = n_entries, .n_planes = n_planes};
	for (uint32_t p = 0; p < n_planes; p++) {
		if (!planes[p].n_evs)
			return -EINVAL;
		profile->planes[p].evs = planes[p].evs;
		profile->planes[p].n_evs = planes[p].n_evs;
	}
	for (uint32_t i = 0; i < n_entries; i++) {
		struct mrc_plane *plane = &profile->planes[i % n_planes];
		int err = device->replace(device->arg, empty, next_ev(plane));

		if (err)
			return err;
		plane->copies++;
	}
	return 0;
}

/* ---- shares ---------------------------------------------------------------- */

struct share {
	uint32_t copies;
	unsigned __int128 remainder; /* of the division by the sum of the weights */
};

/* The plane that has the most left over, the first of equal ones, gets one more. */
static void give_one(struct share *shares, uint32_t n_planes)
{
	struct share *most = &shares[0];

	for (uint32_t p = 1; p < n_planes; p++)
		if (shares[p].remainder > most->remainder)
			most = &shares[p];
	most->copies++;
	most->remainder = 0;
}

/*
 * Largest remainder (Hamilton), of what planes without bandwidth do not keep. Such a plane keeps
 * what it has, so that nothing moves when it goes and comes back, but no more than one plane's part
 * of all: the others always have entries.
 */
static void apportion(const struct mrc_profile *profile, const uint64_t usable_bps[],
		      struct share shares[FARE_MAX_PLANES])
{
	uint32_t most_kept = profile->n_entries / profile->n_planes, n = profile->n_entries, left;
	unsigned __int128 sum = 0;

	for (uint32_t p = 0; p < profile->n_planes; p++) {
		uint32_t has = profile->planes[p].copies;

		shares[p] = (struct share){.copies = has < most_kept ? has : most_kept};
		sum += usable_bps[p];
		if (!usable_bps[p])
			n -= shares[p].copies;
	}
	left = n;
	for (uint32_t p = 0; p < profile->n_planes; p++) {
		unsigned __int128 part = (unsigned __int128)n * usable_bps[p];

		if (!usable_bps[p])
			continue;
		shares[p] =
			(struct share){.copies = (uint32_t)(part / sum), .remainder = part % sum};
		left -= shares[p].copies;
	}
	for (; sum && left; left--)
		give_one(shares, profile->n_planes);
}

/* ---- changes ---------------------------------------------------------------- */

static int move_entries(struct mrc_profile *profile, const struct share shares[FARE_MAX_PLANES])
{
	const struct mrc_device *device = &profile->device;
	uint32_t from = 0, to = 0;

	for (;;) {
		struct mrc_plane *giver, *taker;
		int err;

		while (from < profile->n_planes &&
		       profile->planes[from].copies <= shares[from].copies)
			from++;
		while (to < profile->n_planes && profile->planes[to].copies >= shares[to].copies)
			to++;
		if (from == profile->n_planes || to == profile->n_planes)
			return 0;
		giver = &profile->planes[from];
		taker = &profile->planes[to];
		err = device->replace(device->arg, last_ev(giver), next_ev(taker));
		if (err)
			return err;
		giver->copies--;
		taker->copies++;
		if (taker->state == MRC_EV_DENIED)
			taker->state = MRC_EV_UNSURE; /* the new entry is good */
	}
}

int mrc_profile_update(struct mrc_profile *profile, const uint64_t usable_bps[])
{
	struct share shares[FARE_MAX_PLANES];
	int err = 0;

	/* first of all traffic leaves a plane that is down */
	for (uint32_t p = 0; p < profile->n_planes && !err; p++)
		if (!usable_bps[p] && profile->planes[p].state != MRC_EV_DENIED)
			err = mrc_profile_set_state(profile, &profile->planes[p], MRC_EV_DENIED);
	apportion(profile, usable_bps, shares);
	if (!err)
		err = move_entries(profile, shares);
	/* last, or a plane that comes back small would carry all its former entries for a moment */
	for (uint32_t p = 0; p < profile->n_planes && !err; p++)
		if (usable_bps[p] && profile->planes[p].state != MRC_EV_GOOD)
			err = mrc_profile_set_state(profile, &profile->planes[p], MRC_EV_GOOD);
	return err;
}
