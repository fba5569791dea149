/* Whether anything comes in over a plane, by what the kernel counts of lo in a network namespace of the test's own. */
#include <arpa/inet.h>
#include <check.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../own_sysfs.h"
#include "prober_internal.h"

#define T0	    (1000 * PROBER_MS_NS)
#define INTERVAL_NS (3 * PROBER_MS_NS)
#define LINE_BYTES  37500u /* of a link on which 64 KiB take 2.6 ms, in half an interval */

static struct sub_ports ports;
static struct prober p;
static int fd;

static void setup(void)
{
	struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(self);

	own_sysfs();
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = 1;
	ports.gpus[0].n_sub_ports[0] = 1;
	ports.gpus[0].ifindex[0][0] = (int)if_nametoindex("lo");
	ports.gpus[0].burst_ns[0] = 2621440;
	p.ports = &ports;
	p.times.interval_ns = INTERVAL_NS;
	prober_rx_open(&p);
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

static void come_in(size_t bytes)
{
	static char data[60000];

	ck_assert_int_eq(send(fd, data, bytes, 0), bytes);
	ck_assert_int_eq(recv(fd, data, sizeof(data), 0), bytes);
}

/* Half intervals after T0. */
static uint64_t sample(unsigned n)
{
	prober_sample_plane(&p, 0, 0, T0 + n * INTERVAL_NS / 2);
	return p.planes[0][0].heard_ns;
}

START_TEST(a_flow_is_heard)
{
	ck_assert_uint_eq(sample(0), T0); /* nothing to compare with yet */
	ck_assert_uint_eq(sample(1), T0);
	come_in(LINE_BYTES / 3);
	ck_assert_uint_eq(sample(2), T0 + INTERVAL_NS);
	ck_assert_uint_eq(sample(3), T0 + INTERVAL_NS);
}
END_TEST

/* What a leaf that forwards nothing has to say: keepalives, ARP. */
START_TEST(a_word_now_and_then_is_not)
{
	sample(0);
	for (unsigned i = 1; i < 20; i++) {
		come_in(85);
		ck_assert_uint_eq(sample(i), T0);
	}
}
END_TEST

START_TEST(anything_is_a_flow_on_a_link_of_unknown_speed)
{
	ports.gpus[0].burst_ns[0] = 0;
	sample(0);
	ck_assert_uint_eq(sample(1), T0);
	come_in(85);
	ck_assert_uint_eq(sample(2), T0 + INTERVAL_NS);
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

START_TEST(a_peers_probe_is_heard)
{
	sample(0);
	prober_heard_plane(&p, 0, 0, T0 + 7);
	ck_assert_uint_eq(sample(1), T0 + 7);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("prober_rx");
	TCase *tc = tcase_create("netns");
	SRunner *sr;
	int failed;

	if (unshare(CLONE_NEWNET) || system("ip link set lo up") != 0) {
		puts("skipped: no network namespace of one's own can be made here (root and iproute2 are needed)");
		return 77;
	}
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_flow_is_heard);
	tcase_add_test(tc, a_word_now_and_then_is_not);
	tcase_add_test(tc, anything_is_a_flow_on_a_link_of_unknown_speed);
	tcase_add_test(tc, after_a_pause_there_is_nothing_to_compare_with);
	tcase_add_test(tc, without_counts_the_plane_has_the_benefit_of_the_doubt);
	tcase_add_test(tc, a_peers_probe_is_heard);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
