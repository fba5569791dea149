/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters as drivers and switches name them: recorded names, a sysfs that is made up. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/host_counters.h"
#include "launch/nic_counters.h"

static json_t *parsed(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(json);
	return json;
}

static struct nic_counts grown(const char *before, const char *after)
{
	struct nic_counts c = {.known = {false}};
	json_t *a = parsed(before), *b = parsed(after);

	ck_assert_int_eq(nic_counts_add(&c, a, b), 0);
	json_decref(a);
	json_decref(b);
	return c;
}

/* mlx5: priorities count, and not the sum of all beside them; the port's CRC errors once. */
START_TEST(a_mellanox_nic)
{
	struct nic_counts c = grown(
		"{\"p0.ethtool.rx_prio3_pause\":10,\"p0.ethtool.rx_prio4_pause\":0,"
		"\"p0.ethtool.rx_pause_ctrl_phy\":10,\"p0.ethtool.tx_prio3_pause\":1,"
		"\"p0.ethtool.rx_prio3_pause_duration\":5,\"p0.ethtool.rx_crc_errors_phy\":7,"
		"\"p0.rx_crc_errors\":7,\"p0.ethtool.rx_vport_rdma_unicast_packets\":1000,"
		"\"mlx5_0.1.np_ecn_marked_roce_packets\":3,\"mlx5_0.1.np_cnp_sent\":2,"
		"\"mlx5_0.1.rp_cnp_handled\":1}",
		"{\"p0.ethtool.rx_prio3_pause\":14,\"p0.ethtool.rx_prio4_pause\":1,"
		"\"p0.ethtool.rx_pause_ctrl_phy\":15,\"p0.ethtool.tx_prio3_pause\":1,"
		"\"p0.ethtool.rx_prio3_pause_duration\":99,\"p0.ethtool.rx_crc_errors_phy\":9,"
		"\"p0.rx_crc_errors\":9,\"p0.ethtool.rx_vport_rdma_unicast_packets\":3000,"
		"\"mlx5_0.1.np_ecn_marked_roce_packets\":43,\"mlx5_0.1.np_cnp_sent\":12,"
		"\"mlx5_0.1.rp_cnp_handled\":6,\"p1.ethtool.rx_prio3_pause\":900}");
	char text[512];

	ck_assert_uint_eq(c.grown[NIC_PAUSES_RX], 5);
	ck_assert(c.known[NIC_PAUSES_TX]);
	ck_assert_uint_eq(c.grown[NIC_PAUSES_TX], 0);
	ck_assert_uint_eq(c.grown[NIC_CRC_ERRORS], 2);
	ck_assert_uint_eq(c.grown[NIC_ECN_MARKED], 40);
	ck_assert_uint_eq(c.grown[NIC_RDMA_RX], 2000);
	ck_assert(!c.known[NIC_FEC_UNCORRECTED]);
	nic_counts_show(&c, text, sizeof(text));
	ck_assert_str_eq(
		text, "pause frames received 5, pause frames sent 0, packets with congestion "
		      "experienced 40, CNPs sent 10, CNPs received 5, CRC errors 2, RDMA packets "
		      "received 2000");
}
END_TEST

START_TEST(other_nics)
{
	struct nic_counts c = grown(
		"{\"b0.ethtool.rx_pfc_ena_frames_pri3\":0,\"b0.ethtool.rx_pause_frames\":0,"
		"\"b0.ethtool.rx_fec_uncorrectable_blocks\":1,\"i0.ethtool.rx_crc_errors.nic\":4,"
		"\"i0.rx_crc_errors\":4,\"bnxt_re0.1.rx_ecn_marked_pkts\":0,"
		"\"irdma0.1.RxECNMrkd\":1,\"v0.rx_crc_errors\":0}",
		"{\"b0.ethtool.rx_pfc_ena_frames_pri3\":2,\"b0.ethtool.rx_pause_frames\":2,"
		"\"b0.ethtool.rx_fec_uncorrectable_blocks\":1,\"i0.ethtool.rx_crc_errors.nic\":5,"
		"\"i0.rx_crc_errors\":5,\"bnxt_re0.1.rx_ecn_marked_pkts\":6,"
		"\"irdma0.1.RxECNMrkd\":0,\"v0.rx_crc_errors\":1}");

	ck_assert_uint_eq(c.grown[NIC_PAUSES_RX], 2);
	ck_assert(c.known[NIC_FEC_UNCORRECTED]);
	ck_assert_uint_eq(c.grown[NIC_CRC_ERRORS], 2); /* of i0 and of v0 */
	ck_assert_uint_eq(c.grown[NIC_ECN_MARKED], 6); /* one that began anew takes nothing away */
}
END_TEST

/* Two hosts: the marks of one that counts no packets are in no rate. */
START_TEST(marks_are_of_the_packets_beside_them)
{
	struct nic_counts c = {.known = {false}};
	json_t *before = parsed("{\"irdma0.1.RxECNMrkd\":0,\"p0.rx_crc_errors\":0}"),
	       *after = parsed("{\"irdma0.1.RxECNMrkd\":50,\"p0.rx_crc_errors\":0}");

	ck_assert_int_eq(nic_counts_add(&c, before, after), 0);
	ck_assert_uint_eq(c.marked_of, 0);
	json_decref(before);
	json_decref(after);
	before = parsed("{\"bnxt_re0.1.rx_ecn_marked_pkts\":0,\"bnxt_re0.1.rx_roce_only_pkts\":0}");
	after = parsed(
		"{\"bnxt_re0.1.rx_ecn_marked_pkts\":5,\"bnxt_re0.1.rx_roce_only_pkts\":100}");
	ck_assert_int_eq(nic_counts_add(&c, before, after), 0);
	ck_assert_uint_eq(c.grown[NIC_ECN_MARKED], 55);
	ck_assert_uint_eq(c.marked, 5);
	ck_assert_uint_eq(c.marked_of, 100);
	json_decref(before);
	json_decref(after);
}
END_TEST

/* A leaf pauses a host 3 times and is paused by it twice, and a spine pauses the leaf 4 times. */
START_TEST(a_pause_counts_once)
{
	struct nic_counts none = {.known = {false}}, nics = none, both = none, leaf = none;
	bool known;

	nics.known[NIC_PAUSES_RX] = nics.known[NIC_PAUSES_TX] = true;
	nics.grown[NIC_PAUSES_RX] = 3;
	nics.grown[NIC_PAUSES_TX] = 2;
	ck_assert_uint_eq(nic_pauses(&nics, &none, &known), 5);
	ck_assert(known);
	both.known[NIC_PAUSES_RX] = both.known[NIC_PAUSES_TX] = true;
	both.grown[NIC_PAUSES_TX] = 7; /* of both switches */
	both.grown[NIC_PAUSES_RX] = 6;
	ck_assert_uint_eq(nic_pauses(&nics, &both, &known), 9);
	leaf.known[NIC_PAUSES_RX] = true;
	leaf.grown[NIC_PAUSES_RX] = 6;
	ck_assert_uint_eq(nic_pauses(&nics, &leaf, &known), 9);
	ck_assert_uint_eq(nic_pauses(&none, &none, &known), 0);
	ck_assert(!known);
}
END_TEST

static void put(const char *root, const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "we");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_sysfs_that_is_made_up)
{
	static const char rdma[] = "class/infiniband/mlx5_0/ports/1/";
	char root[] = "/tmp/check_nic.XXXXXX", path[256], command[64];
	const char *dev[] = {"p0"};
	struct nic_counts c = {.known = {false}};
	json_t *before, *after;

	ck_assert_ptr_nonnull(mkdtemp(root));
	put(root, "class/net/p0/statistics/rx_crc_errors", "1\n");
	put(root, "class/net/p0/statistics/rx_bytes", "a word\n");
	snprintf(path, sizeof(path), "%shw_counters/np_ecn_marked_roce_packets", rdma);
	put(root, path, "5\n");
	put(root, "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "p0\n");
	put(root, "class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "storage0\n");
	put(root, "class/infiniband/mlx5_1/ports/1/hw_counters/np_ecn_marked_roce_packets", "0\n");
	before = host_counters_read(root, dev, 1);
	put(root, path, "25\n");
	put(root, "class/infiniband/mlx5_1/ports/1/hw_counters/np_ecn_marked_roce_packets", "7\n");
	put(root, "class/net/p0/statistics/rx_crc_errors", "4\n");
	after = host_counters_read(root, dev, 1);
	ck_assert_int_eq(nic_counts_add(&c, before, after), 0);
	ck_assert_uint_eq(c.grown[NIC_CRC_ERRORS], 3);
	ck_assert_uint_eq(c.grown[NIC_ECN_MARKED], 20); /* of p0's device alone */
	json_decref(before);
	json_decref(after);
	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* More counters than a host may have, and those of an RDMA device and of a class still there. */
START_TEST(known_classes_are_never_cut)
{
	char root[] = "/tmp/check_nic.XXXXXX", path[256], command[64], *text;
	const char *dev[] = {"p0"};
	json_t *before, *after;

	ck_assert_ptr_nonnull(mkdtemp(root));
	for (int i = 0; i < HOST_COUNTERS_MAX + 10; i++) {
		snprintf(path, sizeof(path), "class/net/p0/statistics/ring%d", i);
		put(root, path, "1\n");
	}
	put(root, "class/net/p0/statistics/rx_crc_errors", "1\n");
	put(root, "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "p0\n");
	put(root, "class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n");
	before = host_counters_read(root, dev, 1);
	put(root, "class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "6\n");
	put(root, "class/net/p0/statistics/rx_crc_errors", "3\n");
	after = host_counters_read(root, dev, 1);
	text = host_counters_grown(before, after);
	ck_assert_ptr_nonnull(strstr(text, "mlx5_0.1.np_cnp_sent +1"));
	ck_assert_ptr_nonnull(strstr(text, "p0.rx_crc_errors +2"));
	ck_assert_ptr_nonnull(strstr(text, "counters of no known class are left out"));
	free(text);
	json_decref(before);
	json_decref(after);
	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

static struct nic_counts of_switch(const char *before, const char *after)
{
	struct nic_counts c = {.known = {false}};
	json_t *a = nic_counters_of_text("leaf0", before, strlen(before)),
	       *b = nic_counters_of_text("leaf0", after, strlen(after));

	ck_assert_int_eq(nic_counts_add(&c, a, b), 0);
	json_decref(a);
	json_decref(b);
	return c;
}

START_TEST(a_switch_that_prints_json)
{
	struct nic_counts c =
		of_switch("{\"Ethernet0\": {\"SAI_PORT_STAT_PFC_3_RX_PKTS\": \"1,017\", "
			  "\"SAI_PORT_STAT_PFC_3_TX_PKTS\": 42, \"state\": \"up\"}, \"Ethernet4\": "
			  "{\"SAI_PORT_STAT_PFC_3_RX_PKTS\": 5}}",
			  "{\"Ethernet0\": {\"SAI_PORT_STAT_PFC_3_RX_PKTS\": \"1,020\", "
			  "\"SAI_PORT_STAT_PFC_3_TX_PKTS\": 43, \"state\": \"up\"}, \"Ethernet4\": "
			  "{\"SAI_PORT_STAT_PFC_3_RX_PKTS\": 9}}");

	ck_assert_uint_eq(c.grown[NIC_PAUSES_RX], 7);
	ck_assert_uint_eq(c.grown[NIC_PAUSES_TX], 1);
}
END_TEST

START_TEST(a_switch_that_prints_lines)
{
	struct nic_counts c = of_switch("swp1\n  rx_prio3_pause: 7\n  rx_crc_errors = 0\n\nswp2\n"
					"  rx_prio3_pause: 1\nuptime 3 days\n",
					"swp1\n  rx_prio3_pause: 8\n  rx_crc_errors = 2\n\nswp2\n"
					"  rx_prio3_pause: 4\nuptime 3 days\n");

	ck_assert_uint_eq(c.grown[NIC_PAUSES_RX], 4);
	ck_assert_uint_eq(c.grown[NIC_CRC_ERRORS], 2);
}
END_TEST

START_TEST(what_is_no_counter)
{
	static const char *const text[] = {"",
					   "\n\n",
					   ":\n",
					   "x",
					   "x -1",
					   "x 1.5",
					   "[]",
					   "[[[",
					   "{\"a\":",
					   "\0 \0 1",
					   ("9999999999999999999 "
					    "9999999999999999999")};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		json_t *all = nic_counters_of_text("s", text[i], strlen(text[i]));

		ck_assert_uint_eq(json_object_size(all), 0);
		json_decref(all);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nic_counters");
	TCase *tcase = tcase_create("nic_counters");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_mellanox_nic);
	tcase_add_test(tcase, other_nics);
	tcase_add_test(tcase, marks_are_of_the_packets_beside_them);
	tcase_add_test(tcase, a_pause_counts_once);
	tcase_add_test(tcase, a_sysfs_that_is_made_up);
	tcase_add_test(tcase, known_classes_are_never_cut);
	tcase_add_test(tcase, a_switch_that_prints_json);
	tcase_add_test(tcase, a_switch_that_prints_lines);
	tcase_add_test(tcase, what_is_no_counter);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
