/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices in one process, and what becomes of their communicators. */
#include <utlist.h>

#include "../qp/domain_pair.h"
#include "nccl/nccl_comm.h"
#include "nccl/nccl_listener.h"

#define SIZE 4096

static struct device devices[2][FARE_MAX_LOCAL_GPUS];
static uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
static uint8_t memory[2][SIZE];
static struct fare_mr *mr[2];

static void list(int h)
{
	int n = 0;

	memset(devices[h], 0, sizeof(devices[h]));
	setenv("FARE_RUN_DIR", dir[h], 1);
	ck_assert_int_eq(device_list(devices[h], &n, NULL), ncclSuccess);
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_null(devices[h][0].domain);
	ck_assert_int_eq(device_open(devices[h]), ncclSuccess);
	ck_assert_int_eq(
		fare_mr_register(&mr[h], devices[h]->domain, memory[h], SIZE, FARE_REMOTE_WRITE),
		0);
}

static void setup_devices(void)
{
	setup();
	setenv("FARE_TRUSTED_NETWORK", "1", 1);
	list(0);
	list(1);
}

/* What communicators are left goes with the process that each test is. */
static void teardown_devices(void)
{
	for (int h = 0; h < 2; h++)
		fare_domain_close(devices[h]->domain);
	teardown();
}

static void turn_devices(void)
{
	ck_assert_int_eq(comm_progress(devices[0]), ncclSuccess);
	ck_assert_int_eq(comm_progress(devices[1]), ncclSuccess);
}

#define DEVICES_UNTIL(condition)                                                                   \
	do {                                                                                       \
		for (time_t end = time(NULL) + PATIENCE_S; !(condition);) {                        \
			ck_assert_msg(time(NULL) < end, "never came true: " #condition);           \
			turn_devices();                                                            \
		}                                                                                  \
	} while (0)

static struct listener *listen_at_1(void)
{
	struct listener *l;

	ck_assert_int_eq(listener_create(&l, devices[1], handle), ncclSuccess);
	return l;
}

static ncclResult_t connect_as(struct comm **out, uint8_t dscp)
{
	uint8_t copy[NCCL_NET_HANDLE_MAXSIZE];
	ncclResult_t result = ncclSuccess;

	memcpy(copy, handle, sizeof(copy));
	*out = NULL;
	for (time_t end = time(NULL) + PATIENCE_S; !*out && result == ncclSuccess;) {
		ck_assert(time(NULL) < end);
		result = listener_connect(out, devices[0], copy, dscp);
		turn_devices();
	}
	return result;
}

static ncclResult_t connect_until(struct comm **out)
{
	return connect_as(out, 0);
}

static void make_pair(struct listener *l, struct comm **tx, struct comm **rx)
{
	ck_assert_int_eq(connect_until(tx), ncclSuccess);
	DEVICES_UNTIL((*rx = listener_accept(l)) != NULL);
}

static unsigned n_groups(int h)
{
	struct peer_group *g;
	int n;

	DL_COUNT(devices[h]->groups, g, n);
	return (unsigned)n;
}

static bool is_done(struct request *r)
{
	int done;

	ck_assert_int_eq(comm_test(r, &done, NULL), ncclSuccess);
	return done;
}

static void exchange(struct comm *tx, struct comm *rx, uint8_t content)
{
	struct request *sent = NULL, *got = NULL;

	memset(memory[0], content, SIZE);
	ck_assert_int_eq(comm_receive(rx, memory[1], SIZE, 5, mr[1], &got), ncclSuccess);
	ck_assert_ptr_nonnull(got);
	for (time_t end = time(NULL) + PATIENCE_S; !sent; turn_devices()) {
		ck_assert(time(NULL) < end);
		ck_assert_int_eq(comm_send(tx, memory[0], SIZE, 5, mr[0], &sent), ncclSuccess);
	}
	DEVICES_UNTIL(is_done(got));
	DEVICES_UNTIL(is_done(sent));
	ck_assert(memory[1][0] == content && memory[1][SIZE - 1] == content);
}

START_TEST(communicators_share_one_group)
{
	struct listener *l = listen_at_1();
	struct comm *tx[4], *rx[4];

	for (int i = 0; i < 4; i++)
		make_pair(l, &tx[i], &rx[i]);
	ck_assert_uint_eq(n_groups(0), 1);
	ck_assert_uint_eq(n_groups(1), 1);
	for (int i = 0; i < 4; i++)
		exchange(tx[i], rx[i], (uint8_t)(i + 1));
}
END_TEST

/* Packets of a group are of one class. */
START_TEST(each_class_has_its_group)
{
	struct comm *tx[3];

	listen_at_1();
	ck_assert_int_eq(connect_as(&tx[0], 0), ncclSuccess);
	ck_assert_int_eq(connect_as(&tx[1], 26), ncclSuccess);
	ck_assert_int_eq(connect_as(&tx[2], 26), ncclSuccess);
	ck_assert_uint_eq(n_groups(0), 2);
	ck_assert_ptr_eq(tx[1]->group, tx[2]->group);
}
END_TEST

START_TEST(one_that_closes_leaves_the_others)
{
	struct listener *l = listen_at_1();
	struct request *r = NULL;
	struct comm *tx[2], *rx[2];

	make_pair(l, &tx[0], &rx[0]);
	make_pair(l, &tx[1], &rx[1]);
	comm_leave(tx[0]);
	DEVICES_UNTIL(rx[0]->state == COMM_OVER);
	ck_assert_int_eq(comm_receive(rx[0], memory[1], 1, 0, mr[1], &r), ncclRemoteError);
	exchange(tx[1], rx[1], 9);
	comm_leave(rx[1]);
	DEVICES_UNTIL(tx[1]->state == COMM_OVER);
	ck_assert_int_eq(comm_send(tx[1], memory[0], 1, 0, mr[0], &r), ncclRemoteError);
	/* the last of the opener's ends the group, that of the other end's frees its half */
	comm_leave(tx[1]);
	comm_leave(rx[0]);
	DEVICES_UNTIL(!n_groups(0) && !n_groups(1));
	/* and the next makes another */
	make_pair(l, &tx[0], &rx[0]);
	exchange(tx[0], rx[0], 10);
}
END_TEST

START_TEST(a_receive_fails_when_its_sender_closes)
{
	struct listener *l = listen_at_1();
	struct request *got = NULL;
	struct comm *tx, *rx;
	int done;

	make_pair(l, &tx, &rx);
	ck_assert_int_eq(comm_receive(rx, memory[1], SIZE, 5, mr[1], &got), ncclSuccess);
	comm_leave(tx);
	DEVICES_UNTIL(comm_test(got, &done, NULL) != ncclSuccess);
	ck_assert_int_eq(comm_test(got, &done, NULL), ncclRemoteError);
}
END_TEST

START_TEST(a_listener_that_is_gone_refuses)
{
	struct listener *l = listen_at_1();
	struct comm *tx;

	listener_destroy(l);
	/* the refusal may come after connect() knows that the peer has the request */
	if (connect_until(&tx) == ncclSuccess) {
		DEVICES_UNTIL(tx->state == COMM_OVER);
		comm_leave(tx);
	}
	DEVICES_UNTIL(!n_groups(0) && !n_groups(1));
}
END_TEST

START_TEST(what_waits_at_a_listener_ends_with_it)
{
	struct listener *l = listen_at_1();
	struct comm *tx;

	ck_assert_int_eq(connect_until(&tx), ncclSuccess);
	DEVICES_UNTIL(n_groups(1) && devices[1]->groups->comms);
	listener_destroy(l);
	DEVICES_UNTIL(tx->state == COMM_OVER);
}
END_TEST

START_TEST(too_long_a_send_is_refused)
{
	struct listener *l = listen_at_1();
	struct request *sent = NULL, *got = NULL;
	struct comm *tx, *rx;
	ncclResult_t result = ncclSuccess;

	make_pair(l, &tx, &rx);
	ck_assert_int_eq(comm_receive(rx, memory[1], 16, 5, mr[1], &got), ncclSuccess);
	DEVICES_UNTIL((result = comm_send(tx, memory[0], 17, 5, mr[0], &sent)) != ncclSuccess);
	ck_assert_int_eq(result, ncclInvalidUsage);
	ck_assert_ptr_null(sent);
}
END_TEST

/* More are not told to the peer, who has no place for them. */
START_TEST(receives_wait_for_room)
{
	struct listener *l = listen_at_1();
	struct request *r[NCCL_REQUESTS + 1] = {NULL};
	struct comm *tx, *rx;

	make_pair(l, &tx, &rx);
	for (int i = 0; i <= NCCL_REQUESTS; i++)
		ck_assert_int_eq(comm_receive(rx, memory[1], SIZE, 5, mr[1], &r[i]), ncclSuccess);
	ck_assert_ptr_nonnull(r[NCCL_REQUESTS - 1]);
	ck_assert_ptr_null(r[NCCL_REQUESTS]);
}
END_TEST

START_TEST(a_foreign_handle_is_refused)
{
	struct listener *l = listen_at_1();
	struct comm *tx = NULL;

	(void)l;
	handle[0] ^= 1; /* no handle of ours */
	ck_assert_int_eq(listener_connect(&tx, devices[0], handle, 0), ncclInvalidArgument);
	handle[0] ^= 1;
	memset(handle + 48, 0x41, 8); /* a stage that is none */
	ck_assert_int_eq(listener_connect(&tx, devices[0], handle, 0), ncclInvalidArgument);
	ck_assert_uint_eq(n_groups(0), 0);
}
END_TEST

/* What another process could put into a handle: where one of this process's communicators is. */
START_TEST(a_handle_reaches_no_communicator_here)
{
	struct listener *l = listen_at_1();
	struct comm *tx, *rx, *other = NULL;
	uint8_t forged[NCCL_NET_HANDLE_MAXSIZE];

	make_pair(l, &tx, &rx);
	memcpy(forged, handle, sizeof(forged));
	memcpy(forged + 48, &tx, sizeof(tx));
	ck_assert_int_eq(listener_connect(&other, devices[0], forged, 0), ncclInvalidArgument);
	ck_assert_ptr_null(other);
	exchange(tx, rx, 3);
}
END_TEST

/* So many, for listeners of numbers from first_id on, step apart. */
static void say_hello(struct peer_group *g, unsigned n, uint64_t first_id, unsigned step)
{
	for (unsigned i = 0; i < n && !g->closed; turn_devices()) {
		struct wire_message m = {.kind = WIRE_HELLO};
		int err = 0;

		while (i < n && !err) {
			m.comm = (uint16_t)(1000 + i);
			m.listener = first_id + i * step;
			err = peer_group_send(g, &m, UINT64_C(2) << 32);
			i += !err;
		}
	}
	for (unsigned i = 0; i < 100; i++)
		turn_devices();
}

/* Whoever may open a group and has no handle. */
START_TEST(a_listener_is_not_guessed)
{
	struct listener *l = listen_at_1();
	struct fare_address to;
	struct peer_group *g;

	fare_domain_address(devices[1]->domain, &to);
	ck_assert_int_eq(peer_group_open(&g, devices[0], &to, 0), 0);
	/* so that the group stays */
	ck_assert_ptr_nonnull(comm_open(g, 1));
	DEVICES_UNTIL(g->connected);
	say_hello(g, 2000, 0, 1);
	ck_assert_ptr_null(listener_accept(l));
}
END_TEST

/* Who has the handle, and connects without end. */
START_TEST(what_waits_at_a_listener_has_a_bound)
{
	struct listener *l = listen_at_1();
	struct comm *tx;

	ck_assert_int_eq(connect_until(&tx), ncclSuccess);
	DEVICES_UNTIL(n_groups(1) && devices[1]->groups->comms);
	say_hello(tx->group, 5000, l->id, 0);
	DEVICES_UNTIL(tx->group->closed || n_groups(1) == 0 ||
		      HASH_COUNT(devices[1]->groups->comms) >= 4000);
	ck_assert(n_groups(1) == 0 || HASH_COUNT(devices[1]->groups->comms) <= 1024);
}
END_TEST

/* Another application of libfare's, which says nothing of itself. */
START_TEST(a_stranger_is_refused)
{
	struct fare_address to;
	struct fare_event e;
	int n = 0;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	fare_domain_address(devices[1]->domain, &to);
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &to, NULL), 0);
	for (time_t end = time(NULL) + PATIENCE_S; n != 1; turn_devices()) {
		ck_assert(time(NULL) < end);
		n = fare_domain_poll(domain[0], &e, 1);
	}
	ck_assert_int_eq(e.kind, FARE_EVENT_CLOSED);
	ck_assert_int_eq(e.status, -EPROTONOSUPPORT);
	ck_assert_uint_eq(n_groups(1), 0);
}
END_TEST

/* Its domain accepts all, but does not answer as we do. */
START_TEST(a_stranger_is_not_connected_to)
{
	struct comm *tx;

	listen_at_1();
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	fare_domain_address(domain[1], (struct fare_address *)(void *)(handle + 16));
	for (time_t end = time(NULL) + PATIENCE_S;;) {
		struct fare_event e;

		ck_assert(time(NULL) < end);
		fare_domain_poll(domain[1], &e, 1);
		tx = NULL;
		if (listener_connect(&tx, devices[0], handle, 0) != ncclSuccess)
			break;
		ck_assert_ptr_null(tx);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nccl_listener");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup_devices, teardown_devices);
	tcase_add_test(tc, communicators_share_one_group);
	tcase_add_test(tc, each_class_has_its_group);
	tcase_add_test(tc, one_that_closes_leaves_the_others);
	tcase_add_test(tc, a_receive_fails_when_its_sender_closes);
	tcase_add_test(tc, a_listener_that_is_gone_refuses);
	tcase_add_test(tc, what_waits_at_a_listener_ends_with_it);
	tcase_add_test(tc, too_long_a_send_is_refused);
	tcase_add_test(tc, receives_wait_for_room);
	tcase_add_test(tc, a_foreign_handle_is_refused);
	tcase_add_test(tc, a_handle_reaches_no_communicator_here);
	tcase_add_test(tc, a_listener_is_not_guessed);
	tcase_add_test(tc, what_waits_at_a_listener_has_a_bound);
	tcase_add_test(tc, a_stranger_is_refused);
	tcase_add_test(tc, a_stranger_is_not_connected_to);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
