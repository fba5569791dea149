/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_bench_hosts.h"
#include "bench/check_bench_fabric.h"
#include "engine/rendezvous.h"
#include "fabric/fabric.h"
#include "suite/test.h"

static char directory[] = "/tmp/check_fabric.XXXXXX", path[64], calls[64], refuse[64];

/* A program in farelab's place that writes down how it was called, and fails if told to. */
static void setup(void)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/farelab", directory);
	snprintf(calls, sizeof(calls), "%s/calls", directory);
	snprintf(refuse, sizeof(refuse), "%s/refuse", directory);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"#!/bin/sh\necho \"$*\" >>%s\n[ \"$1 $3 $4\" != \"$(cat %s 2>/dev/null)\" ]\n",
		calls, refuse);
	fclose(file);
	ck_assert_int_eq(chmod(path, 0755), 0);
	setenv("FARELAB", path, 1);
}

static void teardown(void)
{
	unlink(path);
	unlink(calls);
	unlink(refuse);
	rmdir(directory);
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
}

static void called(const char *expected)
{
	char text[512];
	FILE *file = fopen(calls, "r");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	unlink(calls);
	ck_assert_str_eq(text, expected);
}

static struct fabric make(void)
{
	struct fabric fabric = {0};

	lab_init(&fabric.lab, "mine");
	return fabric;
}

START_TEST(several_faults_are_healed_backwards)
{
	struct fabric fabric = make();
	uint64_t first, second, healed;

	ck_assert_int_eq(fabric_fail(&fabric, "plane s1/g0 0", &first), 0);
	ck_assert_int_eq(fabric_fail(&fabric, "plane s1/g0 1", &second), 0);
	ck_assert_uint_gt(second, first);
	called("fail mine plane s1/g0 0\nfail mine plane s1/g0 1\n");
	ck_assert_uint_eq(fabric.n_faults, 2);
	ck_assert_int_eq(fabric_heal(&fabric, &healed), 0);
	ck_assert_uint_ge(healed, second);
	called("heal mine plane s1/g0 1\nheal mine plane s1/g0 0\n");
	ck_assert_uint_eq(fabric.n_faults, 0);
	ck_assert_int_eq(fabric_heal(&fabric, &healed), 0);
	ck_assert_int_ne(access(calls, F_OK), 0);
	free(fabric.fault);
}
END_TEST

START_TEST(the_same_fault_twice)
{
	struct fabric fabric = make();
	uint64_t at_ns;

	ck_assert_int_eq(fabric_fail(&fabric, "leaf l0", &at_ns), 0);
	ck_assert_int_eq(fabric_fail(&fabric, "leaf l0", &at_ns), -EBUSY);
	called("fail mine leaf l0\n");
	ck_assert_uint_eq(fabric.n_faults, 1);
	free(fabric.fault);
}
END_TEST

/* A fault whose command failed may be there in part: it is healed as well. */
START_TEST(a_command_that_fails)
{
	struct fabric fabric = make();
	FILE *file = fopen(refuse, "w");
	uint64_t at_ns;

	ck_assert_ptr_nonnull(file);
	fputs("fail leaf l1", file);
	fclose(file);
	ck_assert_int_eq(fabric_fail(&fabric, "leaf l0", &at_ns), 0);
	ck_assert_int_lt(fabric_fail(&fabric, "leaf l1", &at_ns), 0);
	called("fail mine leaf l0\nfail mine leaf l1\n");
	ck_assert_int_eq(fabric_heal(&fabric, &at_ns), 0);
	called("heal mine leaf l1\nheal mine leaf l0\n");
	free(fabric.fault);
}
END_TEST

/* What is not healed stays in force, and is tried again. */
START_TEST(a_heal_that_fails)
{
	struct fabric fabric = make();
	FILE *file = fopen(refuse, "w");
	uint64_t at_ns;

	ck_assert_ptr_nonnull(file);
	fputs("heal leaf l0", file);
	fclose(file);
	ck_assert_int_eq(fabric_fail(&fabric, "leaf l0", &at_ns), 0);
	ck_assert_int_eq(fabric_fail(&fabric, "leaf l1", &at_ns), 0);
	ck_assert_int_lt(fabric_heal(&fabric, &at_ns), 0);
	ck_assert_uint_eq(fabric.n_faults, 1);
	unlink(refuse);
	unlink(calls);
	ck_assert_int_eq(fabric_heal(&fabric, &at_ns), 0);
	called("heal mine leaf l0\n");
	free(fabric.fault);
}
END_TEST

/* Whether a reason is given follows from the fabric at hand, not from the test that asks. */
START_TEST(a_reason_is_that_of_this_fabric)
{
	struct fabric fabric = make();

	ck_assert_ptr_nonnull(strstr(fabric_cannot(&fabric, NEED_ECN), "no ecn_threshold_kb"));
	ck_assert_ptr_nonnull(strstr(fabric_cannot(&fabric, NEED_ECN | NEED_PFC), "leaves mark"));
	fabric.can = NEED_ECN;
	ck_assert_ptr_null(fabric_cannot(&fabric, NEED_ECN));
	ck_assert_ptr_nonnull(strstr(fabric_cannot(&fabric, NEED_ECN | NEED_PFC), "no pfc"));
}
END_TEST

/* Of hosts nothing tells which links are cut but what this run has cut itself. */
START_TEST(hosts_links_that_are_cut)
{
	struct bench_hosts b = bench_hosts(400);
	struct fabric_fault cut = {"subport h1/g0 0 0"};
	struct fabric fabric = {
		.hosts = &b.hosts, .topo = b.hosts.inventory->topo, .fault = &cut, .n_faults = 1};
	const struct topo_gpu *gpus = fabric.topo->gpus;

	ck_assert_ptr_null(fabric_cannot_fail(&fabric, cut.spec));
	ck_assert_ptr_nonnull(fabric_cannot_fail(&fabric, "subport h0/g0 0 0"));
	ck_assert_ptr_nonnull(fabric_cannot_fail(&fabric, "leaf l0"));
	ck_assert_int_eq(fabric_check(&fabric), 0);
	ck_assert(!gpus[1].plane[0].sub_port[0].up);
	ck_assert(gpus[1].plane[1].sub_port[0].up);
	ck_assert(gpus[0].plane[0].sub_port[0].up);
	fabric.n_faults = 0;
	ck_assert_int_eq(fabric_check(&fabric), 0);
	ck_assert(gpus[1].plane[0].sub_port[0].up);
	bench_hosts_end(&b);
}
END_TEST

/* ---- memory of workers that have no dma-bufs ---- */

static json_t *json_of_two(void)
{
	return fabric(2);
}

struct fake_workers {
	unsigned n, accepted;
	pthread_t thread[4];
	int end[4]; /* of the coordinator */
};

struct fake_worker {
	int fd;
	unsigned gpu;
};

static void *fake_worker_run(void *arg)
{
	struct fake_worker *me = arg;
	struct rendezvous *link;
	json_t *message = json_pack("{s:i}", "gpu", (int)me->gpu), *request;

	if (rendezvous_create(&link, me->fd) || rendezvous_send(link, message))
		abort();
	json_decref(message);
	free(me);
	while (!rendezvous_receive(link, 60000, &request)) {
		bool host = !json_integer_value(json_object_get(request, "source"));
		const char *op = json_string_value(json_object_get(request, "op"));

		if (!op || strcmp(op, "arena") != 0) { /* quit */
			json_decref(request);
			break;
		}
		message = json_pack("{s:s, s:s}", "event", "arena", host ? "memory" : "lacks",
				    host ? FABRIC_HOST_MEMORY : "no dma-buf");
		if (rendezvous_send(link, message))
			abort();
		json_decref(message);
		json_decref(request);
	}
	rendezvous_destroy(link);
	return NULL;
}

static int fake_start(void *arg)
{
	struct fake_workers *all = arg;

	for (unsigned i = 0; i < all->n; i++) {
		struct fake_worker *worker = malloc(sizeof(*worker));
		int ends[2];

		ck_assert_ptr_nonnull(worker);
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		*worker = (struct fake_worker){.fd = ends[1], .gpu = i};
		all->end[i] = ends[0];
		ck_assert_int_eq(pthread_create(&all->thread[i], NULL, fake_worker_run, worker), 0);
	}
	return 0;
}

static int fake_accept(void *arg, int timeout_ms, struct rendezvous **link)
{
	struct fake_workers *all = arg;

	(void)timeout_ms;
	return rendezvous_create(link, all->end[all->accepted++]);
}

static void fake_end(void *arg, bool whole)
{
	struct fake_workers *all = arg;

	ck_assert(whole);
	for (unsigned i = 0; i < all->n; i++)
		pthread_join(all->thread[i], NULL);
}

/* After a run that wanted memory which nobody has the next one has the hosts', and says so: not
 * why the one before had none. */
START_TEST(what_is_missing_is_not_what_is_there)
{
	static const struct memory_pair dmabufs = {MEMORY_DMABUF, MEMORY_DMABUF}, host = {0};
	struct fake_workers workers = {.n = 2};
	const struct cluster_source source = {
		.start = fake_start, .accept = fake_accept, .end = fake_end, .arg = &workers};
	struct fabric fabric = make();

	fabric.topo = parsed(json_of_two());
	fabric.arena_bytes = 4096;
	ck_assert_int_eq(cluster_create_from(&fabric.cluster, fabric.topo, 4096, &source), 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(fabric_cluster_of(&fabric, 4096, &dmabufs), -EOPNOTSUPP);
		ck_assert_str_eq(fabric.memory_lacks, "GPU s0/g0: no dma-buf");
		ck_assert_int_eq(fabric_cluster_of(&fabric, 4096, &host), 0);
		ck_assert_str_eq(fabric.memory_text, "host memory");
	}
	fabric_no_cluster(&fabric);
	topo_destroy(fabric.topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric");
	TCase *tcase = tcase_create("fabric");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, several_faults_are_healed_backwards);
	tcase_add_test(tcase, the_same_fault_twice);
	tcase_add_test(tcase, a_command_that_fails);
	tcase_add_test(tcase, a_heal_that_fails);
	tcase_add_test(tcase, hosts_links_that_are_cut);
	tcase_add_test(tcase, a_reason_is_that_of_this_fabric);
	tcase_add_test(tcase, what_is_missing_is_not_what_is_there);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
