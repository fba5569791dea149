/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring's sizes against both ways in which a transport acknowledges: a sender, QPs that hold
 * back and overtake each other, and a receiver that polls when it likes, all by chance. What the
 * ring holds is what the real one would.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qp/ring.h"

#define MAX_M	 128
#define MAX_QPS	 64
#define MAX_WAIT 4096 /* completions that one QP may have waiting */
#define BATCH	 16   /* that one look at a QP takes */

struct model_qp {
	uint32_t waiting[MAX_WAIT]; /* immediates placed and not polled, oldest first */
	unsigned first, n;
	unsigned posted, owed; /* receives that the device holds; that were used up, and polled */
};

struct model {
	struct ring ring;
	uint32_t m;
	unsigned n_qps;
	struct model_qp qps[MAX_QPS];
	/* the sender */
	uint64_t next, lowest;			 /* outstanding: lowest to next - 1 */
	bool placed[MAX_M], acknowledged[MAX_M]; /* by number mod m */
	bool by_device;				 /* it acknowledges what it places, at once */
	uint64_t delivered;
	unsigned wrong;
	unsigned short seed[3];
};

static unsigned chance(struct model *w, unsigned n)
{
	return (unsigned)nrand48(w->seed) % n;
}

static void fill_window(struct model *w)
{
	while (w->lowest < w->next && w->acknowledged[w->lowest % w->m])
		w->lowest++;
	for (; w->next < w->lowest + w->m; w->next++)
		w->placed[w->next % w->m] = w->acknowledged[w->next % w->m] = false;
}

static void acknowledge(struct model *w, uint64_t seq)
{
	w->acknowledged[seq % w->m] = true;
	fill_window(w);
}

/*
 * One of those outstanding lands by some QP; now and then one that did already, from a lane that
 * died meanwhile.
 */
static void land(struct model *w)
{
	uint64_t seq = w->lowest + chance(w, (unsigned)(w->next - w->lowest));
	struct ring_record record = {.seq = seq, .bytes = seq * 3, .tag = (uint32_t)seq};
	struct model_qp *q = &w->qps[chance(w, w->n_qps)];

	if (chance(w, 4)) /* mostly the oldest, or windows hardly move */
		for (seq = w->lowest; seq < w->next - 1 && w->placed[seq % w->m];)
			seq++;
	if ((w->placed[seq % w->m] && chance(w, 50)) || q->n == MAX_WAIT ||
	    (w->by_device && !q->posted))
		return;
	record = (struct ring_record){.seq = seq, .bytes = seq * 3, .tag = (uint32_t)seq};
	ring_fill(w->ring.records + seq % w->ring.slots * RING_RECORD_BYTES, &record);
	w->placed[seq % w->m] = true;
	q->posted -= w->by_device;
	q->waiting[(q->first + q->n++) % MAX_WAIT] = (uint32_t)seq;
	if (w->by_device)
		acknowledge(w, seq);
}

static void take(struct model *w, struct model_qp *q)
{
	uint32_t imm = q->waiting[q->first];
	struct ring_record record;

	q->first = (q->first + 1) % MAX_WAIT;
	q->n--;
	q->owed += w->by_device;
	if (!ring_take(&w->ring, imm, &record))
		return;
	w->delivered++;
	w->wrong += record.tag != imm || record.seq < record.tag || record.bytes != record.seq * 3;
}

/* One look at each QP, while the device goes on; true: there was nothing. */
static bool look(struct model *w, unsigned bursts)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_qps; i++) {
		struct model_qp *q = &w->qps[i];

		for (unsigned k = 0; k < BATCH && q->n; k++, n++)
			take(w, q);
		for (unsigned k = w->by_device ? chance(w, bursts) : 0; k; k--)
			land(w);
	}
	return !n;
}

static void init(struct model *w, uint32_t m, unsigned n_qps, uint32_t slots, unsigned receives,
		 bool by_device)
{
	memset(w, 0, sizeof(*w));
	*w = (struct model){.m = m, .n_qps = n_qps, .by_device = by_device, .seed = {1, 2, 3}};
	ck_assert_int_eq(ring_init(&w->ring, slots, RING_RECORD_BYTES), 0);
	for (unsigned i = 0; i < n_qps; i++)
		w->qps[i].posted = receives;
	fill_window(w);
}

/* Everything that the sender counts as done arrives, once and as it was; how much does not. */
static uint64_t finish(struct model *w)
{
	uint64_t lost;

	for (unsigned i = 0; i < w->n_qps; i++)
		while (w->qps[i].n)
			take(w, &w->qps[i]);
	/* what was placed beyond the lowest was delivered, too; below it, all must have been */
	lost = w->ring.floor < w->lowest ? w->lowest - w->ring.floor : 0;
	lost += w->wrong;
	ring_fini(&w->ring);
	return lost;
}

/* A device: receives come back when a look found nothing. eager: as soon as one is polled. */
static uint64_t run_device(struct model *w, unsigned rounds, bool eager)
{
	for (unsigned r = 0; r < rounds; r++) {
		/* the application is away */
		for (unsigned k = chance(w, 3) ? chance(w, 20) : chance(w, 2000); k; k--)
			land(w);
		for (bool nothing = false; !nothing;) {
			nothing = look(w, eager ? 20 : 40);
			for (unsigned i = 0; (nothing || eager) && i < w->n_qps; i++) {
				w->qps[i].posted += w->qps[i].owed;
				w->qps[i].owed = 0;
			}
			if (eager && !chance(w, 8))
				break;
		}
	}
	return finish(w);
}

static const struct {
	uint32_t m;
	unsigned n_qps;
} shapes[] = {{64, 1}, {128, 1}, {64, 2}, {128, 2}, {64, 8}, {128, 8}, {1, 4}, {3, 64}, {128, 64}};

#define N_SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

START_TEST(a_device_never_overruns_it)
{
	static struct model w;
	uint32_t m = shapes[_i].m;
	unsigned n = shapes[_i].n_qps;
	uint64_t delivered;

	init(&w, m, n, ring_slots(m, n * ring_receives(m, n)), ring_receives(m, n), true);
	ck_assert_uint_eq(run_device(&w, 4000, false), 0);
	delivered = w.delivered;
	ck_assert_uint_gt(delivered, 4000);
}
END_TEST

/*
 * What the model is for: a ring that holds no more than twice what may be outstanding, and receives
 * without end.
 */
START_TEST(a_ring_without_room_is_overrun)
{
	static struct model w;

	init(&w, 64, 2, 256, 256, true);
	ck_assert_uint_gt(run_device(&w, 1000, true), 0);
}
END_TEST

/* Placed by progress alone, which runs when all was polled, and acknowledged at its end. */
START_TEST(nor_does_what_is_heard)
{
	static struct model w;
	uint32_t m = shapes[_i].m;

	init(&w, m, shapes[_i].n_qps, ring_slots(m, 0), 0, false);
	for (unsigned r = 0; r < 20000; r++) {
		for (unsigned k = chance(&w, 3 * m + 1); k; k--)
			land(&w);
		for (uint64_t s = w.lowest; s < w.next; s++)
			if (w.placed[s % m] && chance(&w, 3))
				w.acknowledged[s % m] = true;
		fill_window(&w);
		while (!look(&w, 1))
			;
	}
	ck_assert_uint_eq(finish(&w), 0);
	ck_assert_uint_gt(w.delivered, 4000);
}
END_TEST

START_TEST(each_is_taken_once)
{
	struct ring_record in = {.seq = 3, .bytes = 1ull << 40, .tag = 77, .is_void = true}, out;
	struct ring ring;

	ck_assert_int_eq(ring_init(&ring, 64, RING_RECORD_BYTES), 0);
	ring_fill(ring.records + 3 * RING_RECORD_BYTES, &in);
	ck_assert(!ring_take(&ring, 4, &out)); /* nothing was written there */
	ck_assert(!ring_take(&ring, 3 + 64, &out));
	ck_assert(ring_take(&ring, 3, &out));
	ck_assert(out.seq == 3 && out.bytes == 1ull << 40 && out.tag == 77 && out.is_void);
	ck_assert(!ring_take(&ring, 3, &out));
	ck_assert_uint_eq(ring.floor, 0);
	in.seq = 3 + 64; /* too far ahead of what is missing */
	ring_fill(ring.records + 3 * RING_RECORD_BYTES, &in);
	ck_assert(!ring_take(&ring, 3 + 64, &out));
	ring_fini(&ring);
}
END_TEST

START_TEST(sizes)
{
	for (uint32_t m = 1; m <= MAX_M; m++)
		for (unsigned n = 1; n <= 2048; n++) {
			uint32_t receives = ring_receives(m, n),
				 slots = ring_slots(m, n * receives);

			ck_assert_uint_ge(receives, 4);
			ck_assert_uint_ge(slots, 2 * m + n * receives);
			ck_assert_uint_eq(slots & (slots - 1), 0);
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ring");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, a_device_never_overruns_it, 0, N_SHAPES);
	tcase_add_test(tc, a_ring_without_room_is_overrun);
	tcase_add_loop_test(tc, nor_does_what_is_heard, 0, N_SHAPES);
	tcase_add_test(tc, each_is_taken_once);
	tcase_add_test(tc, sizes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
