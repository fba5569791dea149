/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - as much of Check's face as the unit tests of the tables use, in one header.
 *
 * For a processor that there is no Check library for: tests/cross/neon.sh builds the very same test
 * files with it. Tests run in this process, one after the other; the first that fails ends it.
 * Thread: one.
 */
#ifndef CROSS_CHECK_H
#define CROSS_CHECK_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CROSS_TESTS 64
#define CK_NORMAL   0

typedef struct {
	void (*run)(int _i);
	int from, to;
} CrossTest;
typedef struct {
	CrossTest test[CROSS_TESTS];
	int n;
	void (*setup)(void), (*teardown)(void);
} TCase;
typedef struct {
	const char *name;
	TCase *tcase;
} Suite;
typedef Suite SRunner;

#define START_TEST(name) static void name(int _i __attribute__((unused)))
#define END_TEST

#define ck_abort_msg(...)                                                                          \
	do {                                                                                       \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		exit(1);                                                                           \
	} while (0)
#define ck_assert(that)                                                                            \
	do {                                                                                       \
		if (!(that))                                                                       \
			ck_abort_msg("%s", #that);                                                 \
	} while (0)
#define CROSS_COMPARE(type, print, a, op, b)                                                       \
	do {                                                                                       \
		type a_ = (type)(a), b_ = (type)(b);                                               \
		if (!(a_ op b_))                                                                   \
			ck_abort_msg("%s " #op " %s: " print " and " print, #a, #b, a_, b_);       \
	} while (0)
#define ck_assert_int_eq(a, b)	  CROSS_COMPARE(intmax_t, "%jd", a, ==, b)
#define ck_assert_int_ne(a, b)	  CROSS_COMPARE(intmax_t, "%jd", a, !=, b)
#define ck_assert_int_ge(a, b)	  CROSS_COMPARE(intmax_t, "%jd", a, >=, b)
#define ck_assert_uint_eq(a, b)	  CROSS_COMPARE(uintmax_t, "%ju", a, ==, b)
#define ck_assert_uint_ne(a, b)	  CROSS_COMPARE(uintmax_t, "%ju", a, !=, b)
#define ck_assert_uint_ge(a, b)	  CROSS_COMPARE(uintmax_t, "%ju", a, >=, b)
#define ck_assert_uint_le(a, b)	  CROSS_COMPARE(uintmax_t, "%ju", a, <=, b)
#define ck_assert_uint_lt(a, b)	  CROSS_COMPARE(uintmax_t, "%ju", a, <, b)
#define ck_assert_double_le(a, b) CROSS_COMPARE(double, "%g", a, <=, b)
#define ck_assert_double_lt(a, b) CROSS_COMPARE(double, "%g", a, <, b)
#define ck_assert_double_gt(a, b) CROSS_COMPARE(double, "%g", a, >, b)
#define ck_assert_ptr_eq(a, b)	  ck_assert((const void *)(a) == (const void *)(b))
#define ck_assert_ptr_ne(a, b)	  ck_assert((const void *)(a) != (const void *)(b))
#define ck_assert_ptr_null(a)	  ck_assert((a) == NULL)
#define ck_assert_ptr_nonnull(a)  ck_assert((a) != NULL)

static inline TCase *tcase_create(const char *name)
{
	(void)name;
	return calloc(1, sizeof(TCase));
}

static inline void tcase_add_loop_test(TCase *t, void (*run)(int _i), int from, int to)
{
	if (t->n == CROSS_TESTS)
		ck_abort_msg("too many tests");
	t->test[t->n++] = (CrossTest){run, from, to};
}

static inline void tcase_add_test(TCase *t, void (*run)(int _i))
{
	tcase_add_loop_test(t, run, 0, 1);
}

static inline void tcase_add_checked_fixture(TCase *t, void (*setup)(void), void (*teardown)(void))
{
	t->setup = setup;
	t->teardown = teardown;
}

static inline void tcase_set_timeout(TCase *t, double seconds)
{
	(void)t, (void)seconds;
}

static inline Suite *suite_create(const char *name)
{
	Suite *s = calloc(1, sizeof(*s));

	s->name = name;
	return s;
}

static inline void suite_add_tcase(Suite *s, TCase *t)
{
	s->tcase = t;
}

static inline SRunner *srunner_create(Suite *s)
{
	return s;
}

static inline void srunner_run_all(SRunner *r, int mode)
{
	int n = 0;

	(void)mode;
	for (int k = 0; k < r->tcase->n; k++) {
		for (int i = r->tcase->test[k].from; i < r->tcase->test[k].to; i++, n++) {
			if (r->tcase->setup)
				r->tcase->setup();
			r->tcase->test[k].run(i);
			if (r->tcase->teardown)
				r->tcase->teardown();
		}
	}
	printf("%s: %d checks passed\n", r->name, n);
}

static inline int srunner_ntests_failed(SRunner *r)
{
	(void)r;
	return 0; /* one that failed ended the process */
}

static inline void srunner_free(SRunner *r)
{
	free(r->tcase);
	free(r);
}

#endif
