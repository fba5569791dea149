/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public per-flow face over a real segment: all QPs from the beginning, a daemon that comes
 * back, another configuration.
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "fare.h"
#include "shm_writer.h"

#define FLOWS 400

static char dir[] = "/tmp/fare-check-XXXXXX";
static struct shm_writer_gpu gpu;
static struct shm_writer *writer;
static struct fare *fare;
static struct fare_pair *pair;
static struct in6_addr peer;

static void open_writer(void)
{
	ck_assert_int_eq(shm_writer_open(&writer, dir, 0600, &gpu, 1, NULL), 0);
	for (uint32_t p = 0; p < gpu.n_planes; p++)
		for (uint32_t s = 0; s < 2; s++)
			shm_writer_sub_port(writer, 0, p, s, true, 100);
}

static void publish(void)
{
	struct shm_path path[4];

	for (unsigned p = 0; p < 4; p++)
		path[p] = (struct shm_path){.usable_bps = 100, .verdict = FARE_VERDICT_OK};
	ck_assert_int_ge(shm_writer_publish(writer,
					    (uint32_t)shm_writer_pair(writer, 0, peer.s6_addr),
					    path, gpu.n_planes),
			 0);
}

static void setup(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(&gpu, 0, sizeof(gpu));
	inet_pton(AF_INET6, "2001:db8::1", gpu.address[1]);
	inet_pton(AF_INET6, "2001:db8::2", &peer);
	gpu.n_planes = 4;
	for (unsigned p = 0; p < 4; p++) {
		gpu.n_sub_ports[p] = 2;
		strcpy(gpu.dev[p][0], "even");
		strcpy(gpu.dev[p][1], "odd");
	}
	open_writer();
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
}

static void teardown(void)
{
	char path[64];

	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(writer);
	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	unlink(path);
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	unlink(path);
	rmdir(dir);
}

/* Where each of the first flows goes. */
static void pick_all(struct fare_flows *flows, unsigned plane[4], unsigned index[4])
{
	struct fare_flow_slot slot;

	memset(plane, 0, 4 * sizeof(*plane));
	memset(index, 0, 4 * sizeof(*index));
	for (uint64_t k = 0; k < FLOWS; k++) {
		ck_assert_int_eq(fare_flows_pick(flows, k, clock_now_ns(), &slot), 0);
		ck_assert(slot.plane < 4 && slot.index < 4);
		plane[slot.plane]++;
		index[slot.index]++;
	}
}

/* An application may start before BGP has told of the peer: its flows get all QPs all the same. */
START_TEST(early_or_late_all_qps_are_used)
{
	struct fare_flows_options options = {.max_flows = FLOWS, .slots_per_sub_port = 2};
	unsigned plane[4], index[4];

	for (int late = 0; late < 2; late++) {
		struct fare_flows *flows;

		ck_assert_int_eq(fare_flows_open(&flows, pair, &options), 0);
		publish();
		pick_all(flows, plane, index);
		for (unsigned i = 0; i < 4; i++) {
			ck_assert_uint_eq(plane[i], FLOWS / 4);
			ck_assert_uint_eq(index[i], FLOWS / 4);
		}
		fare_flows_close(flows);
	}
}
END_TEST

START_TEST(a_plane_that_is_no_more_is_left)
{
	struct fare_flows_options options = {.max_flows = FLOWS};
	struct fare_flows *flows;
	unsigned plane[4], index[4];

	publish();
	ck_assert_int_eq(fare_flows_open(&flows, pair, &options), 0);
	pick_all(flows, plane, index);
	ck_assert_uint_eq(plane[3], FLOWS / 4);
	shm_writer_close(writer);
	gpu.n_planes = 3;
	open_writer();
	publish();
	pick_all(flows, plane, index);
	ck_assert_uint_eq(plane[3], 0);
	fare_flows_close(flows);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	return fd;
}

/*
 * The daemon was away when the application attached, and went away again: its return is noticed by
 * whoever only picks.
 */
START_TEST(a_pick_offers_its_table_to_a_daemon_that_returns)
{
	struct fare_flow_slot slot;
	struct fare_flows *flows;
	uint64_t now = clock_now_ns();
	char path[64];
	int listener, client;

	publish();
	ck_assert_int_eq(fare_flows_open(&flows, pair, NULL), 0);
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	listener = listen_at(path);
	for (int times = 0; times < 2; times++) {
		now += 2000000000;
		ck_assert_int_eq(fare_flows_pick(flows, 1, now, &slot), 0);
		client = accept(listener, NULL, NULL);
		ck_assert_int_ge(client, 0);
		ck_assert_int_eq(fare_flows_pick(flows, 1, now + 1, &slot), 0);
		ck_assert_int_lt(accept(listener, NULL, NULL), 0);
		close(client);
	}
	close(listener);
	fare_flows_close(flows);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fare_flows");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, early_or_late_all_qps_are_used);
	tcase_add_test(t, a_plane_that_is_no_more_is_left);
	tcase_add_test(t, a_pick_offers_its_table_to_a_daemon_that_returns);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
