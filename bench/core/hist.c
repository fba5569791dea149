/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/hist.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define HIST_SUB	(1u << HIST_SUB_BITS)
#define HIST_MAX_VALUE	INT64_MAX
#define HIST_READ_MAX	(INT64_C(1) << 40) /* measurements in a file: sums do not overflow */
#define HIST_CONFIDENCE 0.95
#define HIST_Z		1.96 /* of the normal distribution, 95% two-sided */
#define HIST_EXACT_N	1000 /* up to here the binomial distribution itself */

static unsigned hist_index(uint64_t value)
{
	unsigned shift;

	if (value < 2 * HIST_SUB)
		return (unsigned)value;
	shift = 63 - HIST_SUB_BITS - (unsigned)__builtin_clzll(value);
	return (shift << HIST_SUB_BITS) + (unsigned)(value >> shift);
}

/* The power of two that is the width of bucket i. */
static unsigned hist_shift(unsigned i)
{
	return i < 2 * HIST_SUB ? 0 : (i >> HIST_SUB_BITS) - 1;
}

uint64_t hist_low(unsigned i)
{
	unsigned shift = hist_shift(i);

	return (uint64_t)(i - (shift << HIST_SUB_BITS)) << shift;
}

uint64_t hist_high(unsigned i)
{
	return hist_low(i) + (UINT64_C(1) << hist_shift(i));
}

uint64_t hist_floor(uint64_t value)
{
	return hist_low(hist_index(value));
}

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_add(struct hist *h, uint64_t value)
{
	if (value > HIST_MAX_VALUE)
		value = HIST_MAX_VALUE;
	if (h->n == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->n++;
	h->sum += (double)value;
	h->bucket[hist_index(value)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (from->n == 0)
		return;
	if (into->n == 0 || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->n += from->n;
	into->sum += from->sum;
	/* only what is not 0: pages of a fresh histogram that nothing is written to cost nothing */
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		if (from->bucket[i])
			into->bucket[i] += from->bucket[i];
}

uint64_t hist_above(const struct hist *h, uint64_t value)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		n += hist_low(i) > value ? h->bucket[i] : 0;
	return n;
}

double hist_mean(const struct hist *h)
{
	return h->n ? h->sum / (double)h->n : 0;
}

/* The bucket of the value of this rank; 0 is the smallest. */
static unsigned hist_rank_bucket(const struct hist *h, uint64_t rank)
{
	uint64_t below = 0;
	unsigned i;

	for (i = 0; i + 1 < HIST_BUCKETS; i++) {
		below += h->bucket[i];
		if (below > rank)
			break;
	}
	return i;
}

static double hist_clamp(const struct hist *h, double value)
{
	return fmin(fmax(value, (double)h->min), (double)h->max);
}

static double hist_rank_value(const struct hist *h, uint64_t rank)
{
	unsigned i;

	if (rank == 0)
		return (double)h->min;
	if (rank >= h->n - 1)
		return (double)h->max;
	i = hist_rank_bucket(h, rank);
	return hist_clamp(h, ((double)hist_low(i) + (double)(hist_high(i) - 1)) / 2);
}

double hist_quantile(const struct hist *h, double q)
{
	double rank, low;
	uint64_t below;

	if (h->n == 0)
		return 0;
	rank = q * (double)(h->n - 1);
	below = (uint64_t)rank;
	low = hist_rank_value(h, below);
	if (rank <= (double)below)
		return low;
	return low + (rank - (double)below) * (hist_rank_value(h, below + 1) - low);
}

/* Probability that exactly k of n values are below the true quantile q. */
static double hist_binomial(uint64_t n, uint64_t k, double q)
{
	double dn = (double)n, dk = (double)k;

	return exp(lgamma(dn + 1) - lgamma(dk + 1) - lgamma(dn - dk + 1) + dk * log(q) +
		   (dn - dk) * log1p(-q));
}

/*
 * Ranks low and high such that the true quantile lies outside with a probability of at most 5%:
 * half of it on each side. If even the largest value is below the quantile more often than that,
 * the upper end is the largest value, and the lower side gets what is left; the same the other way
 * round.
 */
static void hist_exact_ranks(uint64_t n, double q, uint64_t *low, uint64_t *high)
{
	double miss = 1 - HIST_CONFIDENCE;
	double above = hist_binomial(n, n, q), below = hist_binomial(n, 0, q), next;
	double above_max = below > miss / 2 ? miss - below : miss / 2;
	double below_max = above > miss / 2 ? miss - above : miss / 2;

	*high = n - 1;
	while (*high > 0 && (next = above + hist_binomial(n, *high, q)) <= above_max) {
		above = next;
		(*high)--;
	}
	*low = 0;
	while (*low + 1 < n && (next = below + hist_binomial(n, *low + 1, q)) <= below_max) {
		below = next;
		(*low)++;
	}
}

static void hist_normal_ranks(uint64_t n, double q, uint64_t *low, uint64_t *high)
{
	double middle = (double)n * q, half = HIST_Z * sqrt((double)n * q * (1 - q));

	*low = (uint64_t)fmax(0, floor(middle - half) - 1);
	*high = (uint64_t)fmin((double)(n - 1), ceil(middle + half));
}

bool hist_carries(const struct hist *h, double q)
{
	double share = fmin(q, 1 - q);

	/* 1e-9: 1 - 0.99 is not quite 0.01 */
	return h->n > 0 &&
	       (double)h->n * share >= (share < 0.01 - 1e-9 ? HIST_TAIL : HIST_BEYOND) - 1e-9;
}

bool hist_quantile_interval(const struct hist *h, double q, double *low, double *high)
{
	uint64_t from, to;

	if (!hist_carries(h, q))
		return false;
	if (h->n <= HIST_EXACT_N)
		hist_exact_ranks(h->n, q, &from, &to);
	else
		hist_normal_ranks(h->n, q, &from, &to);
	*low = hist_clamp(h, (double)hist_low(hist_rank_bucket(h, from)));
	*high = hist_clamp(h, (double)(hist_high(hist_rank_bucket(h, to)) - 1));
	return true;
}

json_t *hist_json(const struct hist *h)
{
	json_t *buckets = json_array(), *json;
	int err = buckets ? 0 : -1;

	for (unsigned i = 0; !err && i < HIST_BUCKETS; i++)
		if (h->bucket[i])
			err = json_array_append_new(buckets,
						    json_pack("[II]", (json_int_t)hist_low(i),
							      (json_int_t)h->bucket[i]));
	if (err) {
		json_decref(buckets);
		return NULL;
	}
	json = json_pack("{sI sI sI sf so}", "n", (json_int_t)h->n, "min", (json_int_t)h->min,
			 "max", (json_int_t)h->max, "sum", h->sum, "buckets", buckets);
	return json;
}

/* One pair [low, count]; *i: the bucket. Buckets come in order, each once. */
static int hist_read_bucket(struct hist *h, json_t *pair, int *last)
{
	json_int_t low, count;
	int i;

	if (json_unpack(pair, "[II!]", &low, &count) || low < 0 || count <= 0 ||
	    count > HIST_READ_MAX)
		return -EBADMSG;
	i = (int)hist_index((uint64_t)low);
	if (i <= *last || hist_low((unsigned)i) != (uint64_t)low)
		return -EBADMSG;
	h->bucket[i] = (uint64_t)count;
	h->n += (uint64_t)count;
	*last = i;
	return 0;
}

/* Do minimum, maximum and sum fit what the buckets hold? */
static bool hist_agrees(const struct hist *h, int last)
{
	double n = (double)h->n, slack = 1e-9 * n * (double)h->max;

	if (h->n == 0)
		return h->min == 0 && h->max == 0 && h->sum == 0;
	return h->min <= h->max && hist_rank_bucket(h, 0) == hist_index(h->min) &&
	       (unsigned)last == hist_index(h->max) && h->sum >= n * (double)h->min - slack &&
	       h->sum <= n * (double)h->max + slack;
}

int hist_read(struct hist *h, const json_t *json)
{
	struct hist read;
	json_t *buckets, *pair;
	json_int_t n, min, max;
	size_t i;
	int last = -1;

	hist_init(&read);
	/* jansson reads, and does not change, what it unpacks */
	if (json_unpack((json_t *)(uintptr_t)json, "{sI sI sI sF so!}", "n", &n, "min", &min, "max",
			&max, "sum", &read.sum, "buckets", &buckets) ||
	    !json_is_array(buckets) || n < 0 || n > HIST_READ_MAX || min < 0 || max < 0)
		return -EBADMSG;
	json_array_foreach (buckets, i, pair)
		if (hist_read_bucket(&read, pair, &last))
			return -EBADMSG;
	read.min = (uint64_t)min;
	read.max = (uint64_t)max;
	if (read.n != (uint64_t)n || !hist_agrees(&read, last))
		return -EBADMSG;
	hist_merge(h, &read);
	return 0;
}
