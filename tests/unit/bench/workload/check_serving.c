/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens, requests and time of the emulated service: counted when they happen, and none is lost. */
#include <check.h>
#include <errno.h>
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
	s->n_requests = s->room = n;
	for (unsigned i = 0; i < n; i++) {
		s->request[i] = (struct request){.computed_ns = 1,
						 .arrived_ns = 2,
						 .prompt = 10,
						 .output = output,
						 .asked = output,
						 .counted = true};
		s->decode[0].tokens += 10;
		queue_put(s, &s->decode[0].waiting, i);
	}
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
	ck_assert_uint_eq(c.time_ns, 1000 * MS);
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
	serving_unfinished(&all->s);
	ck_assert_uint_eq(all->s.tokens, 32);
	ck_assert_uint_eq(all->s.window_tokens, 26);
	ck_assert_uint_eq(all->r.completed, 2);
	ck_assert_uint_eq(all->r.good_tokens, 26); /* and no more than came */
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
	ck_assert_uint_eq(all->s.window_tokens, 45); /* 0.9 s: 45 */
	conserved(&all->s);
	end(all);
}
END_TEST

/*
 * A step that ended at 40 ms is known only after a cache that arrived at 70 ms, of a request of 50
 * ms: its first token is that of the step after the next, not one before it came.
 */
START_TEST(no_token_before_its_cache)
{
	struct served *all = begin(&plain, 1, 4);
	struct request *q = &all->s.request[0];

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	q->arrival_ns = 50 * MS;
	q->computed_ns = 60 * MS;
	q->arrived_ns = 70 * MS;
	for (unsigned i = 1; i <= 6; i++)
		serving_step(&all->s, i * 20 * MS);
	ck_assert_uint_eq(q->first_ns, 100 * MS);
	ck_assert_uint_eq(all->r.ttft.max, 50 * MS);
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
	serving_unfinished(&all->s);
	ck_assert_uint_eq(all->r.good, 1);
	ck_assert_uint_eq(all->r.good_tokens, 13);
	ck_assert_uint_eq(all->s.window_tokens, 26);
	ck_assert_uint_eq(all->r.completed, 2);
	end(all);
}
END_TEST

/*
 * 1 KB acknowledged in each ms of a second, and 500 bytes of another load: what counts is from
 * 100 ms on, as it is of caches. Those bytes over the whole second would be fewer a second than
 * caches of the same rate that only begin to arrive after 100 ms.
 */
START_TEST(all_traffic_counts_when_caches_do)
{
	struct served *all = begin(&plain, 2, 16);
	double one[1000], other[1000];
	struct measured_load load[2] = {{.bin_bytes = one}, {.bin_bytes = other}};
	const struct measured m = {.to_ns = 1000 * MS, .load = load, .n_loads = 2, .n_bins = 1000};

	for (int i = 0; i < 1000; i++) {
		one[i] = i < 100 ? 0 : 1000;
		other[i] = 500;
	}
	ck_assert_double_eq_tol(serving_window_bytes(&all->s, &m, -1), 900 * 1500, 1e-6);
	ck_assert_double_eq_tol(serving_window_bytes(&all->s, &m, 0), 900 * 1000, 1e-6);
	end(all);
}
END_TEST

/* More caches arrived than bytes were acknowledged: found, but not what came at an edge. */
START_TEST(caches_are_part_of_all_traffic)
{
	struct served *all = begin(&plain, 2, 16);
	struct audit_counts c = {.fabric_bytes = 1000000};
	char why[160];

	all->r.kv_bytes = 1.2e6;
	serving_count(&all->s, &c);
	ck_assert_uint_eq(c.cache_bytes, 1200000);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	ck_assert_str_eq(why, "1200000 bytes of caches arrived, and of all traffic were "
			      "acknowledged 1000000");
	c = (struct audit_counts){.fabric_bytes = 1000000};
	all->s.edge_bytes = 0.2e6;
	serving_count(&all->s, &c);
	ck_assert_uint_eq(c.cache_bytes, 1000000);
	ck_assert(audit_conserved(&c, why, sizeof(why)));
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
	ck_assert_str_eq(why, "33 tokens came from batches, and of requests are 32");
	all->s.tokens--;
	all->s.ended--;
	c = (struct audit_counts){0};
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	end(all);
}
END_TEST

/* A request that gets a token twice in a step, or none: its own count is not the batch's. */
START_TEST(a_token_of_nobody_is_found)
{
	struct served *all = begin(&plain, 2, 16);
	struct audit_counts c = {0};
	char why[160];

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	for (unsigned i = 1; i <= 10; i++)
		serving_step(&all->s, i * 20 * MS);
	conserved(&all->s);
	all->s.request[0].emitted++;
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	ck_assert_str_eq(why, "18 tokens came from batches, and of requests are 19");
	all->s.request[0].emitted--;
	all->s.request[0].window_tokens--;
	c = (struct audit_counts){0};
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	end(all);
}
END_TEST

/*
 * The compute times of prompts, the pauses between them and the clock are three facts: a prompt
 * that took longer than the model says, or a pause counted twice, does not add up.
 */
START_TEST(time_of_a_prefill_worker_adds_up)
{
	struct served *all = begin(&plain, 0, 16);
	struct prefill_worker *p = &all->s.prefill[0];
	struct audit_counts c = {0};
	char why[160];

	/* 300 ms of prompts, 500 ms of pauses, and 200 of the 350 ms of the prompt in hand */
	*p = (struct prefill_worker){.busy = 0,
				     .piece_ns = 1150 * MS,
				     .piece_length_ns = 350 * MS,
				     .computed_ns = 300 * MS,
				     .idle_ns = 500 * MS};
	all->s.n_requests = 1; /* the one in hand */
	all->s.request = realloc(all->s.request, sizeof(*all->s.request));
	all->s.request[0] = (struct request){.asked = 16, .output = 16};
	serving_count(&all->s, &c);
	ck_assert_uint_eq(c.busy_ns, 500 * MS);
	ck_assert(audit_conserved(&c, why, sizeof(why)));
	p->idle_ns = 510 * MS;
	c = (struct audit_counts){0};
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	ck_assert_str_eq(why, "1000000000 ns had the workers, and busy or idle are 1010000000");
	p->idle_ns = 500 * MS;
	p->piece_ns -= 1 * MS;
	c = (struct audit_counts){0};
	serving_count(&all->s, &c);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	end(all);
}
END_TEST

/* 100 of 400 ms, 300 of 600 of one without a token till the end: 400 of 1,000, and the request that
 * is still computed is in neither sum. */
START_TEST(fabric_fraction_is_of_the_same_requests)
{
	struct served *all = begin(&plain, 3, 16);
	struct request *q = all->s.request;

	all->r.done_s = calloc(8, sizeof(double));
	all->r.done_ttft_s = calloc(8, sizeof(double));
	q[0].arrival_ns = 100 * MS;
	q[0].computed_ns = 300 * MS;
	q[0].arrived_ns = 400 * MS;
	q[1].arrival_ns = 400 * MS;
	q[1].computed_ns = 700 * MS;
	q[1].arrived_ns = 0;
	q[2].arrival_ns = 500 * MS;
	q[2].computed_ns = q[2].arrived_ns = 0;
	serving_fabric_part(&all->s, &q[0], 500 * MS);
	q[0].first_ns = 500 * MS;
	serving_unfinished(&all->s);
	ck_assert_uint_eq(all->r.fabric_requests, 2);
	ck_assert_double_eq_tol(all->r.fabric_part_s, 0.4, 1e-9);
	ck_assert_double_eq_tol(all->r.fabric_of_s, 1.0, 1e-9);
	end(all);
}
END_TEST

/* Of 900 ms that count: 300 of the first, which came before; all of the second, preempted once; 600
 * of the third, still there: 2 at once. */
START_TEST(requests_at_once)
{
	struct served *all = begin(&plain, 3, 16);
	struct request *q = all->s.request;

	q[0].arrival_ns = 50 * MS;
	q[0].first_ns = 200 * MS;
	q[0].last_ns = 400 * MS;
	q[0].emitted = q[0].output;
	q[1].arrival_ns = 0;
	q[1].first_ns = 200 * MS;
	q[1].last_ns = 300 * MS;
	q[2].arrival_ns = 400 * MS;
	ck_assert_double_eq_tol(serving_concurrent(&all->s), 1800 / 900., 1e-9);
	end(all);
}
END_TEST

/* A worker that has the prompt's blocks gets it, unless more waits there than it saves. */
START_TEST(the_router_weighs_blocks_against_what_waits)
{
	static const uint64_t block[] = {5, 6, 7, 8};
	struct trace_request requests[] = {{0, 2048, 4, 0, 4}, {1, 2100, 4, 0, 4}};
	const struct trace trace = {.request = requests,
				    .n = 2,
				    .block = (uint64_t *)(uintptr_t)block,
				    .n_blocks = 4,
				    .block_tokens = 512};
	struct serving_options o = {.model = model_find("CFG-B"),
				    .n_prefill = 2,
				    .n_decode = 2,
				    .trace = &trace,
				    .reuse = true,
				    .router = ROUTER_PREFIX_LOAD};
	struct served *all = begin(&o, 0, 0);
	struct serving *s = &all->s;

	s->prefill[1].busy = SERVING_NONE;
	ck_assert_int_eq(prefix_cache_init(&s->prefill[1].prefixes, 8), 0);
	ck_assert_int_eq(prefix_cache_init(&s->decode[1].prefixes, 8), 0);
	prefix_cache_use(&s->prefill[1].prefixes, block, 4);
	prefix_cache_use(&s->decode[1].prefixes, block, 2);
	serving_arrive(s);
	ck_assert_uint_eq(s->request[0].prefill, 1);
	ck_assert_uint_eq(s->request[0].decode, 1);
	ck_assert_uint_eq(s->request[0].computed, 2047); /* all but one of 2,048 */
	ck_assert_double_eq(s->prefill[1].work, 1);
	s->prefill[1].work = 5000;
	s->decode[1].tokens = 900;
	serving_arrive(s);
	ck_assert_uint_eq(s->request[1].prefill, 0);
	ck_assert_uint_eq(s->request[1].decode, 1); /* 900 less the 1,024 that are there */
	prefix_cache_fini(&s->prefill[1].prefixes);
	prefix_cache_fini(&s->decode[1].prefixes);
	end(all);
}
END_TEST

/* Two GPUs in each pool, two workers at each: a byte takes 10 ns from prefill GPU 0 to decode GPU 0
 * (workers 0 and 2), 18 between the other two, 20 across. */
START_TEST(the_router_weighs_paths_of_workers_as_good)
{
	struct serving_options o = {.model = model_find("CFG-B"),
				    .n_prefill = 4,
				    .n_decode = 4,
				    .kv_tokens = 10000,
				    .prompt = {LENGTHS_FIXED, 100, 0, 0},
				    .output = {LENGTHS_FIXED, 10, 0, 0},
				    .router = ROUTER_KV_PATHS};
	struct served *all = begin(&o, 2, 10);
	struct serving *s = &all->s;
	struct request *q;

	hist_init(&all->r.kv_latency);
	all->t.scale = 1;
	s->prefill_gpus = s->decode_gpus = 2;
	s->request[1].decode = 1;
	s->request[0].sent = s->request[1].sent = 2; /* a part of each is still to come */
	serving_delivered(s, 0, 100 * MS, 110 * MS, 1e6);
	serving_delivered(s, 1, 100 * MS, 120 * MS, 1e6);
	ck_assert_double_eq(s->ns_per_byte[0][1], 20);
	s->ns_per_byte[1][0] = 20;
	s->ns_per_byte[1][1] = 18;
	for (unsigned i = 0; i < 4; i++) {
		s->prefill[i].busy = SERVING_NONE;
		s->decode[i].tokens = 20;
	}
	/* the faster path; the emptier worker at it, though worker 1 has less by 10 of 10,000 */
	s->decode[0].tokens = 30;
	s->decode[1].tokens = 10;
	serving_arrive(s);
	q = &s->request[2];
	ck_assert_uint_eq(q->prefill % 2, 0);
	ck_assert_uint_eq(q->decode, 2);
	ck_assert_double_eq(s->open_from[0], q->open_bytes);
	ck_assert_double_eq(s->open_to[0], model_kv_bytes(o.model, 100));
	/* what is to come there makes it the slower one */
	serving_arrive(s);
	q = &s->request[3];
	ck_assert_uint_eq(q->prefill % 2, 1);
	ck_assert_uint_eq(q->decode, 1);
	/* there: nothing is left to come */
	q->sent = q->pieces_out = 1;
	serving_delivered(s, 3, 130 * MS, 134 * MS, 1e6);
	ck_assert_double_eq(s->open_from[1], 0);
	ck_assert_double_eq(s->open_to[1], 0);
	ck_assert_double_eq(s->ns_per_byte[1][1], 14.5); /* of 18 and 4 the latter by a quarter */
	/* GPU 0's workers are fuller by more than a tenth */
	s->decode[0].tokens = s->decode[2].tokens = 1500;
	s->decode[1].tokens = s->decode[3].tokens = 400;
	serving_arrive(s);
	ck_assert_uint_eq(s->request[4].decode % 2, 1);
	end(all);
}
END_TEST

/*
 * Block 7 before the warm-up ends, at worker 0; then 7 at worker 1 (repeated), 7 at worker 0 (hit),
 * 8 there, which takes its only place (new), and 7 again (repeated): hits and what could have hit
 * are of the same four look-ups.
 */
START_TEST(hits_and_repeats_are_of_the_same_look_ups)
{
	static const struct {
		uint64_t block;
		unsigned decode;
	} look[] = {{7, 0}, {7, 1}, {7, 0}, {8, 0}, {7, 0}};
	struct serving_options o = plain;
	struct served *all;
	struct serving *s;

	o.n_decode = 2;
	o.model = model_find("CFG-B");
	all = begin(&o, 5, 1);
	s = &all->s;
	s->err = -ECANCELED; /* no cache is sent */
	all->t.scale = 1;
	ck_assert_int_eq(prefix_cache_init(&s->seen, 9), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(prefix_cache_init(&s->decode[i].prefixes, 1), 0);
	for (uint32_t i = 0; i < 5; i++) {
		s->request[i].block = &look[i].block;
		s->request[i].n_blocks = 1;
		s->request[i].decode = look[i].decode;
		s->prefill[0].busy = i;
		s->prefill[0].piece_ns = i ? 200 * MS : 50 * MS;
		serving_piece(s, 0);
	}
	ck_assert_uint_eq(all->r.prefix_lookups, 4);
	ck_assert_uint_eq(all->r.prefix_hits, 1);
	ck_assert_uint_eq(all->r.prefix_repeats, 3);
	prefix_cache_fini(&s->seen);
	for (unsigned i = 0; i < 2; i++)
		prefix_cache_fini(&s->decode[i].prefixes);
	end(all);
}
END_TEST

/* A cache of 327,680 bytes of one token leaves in one message, in pages, or in shards at once. */
START_TEST(bytes_of_a_shard)
{
	struct serving_options o = plain;
	struct served *all;

	o.model = model_find("CFG-B");
	all = begin(&o, 0, 1);
	all->t.scale = 10;
	ck_assert_uint_eq(serving_page_bytes(&all->s, 327680), 327680);
	o.page_tokens = 1;
	ck_assert_uint_eq(serving_page_bytes(&all->s, 327680), 32768);
	o.shards = 8;
	ck_assert_uint_eq(serving_page_bytes(&all->s, 327680), 40960);
	ck_assert_uint_eq(serving_page_bytes(&all->s, 327687), 40960); /* 7 go with the last */
	ck_assert_uint_eq(serving_page_bytes(&all->s, 100), 64);
	end(all);
}
END_TEST

/* Of four that come to one worker (15 ms each), the first before what counts begins: the model is
 * of the prompts of the others, and of the 5 ms that the third waits for the second. */
START_TEST(prompts_that_count_are_added_up)
{
	static const uint64_t at_ms[] = {50, 200, 210, 300};
	struct serving_options o = plain;
	struct served *all;
	double one_s;

	o.model = model_find("CFG-B");
	o.prompt = (struct lengths){LENGTHS_FIXED, 100, 0, 0};
	o.output = (struct lengths){LENGTHS_FIXED, 1, 0, 0};
	one_s = model_prefill_s(o.model, 100);
	all = begin(&o, 0, 1);
	all->s.random = 1;
	for (unsigned i = 0; i < 4; i++) {
		all->s.next_arrival_ns = at_ms[i] * MS;
		serving_arrive(&all->s);
	}
	ck_assert_uint_eq(all->r.requests, 3);
	ck_assert_double_eq(all->r.prompt_tokens, 300);
	ck_assert_double_eq_tol(all->r.prefill_s, 3 * one_s, 1e-12);
	ck_assert_double_eq_tol(all->r.wait_s, one_s - .01, 1e-8);
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
	tcase_add_test(tcase, bytes_of_a_shard);
	tcase_add_test(tcase, requests_at_once);
	tcase_add_test(tcase, a_batch_of_one_bounds_the_tokens);
	tcase_add_test(tcase, no_token_before_its_cache);
	tcase_add_test(tcase, preempted_requests_are_no_goodput);
	tcase_add_test(tcase, all_traffic_counts_when_caches_do);
	tcase_add_test(tcase, caches_are_part_of_all_traffic);
	tcase_add_test(tcase, what_is_lost_is_found);
	tcase_add_test(tcase, a_token_of_nobody_is_found);
	tcase_add_test(tcase, time_of_a_prefill_worker_adds_up);
	tcase_add_test(tcase, fabric_fraction_is_of_the_same_requests);
	tcase_add_test(tcase, the_router_weighs_blocks_against_what_waits);
	tcase_add_test(tcase, the_router_weighs_paths_of_workers_as_good);
	tcase_add_test(tcase, hits_and_repeats_are_of_the_same_look_ups);
	tcase_add_test(tcase, prompts_that_count_are_added_up);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
