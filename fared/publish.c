/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm_sink.h"
#include "shm_writer.h"

/* What the sinks have of a pair. */
struct offer {
	uint32_t n_planes; /* 0: nothing yet */
	uint32_t pending;  /* bit s: sink s has not taken it */
	bool answered;
	uint32_t lossy;
	struct shm_path paths[FARE_MAX_PLANES];
};

struct publish {
	struct path_table *table;
	struct shm_sink *shm;
	struct sink sinks[SINKS_MAX];
	uint64_t again_ns[SINKS_MAX]; /* what a sink refused is offered again; 0: nothing was */
	uint32_t n_sinks;
	void (*on_change)(void *arg, const struct path_change *change);
	void *arg;
	struct offer offers[FARE_MAX_PAIRS]; /* by pair of the table */
};

int publish_create(struct publish **out, const struct config *config, struct path_table *table,
		   mode_t mode, uint64_t now_ns)
{
	struct publish *p = calloc(1, sizeof(*p));
	int rc;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->table = table;
	rc = shm_sink_create(&p->shm, config, table, mode, now_ns);
	if (rc) {
		free(p);
		return rc;
	}
	p->sinks[p->n_sinks++] = shm_sink_as_sink(p->shm);
	*out = p;
	return 0;
}

void publish_destroy(struct publish *p)
{
	if (!p)
		return;
	shm_sink_destroy(p->shm);
	free(p);
}

int publish_add_sink(struct publish *p, const struct sink *sink)
{
	if (p->n_sinks == SINKS_MAX)
		return -ENOSPC;
	for (uint32_t i = 0; i < FARE_MAX_PAIRS; i++)
		p->offers[i].pending |= 1u << p->n_sinks;
	p->sinks[p->n_sinks++] = *sink;
	path_table_mark_all(p->table);
	return 0;
}

void publish_link(struct publish *p, const struct sink_link *link)
{
	for (uint32_t s = 0; s < p->n_sinks; s++)
		if (p->sinks[s].link)
			p->sinks[s].link(p->sinks[s].arg, link);
}

/* ---- what shared memory alone has ----------------------------------------- */

void publish_heartbeat(struct publish *p, uint64_t now_ns)
{
	shm_writer_heartbeat(shm_sink_writer(p->shm), now_ns);
}

void publish_stats(const struct publish *p, struct publish_stats *out)
{
	shm_sink_stats(p->shm, out);
}

/* ---- a turn ---------------------------------------------------------------- */

void publish_forget(struct publish *p, uint32_t pair)
{
	p->offers[pair] = (struct offer){0};
	for (uint32_t s = 0; s < p->n_sinks; s++)
		p->sinks[s].forget(p->sinks[s].arg, pair);
}

static struct offer publish_offer_now(const struct publish *p, uint32_t pair, uint32_t n_planes)
{
	struct offer out = {.n_planes = n_planes};
	struct path_view view;

	for (uint32_t plane = 0; plane < n_planes; plane++) {
		path_table_view(p->table, pair, plane, &view);
		out.paths[plane] = (struct shm_path){
			.usable_bps = view.usable_bps,
			.verdict = (uint32_t)view.verdict,
			.live_sub_ports = (uint16_t)view.unused_sub_ports,
			.path_mtu = view.probe.mtu_carried < view.probe.mtu_wanted
					    ? view.probe.mtu_carried
					    : 0,
		};
		out.answered |= view.probe.judged && !view.probe.silent;
		if (view.probe.gray_remote | view.probe.small_remote)
			out.lossy |= 1u << plane;
	}
	return out;
}

static bool publish_is_same(const struct offer *a, const struct offer *b)
{
	return a->n_planes == b->n_planes && a->answered == b->answered && a->lossy == b->lossy &&
	       !memcmp(a->paths, b->paths, a->n_planes * sizeof(a->paths[0]));
}

/* The table hands over a pair that may have changed; a sink gets one that has, or that it lacks. */
static void on_pair(void *arg, uint32_t id, uint32_t n_planes)
{
	struct publish *p = arg;
	struct offer *offer = &p->offers[id], now = publish_offer_now(p, id, n_planes);
	struct sink_pair pair = {.id = id,
				 .n_planes = n_planes,
				 .paths = offer->paths,
				 .answered = now.answered,
				 .lossy = now.lossy};

	if (!publish_is_same(offer, &now)) {
		*offer = now;
		offer->pending = (1u << p->n_sinks) - 1;
	}
	if (!offer->pending || !path_table_pair(p->table, id, &pair.gpu, &pair.peer))
		return;
	for (uint32_t s = 0; s < p->n_sinks; s++)
		if (offer->pending & 1u << s && !p->sinks[s].pair(p->sinks[s].arg, &pair))
			offer->pending &= ~(1u << s);
}

static void on_change(void *arg, const struct path_change *change)
{
	struct publish *p = arg;

	if (p->on_change)
		p->on_change(p->arg, change);
}

static void publish_begin(struct publish *p, uint64_t now_ns)
{
	bool again = false;

	for (uint32_t s = 0; s < p->n_sinks; s++) {
		again |= p->again_ns[s] && now_ns >= p->again_ns[s];
		if (p->sinks[s].begin)
			p->sinks[s].begin(p->sinks[s].arg, now_ns);
	}
	if (again)
		path_table_mark_all(p->table);
}

/* Until when the loop may sleep, for the sinks' part. */
static uint64_t publish_commit(struct publish *p, uint64_t now_ns, uint64_t next_ns)
{
	for (uint32_t s = 0; s < p->n_sinks; s++) {
		uint64_t again_ns = p->sinks[s].commit(p->sinks[s].arg);

		/* pairs of earlier turns still wait, unless this turn was for them */
		if (again_ns || p->again_ns[s] <= now_ns)
			p->again_ns[s] = again_ns;
		if (p->again_ns[s] && (!next_ns || next_ns > p->again_ns[s]))
			next_ns = p->again_ns[s];
	}
	return next_ns;
}

uint64_t publish_run(struct publish *p, uint64_t now_ns,
		     void (*callback)(void *arg, const struct path_change *change), void *arg)
{
	static const struct path_table_handlers handlers = {.on_change = on_change,
							    .on_pair = on_pair};
	uint64_t next_ns;

	p->on_change = callback;
	p->arg = arg;
	publish_begin(p, now_ns);
	next_ns = path_table_evaluate(p->table, now_ns, &handlers, p);
	return publish_commit(p, now_ns, next_ns);
}
