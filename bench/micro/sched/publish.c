/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.c - what it costs a pick that another thread may change the weights: libfare's, and a
 * lock.
 *
 * Picks go to one destination, or to random ones of many, each thread with cursors of its own; the
 * writer changes a destination every 100 us. "fare-inline" and "fare-unsynchronised" are the
 * library's own objects and segment, with and without the look at the daemon's word; "rwlock" is
 * one number per destination behind a lock.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "core/rng.h"
#include "fare_spray_inline.h"
#include "micro/sched/rig.h"
#include "spray_fly.h"
#include "suite/derive.h"
#include "suite/trial.h"
#include "weights.h"

#define KINDS	     2 /* of destinations: one, many */
#define ENOUGH	     8.
#define OF_CEILING   0.9
#define DESTINATIONS FARE_MAX_PAIRS
#define PICKS	     1000000u
#define STREAM	     (1u << 14)
#define SCHEDULE_MAX 512
#define SCHEDULES    2 /* what the writer changes between */
#define MAX_THREADS  RIG_MAX_CLIENTS
#define PERIOD_NS    100000

/*
 * Two schedules that the lock's method chooses from, as long as libfare's are, so that their ends
 * are as seldom; a destination's state is which of them, and a place in it.
 */
struct schedule {
	uint32_t length;
	uint8_t plane[SCHEDULE_MAX];
};

/* Where it goes: libfare's methods take the handle, the other the index. */
struct packet {
	struct fare_spray *spray;
	uint32_t destination;
};

/* One thread that picks: its own place in every destination's schedule, its own packets. */
struct picker {
	struct publish_pick *s;
	struct fare_spray **sprays; /* by destination */
	struct packet *stream;	    /* to random ones */
	pthread_barrier_t *start;
	double ns; /* per pick, the last time */
	uint32_t cursor[DESTINATIONS];
};

struct publish_pick {
	struct schedule schedule[SCHEDULES];
	unsigned destinations;
	unsigned one; /* the destination where there is but one; 0 else */
	struct picker picker[MAX_THREADS];
	uint32_t locked[DESTINATIONS]; /* which schedule, behind the lock */
	pthread_rwlock_t rwlock;
	struct rig rig;
	_Atomic bool stop;
	unsigned method;
};

static inline unsigned pick_at(struct picker *p, unsigned d, uint32_t schedule)
{
	const struct schedule *t = &p->s->schedule[schedule];
	uint32_t at = p->cursor[d];

	/* schedules differ in length, and the one in force may just have changed */
	if (__builtin_expect(at >= t->length, 0))
		at = 0;
	p->cursor[d] = at + 1;
	return t->plane[at];
}

/*
 * Each method twice: packets to one destination after the other, at random; and a stream to one
 * destination. Between two picks a packet is sent, so what a method keeps in memory cannot stay in
 * registers; but the handle of what it is sent to is at hand, as the index is that the others need.
 */
#define LOOP(name, ...)                                                                            \
	static uint64_t name##_many(struct picker *p)                                              \
	{                                                                                          \
		const struct packet *const stream = p->stream;                                     \
		struct publish_pick *const s = p->s;                                               \
		uint64_t sum = 0;                                                                  \
                                                                                                   \
		for (unsigned i = 0; i < PICKS; i++) {                                             \
			const unsigned d = stream[i % STREAM].destination;                         \
			struct fare_spray *const spray = stream[i % STREAM].spray;                 \
                                                                                                   \
			(void)spray, (void)d, (void)s;                                             \
			__VA_ARGS__                                                                \
			rig_keep(sum);                                                             \
		}                                                                                  \
		return sum;                                                                        \
	}                                                                                          \
	static uint64_t name##_one(struct picker *p)                                               \
	{                                                                                          \
		struct publish_pick *const s = p->s;                                               \
		const unsigned d = s->one;                                                         \
		struct fare_spray *const spray = p->sprays[d];                                     \
		uint64_t sum = 0;                                                                  \
                                                                                                   \
		(void)spray, (void)d, (void)s;                                                     \
		for (unsigned i = 0; i < PICKS; i++) {                                             \
			__VA_ARGS__                                                                \
			rig_keep(sum);                                                             \
		}                                                                                  \
		return sum;                                                                        \
	}

LOOP(pick_rwlock, {
	pthread_rwlock_rdlock(&s->rwlock);
	sum += pick_at(p, d, s->locked[d]);
	pthread_rwlock_unlock(&s->rwlock);
})

LOOP(pick_fare, {
	struct fare_slot slot;

	fare_spray_pick(spray, &slot);
	sum += slot.plane;
})

/* The same objects and schedules as pick_fare, but nobody looks whether anything changed. */
LOOP(pick_unsynchronised, {
	struct fare_spray_head *head = (struct fare_spray_head *)(void *)spray;
	struct fare_slot slot;
	const struct fare_slot *at = head->at;

	slot = *at;
	if (__builtin_expect(slot.plane != FARE_SPRAY_END, 1)) {
		head->at = at + 1;
	} else {
		fare_spray_next(spray, &slot);
	}
	sum += slot.plane;
})

enum method { UNSYNCHRONISED, INLINE, RWLOCK, METHODS };

static const struct {
	const char *name;
	uint64_t (*one)(struct picker *p);
	uint64_t (*many)(struct picker *p);
} methods[METHODS] = {
	[UNSYNCHRONISED] = {"fare-unsynchronised", pick_unsynchronised_one,
			    pick_unsynchronised_many},
	[INLINE] = {"fare-inline", pick_fare_one, pick_fare_many},
	[RWLOCK] = {"rwlock", pick_rwlock_one, pick_rwlock_many},
};

static const uint64_t bps[SCHEDULES][4] = {{800, 800, 800, 800}, {800, 800, 800, 400}};

static void change(struct publish_pick *s, unsigned d, uint32_t schedule)
{
	if (s->method != RWLOCK) {
		rig_publish(&s->rig, d, bps[schedule]);
		return;
	}
	pthread_rwlock_wrlock(&s->rwlock);
	s->locked[d] = schedule;
	pthread_rwlock_unlock(&s->rwlock);
}

static void *writer_main(void *arg)
{
	struct publish_pick *s = arg;
	uint64_t seed = 5, next_ns = clock_now_ns();

	prctl(PR_SET_TIMERSLACK, 1000);
	while (!atomic_load(&s->stop)) {
		uint64_t r = rng_next(&seed);

		next_ns += PERIOD_NS;
		clock_sleep_until(next_ns);
		change(s, s->one + (unsigned)(r % s->destinations), r >> 60 & 1);
	}
	return NULL;
}

static void *picker_main(void *arg)
{
	struct picker *p = arg;
	uint64_t (*run)(struct picker *) =
		p->s->destinations == 1 ? methods[p->s->method].one : methods[p->s->method].many;
	uint64_t start;

	rig_keep(run(p)); /* warms what it touches */
	pthread_barrier_wait(p->start);
	start = clock_now_ns();
	rig_keep(run(p));
	p->ns = (double)(clock_now_ns() - start) / PICKS;
	return NULL;
}

/* A million picks of each thread; *ns: of one pick, the slower thread's. */
static int publish_pick_run(struct publish_pick *s, unsigned threads, double *ns)
{
	pthread_t writer, second;
	pthread_barrier_t start;
	int err = 0;

	atomic_store(&s->stop, false);
	pthread_barrier_init(&start, NULL, threads);
	for (unsigned t = 0; t < threads; t++)
		s->picker[t].start = &start;
	if (pthread_create(&writer, NULL, writer_main, s))
		return -EAGAIN;
	if (threads > 1 && pthread_create(&second, NULL, picker_main, &s->picker[1]))
		err = -EAGAIN;
	if (!err) {
		picker_main(&s->picker[0]);
		*ns = s->picker[0].ns;
	}
	if (!err && threads > 1) {
		pthread_join(second, NULL);
		*ns = s->picker[1].ns > *ns ? s->picker[1].ns : *ns;
	}
	atomic_store(&s->stop, true);
	pthread_join(writer, NULL);
	pthread_barrier_destroy(&start);
	return err;
}

static void make_schedule(struct schedule *out, const uint64_t *of)
{
	struct spray_fly fly;
	struct weights w;

	weights_from_bps(&w, of, 4);
	spray_fly_init(&fly, of, 4, NULL);
	for (out->length = w.sum; out->length < SCHEDULE_MAX / 2; out->length *= 2)
		;
	for (uint32_t t = 0; t < out->length; t++)
		out->plane[t] = (uint8_t)spray_fly_next(&fly);
}

static void publish_pick_destroy(struct publish_pick *s)
{
	if (!s)
		return;
	rig_close(&s->rig);
	for (unsigned t = 0; t < MAX_THREADS; t++)
		free(s->picker[t].stream);
	free(s);
}

static int publish_pick_create(struct publish_pick **out, unsigned destinations)
{
	struct publish_pick *s = calloc(1, sizeof(*s));
	uint64_t seed = 9;
	int err;

	if (!s)
		return -ENOMEM;
	s->destinations = destinations;
	for (unsigned k = 0; k < SCHEDULES; k++)
		make_schedule(&s->schedule[k], bps[k]);
	pthread_rwlock_init(&s->rwlock, NULL);
	err = rig_open(&s->rig, destinations == 1 ? RIG_STREAMS : destinations, bps[0], 4,
		       MAX_THREADS);
	for (unsigned t = 0; !err && t < MAX_THREADS; t++) {
		struct picker *p = &s->picker[t];

		p->s = s;
		p->sprays = s->rig.client[t].sprays;
		p->stream = malloc(STREAM * sizeof(*p->stream));
		err = p->stream ? 0 : -ENOMEM;
		for (unsigned i = 0; !err && i < STREAM; i++) {
			uint32_t d = (uint32_t)(rng_next(&seed) % destinations);

			p->stream[i] = (struct packet){p->sprays[d], d};
		}
	}
	if (err)
		publish_pick_destroy(s);
	else
		*out = s;
	return err;
}

/* Its place among them; it is one of them, as the suite has checked. */
static unsigned publish_method_of(const struct trial *t)
{
	unsigned i = 0;

	while (strcmp(methods[i].name, trial_text(t, "method")) != 0)
		i++;
	return i;
}

/* ---- the test ---- */

struct publish {
	struct publish_pick *of[KINDS];
};

static void publish_close(void *state)
{
	struct publish *p = state;

	for (unsigned i = 0; i < KINDS; i++)
		publish_pick_destroy(p->of[i]);
	free(p);
}

static int publish_run(struct trial *t)
{
	unsigned destinations = trial_count(t, "destinations");
	struct publish_pick **of;
	struct publish *p;
	double ns;
	int err = 0;

	if (!*t->state)
		*t->state = calloc(1, sizeof(*p));
	p = *t->state;
	if (!p)
		return -ENOMEM;
	of = &p->of[destinations > 1];
	if (!*of)
		err = publish_pick_create(of, destinations);
	if (!err) {
		(*of)->method = publish_method_of(t);
		(*of)->one = destinations == 1 ? t->number % RIG_STREAMS : 0;
		err = publish_pick_run(*of, trial_count(t, "threads"), &ns);
	}
	if (!err)
		trial_value(t, "pick", ns, 1);
	else
		fprintf(stderr, "farebench: sched-publish: %s: %s\n", trial_text(t, "method"),
			strerror(-err));
	return err;
}

/* The median of a method where the row stands; NaN: it was not measured. */
static double median_of(const struct rows *rows, const struct row *at, const char *method)
{
	struct row_param param[ROWS_MAX_PARAMS];

	memcpy(param, at->param, sizeof(param));
	for (unsigned i = 0; i < at->n_params; i++)
		if (strcmp(param[i].name, "method") == 0)
			snprintf(param[i].text, sizeof(param[i].text), "%s", method);
	return derive_median(rows, at->test, "", "pick", at->n_params, param, 0.5);
}

/*
 * How many times the inline pick's time a rwlock takes, and how many it has to: ENOUGH, or
 * OF_CEILING of what the same table reaches without synchronisation in this run, where that is
 * less. The processor alone decides the latter.
 */
static int publish_derive(const struct test *test, struct rows *rows)
{
	static const struct row_param rwlock = {.name = "method", .text = "rwlock"};
	const struct rows_filter filter = {
		.test = test->id, .kpi = "pick", .strategy = "", .n_params = 1, .param = &rwlock};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);
		double of_pick =
			median_of(rows, &row, "rwlock") / median_of(rows, &row, "fare-inline");
		double ceiling = median_of(rows, &row, "rwlock") /
				 median_of(rows, &row, "fare-unsynchronised");

		if (!isfinite(of_pick) || !isfinite(ceiling))
			continue;
		err = derive_value(rows, &row, "of_pick", of_pick);
		if (!err)
			err = derive_value(rows, &row, "of_pick_needed",
					   fmin(ENOUGH, ceiling * OF_CEILING));
	}
	return err;
}

const struct test test_sched_publish = {
	.id = "sched-publish",
	.name = "A plane for each packet while weights change",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A writer changes a destination's weights every 100 us. fare-inline and "
		   "fare-unsynchronised: the library's objects, with and without the look at the "
		   "daemon's word; rwlock: a number per destination behind a lock. Real: "
		   "processor, memory, the segment. Not there: network, daemon.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {7, 15, 30},
	.params = PARAMS(
		PARAM("method", PARAM_NAME, "", "how weights are shared",
		      "fare-unsynchronised,fare-inline,rwlock"),
		PARAM("destinations", PARAM_NAME, "", "that packets go to, at random", "1,4096"),
		PARAM("threads", PARAM_NAME, "", "that pick, each with cursors of its own", "1,2")),
	.kpis = KPIS({"pick", "ns", "CPU", "of one packet; the slower thread's", BETTER_LOWER, 0},
		     {"of_pick", "", "CPU", "rwlock over fare-inline", BETTER_HIGHER, 0},
		     {"of_pick_needed", "", "CPU",
		      "8, or 0.9 of rwlock over fare-unsynchronised where that is less",
		      BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Pick while weights change every 100 us", "method",
			    "threads", "destinations", "pick"),
		       VIEW(VIEW_TABLE, "Pick while weights change", "method", "threads",
			    "destinations", "pick", "of_pick", "of_pick_needed")),
	.run = publish_run,
	.close = publish_close,
	.derive = publish_derive,
};
