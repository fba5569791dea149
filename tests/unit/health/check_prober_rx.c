/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether anything comes in over a plane, by what the kernel counts of lo in a network namespace of
 * the test's own.
 */
#include <arpa/inet.h>
#include <check.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own_net.h"
#include "own_sysfs.h"
#include "prober_internal.h"

#define T0	    (1000 * HEALTH_MS_NS)
#define INTERVAL_NS (3 * HEALTH_MS_NS)

static struct sub_ports ports;
static struct prober p;
static int fd;

static void setup(void)
{
	struct sockaddr_in self = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(self);

	own_sysfs();
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = 1;
	ports.gpus[0].n_sub_ports[0] = 1;
	ports.gpus[0].ifindex[0][0] = (int)if_nametoindex("lo");
	p.ports = &ports;
	p.times.interval_ns = INTERVAL_NS;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&self, sizeof(self)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&self, &length), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&self, sizeof(self)), 0);
}

static void teardown(void)
{
	prober_rx_close(&p);
	close(fd);
}

static void come_in(void)
{
	char byte = 0;

	ck_assert_int_eq(send(fd, &byte, 1, 0), 1);
	ck_assert_int_eq(recv(fd, &byte, 1, 0), 1);
}

/* Half intervals after T0. */
static uint64_t sample(unsigned n)
{
	prober_sample_plane(&p, 0, 0, T0 + n * INTERVAL_NS / 2);
	return p.planes[0][0].heard_ns;
}

/* A plane that carries nothing toward us but an acknowledgement now and then is no dead one. */
START_TEST(one_packet_is_heard)
{
	ck_assert_uint_eq(sample(0), T0); /* nothing to compare with yet */
	ck_assert_uint_eq(sample(1), T0);
	come_in();
	ck_assert_uint_eq(sample(2), T0 + INTERVAL_NS);
	ck_assert_uint_eq(sample(3), T0 + INTERVAL_NS);
}
END_TEST

/* Counts are read for planes of which we ourselves read nothing. */
START_TEST(what_we_have_read_need_not_be_counted)
{
	sample(0);
	prober_plane_heard(&p, 0, 0, T0 + INTERVAL_NS / 2 + 1);
	come_in();
	ck_assert_uint_eq(sample(2), T0 + INTERVAL_NS / 2 + 1);
	ck_assert_uint_eq(p.planes[0][0].sampled_ns, T0);
	ck_assert_uint_eq(sample(3), T0 + 3 * INTERVAL_NS / 2);
	ck_assert_uint_eq(sample(4), T0 + 3 * INTERVAL_NS / 2);
}
END_TEST

START_TEST(after_a_pause_there_is_nothing_to_compare_with)
{
	sample(0);
	ck_assert_uint_eq(sample(4), T0);
	ck_assert_uint_eq(sample(9), T0 + 9 * INTERVAL_NS / 2);
}
END_TEST

START_TEST(without_counts_the_plane_has_the_benefit_of_the_doubt)
{
	ports.gpus[0].ifindex[0][0] = 0x7ffffff0;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(sample(i), T0 + i * INTERVAL_NS / 2);
}
END_TEST

/* What comes in by a device that cannot be counted is not seen. */
START_TEST(one_device_without_counts_is_enough_for_that)
{
	ports.gpus[0].n_sub_ports[0] = 2;
	ports.gpus[0].ifindex[0][1] = 0x7ffffff0;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(sample(i), T0 + i * INTERVAL_NS / 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("prober_rx");
	TCase *tc = tcase_create("netns");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_packet_is_heard);
	tcase_add_test(tc, what_we_have_read_need_not_be_counted);
	tcase_add_test(tc, after_a_pause_there_is_nothing_to_compare_with);
	tcase_add_test(tc, without_counts_the_plane_has_the_benefit_of_the_doubt);
	tcase_add_test(tc, one_device_without_counts_is_enough_for_that);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
