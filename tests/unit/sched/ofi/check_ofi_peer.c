/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint of the provider, and peers that speak to it through libfare alone and say what they
 * like: who the endpoint takes them for, and what it keeps of them.
 */
#include <utlist.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include "ofi/ofi.h"
#include "ofi/ofi_wire.h"

#include "../qp/domain_pair.h"

#define CLIENTS	   500
#define PAYLOAD	   3000u
#define KEPT_LIMIT (2 * ((1u << 20) + 1024 * 160) / 160) /* records of remote CQ data */

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *fid;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct ofi_domain *victim;
static uint8_t data[4][PAYLOAD];

static void open_endpoint(void)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};

	ck_assert_int_eq(ofi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info), 0);
	ck_assert_int_eq(ofi_fabric_open(info->fabric_attr, &fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(fabric, info, &fid, NULL), 0);
	ck_assert_int_eq(fi_av_open(fid, &av_attr, &av, NULL), 0);
	ck_assert_int_eq(fi_cq_open(fid, &cq_attr, &cq, NULL), 0);
	ck_assert_int_eq(fi_endpoint(fid, info, &ep, NULL), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &av->fid, 0), 0);
	ck_assert_int_eq(fi_enable(ep), 0);
	victim = ofi_domain_of(fid);
}

static void setup_endpoint(void)
{
	setup();
	setenv("FARE_RUN_DIR", dir[1], 1);
	setenv("FARE_TRUSTED_NETWORK", "1", 1);
	setenv("FI_FARE_PROGRESS_THREAD", "0", 1); /* nothing happens between the tests' calls */
	open_endpoint();
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
}

static void teardown_endpoint(void)
{
	fare_domain_close(domain[0]);
	domain[0] = NULL;
	ck_assert_int_eq(fi_close(&ep->fid), 0);
	ck_assert_int_eq(fi_close(&cq->fid), 0);
	ck_assert_int_eq(fi_close(&av->fid), 0);
	ck_assert_int_eq(fi_close(&fid->fid), 0);
	ck_assert_int_eq(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	teardown();
}

static unsigned n_peers(void)
{
	unsigned n;

	ofi_lock(victim);
	ofi_progress_turn(victim);
	n = HASH_COUNT(victim->peers.by_address);
	ofi_unlock(victim);
	return n;
}

static uint64_t kept_bytes(void)
{
	struct ofi_peer *peer, *next;
	uint64_t n = 0;

	ofi_lock(victim);
	HASH_ITER (hh, victim->peers.by_address, peer, next)
		n += peer->limits.bytes;
	ofi_unlock(victim);
	return n;
}

static unsigned n_linked(void)
{
	struct ofi_peer *peer, *next;
	unsigned n = 0;

	ofi_lock(victim);
	HASH_ITER (hh, victim->peers.by_address, peer, next)
		n += peer->links != NULL;
	ofi_unlock(victim);
	return n;
}

static void turn_both(void)
{
	look(0);
	n_peers();
}

#define BOTH_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (time_t patience = time(NULL) + PATIENCE_S; !(condition);) {                   \
			ck_assert_msg(time(NULL) < patience, "never came true: " #condition);      \
			turn_both();                                                               \
		}                                                                                  \
	} while (0)

/* Until it is connected or closed. */
static void open_with(const void *greeting, uint32_t bytes)
{
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = bytes};

	n_connected = n_closed = n_completed = 0;
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &victim->address, &options), 0);
	BOTH_UNTIL(n_connected || n_closed);
}

static void connect_client(void)
{
	const struct ofi_greeting g = {.version = OFI_WIRE_VERSION, .window_bytes = 1u << 20};
	uint8_t greeting[OFI_GREETING_BYTES];

	ofi_greeting_encode(&g, greeting);
	open_with(greeting, sizeof(greeting));
}

/* 0 or what fare_group_send() says. */
static int send_record(const struct ofi_wire *w, uint32_t payload)
{
	uint8_t record[OFI_RECORD_BYTES] = {0};
	const struct fare_send send = {.data = record,
				       .length = (uint32_t)ofi_wire_bytes(w->kind) + payload};

	ofi_wire_encode(w, record);
	return fare_group_send(group, &send);
}

static void send_eager(uint32_t payload)
{
	const struct ofi_wire w = {.kind = OFI_EAGER};

	n_completed = 0;
	ck_assert_int_eq(send_record(&w, payload), 0);
	BOTH_UNTIL(n_completed);
	ck_assert_int_eq(completed.status, 0);
}

static void restart_client(void)
{
	fare_domain_close(domain[0]);
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
}

START_TEST(a_peer_is_who_its_group_says)
{
	struct fare_address client;

	fare_domain_address(domain[0], &client);
	connect_client();
	ck_assert_uint_eq(n_connected, 1);
	BOTH_UNTIL(n_peers() == 1);
	ck_assert_mem_eq(&victim->peers.by_address->address, &client, sizeof(client));
	ck_assert(!victim->peers.by_address->is_self);
}
END_TEST

/* As version 4 had it: with the name of whom it likes. */
START_TEST(who_names_itself_is_refused)
{
	uint8_t greeting[12 + FARE_ADDRESS_BYTES] = "fareofi4\0\x10\0\0";

	memcpy(greeting + 12, victim->address.bytes, FARE_ADDRESS_BYTES);
	open_with(greeting, sizeof(greeting));
	ck_assert_uint_eq(n_closed, 1);
	ck_assert_int_eq(closed_status, -EPROTONOSUPPORT);
	ck_assert_uint_eq(n_peers(), 0);
}
END_TEST

/* What each of them has sent was received, so nothing of it is left. */
START_TEST(clients_that_go_are_forgotten)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < CLIENTS; i++) {
		ck_assert_int_eq(fi_recv(ep, data[0], PAYLOAD, NULL, FI_ADDR_UNSPEC, NULL), 0);
		connect_client();
		ck_assert_uint_eq(n_connected, 1);
		send_eager(PAYLOAD);
		BOTH_UNTIL(fi_cq_read(cq, &entry, 1) == 1);
		restart_client();
		ck_assert_uint_le(n_peers(), 8);
	}
	connect_client();
	BOTH_UNTIL(n_peers() == 1);
	ck_assert_ptr_null(victim->peers.left);
	ck_assert_uint_eq(kept_bytes(), 0);
	ck_assert_ptr_null(victim->ops);
}
END_TEST

/* A message outlives its sender, and is received; but not more of one address than so many. */
START_TEST(what_is_left_has_a_bound)
{
	struct fi_cq_tagged_entry entry;
	const uint64_t bound = 4 * ((1u << 20) + OFI_RESERVE_BYTES);
	unsigned n = 0;

	for (connect_client(); n_connected; connect_client(), n++) {
		uint64_t before = kept_bytes();

		ck_assert_uint_lt(before, bound);
		for (int i = 0; i < 100; i++)
			send_eager(PAYLOAD - n);
		restart_client();
		BOTH_UNTIL(!n_linked());
	}
	ck_assert_uint_gt(kept_bytes(), bound - n * sizeof(struct ofi_peer) - 1);
	ck_assert_int_eq(closed_status, -EUSERS);
	ck_assert_uint_eq(n_peers(), n);
	for (unsigned i = 0; i < 100 * n; i++) {
		ck_assert_int_eq(fi_recv(ep, data[0], PAYLOAD, NULL, FI_ADDR_UNSPEC, NULL), 0);
		BOTH_UNTIL(fi_cq_read(cq, &entry, 1) == 1);
		ck_assert_uint_eq(entry.len, PAYLOAD - i / 100);
	}
	ck_assert_uint_eq(kept_bytes(), 0);
	BOTH_UNTIL(!n_peers());
	connect_client();
	ck_assert_uint_eq(n_connected, 1);
}
END_TEST

/* ---- messages of several records ---- */

#define LONG 6000u

static uint8_t byte_of(size_t i)
{
	return (uint8_t)(i * 31 + i / 251);
}

/* So many bytes of a message from at on; left: what its header says is to follow. */
static void send_part(uint8_t kind, size_t at, uint32_t bytes, uint32_t left)
{
	const struct ofi_wire w = {.kind = kind, .status = left};
	uint8_t record[OFI_RECORD_BYTES];
	const struct fare_send send = {.data = record, .length = OFI_WIRE_BYTES + bytes};
	int err;

	ofi_wire_encode(&w, record);
	for (uint32_t i = 0; i < bytes; i++)
		record[OFI_WIRE_BYTES + i] = byte_of(at + i);
	while ((err = fare_group_send(group, &send)) == -ENOBUFS)
		turn_both();
	ck_assert_int_eq(err, 0);
}

/* LONG bytes in n records; apart: each has arrived before the next is sent. */
static void send_long(unsigned n, bool apart)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t at = LONG * i / n, end = LONG * (i + 1) / n;

		send_part(i ? OFI_MORE : OFI_EAGER, at, end - at, LONG - end);
		for (unsigned k = 0; apart && k < 20; k++)
			turn_both();
	}
}

static void expect_long(const uint8_t *head, size_t head_bytes, const uint8_t *tail)
{
	struct fi_cq_tagged_entry entry;

	BOTH_UNTIL(fi_cq_read(cq, &entry, 1) == 1);
	ck_assert_uint_eq(entry.len, LONG);
	for (size_t i = 0; i < LONG; i++)
		ck_assert_uint_eq(i < head_bytes ? head[i] : tail[i - head_bytes], byte_of(i));
}

/*
 * However many records there are, whether they come together or one by one, into a receive of two
 * pieces that waits (_i & 1) or comes later, and behind one that was given up.
 */
START_TEST(messages_of_several_records_are_whole)
{
	static const unsigned counts[] = {2, 3, 16, 17, 40, 100};
	static uint8_t head[1001], tail[LONG];
	const struct iovec iov[] = {{head, sizeof(head)}, {tail, sizeof(tail)}};

	connect_client();
	for (unsigned k = 0; k < 2 * sizeof(counts) / sizeof(*counts); k++) {
		memset(head, 0, sizeof(head));
		memset(tail, 0, sizeof(tail));
		if (_i & 1)
			ck_assert_int_eq(fi_recvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, NULL), 0);
		if (_i & 2)
			send_part(OFI_EAGER, 0, 100, LONG - 100);
		send_long(counts[k / 2], k & 1);
		for (unsigned t = 0; t < 100; t++)
			turn_both();
		if (!(_i & 1))
			ck_assert_int_eq(fi_recvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, NULL), 0);
		expect_long(head, sizeof(head), tail);
	}
	ck_assert_uint_eq(kept_bytes(), 0);
}
END_TEST

/* ---- when a send is complete ---- */

static fi_addr_t client_address(void)
{
	struct ofi_address client = {.ep = 0};
	uint8_t raw[OFI_ADDRESS_BYTES];
	fi_addr_t at;

	fare_domain_address(domain[0], &client.process);
	ofi_address_encode(&client, raw);
	ck_assert_int_eq(fi_av_insert(av, raw, 1, &at, 0, NULL), 1);
	return at;
}

static unsigned read_often(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned n = 0;

	for (unsigned k = 0; k < 100; k++)
		n += fi_cq_read(cq, &entry, 1) == 1;
	return n;
}

/* Its bytes are a copy: it does not wait for the peer, unless that was asked for. */
START_TEST(a_short_send_is_complete_when_a_group_has_it)
{
	struct iovec iov = {data[0], 100};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};

	connect_client();
	msg.addr = client_address();
	BOTH_UNTIL(n_linked());
	ck_assert_int_eq(fi_send(ep, data[0], 100, NULL, msg.addr, NULL), 0);
	ck_assert_uint_eq(read_often(), 1); /* the client has not polled, so acknowledged nothing */
	BOTH_UNTIL(n_messages == 1);
	ck_assert_int_eq(fi_sendmsg(ep, &msg, FI_TRANSMIT_COMPLETE), 0);
	ck_assert_uint_eq(read_often(), 0);
	BOTH_UNTIL(n_messages == 2);
	BOTH_UNTIL(read_often() == 1);
	BOTH_UNTIL(!victim->ops);
}
END_TEST

/* ---- credit ---- */

#define DEADLINE_MS 200u

/* --wrap=malloc, --wrap=calloc: blocks of that size cannot be had */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
static _Atomic size_t refused_bytes;
static bool refuses_once;

static bool is_refused(size_t bytes)
{
	bool refused = bytes == refused_bytes;

	if (refused && refuses_once)
		refused_bytes = 0;
	return refused;
}

void *__wrap_malloc(size_t bytes)
{
	return is_refused(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return is_refused(n * bytes) ? NULL : __real_calloc(n, bytes);
}

static void set_paths(bool usable)
{
	for (int h = 0; h < 2; h++) {
		struct in6_addr peer = address(1 - h);
		const struct shm_path path = {.usable_bps = usable ? 1000000000 : 0,
					      .verdict = usable ? FARE_VERDICT_OK
								: FARE_VERDICT_PROBE_DOWN};

		shm_writer_publish(writer[h], (uint32_t)shm_writer_pair(writer[h], 0, peer.s6_addr),
				   &path, 1);
	}
	BOTH_UNTIL(lanes_is_up(group->lanes, 0) == usable);
}

/* So many messages arrive; the application has taken none. */
static void keep_messages(unsigned n)
{
	connect_client();
	for (unsigned i = 0; i < n; i++)
		send_eager(PAYLOAD);
}

static void take_messages(unsigned n)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(fi_recv(ep, data[0], PAYLOAD, NULL, FI_ADDR_UNSPEC, NULL), 0);
		ck_assert_int_eq(fi_cq_read(cq, &entry, 1), 1);
	}
}

static uint32_t credit_arrived(void)
{
	struct ofi_wire w;
	size_t payload;

	if (!n_messages)
		return 0;
	ck_assert_int_eq(ofi_wire_decode(arrived, n_arrived, &w, &payload), 0);
	ck_assert_uint_eq(w.kind, OFI_CREDIT);
	return w.credit;
}

/* A message that is late takes no credit along. */
START_TEST(a_late_message_loses_no_credit)
{
	struct iovec iov = {data[0], 100};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	const uint64_t cost = ofi_wire_cost(OFI_EAGER, PAYLOAD);

	victim->env.deadline_ms = DEADLINE_MS;
	keep_messages(1);
	take_messages(1);
	msg.addr = client_address();
	ck_assert_uint_eq(victim->peers.by_address->credit, cost);
	set_paths(false);
	ck_assert_int_eq(fi_sendmsg(ep, &msg, FI_TRANSMIT_COMPLETE), 0);
	BOTH_UNTIL(fi_cq_read(cq, &entry, 1) == -FI_EAVAIL);
	ck_assert_int_eq(fi_cq_readerr(cq, &err, 0), 1);
	ck_assert_int_eq(err.err, FI_ETIMEDOUT);
	ck_assert_uint_eq(victim->peers.by_address->credit, cost);
	set_paths(true);
}
END_TEST

#define A_QUARTER 100u /* messages of PAYLOAD bytes: more than that of the window */

/* Nor is one late that gives credit. */
START_TEST(credit_has_no_deadline)
{
	time_t end;

	victim->env.deadline_ms = DEADLINE_MS;
	keep_messages(A_QUARTER);
	set_paths(false);
	take_messages(A_QUARTER);
	for (end = time(NULL) + 1; time(NULL) <= end;)
		turn_both();
	ck_assert_uint_eq(n_messages, 0);
	set_paths(true);
	for (end = time(NULL) + 5; time(NULL) < end && !n_messages;)
		turn_both();
	ck_assert_uint_gt(credit_arrived(), (1u << 20) / 4);
}
END_TEST

/* Without memory for it nothing hangs, and it comes once there is some. */
START_TEST(credit_waits_for_memory)
{
	keep_messages(A_QUARTER);
	refused_bytes = _i ? sizeof(struct ofi_op) : OFI_WIRE_BYTES;
	take_messages(A_QUARTER);
	refused_bytes = 0;
	for (time_t end = time(NULL) + 5; time(NULL) < end && !n_messages;)
		turn_both();
	ck_assert_uint_gt(credit_arrived(), (1u << 20) / 4);
}
END_TEST

/* Of one peer it waits, and of another it is sent in the same pass. */
START_TEST(credit_of_a_peer_waits_alone)
{
	struct fare_domain *first;
	struct ofi_peer *peer, *next;
	unsigned n_due = 0;

	keep_messages(A_QUARTER);
	first = domain[0];
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	keep_messages(A_QUARTER);
	victim->progress.tick_ns = UINT64_MAX;
	refuses_once = true;
	refused_bytes = sizeof(struct ofi_op);
	take_messages(2 * A_QUARTER);
	ck_assert_uint_eq(refused_bytes, 0);
	ck_assert_uint_eq(HASH_COUNT(victim->peers.by_address), 2);
	HASH_ITER (hh, victim->peers.by_address, peer, next)
		n_due += ofi_peer_credit_is_due(peer);
	ck_assert_uint_eq(n_due, 1);
	victim->progress.tick_ns = 0;
	n_peers();
	HASH_ITER (hh, victim->peers.by_address, peer, next)
		ck_assert(!ofi_peer_credit_is_due(peer));
	fare_domain_close(first);
	refuses_once = false;
}
END_TEST

/* It may wait without a bound for what arrives: it is woken for what is to be done later. */
START_TEST(the_thread_is_woken_for_what_waits)
{
	eventfd_t value;

	keep_messages(A_QUARTER);
	victim->progress.has_thread = true;
	refused_bytes = sizeof(struct ofi_op);
	take_messages(A_QUARTER);
	refused_bytes = 0;
	victim->progress.has_thread = false;
	ck_assert(victim->peers.credit_waits);
	ck_assert_int_eq(eventfd_read(victim->progress.wake, &value), 0);
}
END_TEST

/* Without memory for the answer that a sender waits for, it fails, or has it later. */
START_TEST(an_answer_without_memory_is_not_waited_for)
{
	const struct ofi_wire w = {.kind = OFI_EAGER, .flags = OFI_WIRE_ACK, .cookie = 1};

	connect_client();
	n_completed = 0;
	ck_assert_int_eq(send_record(&w, PAYLOAD), 0);
	BOTH_UNTIL(n_completed);
	refused_bytes = _i ? sizeof(struct ofi_op) : OFI_WIRE_BYTES;
	take_messages(1);
	refused_bytes = 0;
	BOTH_UNTIL(n_closed || n_messages); /* or it is sent later */
}
END_TEST

/* ---- deadlines ---- */

/* What has come in time is read before deadlines are looked at, however late that is. */
START_TEST(an_answer_that_waits_is_in_time)
{
	struct iovec iov = {data[0], 100};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fi_cq_tagged_entry entry;
	struct ofi_wire w;
	size_t payload;

	victim->env.deadline_ms = DEADLINE_MS;
	connect_client();
	msg.addr = client_address();
	BOTH_UNTIL(n_linked());
	ck_assert_int_eq(fi_sendmsg(ep, &msg, FI_DELIVERY_COMPLETE), 0);
	while (!n_messages)
		look(0);
	ck_assert_int_eq(ofi_wire_decode(arrived, n_arrived, &w, &payload), 0);
	w = (struct ofi_wire){.kind = OFI_FIN, .cookie = w.cookie};
	ck_assert_int_eq(send_record(&w, 0), 0);
	usleep(2 * DEADLINE_MS * 1000); /* nobody looks */
	ck_assert_int_eq(fi_cq_read(cq, &entry, 1), 1);
}
END_TEST

static unsigned flood(const struct ofi_wire *w)
{
	unsigned n = 0;

	connect_client();
	while (!n_closed && n < 10 * KEPT_LIMIT) {
		int err = send_record(w, 0);

		n += !err;
		if (err)
			turn_both();
	}
	return n;
}

/* Nobody reads the queue. */
START_TEST(remote_cq_data_has_a_bound)
{
	const struct ofi_wire w = {.kind = OFI_WRITTEN, .flags = OFI_WIRE_DATA};
	unsigned n = flood(&w);

	ck_assert_uint_ge(n, KEPT_LIMIT);
	ck_assert_uint_lt(n, 2 * KEPT_LIMIT);
	ck_assert_uint_eq(kept_bytes(), KEPT_LIMIT * 160);
}
END_TEST

/* Messages without a byte never fill the buffer. */
START_TEST(a_buffer_for_several_has_a_bound)
{
	const struct ofi_wire w = {.kind = OFI_EAGER};
	const struct iovec iov = {.iov_base = data, .iov_len = sizeof(data)};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
	unsigned n;

	ck_assert_int_eq(fi_recvmsg(ep, &msg, FI_MULTI_RECV), 0);
	n = flood(&w);
	ck_assert_uint_lt(n, 2 * KEPT_LIMIT);
}
END_TEST

/* Nor does who is cut off leave anything that receives have to pass by. */
START_TEST(what_a_peer_sent_that_is_cut_off_is_dropped)
{
	const struct ofi_wire w = {.kind = OFI_RTS, .flags = OFI_WIRE_TAGGED, .cookie = 1};
	unsigned n = flood(&w);

	ck_assert_uint_lt(n, 2 * KEPT_LIMIT);
	ck_assert_uint_eq(kept_bytes(), 0);
	BOTH_UNTIL(!n_peers());
	connect_client();
	ck_assert_uint_eq(n_connected, 1);
}
END_TEST

/* Each entry that is read gives the peer room for another. */
START_TEST(who_reads_takes_any_number)
{
	const struct ofi_wire w = {.kind = OFI_WRITTEN, .flags = OFI_WIRE_DATA};
	struct fi_cq_tagged_entry entries[64];
	unsigned sent = 0, got = 0;

	connect_client();
	while (got < 3 * KEPT_LIMIT) {
		ssize_t n;

		if (sent < 3 * KEPT_LIMIT && sent - got < KEPT_LIMIT / 2)
			sent += !send_record(&w, 0);
		look(0);
		n = fi_cq_read(cq, entries, 64);
		got += n > 0 ? (unsigned)n : 0;
		ck_assert_uint_eq(n_closed, 0);
	}
	ck_assert_uint_eq(kept_bytes(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_peer");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	ofi_env_define();
	tcase_add_checked_fixture(tc, setup_endpoint, teardown_endpoint);
	tcase_add_test(tc, a_peer_is_who_its_group_says);
	tcase_add_test(tc, who_names_itself_is_refused);
	tcase_add_test(tc, clients_that_go_are_forgotten);
	tcase_add_loop_test(tc, messages_of_several_records_are_whole, 0, 4);
	tcase_add_test(tc, a_short_send_is_complete_when_a_group_has_it);
	tcase_add_test(tc, a_late_message_loses_no_credit);
	tcase_add_test(tc, credit_has_no_deadline);
	tcase_add_loop_test(tc, credit_waits_for_memory, 0, 2);
	tcase_add_test(tc, credit_of_a_peer_waits_alone);
	tcase_add_test(tc, the_thread_is_woken_for_what_waits);
	tcase_add_loop_test(tc, an_answer_without_memory_is_not_waited_for, 0, 2);
	tcase_add_test(tc, an_answer_that_waits_is_in_time);
	tcase_add_test(tc, what_is_left_has_a_bound);
	tcase_add_test(tc, remote_cq_data_has_a_bound);
	tcase_add_test(tc, a_buffer_for_several_has_a_bound);
	tcase_add_test(tc, what_a_peer_sent_that_is_cut_off_is_dropped);
	tcase_add_test(tc, who_reads_takes_any_number);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
