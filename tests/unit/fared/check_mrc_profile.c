/* SPDX-License-Identifier: BSD-2-Clause */
/* Weights as entries of a device's EV profile. The device is a model that keeps entries. */
#include "mrc_profile.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fare_verdict.h"
#include "sink.h"

#define G	 UINT64_C(1000000000)
#define ENTRIES	 256
#define PLANES	 4
#define EVS	 3 /* of a plane, at most */
#define NO_LIMIT UINT32_MAX

/* What the device has, and in which order it was asked. */
static struct {
	struct mrc_ev ev[ENTRIES];
	bool denied[ENTRIES];
	uint32_t n, replaced, calls, fails_after;
	char order[4096]; /* d: denied, r: replaced, g: good */
} device;

static struct mrc_profile profile;
static const struct mrc_ev evs[PLANES][EVS] = {
	{{10, 1}, {11, 1}, {12, 1}}, {{20, 2}, {21, 2}}, {{30, 3}}, {{40, 4}, {41, 4}, {42, 4}}};
static const struct mrc_plane planes[PLANES] = {{.evs = evs[0], .n_evs = 3},
						{.evs = evs[1], .n_evs = 2},
						{.evs = evs[2], .n_evs = 1},
						{.evs = evs[3], .n_evs = 3}};

static bool is_same(struct mrc_ev a, struct mrc_ev b)
{
	return a.value == b.value && a.port == b.port;
}

static int call(char kind)
{
	size_t n = strlen(device.order);

	if (device.calls >= device.fails_after)
		return -EIO;
	device.calls++;
	if (n + 1 < sizeof(device.order))
		device.order[n] = kind;
	return 0;
}

static int replace(void *arg, struct mrc_ev from, struct mrc_ev to)
{
	int err = call('r');

	(void)arg;
	for (uint32_t i = 0; !err && i < device.n; i++) {
		if (!is_same(device.ev[i], from))
			continue;
		device.ev[i] = to;
		device.denied[i] = false;
		device.replaced++;
		return 0;
	}
	return err ? err : -ENOENT;
}

static int set_state(void *arg, struct mrc_ev ev, enum mrc_ev_state state)
{
	int err = call(state == MRC_EV_DENIED ? 'd' : 'g');
	bool found = false;

	(void)arg;
	for (uint32_t i = 0; !err && i < device.n; i++) {
		if (!is_same(device.ev[i], ev))
			continue;
		device.denied[i] = state == MRC_EV_DENIED;
		found = true;
	}
	return err || found ? err : -ENOENT;
}

static const struct mrc_device model = {.replace = replace, .set_state = set_state};

static void fill(uint32_t n)
{
	memset(&device, 0, sizeof(device));
	device.n = n;
	device.fails_after = NO_LIMIT;
	ck_assert_int_eq(mrc_profile_init(&profile, &model, n, planes, PLANES), 0);
	device.order[0] = 0;
	device.replaced = 0;
}

/* Entries of a plane that carry. */
static uint32_t carrying(uint32_t plane)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < device.n; i++)
		n += device.ev[i].port == plane + 1 && !device.denied[i];
	return n;
}

static uint32_t entries_of(uint32_t plane, uint32_t ev)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < device.n; i++)
		n += is_same(device.ev[i], evs[plane][ev]);
	return n;
}

static void update(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t bps[PLANES] = {a, b, c, d};

	memset(device.order, 0, sizeof(device.order));
	device.replaced = 0;
	ck_assert_int_eq(mrc_profile_update(&profile, bps), 0);
}

static void expect(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	ck_assert_uint_eq(carrying(0), a);
	ck_assert_uint_eq(carrying(1), b);
	ck_assert_uint_eq(carrying(2), c);
	ck_assert_uint_eq(carrying(3), d);
}

START_TEST(copies_are_in_proportion)
{
	fill(64);
	expect(16, 16, 16, 16);
	update(800 * G, 800 * G, 800 * G, 800 * G);
	ck_assert_str_eq(device.order, "");
	update(800 * G, 800 * G, 800 * G, 400 * G);
	/* 18.29 18.29 18.29 9.14: three get 18, and the first one that is left over */
	expect(19, 18, 18, 9);
	ck_assert_uint_eq(device.replaced, 7);
	/* a plane's values differ by one entry at most */
	ck_assert_uint_eq(entries_of(0, 0), 7);
	ck_assert_uint_eq(entries_of(0, 1), 6);
	ck_assert_uint_eq(entries_of(0, 2), 6);
	ck_assert_uint_eq(entries_of(3, 2), 3);
}
END_TEST

START_TEST(a_plane_that_is_down_is_denied_at_once)
{
	fill(64);
	update(800 * G, 800 * G, 0, 800 * G);
	/* one call: the others are in proportion as they are */
	ck_assert_str_eq(device.order, "d");
	expect(16, 16, 0, 16);
	update(800 * G, 800 * G, 0, 800 * G);
	ck_assert_str_eq(device.order, "");
	/* denied before anything moves, one call for each of its values */
	update(400 * G, 800 * G, 0, 0);
	ck_assert_int_eq(strncmp(device.order, "dddr", 4), 0);
	expect(11, 21, 0, 0);
	/* it comes back small: its entries go before it carries */
	update(400 * G, 800 * G, 100 * G, 0);
	ck_assert_ptr_null(strchr(device.order, 'd'));
	ck_assert_ptr_nonnull(strstr(device.order, "rg"));
	ck_assert_ptr_null(strstr(device.order, "gr"));
	expect(15, 29, 4, 0);
	update(0, 0, 0, 0);
	expect(0, 0, 0, 0);
	update(800 * G, 800 * G, 800 * G, 800 * G);
	expect(16, 16, 16, 16);
}
END_TEST

START_TEST(numbers_at_their_ends)
{
	struct mrc_plane none = {.evs = evs[0]};

	fill(ENTRIES);
	update(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	expect(64, 64, 64, 64);
	update(UINT64_MAX, 1, 1, 1);
	expect(256, 0, 0, 0);
	update(0, 1, 1, 2);
	expect(0, 48, 48, 96); /* the first had all entries, and keeps a fourth */
	update(1, 1, 1, 1);
	expect(64, 64, 64, 64);
	fill(1);
	update(0, 1, 1, 2);
	expect(0, 0, 0, 1);
	ck_assert_int_eq(mrc_profile_init(&profile, &model, 0, planes, PLANES), -EINVAL);
	ck_assert_int_eq(mrc_profile_init(&profile, &model, MRC_PROFILE_MAX_ENTRIES + 1, planes, 1),
			 -EINVAL);
	ck_assert_int_eq(mrc_profile_init(&profile, &model, 8, planes, 0), -EINVAL);
	ck_assert_int_eq(mrc_profile_init(&profile, &model, 8, &none, 1), -EINVAL);
}
END_TEST

/* Any weights in any order, and a device that fails now and then. */
START_TEST(any_weights_and_a_device_that_fails)
{
	static const uint64_t some[] = {0, 1, 100 * G, 400 * G, 800 * G, UINT64_MAX / 8};
	unsigned seed = 1;

	fill(97);
	for (int i = 0; i < 5000; i++) {
		uint64_t bps[PLANES], sum = 0;
		uint32_t live = 0, before[PLANES], moves = 0;
		bool whole;

		for (uint32_t p = 0; p < PLANES; p++) {
			bps[p] = some[rand_r(&seed) % 6];
			sum += bps[p] / 8;
			before[p] = profile.planes[p].copies;
		}
		memset(device.order, 0, sizeof(device.order));
		device.replaced = 0;
		device.fails_after =
			rand_r(&seed) % 4 ? NO_LIMIT : device.calls + rand_r(&seed) % 20;
		whole = !mrc_profile_update(&profile, bps);
		device.fails_after = NO_LIMIT;
		if (!whole && rand_r(&seed) % 2)
			continue; /* other weights before it is tried again */
		if (!whole)
			ck_assert_int_eq(mrc_profile_update(&profile, bps), 0);
		for (uint32_t p = 0; p < PLANES; p++) {
			uint32_t has = 0;

			for (uint32_t e = 0; e < planes[p].n_evs; e++)
				has += entries_of(p, e);
			ck_assert_uint_eq(has, profile.planes[p].copies);
			ck_assert_uint_eq(carrying(p), bps[p] ? has : 0);
			live += bps[p] ? has : 0;
			moves += has > before[p] ? has - before[p] : 0;
		}
		for (uint32_t p = 0; sum && p < PLANES; p++) {
			double ideal =
				bps[p] ? (double)live * ((double)bps[p] / 8) / (double)sum : 0;

			ck_assert(carrying(p) < ideal + 1.001 && carrying(p) + 1.001 > ideal);
		}
		/* no entry moves that could have stayed */
		ck_assert(!whole || device.replaced == moves);
	}
}
END_TEST

/* A sink's part of it: a pair as fared/publish.c hands it out. */
static int take(void *arg, const struct sink_pair *pair)
{
	uint64_t bps[FARE_MAX_PLANES];

	for (uint32_t p = 0; p < pair->n_planes; p++)
		bps[p] = pair->paths[p].usable_bps;
	return mrc_profile_update(arg, bps);
}

START_TEST(a_sink_feeds_it)
{
	const struct shm_path paths[PLANES] = {{.usable_bps = 800 * G},
					       {.usable_bps = 400 * G},
					       {.verdict = FARE_VERDICT_PROBE_DOWN},
					       {.usable_bps = 400 * G}};
	const struct sink_pair pair = {.n_planes = PLANES, .paths = paths};
	const struct sink sink = {.arg = &profile, .pair = take};

	fill(64);
	ck_assert_int_eq(sink.pair(sink.arg, &pair), 0);
	expect(24, 12, 0, 12);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mrc_profile");
	TCase *tc = tcase_create("core");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, copies_are_in_proportion);
	tcase_add_test(tc, a_plane_that_is_down_is_denied_at_once);
	tcase_add_test(tc, numbers_at_their_ends);
	tcase_add_test(tc, any_weights_and_a_device_that_fails);
	tcase_add_test(tc, a_sink_feeds_it);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
