/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace hands out what was said of its path, in order, as many probes as were asked for, and says
 * what did not fit. */
#include "trace.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOW  UINT64_C(5000000000)
#define WALL UINT64_C(1700000000000000000)
#define RTT  UINT64_C(70000)

static struct trace trace;
static struct in6_addr peer, other;
static json_t *lines;

static void setup(void)
{
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:198.19.0.2", &peer), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:198.19.0.3", &other), 1);
	trace = (struct trace){0};
	lines = json_array();
}

static void teardown(void)
{
	json_decref(lines);
}

static void on_line(void *arg, const json_t *line)
{
	(void)arg;
	json_array_append(lines, (json_t *)(uintptr_t)line);
}

/* Probe s is sent s us after probe 0, and answered RTT later. */
static void probe(enum prober_trace_kind kind, uint32_t sequence)
{
	uint64_t sent_ns = NOW - 1000000 + sequence * UINT64_C(1000);
	const struct prober_trace p = {.kind = kind,
				       .at_ns = kind == PROBER_TRACE_SENT ? sent_ns : sent_ns + RTT,
				       .sequence = sequence,
				       .local_sub_port = 1,
				       .remote_sub_port = -1,
				       .reply_sub_port = 0,
				       .source_port = 50000,
				       .counts = true,
				       .rtt_ns = RTT,
				       .state = PROBE_UP};

	trace_probe(&trace, &p);
}

static size_t flush(void)
{
	trace_flush(&trace, NOW, WALL, on_line, NULL);
	return json_array_size(lines);
}

static const char *line(size_t i)
{
	static char text[512];
	char *dump = json_dumps(json_array_get(lines, i), JSON_COMPACT);

	ck_assert_ptr_nonnull(dump);
	ck_assert_uint_lt(strlen(dump), sizeof(text));
	strcpy(text, dump);
	free(dump);
	return text;
}

START_TEST(as_many_probes_as_were_asked_for)
{
	trace_begin(&trace, 0, &peer, 1, 2);
	probe(PROBER_TRACE_SENT, 7);
	probe(PROBER_TRACE_ANSWERED, 7);
	ck_assert_uint_eq(flush(), 2);
	ck_assert_str_eq(
		line(0),
		"{\"what\":\"sent\",\"sequence\":7,\"mono_ns\":4999007000,\"wall_ns\":"
		"1699999999999007000,\"local_sub_port\":1,\"remote_sub_port\":null,"
		"\"reply_sub_port\":0,\"source_port\":50000,\"counts\":true,\"state\":\"up\"}");
	ck_assert_ptr_nonnull(strstr(line(1), "\"what\":\"answered\""));
	ck_assert_ptr_nonnull(strstr(line(1), "\"rtt_ns\":70000"));
	probe(PROBER_TRACE_SENT, 8);
	ck_assert_uint_eq(flush(), 3); /* its answer is waited for */
	ck_assert(trace.running);
	probe(PROBER_TRACE_ANSWERED, 8);
	probe(PROBER_TRACE_SENT, 9);
	ck_assert_uint_eq(flush(), 5);
	ck_assert_str_eq(line(4), "{\"what\":\"end\",\"sent\":2,\"answered\":2}");
	ck_assert(!trace.running);
	probe(PROBER_TRACE_SENT, 10);
	ck_assert_uint_eq(flush(), 5);
}
END_TEST

/* Until the next one leaves: then no answer is waited for any more. */
START_TEST(a_last_probe_that_is_lost_ends_it)
{
	trace_begin(&trace, 0, &peer, 1, 1);
	probe(PROBER_TRACE_SENT, 7);
	probe(PROBER_TRACE_SENT, 8);
	ck_assert_uint_eq(flush(), 2);
	ck_assert_str_eq(line(1), "{\"what\":\"end\",\"sent\":1,\"answered\":0}");
}
END_TEST

START_TEST(answers_to_probes_of_before_are_not_of_it)
{
	trace_begin(&trace, 0, &peer, 1, 2);
	probe(PROBER_TRACE_ANSWERED, 5);
	probe(PROBER_TRACE_SENT, 7);
	probe(PROBER_TRACE_ANSWERED, 6);
	probe(PROBER_TRACE_SENT, 8);
	probe(PROBER_TRACE_ANSWERED, 7);
	probe(PROBER_TRACE_ANSWERED, 8);
	ck_assert_uint_eq(flush(), 5);
	ck_assert_str_eq(line(4), "{\"what\":\"end\",\"sent\":2,\"answered\":2}");
}
END_TEST

START_TEST(transitions_of_its_path_alone)
{
	const struct probe_fsm_change change = {
		.old_state = PROBE_UP, .new_state = PROBE_SUSPECT, .reason = "a reply is overdue"};

	trace_begin(&trace, 0, &peer, 1, 5);
	trace_change(&trace, 0, &peer, 1, &change, NOW);
	trace_change(&trace, 1, &peer, 1, &change, NOW);
	trace_change(&trace, 0, &peer, 0, &change, NOW);
	trace_change(&trace, 0, &other, 1, &change, NOW);
	ck_assert_uint_eq(flush(), 1);
	ck_assert_str_eq(line(0), "{\"what\":\"state\",\"mono_ns\":5000000000,\"wall_ns\":"
				  "1700000000000000000,\"from\":\"up\",\"to\":\"suspect\","
				  "\"reason\":\"a reply is overdue\"}");
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
	trace_begin(&trace, 0, &peer, 1, 10000);
	for (uint32_t i = 0; i < TRACE_ROOM + 3; i++)
		probe(PROBER_TRACE_SENT, i);
	ck_assert_uint_eq(flush(), TRACE_ROOM + 1);
	ck_assert_str_eq(line(TRACE_ROOM), "{\"what\":\"missed\",\"n\":3}");
	probe(PROBER_TRACE_SENT, 1);
	ck_assert_uint_eq(flush(), TRACE_ROOM + 2);
}
END_TEST

START_TEST(nobody_looks_on)
{
	probe(PROBER_TRACE_SENT, 1);
	ck_assert_uint_eq(flush(), 0);
	trace_begin(&trace, 0, &peer, 1, 5);
	probe(PROBER_TRACE_SENT, 1);
	trace_stop(&trace);
	ck_assert_uint_eq(flush(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace");
	TCase *tc = tcase_create("lines");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, as_many_probes_as_were_asked_for);
	tcase_add_test(tc, a_last_probe_that_is_lost_ends_it);
	tcase_add_test(tc, answers_to_probes_of_before_are_not_of_it);
	tcase_add_test(tc, transitions_of_its_path_alone);
	tcase_add_test(tc, what_does_not_fit_is_counted);
	tcase_add_test(tc, nobody_looks_on);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
