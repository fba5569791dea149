/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens, requests and time of the emulated service: counted when they happen, and none is lost. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "workload/serving_internal.h"

#define MS UINT64_C(1000000)

static const struct serving_options plain = {.n_prefill = 1, .n_decode = 1, .batch = 8, .per_s = 1};

struct served {
	struct serving s;
	struct serving_result r;
	struct trial t;
};

/* n requests whose caches have arrived, of so many tokens each; counted from 100 ms on. */
static struct served *begin(const struct serving_options *o, unsigned n, unsigned output)
{
	struct served *all = calloc(1, sizeof(*all));
	struct serving *s = &all->s;
	struct hist *hists[] = {&all->r.ttft,	 &all->r.itl,	   &all->r.e2e,
				&all->r.prefill, &all->r.transfer, &all->r.decode_init};

	for (size_t i = 0; i < sizeof(hists) / sizeof(hists[0]); i++)
		hist_init(hists[i]);
	*s = (struct serving){.t = &all->t,
			      .o = o,
			      .r = &all->r,
			      .to_ns = 1000 * MS,
			      .count_ns = 100 * MS,
			      .latency_ns = 800 * MS};
	s->prefill[0].busy = SERVING_NONE;
	s->request = calloc(n, sizeof(*s->request));
	s->n_requests = n;
	for (unsigned i = 0; i < n; i++) {
		s->request[i] = (struct request){.computed_ns = 1,
						 .arrived_ns = 2,
						 .prompt = 10,
						 .output = output,
						 .prefix = -1,
						 .counted = true};
		s->decode[0].tokens += 10;
		queue_put(s, &s->decode[0].waiting, i);
	}
	s->prefill[0].idle_ns = s->prefill[0].since_ns = 0;
	return all;
}

static void end(struct served *all)
{
	free(all->r.done_s);
	free(all->r.done_ttft_s);
	free(all->s.request);
	free(all);
}

static void conserved(const struct serving *s)
{
	struct audit_counts c = {0};
	char why[160] = "";

	serving_count(s, &c);
	ck_assert_msg(audit_conserved(&c, why, sizeof(why)), "%s", why);
}

/* Two requests of 16 tokens, a step every 20 ms from 20 ms on: the first token at 40 ms, so that 3
 * steps lie before 100 ms and 13 behind it: 26 tokens of 32, of whichever request. */
START_TEST(tokens_count_by_when_they_come)
{
	struct served *all = begin(&plain, 2, 16);

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	for (unsigned i = 1; i <= 30; i++)
		serving_step(&all->s, i * 20 * MS);
	ck_assert_uint_eq(all->s.tokens, 32);
	ck_assert_uint_eq(all->r.output_tokens, 26);
	ck_assert_uint_eq(all->r.completed, 2);
	ck_assert_uint_eq(all->r.good_tokens, 32);
	conserved(&all->s);
	end(all);
}
END_TEST

/* One worker at 20 ms a step makes 50 tokens a second of one request at once. */
START_TEST(a_batch_of_one_bounds_the_tokens)
{
	struct serving_options o = plain;
	struct served *all;

	o.batch = 1;
	all = begin(&o, 10, 10);
	all->r.done_s = calloc(16, sizeof(double));
	all->r.done_ttft_s = calloc(16, sizeof(double));
	for (unsigned i = 1; i < 50; i++)
		serving_step(&all->s, i * 20 * MS);
	ck_assert_uint_eq(all->s.tokens, 48);
	ck_assert_uint_eq(all->r.output_tokens, 45); /* 0.9 s: 45 */
	conserved(&all->s);
	end(all);
}
END_TEST

/* What was preempted is tokens that came, and no goodput. */
START_TEST(preempted_requests_are_no_goodput)
{
	struct served *all = begin(&plain, 2, 16);

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	all->s.request[1].preempted = true;
	for (unsigned i = 1; i <= 30; i++)
		serving_step(&all->s, i * 20 * MS);
	ck_assert_uint_eq(all->r.good, 1);
	ck_assert_uint_eq(all->r.good_tokens, 16);
	ck_assert_uint_eq(all->r.completed, 2);
	end(all);
}
END_TEST

/* A token that no request had, a request that is nowhere: found. */
START_TEST(what_is_lost_is_found)
{
	struct served *all = begin(&plain, 2, 16);
	struct audit_counts c = {0};
	char why[160];

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	for (unsigned i = 1; i <= 30; i++)
		serving_step(&all->s, i * 20 * MS);
	all->s.tokens++;
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	ck_assert_str_eq(why, "33 tokens came from workers, and of requests are 32");
	all->s.tokens--;
	all->s.ended--;
	c = (struct audit_counts){0};
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	end(all);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("serving");
	TCase *tcase = tcase_create("serving");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, tokens_count_by_when_they_come);
	tcase_add_test(tcase, a_batch_of_one_bounds_the_tokens);
	tcase_add_test(tcase, preempted_requests_are_no_goodput);
	tcase_add_test(tcase, what_is_lost_is_found);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
