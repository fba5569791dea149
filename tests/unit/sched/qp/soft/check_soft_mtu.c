/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as large as devices and both ends take, and an error where that cannot be. */
#include <errno.h>

#include "path_mtu.h"
#include "qp/soft/soft_mtu.h"
#include "soft_pair.h"

static void set_mtu(unsigned mtu)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link set lo mtu %u", mtu);
	ck_assert_int_eq(system(command), 0);
}

static const struct {
	uint32_t device;
	bool ipv6;
	uint32_t path;
} sizes[] = {
	{65536, false, 4096}, {4200, true, 4096}, {4160, false, 4096}, {4159, false, 2048},
	{4180, true, 4096},   {4179, true, 2048}, {1500, false, 1024}, {1500, true, 1024},
	{576, false, 512},    {320, false, 256},  {319, false, 0},
};

START_TEST(headers_fit_beside_the_payload)
{
	unsigned number = path_mtu_fitting(sizes[_i].device, sizes[_i].ipv6);

	ck_assert_uint_eq(path_mtu_bytes(number), sizes[_i].path);
}
END_TEST

START_TEST(devices_say_how_much_they_carry)
{
	char dev[FARE_DEV_NAME_MAX] = "?";
	uint32_t most = 7;
	struct qp_endpoint_attr attr = {.address = address("::ffff:127.0.0.2"),
					.n_planes = 2,
					.n_sub_ports = {1, 1},
					.dev = {{"none0"}, {"lo"}},
					.path_mtu = 4096,
					.max_path_mtu = &most,
					.max_path_mtu_dev = dev};
	struct qp_endpoint *ep;

	set_mtu(1500);
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), -EMSGSIZE);
	ck_assert_uint_eq(most, 1024);
	ck_assert_str_eq(dev, "lo");
	attr.path_mtu = 0;
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), 0);
	ck_assert_uint_eq(P->endpoint_info(ep)->path_mtu, 1024);
	P->endpoint_destroy(ep);
	attr.n_planes = 1; /* nothing is known of it */
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), 0);
	ck_assert_uint_eq(P->endpoint_info(ep)->path_mtu, 1024);
	ck_assert_uint_eq(most, 0);
	ck_assert_str_eq(dev, "");
	P->endpoint_destroy(ep);
}
END_TEST

/* One device that is set up wrongly shrinks nobody else's packets; half of them do not either. */
START_TEST(most_devices_decide)
{
	static const struct {
		unsigned mtu[4];
		uint32_t path;
	} cases[] = {
		{{4200, 4200, 4200, 900}, 4096},  {{900, 4200, 4200, 4200}, 4096},
		{{4200, 900, 4200, 900}, 4096},	  {{4200, 1500, 900, 900}, 1024},
		{{1500, 1500, 1500, 4200}, 1024}, {{200, 200, 200, 4200}, 0},
		{{1500, 1500, 1500, 1500}, 1024},
	};
	struct qp_endpoint_attr attr = {.address = address("::ffff:127.0.0.2"),
					.n_planes = 2,
					.n_sub_ports = {2, 2},
					.dev = {{"v0", "v1"}, {"v2", "v3"}}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct qp_mtus mtus = {0};
	const char *dev = "";
	char command[120];

	ck_assert_int_eq(system("ip link add v0 type veth peer v1"), 0);
	ck_assert_int_eq(system("ip link add v2 type veth peer v3"), 0);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(command, sizeof(command), "ip link set v%u mtu %u", i, cases[_i].mtu[i]);
		ck_assert_int_eq(system(command), 0);
	}
	ck_assert(soft_mtu_read(&mtus, &attr, fd));
	ck_assert_uint_eq(soft_mtu_of_most(&mtus, &attr, &dev), cases[_i].path);
	ck_assert_int_eq(dev[0], 'v');
	close(fd);
	ck_assert_int_eq(system("ip link del v0; ip link del v2"), 0);
}
END_TEST

/* One end takes more than the other: both ways, and READs, whose packets both ends count. */
START_TEST(ends_that_differ_agree_on_the_smaller)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	bool order_free = _i / 2 == 1;
	struct qp_work read = {.op = QP_OP_READ, .wr_id = 3, .length = BYTES};
	struct qp_mr readable;
	struct qp_stats stats;
	struct qp_work w;

	both_order_free = attr.order_free = order_free;
	set_mtu(65536);
	remote_path_mtu[0] = _i % 2 ? 1024 : 4096;
	remote_path_mtu[1] = _i % 2 ? 4096 : 1024;
	a = endpoint("::ffff:127.0.0.2", remote_path_mtu[0]);
	b = endpoint("::ffff:127.0.0.3", remote_path_mtu[1]);
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), 0);
	ck_assert_int_eq(P->qp_create(b, &attr, &qb), 0);
	join(qa, qb, "::ffff:127.0.0.2", "::ffff:127.0.0.3");
	register_memory();
	w = write_of(1, 0, BYTES, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, BYTES);
	stats = *P->endpoint_info(a)->stats;
	ck_assert_uint_eq(stats.tx_packets - stats.retransmitted_packets, BYTES / 1024);
	if (order_free) {
		close_pair();
		return;
	}
	memset(to, 0, BYTES);
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_READ, &readable), 0);
	read.data = to;
	read.lkey = mb.lkey;
	read.remote_addr = (uintptr_t)from;
	read.rkey = readable.rkey;
	ck_assert_int_eq(P->post(qb, &read), 0);
	RUN_UNTIL(n_wb == 2);
	ck_assert_int_eq(wb[1].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, BYTES);
	close_pair();
}
END_TEST

static uint32_t payload_by_lo(void)
{
	return P->endpoint_info(a)->mtus->payload[1][1];
}

/*
 * The device carries less than it did: the packet is lost, the endpoint says what the device
 * carries, and nothing fails. When it carries enough again, what was posted arrives.
 */
START_TEST(a_packet_that_is_too_long_is_lost)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_work w;
	struct qp_stats stats;
	uint64_t changes;

	both_order_free = attr.order_free = _i == 1;
	set_mtu(65536);
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr);
	ck_assert_uint_eq(payload_by_lo(), 4096);
	ck_assert_uint_eq(P->endpoint_info(a)->mtus->payload[0][0], QP_MTU_UNKNOWN);
	w = write_of(1, 0, 4096, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 1);
	changes = P->endpoint_info(a)->mtus->changes;
	set_mtu(1500);
	w = write_of(2, 0, 0, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 2);
	ck_assert_int_eq(wa[1].status, QP_WC_SUCCESS); /* an empty one fits */
	w = write_of(3, 0, 100000, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(payload_by_lo() == 1024);
	ck_assert_uint_gt(P->endpoint_info(a)->mtus->changes, changes);
	stats = *P->endpoint_info(a)->stats;
	ck_assert_uint_ge(stats.too_long_packets, 1);
	ck_assert_int_eq(n_wa, 2);
	set_mtu(65536);
	RUN_UNTIL(n_wa == 3);
	ck_assert_int_eq(wa[2].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, 100000);
	/* nothing is under way: the owner's own tick looks */
	RUN_UNTIL(P->endpoint_progress(a) >= 0 && payload_by_lo() == 4096);
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_mtu");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_loop_test(t, headers_fit_beside_the_payload, 0,
			    (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_loop_test(t, ends_that_differ_agree_on_the_smaller, 0, 4);
	tcase_add_test(t, devices_say_how_much_they_carry);
	tcase_add_loop_test(t, a_packet_that_is_too_long_is_lost, 0, 2);
	tcase_add_loop_test(t, most_devices_decide, 0, 7);
	suite_add_tcase(s, t);
	return run_suite(s);
}
