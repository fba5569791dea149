/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "qp/mr_cache.h"

#define PAGE	 4096u
#define AT(page) ((void *)(uintptr_t)(0x100000u + (page)*PAGE))

static struct mr_cache *cache;
static unsigned n_added, n_removed, device_room;
static uint32_t next_key;
static bool live[100000];

static int add(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
	       struct qp_mr *out)
{
	(void)ep;
	(void)addr;
	(void)length;
	(void)access;
	if (n_added - n_removed >= device_room)
		return -ENOSPC;
	n_added++;
	out->lkey = out->rkey = ++next_key;
	live[out->lkey] = true;
	return 0;
}

static int take(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	(void)ep;
	ck_assert(live[mr->lkey]); /* once each */
	live[mr->lkey] = false;
	n_removed++;
	return 0;
}

static void make(unsigned max_regions)
{
	static const struct qp_provider device = {.mr_register = add, .mr_deregister = take};

	device_room = UINT32_MAX;
	ck_assert_int_eq(mr_cache_create(&cache, &device, NULL, max_regions), 0);
}

static void tear_down(void)
{
	mr_cache_destroy(cache);
	ck_assert_uint_eq(n_added, n_removed);
}

static struct mr_cache_entry *get(unsigned page, unsigned pages, unsigned access)
{
	struct mr_cache_entry *e;

	ck_assert_int_eq(mr_cache_get(cache, AT(page), pages * PAGE, access, &e), 0);
	ck_assert(live[e->mr.lkey]);
	ck_assert_uint_le(e->addr, (uintptr_t)AT(page));
	ck_assert_uint_ge(e->addr + e->length, (uintptr_t)AT(page + pages));
	return e;
}

START_TEST(what_covers_serves_and_what_overlaps_does_not)
{
	struct mr_cache_entry *e, *f;

	make(8);
	e = get(10, 10, 0);
	ck_assert_ptr_eq(get(10, 10, 0), e);
	ck_assert_ptr_eq(get(12, 1, 0), e);
	ck_assert_ptr_eq(get(19, 1, 0), e);
	ck_assert_uint_eq(n_added, 1);
	f = get(15, 10, 0); /* hangs over the end */
	ck_assert_ptr_ne(f, e);
	ck_assert_ptr_ne(get(9, 2, 0), e); /* begins before */
	ck_assert_ptr_eq(get(21, 4, 0), f);
	ck_assert_uint_eq(n_added, 3);
}
END_TEST

START_TEST(a_long_region_is_found_behind_shorter_ones)
{
	struct mr_cache_entry *e;

	make(8);
	e = get(0, 100, 0);
	get(200, 1, 0);
	mr_cache_invalidate(cache, AT(200), 1);
	for (unsigned page = 10; page < 14; page++)
		ck_assert_ptr_eq(get(page, 1, 0), e);
	get(10, 1, QP_ACCESS_REMOTE_READ);
	get(20, 1, QP_ACCESS_REMOTE_READ);
	ck_assert_ptr_eq(get(50, 50, 0), e);
	ck_assert_uint_eq(n_added, 4);
}
END_TEST

START_TEST(rights_must_suffice)
{
	const unsigned all = QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ;
	struct mr_cache_entry *e;

	make(8);
	e = get(0, 1, QP_ACCESS_REMOTE_READ);
	ck_assert_ptr_eq(get(0, 1, 0), e);
	ck_assert_ptr_ne(get(0, 1, all), e);
	ck_assert_uint_eq(n_added, 2);
	get(0, 1, QP_ACCESS_REMOTE_WRITE);
	get(0, 1, QP_ACCESS_REMOTE_READ);
	get(0, 1, 0);
	ck_assert_uint_eq(n_added, 2);
}
END_TEST

START_TEST(the_one_unused_for_longest_goes)
{
	struct mr_cache_entry *e[4], *again;

	make(3);
	for (unsigned i = 0; i < 3; i++)
		e[i] = get(10 * i, 1, 0);
	ck_assert_int_eq(mr_cache_get(cache, AT(90), PAGE, 0, &again), -ENOSPC);
	ck_assert_ptr_null(again);
	mr_cache_put(cache, e[1]);
	mr_cache_put(cache, e[0]);
	mr_cache_put(cache, e[2]);
	again = get(10, 1, 0); /* used again: now the newest */
	ck_assert_ptr_eq(again, e[1]);
	mr_cache_put(cache, again);
	get(90, 1, 0);
	ck_assert_uint_eq(n_removed, 1);
	ck_assert(!live[1] && live[2] && live[3]);
	get(91, 1, 0);
	ck_assert(!live[3] && live[2]);
	ck_assert_uint_eq(n_added, 5);
	ck_assert_uint_eq(n_removed, 2);
}
END_TEST

START_TEST(a_device_without_room_gets_some)
{
	struct mr_cache_entry *e;

	make(8);
	device_room = 2;
	mr_cache_put(cache, get(0, 1, 0));
	get(1, 1, 0);
	get(2, 1, 0);
	ck_assert_uint_eq(n_removed, 1);
	ck_assert_int_eq(mr_cache_get(cache, AT(3), PAGE, 0, &e), -ENOSPC);
}
END_TEST

START_TEST(what_was_invalidated_serves_no_more)
{
	struct mr_cache_entry *e, *f;

	make(8);
	e = get(0, 10, 0);
	mr_cache_put(cache, get(20, 10, 0));
	ck_assert_uint_eq(mr_cache_invalidate(cache, AT(10), 10 * PAGE), 0); /* between them */
	ck_assert_uint_eq(mr_cache_invalidate(cache, AT(0), 0), 0);
	ck_assert_uint_eq(mr_cache_invalidate(cache, AT(29), 1), 1);
	ck_assert_uint_eq(n_removed, 1); /* unused: at once */
	ck_assert_uint_eq(mr_cache_invalidate(cache, AT(9), 100 * PAGE), 1);
	ck_assert_uint_eq(n_removed, 1); /* in use */
	f = get(0, 10, 0);
	ck_assert_ptr_ne(f, e);
	mr_cache_put(cache, e);
	ck_assert_uint_eq(n_removed, 2);
	ck_assert_uint_eq(mr_cache_invalidate(cache, NULL, SIZE_MAX), 1);
	mr_cache_put(cache, f);
	ck_assert_uint_eq(n_removed, 3);
	get(0, 10, 0);
	ck_assert_uint_eq(mr_cache_invalidate(cache, AT(5), SIZE_MAX), 1); /* wraps; stays held */
}
END_TEST

START_TEST(nonsense_is_refused)
{
	struct mr_cache_entry *e;

	make(1);
	ck_assert_int_eq(mr_cache_get(cache, AT(0), 0, 0, &e), -EINVAL);
	ck_assert_int_eq(mr_cache_get(cache, AT(0), SIZE_MAX, 0, &e), -EINVAL);
}
END_TEST

/* ---- against a model ---- */

#define PAGES 64
#define HELD  12

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* What is served was registered after its pages last changed; bounds hold; users keep theirs. */
START_TEST(random_use_keeps_its_promises)
{
	struct mr_cache_entry *held[HELD] = {0};
	unsigned changed[PAGES] = {0}; /* next_key when the page was last invalidated */

	make(16);
	for (unsigned round = 0; round < 60000; round++) {
		unsigned i = below(HELD), page = below(PAGES), pages = 1 + below(PAGES - page);

		if (held[i]) {
			ck_assert(live[held[i]->mr.lkey]);
			mr_cache_put(cache, held[i]);
			held[i] = NULL;
		} else if (below(20) == 0) {
			mr_cache_invalidate(cache, AT(page), pages * PAGE);
			for (unsigned k = page; k < page + pages; k++)
				changed[k] = next_key;
		} else if (!mr_cache_get(cache, AT(page), pages * PAGE, below(4), &held[i])) {
			ck_assert(live[held[i]->mr.lkey]);
			ck_assert_uint_le(held[i]->addr, (uintptr_t)AT(page));
			ck_assert_uint_ge(held[i]->addr + held[i]->length,
					  (uintptr_t)AT(page + pages));
			for (unsigned k = page; k < page + pages; k++)
				ck_assert_uint_gt(held[i]->mr.lkey, changed[k]);
		}
		ck_assert_uint_le(n_added - n_removed, 16);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mr_cache");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, NULL, tear_down);
	tcase_add_test(t, what_covers_serves_and_what_overlaps_does_not);
	tcase_add_test(t, a_long_region_is_found_behind_shorter_ones);
	tcase_add_test(t, rights_must_suffice);
	tcase_add_test(t, the_one_unused_for_longest_goes);
	tcase_add_test(t, a_device_without_room_gets_some);
	tcase_add_test(t, what_was_invalidated_serves_no_more);
	tcase_add_test(t, nonsense_is_refused);
	tcase_add_test(t, random_use_keeps_its_promises);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
