/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "qp/candidates.h"

#define OWN   6
#define OTHER 40

static struct candidate own(uint16_t local, int16_t remote)
{
	return (struct candidate){
		.port = 50000, .local_sub_port = local, .remote_sub_port = remote, .used = true};
}

static struct candidate other(uint16_t local, int16_t remote)
{
	return (struct candidate){
		.port = 60000, .local_sub_port = local, .remote_sub_port = remote};
}

START_TEST(even_is_as_many_or_one_more)
{
	struct candidate c[] = {own(0, 0), own(1, 1), own(0, 0), own(1, 2)};

	ck_assert(candidates_are_even(c, 4, 7));
	ck_assert(candidates_are_even(c, 1, 1));
	ck_assert(candidates_are_even(c, 2, 7));  /* fewer ways than remote sub-ports */
	ck_assert(!candidates_are_even(c, 3, 7)); /* two, one, none */
	ck_assert(!candidates_are_even(c, 4, 3)); /* the last leads where none should */
	ck_assert(!candidates_are_even(c, 4, 15 ^ 4));
	ck_assert(candidates_are_even(c, 0, 0));
}
END_TEST

/* Rows of what must not be taken. */
START_TEST(what_does_not_help_is_left)
{
	const struct candidate refused[] = {
		other(1, 1),		     /* another local sub-port */
		other(0, 0),		     /* no better */
		{60000, 0, 1, .used = true}, /* taken */
		other(0, -1),		     /* nobody knows */
	};
	struct candidate c[] = {own(0, 0), own(0, 0), refused[_i], other(0, 1)};
	unsigned from, to = 0;

	ck_assert(!candidates_improve(c, 2, 3, &from, &to));
	ck_assert(candidates_improve(c, 2, 4, &from, &to));
	ck_assert_uint_eq(to, 3);
	c[0].remote_sub_port = 1; /* one each: better it does not get */
	ck_assert(!candidates_improve(c, 2, 4, &from, &to));
}
END_TEST

/* With enough candidates it ends even, having moved no more ways than had to. */
static void even_out(unsigned seed)
{
	struct candidate c[OWN + OTHER];
	unsigned n_remote = 2 + seed % 3, load[4] = {0}, moves = 0, excess = 0, from, to;
	unsigned ceiling = (OWN + n_remote - 1) / n_remote,
		 n_full = OWN % n_remote ? OWN % n_remote : n_remote, over[4];

	srand(seed);
	for (unsigned i = 0; i < OWN; i++)
		c[i] = own(i % 2, (int16_t)((unsigned)rand() % n_remote));
	for (unsigned k = 0; k < OTHER; k++)
		c[OWN + k] = other(k % 2, (int16_t)(k / 2 % n_remote));
	for (unsigned i = 0; i < OWN; i++)
		load[c[i].remote_sub_port]++;
	/* the fullest keep the larger shares */
	for (unsigned r = 0; r < n_remote; r++) {
		over[r] = 0;
		for (unsigned q = 0; q < n_remote; q++)
			over[r] += load[q] > load[r] || (load[q] == load[r] && q < r);
	}
	for (unsigned r = 0; r < n_remote; r++) {
		unsigned share = over[r] < n_full ? ceiling : OWN / n_remote;

		excess += load[r] > share ? load[r] - share : 0;
	}
	while (candidates_improve(c, OWN, OWN + OTHER, &from, &to)) {
		ck_assert_uint_lt(from, OWN);
		ck_assert_uint_ge(to, OWN);
		c[to].used = true;
		c[from] = c[to];
		ck_assert_uint_le(++moves, OWN);
	}
	ck_assert(candidates_are_even(c, OWN, (1u << n_remote) - 1));
	ck_assert_uint_eq(moves, excess);
}

START_TEST(steps_end_even_and_are_few)
{
	for (unsigned seed = 1; seed <= 2000; seed++)
		even_out(seed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("candidates");
	TCase *tc = tcase_create("even");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, even_is_as_many_or_one_more);
	tcase_add_loop_test(tc, what_does_not_help_is_left, 0, 4);
	tcase_add_test(tc, steps_end_even_and_are_few);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
