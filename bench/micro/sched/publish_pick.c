/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/publish_pick.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "fare_spray_inline.h"
#include "micro/sched/rig.h"
#include "spray_table.h"
#include "micro/sched/timing.h"

#define DESTINATIONS PUBLISH_PICK_MAX_DESTINATIONS
#define PICKS	     1000000u
#define STREAM	     (1u << 14)
#define SCHEDULE_MAX 512
#define SCHEDULES    2 /* what the writer changes between */
#define MAX_THREADS  RIG_MAX_CLIENTS
#define PERIOD_NS    100000

/*
 * Two schedules that every method chooses from, as long as our own are, so that their ends are as
 * seldom; a destination's state is which of them, and a place in it.
 */
struct schedule {
	uint32_t length;
	uint8_t plane[SCHEDULE_MAX];
};

/* Where it goes, in both words: our methods take the handle, the others the index. */
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
	/* per destination, as each method keeps it; the writer's */
	uint32_t plain[DESTINATIONS];
	_Atomic uint64_t word[DESTINATIONS]; /* generation << 8 | schedule */
	struct {
		_Atomic uint32_t seq, schedule;
	} seqlock[DESTINATIONS];
	struct {
		_Atomic uint32_t which;
		_Atomic uint32_t copy[2];
	} buffer[DESTINATIONS];
	pthread_rwlock_t rwlock;
	pthread_mutex_t mutex;
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
			timing_keep(sum);                                                          \
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
			timing_keep(sum);                                                          \
		}                                                                                  \
		return sum;                                                                        \
	}

LOOP(pick_none, sum += pick_at(p, d, s->plain[d]);)

LOOP(pick_word, {
	uint64_t word = atomic_load_explicit(&s->word[d], memory_order_acquire);

	sum += pick_at(p, d, word & 1);
})

LOOP(pick_seqlock, {
	uint32_t before, schedule;

	do {
		before = atomic_load_explicit(&s->seqlock[d].seq, memory_order_acquire);
		schedule = atomic_load_explicit(&s->seqlock[d].schedule, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while (before & 1 ||
		 atomic_load_explicit(&s->seqlock[d].seq, memory_order_relaxed) != before);
	sum += pick_at(p, d, schedule);
})

LOOP(pick_buffer, {
	uint32_t which = atomic_load_explicit(&s->buffer[d].which, memory_order_acquire);

	sum += pick_at(p, d, atomic_load_explicit(&s->buffer[d].copy[which], memory_order_acquire));
})

LOOP(pick_rwlock, {
	pthread_rwlock_rdlock(&s->rwlock);
	sum += pick_at(p, d, s->plain[d]);
	pthread_rwlock_unlock(&s->rwlock);
})

LOOP(pick_mutex, {
	pthread_mutex_lock(&s->mutex);
	sum += pick_at(p, d, s->plain[d]);
	pthread_mutex_unlock(&s->mutex);
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

enum method { UNSYNCHRONISED, INLINE, NONE, WORD, SEQLOCK, BUFFER, RWLOCK, MUTEX, METHODS };

static const struct {
	const char *name;
	uint64_t (*one)(struct picker *p);
	uint64_t (*many)(struct picker *p);
} methods[METHODS] = {
	[UNSYNCHRONISED] = {"fare-unsynchronised", pick_unsynchronised_one,
			    pick_unsynchronised_many},
	[INLINE] = {"fare-inline", pick_fare_one, pick_fare_many},
	[NONE] = {"none", pick_none_one, pick_none_many},
	[WORD] = {"word", pick_word_one, pick_word_many},
	[SEQLOCK] = {"seqlock", pick_seqlock_one, pick_seqlock_many},
	[BUFFER] = {"double-buffer", pick_buffer_one, pick_buffer_many},
	[RWLOCK] = {"rwlock", pick_rwlock_one, pick_rwlock_many},
	[MUTEX] = {"mutex", pick_mutex_one, pick_mutex_many},
};

#define FIRST_PACKED NONE /* methods before it are ours, published through the segment */

static const uint64_t bps[SCHEDULES][4] = {{800, 800, 800, 800}, {800, 800, 800, 400}};

static void change(struct publish_pick *s, unsigned d, uint32_t schedule)
{
	if (s->method < FIRST_PACKED) {
		rig_publish(&s->rig, d, bps[schedule]);
		return;
	}
	atomic_store_explicit(&s->word[d], ((atomic_load(&s->word[d]) >> 8) + 1) << 8 | schedule,
			      memory_order_release);
	atomic_fetch_add(&s->seqlock[d].seq, 1);
	atomic_store(&s->seqlock[d].schedule, schedule);
	atomic_fetch_add(&s->seqlock[d].seq, 1);
	atomic_store(&s->buffer[d].copy[!s->buffer[d].which], schedule);
	atomic_store(&s->buffer[d].which, !s->buffer[d].which);
	if (!strcmp(methods[s->method].name, "rwlock")) {
		pthread_rwlock_wrlock(&s->rwlock);
		s->plain[d] = schedule;
		pthread_rwlock_unlock(&s->rwlock);
	} else if (!strcmp(methods[s->method].name, "mutex")) {
		pthread_mutex_lock(&s->mutex);
		s->plain[d] = schedule;
		pthread_mutex_unlock(&s->mutex);
	}
}

static void *writer_main(void *arg)
{
	struct publish_pick *s = arg;
	struct timespec next;
	uint64_t seed = 5;

	prctl(PR_SET_TIMERSLACK, 1000);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!atomic_load(&s->stop)) {
		uint64_t r = timing_random(&seed);

		next.tv_nsec += PERIOD_NS;
		next.tv_sec += next.tv_nsec >= 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
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

	timing_keep(run(p)); /* warms what it touches */
	pthread_barrier_wait(p->start);
	start = clock_now_ns();
	timing_keep(run(p));
	p->ns = (double)(clock_now_ns() - start) / PICKS;
	return NULL;
}

/* The slower of the threads counts. */
static int measure(struct publish_pick *s, unsigned threads, double *ns)
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
	struct spray_table table;
	struct weights w;

	weights_from_bps(&w, of, 4);
	spray_table_build(&table, &w);
	for (out->length = table.period; out->length < SCHEDULE_MAX / 2; out->length *= 2)
		;
	for (uint32_t t = 0; t < out->length; t++)
		out->plane[t] = table.plane[t % table.period];
}

static int setup(struct publish_pick *s, unsigned destinations)
{
	uint64_t seed = 9;
	int err;

	s->destinations = destinations;
	for (unsigned k = 0; k < SCHEDULES; k++)
		make_schedule(&s->schedule[k], bps[k]);
	pthread_rwlock_init(&s->rwlock, NULL);
	pthread_mutex_init(&s->mutex, NULL);
	err = rig_open(&s->rig, destinations == 1 ? RIG_STREAMS : destinations, bps[0], 4,
		       MAX_THREADS);
	for (unsigned t = 0; !err && t < MAX_THREADS; t++) {
		struct picker *p = &s->picker[t];

		p->s = s;
		p->sprays = s->rig.client[t].sprays;
		p->stream = malloc(STREAM * sizeof(*p->stream));
		if (!p->stream)
			return -ENOMEM;
		for (unsigned i = 0; i < STREAM; i++) {
			uint32_t d = (uint32_t)(timing_random(&seed) % destinations);

			p->stream[i] = (struct packet){p->sprays[d], d};
		}
	}
	return err;
}

int publish_pick_create(struct publish_pick **out, unsigned destinations)
{
	struct publish_pick *s;
	int err;

	if (!destinations || destinations > DESTINATIONS)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = setup(s, destinations);
	if (err)
		publish_pick_destroy(s);
	else
		*out = s;
	return err;
}

void publish_pick_destroy(struct publish_pick *s)
{
	if (!s)
		return;
	rig_close(&s->rig);
	for (unsigned t = 0; t < MAX_THREADS; t++)
		free(s->picker[t].stream);
	free(s);
}

int publish_pick_measure(struct publish_pick *s, const char *method, unsigned threads,
			 unsigned repetition, double *ns)
{
	if (!threads || threads > MAX_THREADS)
		return -EINVAL;
	for (s->method = 0; strcmp(methods[s->method].name, method) != 0;)
		if (++s->method == METHODS)
			return -ENOENT;
	s->one = s->destinations == 1 ? repetition % RIG_STREAMS : 0;
	return measure(s, threads, ns);
}
