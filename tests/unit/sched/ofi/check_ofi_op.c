/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of an endpoint to itself: a call that waits gets them, and a flood waits. */
#include "ofi_pair.h"

#include <rdma/fi_tagged.h>

#define WAIT_MS 20000
#define ROUNDS	20
#define FLOOD	20000u /* of 8 bytes: more than twice the window holds */

static struct end end;
static fi_addr_t self;

/* With a queue that can be waited on. */
static void open_self(void)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_info *hints = hints_of(FI_MSG | FI_TAGGED, FI_FORMAT_UNSPEC);
	uint8_t address[OFI_ADDRESS_BYTES];
	size_t n = sizeof(address);

	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &end.info), 0);
	fi_freeinfo(hints);
	ck_assert_int_eq(ofi_fabric_open(end.info->fabric_attr, &end.fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(end.fabric, end.info, &end.domain, NULL), 0);
	ck_assert_int_eq(fi_av_open(end.domain, &av_attr, &end.av, NULL), 0);
	ck_assert_int_eq(fi_cq_open(end.domain, &cq_attr, &end.cq, NULL), 0);
	ck_assert_int_eq(fi_endpoint(end.domain, end.info, &end.ep, NULL), 0);
	ck_assert_int_eq(fi_ep_bind(end.ep, &end.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_ep_bind(end.ep, &end.av->fid, 0), 0);
	ck_assert_int_eq(fi_enable(end.ep), 0);
	ck_assert_int_eq(fi_getname(&end.ep->fid, address, &n), 0);
	ck_assert_int_eq(fi_av_insert(end.av, address, 1, &self, 0, NULL), 1);
}

static void setup_self(void)
{
	setup();
	open_self();
}

static void teardown_self(void)
{
	close_end(&end);
	teardown();
}

/* Two entries each time, of which the first is there at once: no later call may sleep instead. */
START_TEST(a_call_that_waits_gets_what_the_process_sent_itself)
{
	struct fi_cq_tagged_entry e;
	uint64_t out = 7, in = 0;

	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(fi_trecv(end.ep, &in, 8, NULL, self, 1, 0, NULL), 0);
		ck_assert_int_eq(fi_tsend(end.ep, &out, 8, NULL, self, 1, NULL), 0);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(fi_cq_sread(end.cq, &e, 1, NULL, WAIT_MS), 1);
		ck_assert_uint_eq(in, 7);
		/* the next one is sent when the last call took an entry */
		in = 0;
	}
}
END_TEST

static void *send_later(void *arg)
{
	static uint64_t out = 9;

	usleep(200000); /* the other thread waits by then, or nothing is shown */
	ck_assert_int_eq(fi_tsend(end.ep, &out, 8, NULL, self, 2, NULL), 0);
	return arg;
}

START_TEST(another_threads_message_ends_the_wait)
{
	struct fi_cq_tagged_entry e;
	uint64_t in = 0;
	pthread_t thread;

	ck_assert_int_eq(fi_trecv(end.ep, &in, 8, NULL, self, 2, 0, NULL), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, send_later, NULL), 0);
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(fi_cq_sread(end.cq, &e, 1, NULL, WAIT_MS), 1);
	ck_assert_uint_eq(in, 9);
	pthread_join(thread, NULL);
}
END_TEST

#define RACES 20000

static _Atomic int asked;

static void *send_when_asked(void *arg)
{
	static uint64_t out;

	for (int i = 1; i <= RACES; i++) {
		while (asked < i)
			;
		for (volatile int k = 0; k < i * 7 % 20011; k++) /* another moment each time */
			;
		/* without an entry of its own, which would end the wait */
		ck_assert_int_eq(fi_tinject(end.ep, &out, 8, self, 4), 0);
	}
	return arg;
}

/* However close the other thread's message is to the beginning of the wait. */
START_TEST(no_message_is_lost_to_a_wait_that_begins)
{
	struct fi_cq_tagged_entry e;
	uint64_t in;
	pthread_t thread;

	asked = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, send_when_asked, NULL), 0);
	for (int i = 1; i <= RACES; i++) {
		ck_assert_int_eq(fi_trecv(end.ep, &in, 8, NULL, self, 4, 0, NULL), 0);
		asked = i;
		ck_assert_int_eq(fi_cq_sread(end.cq, &e, 1, NULL, WAIT_MS), 1);
	}
	pthread_join(thread, NULL);
}
END_TEST

#define A_QUARTER 2000u /* messages of 8 bytes: more than that of the window */

/* What a turn gives the process itself as credit is there when it is over. */
START_TEST(own_credit_comes_at_once)
{
	static uint64_t in[A_QUARTER];
	struct ofi_domain *d = ofi_domain_of(end.domain);
	struct fi_cq_tagged_entry e;
	const uint64_t out = 6;
	unsigned n = 0;

	for (unsigned i = 0; i < A_QUARTER; i++)
		ck_assert_int_eq(fi_trecv(end.ep, &in[i], 8, NULL, self, 5, 0, NULL), 0);
	for (unsigned i = 0; i < A_QUARTER; i++)
		ck_assert_int_eq(fi_tinject(end.ep, &out, 8, self, 5), 0);
	ck_assert_int_eq(fi_cq_read(end.cq, NULL, 0), 0); /* a turn */
	ofi_lock(d);
	ck_assert_ptr_null(d->own);
	ck_assert_uint_lt(d->peers.by_address->out_bytes, d->env.window_bytes / 4);
	ofi_unlock(d);
	while (fi_cq_read(end.cq, &e, 1) == 1)
		n++;
	ck_assert_uint_eq(n, A_QUARTER);
}
END_TEST

/* Nobody receives: sending is refused for now, and what was taken arrives, all of it. */
START_TEST(a_flood_to_itself_waits)
{
	struct fi_cq_tagged_entry e;
	uint64_t in;
	ssize_t err = 0;
	unsigned sent = 0;

	for (; sent < FLOOD; sent++) {
		uint64_t out = sent;

		err = fi_tinject(end.ep, &out, 8, self, 3);
		if (err)
			break;
		if (sent % 100 == 0)
			fi_cq_read(end.cq, &e, 1);
	}
	ck_assert_int_eq(err, -FI_EAGAIN);
	for (unsigned i = 0; i < sent; i++) {
		in = UINT64_MAX;
		ck_assert_int_eq(fi_trecv(end.ep, &in, 8, NULL, self, 3, 0, NULL), 0);
		ck_assert_int_eq(fi_cq_sread(end.cq, &e, 1, NULL, WAIT_MS), 1);
		ck_assert_uint_eq(in, i);
	}
	in = 5; /* it goes on, once it has seen that the window is empty */
	for (time_t patience = time(NULL) + PATIENCE_S; fi_tinject(end.ep, &in, 8, self, 3);) {
		ck_assert(time(NULL) < patience);
		fi_cq_read(end.cq, &e, 1);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_op");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup_self, teardown_self);
	tcase_add_test(tc, a_call_that_waits_gets_what_the_process_sent_itself);
	tcase_add_test(tc, another_threads_message_ends_the_wait);
	tcase_add_test(tc, no_message_is_lost_to_a_wait_that_begins);
	tcase_add_test(tc, own_credit_comes_at_once);
	tcase_add_test(tc, a_flood_to_itself_waits);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
