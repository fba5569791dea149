/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "engine/stream.h"

START_TEST(slots_advance_independently)
{
	struct stream_tx tx;
	uint64_t seq;

	stream_tx_init(&tx, 2);
	ck_assert(stream_tx_next(&tx, UINT64_MAX, &seq) && seq == 0);
	stream_tx_post(&tx, 0);
	ck_assert(stream_tx_next(&tx, UINT64_MAX, &seq) && seq == 1);
	stream_tx_post(&tx, 1);
	ck_assert(!stream_tx_next(&tx, UINT64_MAX, &seq));
	/* message 1 is through before message 0: its slot goes on to 3 */
	ck_assert_int_eq(stream_tx_complete(&tx, 1), 0);
	ck_assert(!stream_tx_next(&tx, UINT64_MAX, &seq));
	ck_assert_int_eq(stream_tx_credit(&tx, 1), 1);
	ck_assert(stream_tx_next(&tx, UINT64_MAX, &seq) && seq == 3);
	ck_assert(!stream_tx_next(&tx, 3, &seq));
	ck_assert(!stream_tx_idle(&tx));
	ck_assert_int_eq(stream_tx_credit(&tx, 0), 0); /* the credit may overtake the completion */
	ck_assert_int_eq(stream_tx_complete(&tx, 0), 0);
	ck_assert(stream_tx_idle(&tx));
	ck_assert(stream_tx_next(&tx, UINT64_MAX, &seq) && seq == 2);
}
END_TEST

START_TEST(twice_or_never_sent_is_an_error)
{
	struct stream_tx tx;

	stream_tx_init(&tx, 2);
	ck_assert_int_eq(stream_tx_complete(&tx, 0), -EPROTO);
	stream_tx_post(&tx, 0);
	ck_assert_int_eq(stream_tx_complete(&tx, 0), 0);
	ck_assert_int_eq(stream_tx_complete(&tx, 0), -EPROTO);
	ck_assert_int_eq(stream_tx_credit(&tx, 2), -EPROTO);
	ck_assert_int_eq(stream_tx_credit(&tx, 0), 0);
	ck_assert_int_eq(stream_tx_credit(&tx, 0), -EPROTO);
}
END_TEST

START_TEST(a_receiver_takes_each_message_once)
{
	struct stream_rx rx;
	uint64_t seq;

	stream_rx_init(&rx, 4);
	ck_assert_int_eq(stream_rx_accept(&rx, 2, &seq), 0);
	stream_rx_verified(&rx, seq);
	ck_assert_int_eq(stream_rx_accept(&rx, 2, &seq), -EPROTO);  /* duplicate */
	ck_assert_int_eq(stream_rx_accept(&rx, 10, &seq), -EPROTO); /* 6 was lost */
	ck_assert_int_eq(stream_rx_accept(&rx, 6, &seq), 0);
	ck_assert_uint_eq(stream_rx_floor(&rx), 0);
	for (uint32_t tag = 0; tag < 4; tag++)
		if (tag != 2) {
			ck_assert_int_eq(stream_rx_accept(&rx, tag, &seq), 0);
			stream_rx_verified(&rx, seq);
		}
	ck_assert_uint_eq(stream_rx_floor(&rx), 4);
	ck_assert_uint_eq(rx.n_verified, 4);
}
END_TEST

START_TEST(tags_wrap)
{
	struct stream_rx rx;
	struct stream_tx tx;
	uint64_t seq;

	stream_rx_init(&rx, 1);
	stream_tx_init(&tx, 1);
	rx.expected[0] = tx.next[0] = UINT64_C(0x100000000);
	stream_tx_post(&tx, tx.next[0]);
	ck_assert_int_eq(stream_rx_accept(&rx, 0, &seq), 0);
	ck_assert_uint_eq(seq, UINT64_C(0x100000000));
	ck_assert_int_eq(stream_tx_complete(&tx, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream");
	TCase *tcase = tcase_create("stream");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, slots_advance_independently);
	tcase_add_test(tcase, twice_or_never_sent_is_an_error);
	tcase_add_test(tcase, a_receiver_takes_each_message_once);
	tcase_add_test(tcase, tags_wrap);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
