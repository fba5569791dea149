/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/pick_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "micro/sched/timing.h"

#define MAX	     PICK_PEERS_MAX_PLANES
#define POWER_TABLE  4096u
#define MAGLEV_TABLE 65537u

/* A peer is its state, create and one inline pick; the two loops around it are the same for all. */
#define PICK_PEER_LOOPS(peer)                                                                      \
	static uint64_t peer##_sum(void *state, size_t n)                                          \
	{                                                                                          \
		struct peer *s = state;                                                            \
		uint64_t sum = 0;                                                                  \
                                                                                                   \
		while (n--)                                                                        \
			sum += peer##_pick(s);                                                     \
		return sum;                                                                        \
	}                                                                                          \
	static void peer##_fill(void *state, uint8_t *planes, size_t n)                            \
	{                                                                                          \
		struct peer *s = state;                                                            \
                                                                                                   \
		while (n--)                                                                        \
			*planes++ = (uint8_t)peer##_pick(s);                                       \
	}

/* Every plane earns its weight; the richest pays the sum and is taken. */
struct smooth {
	int64_t weight[MAX], credit[MAX], sum;
	unsigned n;
};

static void *smooth_create(const uint32_t *weights, unsigned n)
{
	struct smooth *s = calloc(1, sizeof(*s));

	for (unsigned p = 0; s && p < n; p++) {
		s->weight[s->n] = weights[p];
		s->sum += weights[p];
		s->n++;
	}
	return s;
}

static inline unsigned smooth_pick(struct smooth *s)
{
	unsigned best = 0;

	for (unsigned p = 0; p < s->n; p++) {
		s->credit[p] += s->weight[p];
		best = s->credit[p] > s->credit[best] ? p : best;
	}
	s->credit[best] -= s->sum;
	return best;
}
PICK_PEER_LOOPS(smooth)

/* Every plane has a next time; the earliest is taken and put off by 1 / weight. */
struct stride {
	uint64_t pass[MAX], stride[MAX];
	unsigned n;
};

static void *stride_create(const uint32_t *weights, unsigned n)
{
	struct stride *s = calloc(1, sizeof(*s));

	for (unsigned p = 0; s && p < n; p++) {
		s->stride[p] = weights[p] ? (UINT64_C(1) << 40) / weights[p] : 0;
		s->pass[p] = weights[p] ? s->stride[p] : UINT64_MAX;
		s->n = p + 1;
	}
	return s;
}

static inline unsigned stride_pick(struct stride *s)
{
	unsigned best = 0;

	for (unsigned p = 1; p < s->n; p++)
		best = s->pass[p] < s->pass[best] ? p : best;
	s->pass[best] += s->stride[best];
	return best;
}
PICK_PEER_LOOPS(stride)

/* Vose's alias table: one random number, one compare. */
struct alias {
	uint64_t seed;
	uint32_t threshold[MAX];
	uint8_t other[MAX];
	unsigned n;
};

static void *alias_create(const uint32_t *weights, unsigned n)
{
	struct alias *s = calloc(1, sizeof(*s));
	double part[MAX], sum = 0;
	unsigned small[MAX], large[MAX], n_small = 0, n_large = 0;

	if (!s)
		return NULL;
	s->n = n;
	s->seed = 7;
	for (unsigned p = 0; p < n; p++)
		sum += weights[p];
	for (unsigned p = 0; p < n; p++) {
		part[p] = weights[p] / sum * n;
		if (part[p] < 1)
			small[n_small++] = p;
		else
			large[n_large++] = p;
	}
	while (n_small && n_large) {
		unsigned a = small[--n_small], b = large[n_large - 1];

		s->threshold[a] = (uint32_t)(part[a] * 0x1p32 - (part[a] > 0));
		s->other[a] = (uint8_t)b;
		part[b] -= 1 - part[a];
		if (part[b] < 1) {
			n_large--;
			small[n_small++] = b;
		}
	}
	while (n_large--)
		s->threshold[large[n_large]] = UINT32_MAX,
		s->other[large[n_large]] = (uint8_t)large[n_large];
	while (n_small--)
		s->threshold[small[n_small]] = UINT32_MAX,
		s->other[small[n_small]] = (uint8_t)small[n_small];
	return s;
}

static inline unsigned alias_pick(struct alias *s)
{
	uint64_t r = timing_random(&s->seed);
	unsigned p = (unsigned)((r >> 32) * s->n >> 32);

	return (uint32_t)r < s->threshold[p] ? p : s->other[p];
}
PICK_PEER_LOOPS(alias)

/* Maglev: a prime-sized table filled by turns in proportion, indexed by the packet's hash. */
struct maglev {
	uint64_t seed;
	uint8_t plane[MAGLEV_TABLE];
};

static void *maglev_create(const uint32_t *weights, unsigned n)
{
	struct maglev *s = calloc(1, sizeof(*s));
	double credit[MAX] = {0}, largest = 0;
	uint64_t offset[MAX], skip[MAX], next[MAX] = {0}, seed = 3;
	uint32_t filled = 0;

	if (!s)
		return NULL;
	memset(s->plane, 0xff, sizeof(s->plane));
	for (unsigned p = 0; p < n; p++) {
		offset[p] = timing_random(&seed) % MAGLEV_TABLE;
		skip[p] = 1 + timing_random(&seed) % (MAGLEV_TABLE - 1);
		largest = fmax(largest, weights[p]);
	}
	while (filled < MAGLEV_TABLE) {
		for (unsigned p = 0; p < n && filled < MAGLEV_TABLE; p++) {
			uint64_t at;

			credit[p] += weights[p] / largest;
			if (credit[p] < 1)
				continue;
			credit[p] -= 1;
			do
				at = (offset[p] + next[p]++ * skip[p]) % MAGLEV_TABLE;
			while (s->plane[at] != 0xff);
			s->plane[at] = (uint8_t)p;
			filled++;
		}
	}
	return s;
}

static inline unsigned maglev_pick(struct maglev *s)
{
	/* a packet's own hash costs nothing here: a multiplication stands for it */
	uint64_t hash = s->seed++ * UINT64_C(0x9e3779b97f4a7c15);

	return s->plane[((hash ^ hash >> 29) >> 13 & 0xffffffff) * MAGLEV_TABLE >> 32];
}
PICK_PEER_LOOPS(maglev)

/* A table of a power of two, apportioned as well as that many entries can be. */
struct power {
	uint32_t cursor;
	uint8_t plane[POWER_TABLE];
};

static void *power_create(const uint32_t *weights, unsigned n)
{
	struct power *s = calloc(1, sizeof(*s));
	double sum = 0, owed[MAX] = {0};

	for (unsigned p = 0; p < n; p++)
		sum += weights[p];
	for (unsigned t = 0; s && t < POWER_TABLE; t++) {
		unsigned best = 0;

		for (unsigned p = 0; p < n; p++) {
			owed[p] += weights[p] / sum;
			best = owed[p] > owed[best] ? p : best;
		}
		owed[best] -= 1;
		s->plane[t] = (uint8_t)best;
	}
	return s;
}

static inline unsigned power_pick(struct power *s)
{
	return s->plane[s->cursor++ & (POWER_TABLE - 1)];
}
PICK_PEER_LOOPS(power)

const struct pick_peer pick_peers[PICK_PEERS] = {
	{"smooth-wrr", smooth_create, smooth_sum, smooth_fill},
	{"stride", stride_create, stride_sum, stride_fill},
	{"alias", alias_create, alias_sum, alias_fill},
	{"maglev", maglev_create, maglev_sum, maglev_fill},
	{"table-4096", power_create, power_sum, power_fill},
};
