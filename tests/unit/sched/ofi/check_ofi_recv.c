/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "ofi/ofi.h"

static uint8_t memory[1000];
static struct ofi_ep ep;

/* A posted receive of all of memory. */
static struct ofi_recv *receive(bool is_multi, uint64_t least)
{
	struct ofi_recv *recv = calloc(1, sizeof(*recv));

	ck_assert_ptr_nonnull(recv);
	recv->ep = &ep;
	recv->iov[0].iov_base = memory;
	recv->iov[0].iov_len = recv->room = sizeof(memory);
	recv->n_iov = 1;
	recv->context = &ep;
	recv->is_multi = is_multi;
	recv->least = least;
	ep.n_rx++;
	return recv;
}

static void is_part(const struct ofi_recv *part, size_t at, size_t length)
{
	ck_assert_ptr_nonnull(part);
	ck_assert_ptr_eq(part->iov[0].iov_base, memory + at);
	ck_assert_uint_eq(part->iov[0].iov_len, length);
	ck_assert_uint_eq(part->room, length);
	ck_assert_ptr_eq(part->context, &ep);
}

START_TEST(a_receive_for_one_message_is_its_own_part)
{
	struct ofi_recv *recv = receive(false, 0);

	ck_assert_ptr_eq(ofi_recv_part(recv, 10), recv);
	ck_assert(ofi_recv_is_spent(recv));
	ck_assert(!ofi_recv_gives_back(recv));
	ck_assert(ofi_recv_end(recv));
	ofi_recv_free(recv);
	ck_assert_uint_eq(ep.n_rx, 0);
}
END_TEST

/* Messages lie one behind the other; the buffer is spent when less than the minimum is left. */
START_TEST(messages_are_packed)
{
	struct ofi_recv *recv = receive(true, 100), *a, *b, *c;

	a = ofi_recv_part(recv, 400);
	is_part(a, 0, 400);
	b = ofi_recv_part(recv, 0);
	is_part(b, 400, 0);
	ck_assert(!ofi_recv_is_spent(recv));
	c = ofi_recv_part(recv, 501);
	is_part(c, 400, 501);
	ck_assert(ofi_recv_is_spent(recv));
	ck_assert_uint_eq(ep.n_rx, 4);
	/* whichever completes last gives the buffer back */
	ck_assert(!ofi_recv_gives_back(c));
	ofi_recv_free(c);
	ck_assert(!ofi_recv_gives_back(a));
	ofi_recv_free(a);
	ck_assert(ofi_recv_gives_back(b));
	ofi_recv_free(b);
	ck_assert_uint_eq(ep.n_rx, 0);
}
END_TEST

/* Completing does not give a buffer back that has room. */
START_TEST(a_buffer_with_room_stays)
{
	struct ofi_recv *recv = receive(true, 100), *a = ofi_recv_part(recv, 900);

	ck_assert(!ofi_recv_is_spent(recv));
	ck_assert(!ofi_recv_gives_back(a));
	ofi_recv_free(a);
	ck_assert_uint_eq(ep.n_rx, 1);
	is_part(a = ofi_recv_part(recv, 2000), 900, 100); /* cut short: it is all that is left */
	ck_assert(ofi_recv_gives_back(a));
	ofi_recv_free(a);
	ck_assert_uint_eq(ep.n_rx, 0);
}
END_TEST

/* Without a minimum it is spent when it is full. */
START_TEST(a_full_buffer_is_spent)
{
	struct ofi_recv *recv = receive(true, 0), *a = ofi_recv_part(recv, 999), *b;

	ck_assert(!ofi_recv_is_spent(recv));
	b = ofi_recv_part(recv, 1);
	ck_assert(ofi_recv_is_spent(recv));
	ofi_recv_free(a);
	ofi_recv_free(b);
	ck_assert_uint_eq(ep.n_rx, 0);
}
END_TEST

/* A buffer that is cancelled while a part of it is read is given back with that part. */
START_TEST(an_ended_buffer_waits_for_its_parts)
{
	struct ofi_recv *recv = receive(true, 100), *a = ofi_recv_part(recv, 10);

	ck_assert(!ofi_recv_end(recv));
	ck_assert(ofi_recv_gives_back(a));
	ofi_recv_free(a);
	ck_assert_uint_eq(ep.n_rx, 0);
	recv = receive(true, 100);
	ck_assert(ofi_recv_end(recv));
	ck_assert(ofi_recv_gives_back(recv));
	ofi_recv_free(recv);
	ck_assert_uint_eq(ep.n_rx, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ofi_recv");
	TCase *tcase = tcase_create("ofi_multi");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_receive_for_one_message_is_its_own_part);
	tcase_add_test(tcase, messages_are_packed);
	tcase_add_test(tcase, a_buffer_with_room_stays);
	tcase_add_test(tcase, a_full_buffer_is_spent);
	tcase_add_test(tcase, an_ended_buffer_waits_for_its_parts);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
