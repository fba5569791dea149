/* SPDX-License-Identifier: BSD-2-Clause */
#include "dcqcn.h"

#include <math.h>
#include <stddef.h>

#include "qp/provider.h"

#define PUBLISHED_BPS 40e9

struct dcqcn_config dcqcn_published(double line_bps)
{
	double share = line_bps / PUBLISHED_BPS, longer = share < 1 ? 1 / share : 1;

	return (struct dcqcn_config){
		.line_bps = line_bps,
		.min_bps = line_bps / 100, /* what was sent leaves before a retry is given up */
		.rai_bps = 40e6 * share,
		.rhai_bps = 400e6 * share,
		.g = 1. / 256,
		.alpha_ns = (uint64_t)(55000 * longer),
		.timer_ns = (uint64_t)(55000 * longer),
		.bytes = 10000000,
		.f = 5,
		.cnp_ns = (uint64_t)(50000 * longer),
	};
}

struct dcqcn_config dcqcn_tuned(double line_bps, const struct qp_dcqcn *tuning)
{
	struct dcqcn_config c = dcqcn_published(line_bps);

	if (tuning->g_ppb)
		c.g = tuning->g_ppb / 1e9;
	if (tuning->timer_us) {
		c.timer_ns = c.alpha_ns = tuning->timer_us * UINT64_C(1000);
		c.cnp_ns = c.timer_ns * 10 / 11; /* 50 us to 55 us */
	}
	if (tuning->counter_bytes)
		c.bytes = tuning->counter_bytes;
	if (tuning->rai_kbps) {
		c.rai_bps = tuning->rai_kbps * 1e3;
		c.rhai_bps = 10 * c.rai_bps;
	}
	return c;
}

const char *dcqcn_wrong(const struct qp_dcqcn *t)
{
	const struct {
		const char *name;
		uint32_t value, least, most;
	} field[] = {
		{"g_ppb", t->g_ppb, 1, 1000000000},
		{"timer_us", t->timer_us, 10, 10000000},
		{"counter_bytes", t->counter_bytes, 1000, 1000000000},
		{"rai_kbps", t->rai_kbps, 1, 1000000000},
	};

	for (unsigned i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		if (field[i].value &&
		    (field[i].value < field[i].least || field[i].value > field[i].most))
			return field[i].name;
	return NULL;
}

void dcqcn_init(struct dcqcn *d, const struct dcqcn_config *config)
{
	*d = (struct dcqcn){
		.config = *config,
		.rate_bps = config->line_bps,
		.target_bps = config->line_bps,
		.alpha = 1,
	};
}

static void increase(struct dcqcn *d)
{
	const struct dcqcn_config *c = &d->config;
	unsigned least = d->n_timer < d->n_bytes ? d->n_timer : d->n_bytes;

	if (least > c->f)
		d->target_bps += c->rhai_bps * (least - c->f);
	else if (d->n_timer >= c->f || d->n_bytes >= c->f)
		d->target_bps += c->rai_bps;
	d->target_bps = fmin(d->target_bps, c->line_bps);
	d->rate_bps = (d->target_bps + d->rate_bps) / 2;
	/* half the distance at a time, it would never be there */
	if (c->line_bps - d->rate_bps < c->rai_bps && d->target_bps >= c->line_bps)
		d->rate_bps = c->line_bps;
}

/* How often the interval passed since *from_ns, which moves on by so many. */
static uint64_t expiries(uint64_t *from_ns, uint64_t interval_ns, uint64_t now_ns)
{
	uint64_t n = now_ns > *from_ns ? (now_ns - *from_ns) / interval_ns : 0;

	*from_ns += n * interval_ns;
	return n;
}

void dcqcn_advance(struct dcqcn *d, uint64_t now_ns, uint64_t bytes)
{
	const struct dcqcn_config *c = &d->config;
	uint64_t n;

	if (!d->is_started)
		return;
	n = expiries(&d->alpha_from_ns, c->alpha_ns, now_ns);
	if (n)
		d->alpha *= pow(1 - c->g, (double)n);
	/* at the line's rate there is nothing to increase: an idle QP does not count */
	n = expiries(&d->timer_from_ns, c->timer_ns, now_ns);
	for (; n && d->rate_bps < c->line_bps; n--) {
		d->n_timer++;
		increase(d);
	}
	for (d->bytes += bytes; d->bytes >= c->bytes; d->bytes -= c->bytes) {
		d->n_bytes++;
		increase(d);
	}
}

void dcqcn_cnp(struct dcqcn *d, uint64_t now_ns)
{
	const struct dcqcn_config *c = &d->config;

	d->target_bps = d->rate_bps;
	d->rate_bps = fmax(d->rate_bps * (1 - d->alpha / 2), c->min_bps);
	d->alpha = (1 - c->g) * d->alpha + c->g;
	d->alpha_from_ns = d->timer_from_ns = now_ns;
	d->n_timer = d->n_bytes = 0;
	d->bytes = 0;
	d->is_started = true;
}
