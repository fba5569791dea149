/* SPDX-License-Identifier: BSD-2-Clause */
/* Several processes at one address, and what a group says of itself when it opens. */
#include "domain_pair.h"

static struct fare_domain *second; /* of the address of domain 1 */

static int open_second(void)
{
	struct fare_domain_options options = {.trusted_network = true, .accept = true};

	return fare_domain_open(&second, fare[1], 0, &options);
}

static void turn_three(void)
{
	struct fare_event e[8];
	int n;

	turn();
	n = fare_domain_poll(second, e, 8);
	for (int i = 0; i < n; i++)
		n_received += e[i].kind == FARE_EVENT_RECEIVED ? 100 : 0;
}

#define THREE_UNTIL(condition)                                                                     \
	do {                                                                                       \
		for (time_t end = time(NULL) + PATIENCE_S; !(condition);) {                        \
			ck_assert_msg(time(NULL) < end, "never came true: " #condition);           \
			turn_three();                                                              \
		}                                                                                  \
	} while (0)

START_TEST(bytes_come_back_the_same)
{
	struct peer_address in = {address(1), 4795}, out;
	struct fare_address blob;
	uint64_t incarnation;

	peer_address_encode(&in, 77, &blob);
	ck_assert_int_eq(peer_address_decode(&blob, &out, &incarnation), 0);
	ck_assert(peer_address_equal(&in, &out));
	ck_assert_uint_eq(incarnation, 77);
	blob.bytes[31] = 1;
	ck_assert_int_eq(peer_address_decode(&blob, &out, &incarnation), -EINVAL);
	/* a name, and one without a port */
	peer_address_encode(&in, 0, &blob);
	ck_assert_int_eq(peer_address_decode(&blob, &out, &incarnation), 0);
	ck_assert_uint_eq(incarnation, 0);
	in.port = 0;
	peer_address_encode(&in, 77, &blob);
	ck_assert_int_eq(peer_address_decode(&blob, &out, &incarnation), 0);
	ck_assert_uint_eq(out.port, 0);
	memset(&blob, 0, sizeof(blob));
	ck_assert_int_eq(peer_address_decode(&blob, &out, &incarnation), -EINVAL);
}
END_TEST

/* Each message reaches the process that it was meant for; one ends, and the other goes on. */
START_TEST(two_processes_share_an_address)
{
	struct fare_write w = {.flags = FARE_WRITE_NOTIFY};
	struct fare_address first, other;
	struct fare_group *to_second;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(open_second(), 0);
	fare_domain_address(domain[1], &first);
	fare_domain_address(second, &other);
	ck_assert(memcmp(&first, &other, sizeof(first)));
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &first, NULL), 0);
	ck_assert_int_eq(fare_group_open_to(&to_second, domain[0], &other, NULL), 0);
	THREE_UNTIL(n_connected == 2);
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	ck_assert_int_eq(fare_group_write(to_second, &w), 0);
	ck_assert_int_eq(fare_group_write(to_second, &w), 0);
	THREE_UNTIL(n_completed == 3 && n_received == 201);
	fare_domain_close(second);
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -ECANCELED);
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_received == 202);
	ck_assert_uint_eq(n_closed, 1);
}
END_TEST

static int open_at(uint16_t port)
{
	struct fare_domain_options options = {
		.trusted_network = true, .accept = true, .port = port};

	return fare_domain_open(&domain[1], fare[1], 0, &options);
}

/* A process has the port that it asks for, and any peer that knows the number reaches it there. */
START_TEST(a_name_is_the_process_that_has_the_port)
{
	struct peer_address at = {address(1), 9228};
	struct fare_address name, own, peer;
	uint64_t incarnation;

	ck_assert_int_eq(open_at(9228), 0);
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	fare_domain_address(domain[1], &own);
	peer_address_encode(&at, 0, &name);
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &name, NULL), 0);
	ck_assert_int_eq(fare_group_peer_address(group, &peer), -ENOTCONN);
	TURN_UNTIL(n_connected);
	ck_assert_int_eq(fare_group_peer_address(group, &peer), 0);
	ck_assert_mem_eq(&peer, &own, sizeof(own));
	ck_assert_int_eq(peer_address_decode(&own, &at, &incarnation), 0);
	ck_assert_uint_eq(at.port, 9228);
}
END_TEST

START_TEST(ports_that_cannot_be_had)
{
	struct fare_domain *first;
	struct peer_address at = {.address = address(1)};
	struct fare_address name;

	ck_assert_int_eq(open_at(9228), 0);
	first = domain[1];
	ck_assert_int_eq(open_at(9228), -EADDRINUSE);
	ck_assert_ptr_null(domain[1]);
	/* packets come from these */
	ck_assert_int_eq(open_at(49152), -EINVAL);
	ck_assert_int_eq(open_at(65535), -EINVAL);
	peer_address_encode(&at, 0, &name);
	ck_assert_int_eq(fare_group_open_to(&group, first, &name, NULL), -EINVAL);
	peer_address_encode(&at, 77, &name);
	ck_assert_int_eq(fare_group_open_to(&group, first, &name, NULL), -EINVAL);
	fare_domain_close(first);
}
END_TEST

/* Another process has the address and port now: it is not the one that was meant. */
START_TEST(an_address_names_one_process)
{
	struct fare_address gone;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	fare_domain_address(domain[1], &gone);
	fare_domain_close(domain[1]);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &gone, NULL), 0);
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -ESTALE);
	memset(&gone, 0, sizeof(gone));
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &gone, NULL), -EINVAL);
	group = NULL;
}
END_TEST

static unsigned n_requests;

static int answer(void *arg, struct fare_request *request)
{
	struct in6_addr peer = address(0);

	n_requests++;
	ck_assert_mem_eq(&request->peer, &peer, sizeof(peer));
	ck_assert_uint_eq(request->bytes, 4);
	ck_assert_mem_eq(request->data, "rank", 4);
	memset(request->reply, 'r', FARE_PRIVATE_MAX);
	request->reply_bytes = FARE_PRIVATE_MAX;
	return *(int *)arg;
}

static void open_with_private(int verdict)
{
	static int v;
	struct in6_addr peer = address(1);
	struct fare_group_options options = {.private_data = "rank", .private_bytes = 4};
	struct fare_domain_options accepting = {.trusted_network = true,
						.accept = true,
						.on_request = answer,
						.on_request_arg = &v};

	v = verdict;
	n_requests = 0;
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(fare_domain_open(&domain[1], fare[1], 0, &accepting), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
}

START_TEST(each_end_says_something)
{
	size_t bytes;
	const uint8_t *data;

	open_with_private(0);
	TURN_UNTIL(n_connected && n_accepted);
	ck_assert_uint_eq(n_requests, 1);
	data = fare_group_private(group, &bytes);
	ck_assert_uint_eq(bytes, FARE_PRIVATE_MAX);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(data[i], 'r');
	data = fare_group_private(domain[1]->groups, &bytes);
	ck_assert_uint_eq(bytes, 4);
	ck_assert_mem_eq(data, "rank", 4);
}
END_TEST

START_TEST(an_application_refuses)
{
	open_with_private(-EPERM);
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -EPERM);
	ck_assert_uint_eq(domain[1]->n_groups, 0);
}
END_TEST

START_TEST(too_much_is_refused)
{
	static const uint8_t much[FARE_PRIVATE_MAX + 1];
	struct in6_addr peer = address(1);
	struct fare_group_options options = {.private_data = much, .private_bytes = sizeof(much)};

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), -EINVAL);
}
END_TEST

/* Both ends cut packets by the smaller of what they take. */
START_TEST(the_smaller_path_mtu_counts)
{
	struct fare_domain_options big = {.trusted_network = true, .accept = true};

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0); /* 1024 */
	big.path_mtu = 4096;
	ck_assert_int_eq(fare_domain_open(&domain[1], fare[1], 0, &big), 0);
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	ck_assert_uint_eq(domain[1]->ep.info->path_mtu, 4096);
	ck_assert_uint_eq(group->paths.path_mtu, 1024);
	ck_assert_uint_eq(domain[1]->groups->paths.path_mtu, 1024);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("peer_address");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, bytes_come_back_the_same);
	tcase_add_test(tc, two_processes_share_an_address);
	tcase_add_test(tc, a_name_is_the_process_that_has_the_port);
	tcase_add_test(tc, ports_that_cannot_be_had);
	tcase_add_test(tc, an_address_names_one_process);
	tcase_add_test(tc, each_end_says_something);
	tcase_add_test(tc, an_application_refuses);
	tcase_add_test(tc, too_much_is_refused);
	tcase_add_test(tc, the_smaller_path_mtu_counts);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
