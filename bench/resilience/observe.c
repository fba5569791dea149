/* SPDX-License-Identifier: BSD-2-Clause */
#include "resilience/observe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "engine/cluster.h"
#include "fare.h"
#include "resilience/observe_kernel.h"
#include "core/realtime.h"

/* at real-time priority: much more often would slow down what is observed */
#define PAUSE_NS  250000
#define START_NS  UINT64_C(10000000000)
#define NO_SAMPLE UINT64_MAX

struct record {
	_Atomic uint32_t n;
	_Atomic unsigned links_away, routes_away;
	_Atomic bool ready, stop;
	_Atomic int rc;
	uint32_t max;
	struct observe_event event[];
};

/* Of each ordered pair of GPUs: which event, plus one; 0: none. */
struct pair_events {
	_Atomic uint32_t first, latest;
};

struct observe {
	struct record *record;
	struct pair_events *pair; /* behind the events */
	size_t bytes;
	unsigned n_gpus;
	pid_t pid;
};

/* ---- the child ------------------------------------------------------------------------------- */

struct watch {
	unsigned src, dst;
	struct fare_pair *pair;
	uint64_t generation;
};

struct child {
	struct record *record;
	struct pair_events *pair;
	const struct topo *topo;
	unsigned n_watches;
	struct watch *watch;
	struct observe_kernel *kernel; /* by server */
	struct observe_server {
		struct child *child;
		unsigned index;
	} * server;
};

static struct observe_event *next_event(struct child *c)
{
	if (c->record->n == c->record->max) {
		c->record->rc = -E2BIG;
		_exit(1);
	}
	return &c->record->event[c->record->n];
}

static void observe_commit(struct child *c)
{
	c->record->n++;
}

static void sum_up(struct child *c)
{
	unsigned links = 0, routes = 0;

	for (unsigned i = 0; i < c->topo->n_servers; i++) {
		links += c->kernel[i].n_links_away;
		routes += c->kernel[i].n_routes_away;
	}
	c->record->links_away = links;
	c->record->routes_away = routes;
}

static void observe_on_link(void *arg, int ifindex, bool up)
{
	struct observe_server *s = arg;
	struct observe_event *e = next_event(s->child);

	*e = (struct observe_event){.t_ns = clock_now_ns(),
				    .kind = OBSERVE_LINK,
				    .who = (uint16_t)s->index,
				    .up = up,
				    .n = (uint32_t)ifindex};
	observe_commit(s->child);
	sum_up(s->child);
}

static void on_routes(void *arg)
{
	struct observe_server *s = arg;
	struct observe_event *e = next_event(s->child);

	*e = (struct observe_event){.t_ns = clock_now_ns(),
				    .kind = OBSERVE_ROUTES,
				    .who = (uint16_t)s->index,
				    .n = s->child->kernel[s->index].n_routes_away};
	observe_commit(s->child);
	sum_up(s->child);
}

static int observe_poll(struct child *c, struct watch *w)
{
	struct observe_event *e;
	struct fare_paths paths;
	int rc;

	if (fare_pair_generation(w->pair) == w->generation)
		return 0;
	rc = fare_pair_paths(w->pair, &paths);
	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	w->generation = paths.generation;
	e = next_event(c);
	*e = (struct observe_event){.t_ns = clock_now_ns(),
				    .kind = OBSERVE_WEIGHTS,
				    .who = (uint16_t)(w->src * c->topo->n_gpus + w->dst)};
	for (unsigned p = 0; p < paths.n_planes && p < FARE_MAX_PLANES; p++) {
		e->bps[p] = paths.path[p].usable_bps;
		e->verdict[p] = (uint8_t)paths.path[p].verdict;
	}
	observe_commit(c);
	c->pair[e->who].latest = c->record->n;
	if (!c->pair[e->who].first)
		c->pair[e->who].first = c->record->n;
	return 0;
}

static int open_pairs(struct child *c)
{
	const struct topo *t = c->topo;
	struct fare **fare = calloc(t->n_servers, sizeof(struct fare *));
	int rc = fare ? 0 : -ENOMEM;

	for (unsigned s = 0; !rc && s < t->n_servers; s++)
		rc = fare_attach(&fare[s], t->servers[s].fared_run_dir);
	for (unsigned src = 0; !rc && src < t->n_gpus; src++)
		for (unsigned dst = 0; !rc && dst < t->n_gpus; dst++) {
			struct watch *w = &c->watch[c->n_watches];
			struct in6_addr peer;

			if (t->gpus[src].server == t->gpus[dst].server)
				continue;
			rc = address_parse(topo_gpu_address(t, dst), &peer);
			*w = (struct watch){.src = src, .dst = dst, .generation = NO_SAMPLE};
			if (!rc)
				rc = fare_pair_open(&w->pair, fare[t->gpus[src].server],
						    t->gpus[src].index, &peer);
			c->n_watches += !rc;
		}
	free(fare); /* the attachments live as long as the child */
	return rc;
}

static int open_kernel(struct child *c, unsigned server)
{
	struct observe_kernel *k = &c->kernel[server];
	const struct topo *t = c->topo;

	k->route = calloc(t->n_gpus, sizeof(*k->route));
	if (!k->route)
		return -ENOMEM;
	for (unsigned gpu = 0; gpu < t->n_gpus; gpu++)
		if (t->gpus[gpu].server != server &&
		    !address_parse(topo_gpu_address(t, gpu), &k->route[k->n_routes].to))
			k->n_routes++;
	c->server[server] = (struct observe_server){c, server};
	k->on_link = observe_on_link;
	k->on_routes = on_routes;
	k->arg = &c->server[server];
	return observe_kernel_open(k, t->servers[server].netns);
}

static int observe_follow(struct child *c)
{
	struct pollfd *poller = calloc(c->topo->n_servers, sizeof(*poller));
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int rc = poller ? 0 : -ENOMEM;

	for (unsigned i = 0; !rc && i < c->topo->n_servers; i++)
		poller[i] = (struct pollfd){.fd = c->kernel[i].fd, .events = POLLIN};
	while (!rc && !c->record->stop) {
		for (unsigned i = 0; !rc && i < c->n_watches; i++)
			rc = observe_poll(c, &c->watch[i]);
		c->record->ready = c->record->ready || c->record->n >= c->n_watches;
		if (ppoll(poller, c->topo->n_servers, &pause, NULL) <= 0)
			continue;
		for (unsigned i = 0; !rc && i < c->topo->n_servers; i++)
			if (poller[i].revents)
				rc = observe_kernel_read(&c->kernel[i]);
	}
	free(poller);
	return rc;
}

static int child_run(struct observe *o, const struct topo *topo)
{
	struct child c = {.record = o->record, .pair = o->pair, .topo = topo};
	int rc;

	c.watch = calloc((size_t)topo->n_gpus * topo->n_gpus + 1, sizeof(*c.watch));
	c.kernel = calloc(topo->n_servers, sizeof(*c.kernel));
	c.server = calloc(topo->n_servers, sizeof(*c.server));
	rc = c.watch && c.kernel && c.server ? open_pairs(&c) : -ENOMEM;
	for (unsigned s = 0; !rc && s < topo->n_servers; s++)
		rc = open_kernel(&c, s);
	return rc ? rc : observe_follow(&c); /* the end of the process frees everything */
}

/* ---- the coordinator's side ------------------------------------------------------------------ */

int observe_start(struct observe **out, const struct topo *topo, uint32_t max_events)
{
	struct observe *o = calloc(1, sizeof(*o));
	uint64_t end = clock_now_ns() + START_NS;
	int rc;

	*out = NULL;
	if (!o)
		return -ENOMEM;
	o->n_gpus = topo->n_gpus;
	o->bytes = sizeof(struct record) + (size_t)max_events * sizeof(struct observe_event) +
		   (size_t)topo->n_gpus * topo->n_gpus * sizeof(struct pair_events);
	o->record = mmap(NULL, o->bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (o->record == MAP_FAILED) {
		rc = -errno;
		free(o);
		return rc;
	}
	o->record->max = max_events;
	o->pair = (struct pair_events *)(o->record->event + max_events);
	fflush(NULL);
	o->pid = fork();
	if (o->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_TIMERSLACK, 1000);
		if (realtime_take())
			fprintf(stderr, "farebench: no real-time priority: what is observed may be "
					"seen milliseconds late\n");
		o->record->rc = child_run(o, topo);
		_exit(0);
	}
	while (o->pid > 0 && !o->record->ready && !o->record->rc && clock_now_ns() < end)
		clock_pause_ns(1000000);
	rc = o->pid < 0		? -EAGAIN
	     : o->record->rc	? o->record->rc
	     : o->record->ready ? 0
				: -ETIMEDOUT;
	if (rc)
		observe_stop(o);
	else
		*out = o;
	return rc;
}

void observe_stop(struct observe *o)
{
	if (!o)
		return;
	o->record->stop = true;
	while (o->pid > 0 && waitpid(o->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(o->record, o->bytes);
	free(o);
}

int observe_n(const struct observe *o, uint32_t *n)
{
	*n = o->record->n;
	return o->record->rc;
}

const struct observe_event *observe_event(const struct observe *o, uint32_t i)
{
	return &o->record->event[i];
}

unsigned observe_links_away(const struct observe *o)
{
	return o->record->links_away;
}

unsigned observe_routes_away(const struct observe *o)
{
	return o->record->routes_away;
}

static const struct observe_event *event_of(const struct observe *o, unsigned pair, bool latest)
{
	uint32_t i;

	if (pair >= o->n_gpus * o->n_gpus)
		return NULL;
	i = latest ? o->pair[pair].latest : o->pair[pair].first;
	return i ? &o->record->event[i - 1] : NULL;
}

const struct observe_event *observe_first(const struct observe *o, unsigned pair)
{
	return event_of(o, pair, false);
}

static bool observe_same_weights(const uint64_t *a, const uint64_t *b)
{
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		if ((double)a[p] < 0.98 * (double)b[p] || (double)a[p] > 1.02 * (double)b[p])
			return false;
	return true;
}

uint64_t observe_last(const struct observe *o, uint32_t n, enum observe_kind kind, uint64_t from_ns)
{
	while (n-- > 0 && o->record->event[n].t_ns >= from_ns)
		if (o->record->event[n].kind == kind)
			return o->record->event[n].t_ns;
	return 0;
}

json_t *observe_change(const struct topo *topo, const struct observe_event *was,
		       const struct observe_event *is, unsigned plane, uint64_t begin_ns)
{
	return json_pack("{s:f, s:i, s:i, s:i, s:f, s:f, s:s}", "at_s",
			 ((double)is->t_ns - (double)begin_ns) / 1e9, "src",
			 (int)(is->who / topo->n_gpus), "dst", (int)(is->who % topo->n_gpus),
			 "plane", (int)plane, "from_bps", (double)was->bps[plane], "to_bps",
			 (double)is->bps[plane], "verdict",
			 fare_verdict_name((enum fare_verdict)is->verdict[plane]));
}

bool observe_weights_are_first(const struct observe *o, const struct topo *topo)
{
	for (unsigned pair = 0; pair < topo->n_gpus * topo->n_gpus; pair++) {
		const struct observe_event *first = observe_first(o, pair);

		if (first && !observe_same_weights(event_of(o, pair, true)->bps, first->bps))
			return false;
	}
	return true;
}
