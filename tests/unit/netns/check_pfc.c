/* SPDX-License-Identifier: BSD-2-Clause */
/* check_pfc.c - frames byte by byte, headroom, and what a port does with pauses. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pfc.h"

#define MS 1000000ull

START_TEST(a_frame)
{
	static const uint8_t source[] = {2, 0, 0, 0, 0, 9};
	static const uint8_t expected[] = {1, 0x80, 0xc2, 0, 0,	   1, 2, 0, 0, 0, 0, 9, 0x88,
					   8, 1,    1,	  0, 0x08, 0, 0, 0, 0, 0, 0, 1, 0x02};
	uint8_t frame[PFC_FRAME_BYTES];
	uint16_t quanta = 7;

	pfc_frame_write(frame, source, 3, 0x102);
	ck_assert_mem_eq(frame, expected, sizeof(expected));
	for (size_t i = sizeof(expected); i < sizeof(frame); i++)
		ck_assert_uint_eq(frame[i], 0);
	ck_assert(pfc_frame_read(frame, sizeof(frame), 3, &quanta));
	ck_assert_uint_eq(quanta, 0x102);
	ck_assert(!pfc_frame_read(frame, sizeof(frame), 2, &quanta)); /* it says nothing of that */
	ck_assert(!pfc_frame_read(frame, 33, 3, &quanta));	      /* cut short */
	frame[15] = 2;
	ck_assert(!pfc_frame_read(frame, sizeof(frame), 3, &quanta)); /* another opcode */
	frame[15] = 1;
	frame[13] = 0;
	ck_assert(!pfc_frame_read(frame, sizeof(frame), 3, &quanta));
}
END_TEST

START_TEST(numbers)
{
	/* 50 Mbit/s for 4 ms, a bucket, two frames */
	ck_assert_uint_eq(pfc_least_headroom(50, 8428, 4214), 25000 + 8428 + 2 * 4214);
	ck_assert_uint_eq(pfc_quanta_ns(1, 512), 1000);
	ck_assert_uint_eq(pfc_quanta_ns(PFC_MAX_QUANTA, 50), 671078400);
}
END_TEST

START_TEST(on_and_off)
{
	struct pfc_pause p = {0};

	ck_assert_int_eq(pfc_pause_receive(&p, 1 * MS, 0), PFC_NOTHING);
	ck_assert_int_eq(pfc_pause_receive(&p, 2 * MS, 10 * MS), PFC_STOP);
	ck_assert_uint_eq(pfc_pause_deadline(&p, 0), 12 * MS);
	ck_assert_int_eq(pfc_pause_receive(&p, 7 * MS, 10 * MS), PFC_NOTHING); /* longer */
	ck_assert_int_eq(pfc_pause_tick(&p, 12 * MS, 0), PFC_NOTHING);
	ck_assert_int_eq(pfc_pause_tick(&p, 17 * MS, 0), PFC_GO); /* its time is over */
	ck_assert_uint_eq(p.paused_ns, 15 * MS);
	ck_assert_uint_eq(pfc_pause_deadline(&p, 0), UINT64_MAX);
	ck_assert_int_eq(pfc_pause_receive(&p, 20 * MS, 10 * MS), PFC_STOP);
	ck_assert_int_eq(pfc_pause_receive(&p, 21 * MS, 0), PFC_GO);
	ck_assert_uint_eq(p.paused_ns, 16 * MS);
	ck_assert_uint_eq(p.storms, 0);
}
END_TEST

START_TEST(a_storm)
{
	struct pfc_pause p = {0};

	ck_assert_int_eq(pfc_pause_receive(&p, 0, 60 * MS), PFC_STOP);
	ck_assert_int_eq(pfc_pause_receive(&p, 50 * MS, 60 * MS), PFC_NOTHING);
	ck_assert_uint_eq(pfc_pause_deadline(&p, 100 * MS), 100 * MS);
	ck_assert_int_eq(pfc_pause_tick(&p, 99 * MS, 100 * MS), PFC_NOTHING);
	ck_assert_int_eq(pfc_pause_tick(&p, 100 * MS, 100 * MS), PFC_GO);
	ck_assert_uint_eq(p.storms, 1);
	ck_assert_uint_eq(p.paused_ns, 100 * MS);
	/* ignored while the neighbour asks */
	ck_assert_int_eq(pfc_pause_receive(&p, 105 * MS, 60 * MS), PFC_NOTHING);
	ck_assert_int_eq(pfc_pause_tick(&p, 160 * MS, 100 * MS), PFC_NOTHING);
	ck_assert(p.ignores);
	/* until it stops asking, by an XON or by time */
	ck_assert_int_eq(pfc_pause_tick(&p, 165 * MS, 100 * MS), PFC_NOTHING);
	ck_assert(!p.ignores);
	ck_assert_int_eq(pfc_pause_receive(&p, 170 * MS, 200 * MS), PFC_STOP);
	ck_assert_int_eq(pfc_pause_tick(&p, 270 * MS, 100 * MS), PFC_GO);
	ck_assert_int_eq(pfc_pause_receive(&p, 280 * MS, 0), PFC_NOTHING);
	ck_assert(!p.ignores);
	ck_assert_uint_eq(p.storms, 2);
	ck_assert_int_eq(pfc_pause_receive(&p, 290 * MS, 60 * MS), PFC_STOP);
	/* without a watchdog there is none */
	ck_assert_int_eq(pfc_pause_receive(&p, 340 * MS, 600 * MS), PFC_NOTHING);
	ck_assert_int_eq(pfc_pause_tick(&p, 900 * MS, 0), PFC_NOTHING);
	ck_assert_uint_eq(p.storms, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pfc");
	TCase *t = tcase_create("pfc");
	SRunner *r;
	int failed;

	tcase_add_test(t, a_frame);
	tcase_add_test(t, numbers);
	tcase_add_test(t, on_and_off);
	tcase_add_test(t, a_storm);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
