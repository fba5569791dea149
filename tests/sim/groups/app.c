/* SPDX-License-Identifier: BSD-2-Clause */
#include "app.h"

#include <errno.h>
#include <string.h>

static void choose_options(struct sim *sim, struct fare_group_options *o)
{
	static const enum fare_mode soft_modes[] = {FARE_MODE_SPRAY, FARE_MODE_SPRAY,
						    FARE_MODE_FLOW, FARE_MODE_PACKET,
						    FARE_MODE_KERNEL};
	struct prng *p = &sim->prng;

	sim->app->baseline = (struct fare_baseline){0};
	*o = (struct fare_group_options){
		.mode = soft_modes[prng_below(p, sim->config.is_device ? 3 : 5)],
		.qps_per_sub_port = 1 + (uint32_t)prng_below(p, 2),
		.flows = 4 + (uint32_t)prng_below(p, 20),
		.chunk_bytes = SIM_MTU * (1 + (uint32_t)prng_below(p, 4)),
		.window_bytes = SIM_MTU * (uint32_t)prng_between(p, 4, 24),
		.max_messages = (uint32_t)prng_log(p, 2, 14),
		.backoff_max_ms = (uint32_t)prng_log(p, 10, 200),
		.baseline = &sim->app->baseline,
		.flows_by_bytes = prng_chance(p, 300),
	};
	sim->app->baseline.random_ports = prng_chance(p, 500);
	o->message_bytes = prng_chance(p, 500) ? (uint32_t)prng_between(p, 1, 3 * SIM_MTU) : 0;
	o->in_order = prng_chance(p, 300);
	if (o->mode == FARE_MODE_KERNEL)
		sim->app->baseline.qps = 1 + (uint32_t)prng_below(p, 6);
}

void app_init(struct sim *sim)
{
	struct app *app = sim->app;
	struct prng *p = &sim->prng;

	app->shadow.n_ends = app->shadow.n_writes = 0;
	app->shadow.clock = 0;
	app->shadow.n_placed = app->shadow.n_received = app->shadow.n_completed = 0;
	memset(app->shadow.tx_owner, 0, sizeof(app->shadow.tx_owner));
	memset(app->shadow.rx_owner, 0, sizeof(app->shadow.rx_owner));
	app->is_ending = false;
	choose_options(sim, &app->options);
	app->budget = (unsigned)prng_log(p, 6, 100);
	memset(app->wanted, 0, sizeof(app->wanted));
	app->write_per_mille = prng_chance(p, 300) ? (unsigned)prng_between(p, 50, 600) : 10;
	app->bare_per_mille = 50;
	app->notify_per_mille = (unsigned)prng_between(p, 200, 1000);
	app->deadline_per_mille = prng_chance(p, 400) ? 400 : 0;
	app->send_per_mille = app->options.message_bytes ? (unsigned)prng_between(p, 50, 700) : 0;
	/* an order-free QP takes no READ */
	app->read_per_mille = app->options.mode != FARE_MODE_PACKET && prng_chance(p, 400)
				      ? (unsigned)prng_between(p, 50, 500)
				      : 0;
	app->bad_key_per_mille = prng_chance(p, 200) ? (unsigned)prng_log(p, 20, 300) : 0;
	app->leave_per_mille = prng_chance(p, 250) ? (unsigned)prng_log(p, 10, 200) : 0;
	app->n_intents = 1 + (unsigned)prng_below(p, sim->net.n_hosts == 2 ? 2 : 4);
	for (unsigned i = 0; i < app->n_intents; i++) {
		struct app_intent *intent = &app->intents[i];

		intent->host = (unsigned)prng_below(p, sim->net.n_hosts);
		intent->peer = (intent->host + 1 + (unsigned)prng_below(p, sim->net.n_hosts - 1)) %
			       sim->net.n_hosts;
		intent->end = -1;
		intent->retry_ns = sim_now_ns(sim) + prng_log(p, 1, 5 * LOOP_MS);
	}
}

/* ---- groups ---- */

static void open_group(struct sim *sim, struct app_intent *intent)
{
	struct host *h = &sim->host[intent->host];
	struct in6_addr peer = net_address(intent->peer);
	struct shadow_end end = {.host = intent->host,
				 .peer = intent->peer,
				 .process = h->process->number,
				 .is_opener = true};

	intent->retry_ns = sim_now_ns(sim) + prng_log(&h->prng, LOOP_MS, 100 * LOOP_MS);
	if (sim->app->shadow.n_ends > SHADOW_ENDS / 2)
		return;
	if (fare_group_open(&end.group, h->domain, &peer, &sim->app->options)) {
		VIOLATION(sim, "open: host %u: fare_group_open() failed", intent->host);
		return;
	}
	end.key = host_group_key(end.group);
	intent->end = shadow_add_end(sim, &end);
	TRACE(sim, "host %u: opens a group to %u, end %d", intent->host, intent->peer, intent->end);
}

static void forget(struct sim *sim, int end)
{
	for (unsigned i = 0; i < sim->app->n_intents; i++) {
		struct app_intent *intent = &sim->app->intents[i];

		if (intent->end != end)
			continue;
		intent->end = -1;
		intent->retry_ns = sim_now_ns(sim) + prng_log(&sim->prng, LOOP_US, 100 * LOOP_MS);
	}
}

/* In good order: its memory comes back before CLOSED, after which it is closed. */
static void disconnect(struct sim *sim, int i)
{
	struct shadow_end *end = &sim->app->shadow.ends[i];

	TRACE(sim, "host %u: disconnects end %d", end->host, i);
	end->is_leaving = true;
	fare_group_disconnect(end->group);
	host_wake(sim, end->host);
}

void app_close_end(struct sim *sim, int i)
{
	struct shadow_end *end = &sim->app->shadow.ends[i];
	struct fare_group *group = end->group;

	TRACE(sim, "host %u: closes end %d", end->host, i);
	shadow_abandon(sim, i);
	forget(sim, i);
	fare_group_close(group);
	host_wake(sim, end->host);
}

static void leave(struct sim *sim, int end)
{
	if (prng_chance(&sim->prng, 500))
		disconnect(sim, end);
	else
		app_close_end(sim, end);
}

void app_close_some(struct sim *sim, unsigned host)
{
	struct shadow *s = &sim->app->shadow;
	unsigned first = s->n_ends ? (unsigned)prng_below(&sim->prng, s->n_ends) : 0;

	for (unsigned k = 0; k < s->n_ends; k++) {
		unsigned i = (first + k) % s->n_ends;

		if (s->ends[i].group && s->ends[i].host == host) {
			leave(sim, (int)i);
			return;
		}
	}
}

void app_release_memory(struct sim *sim, unsigned host)
{
	if (!host_is_up(sim, host) || sim_now_ns(sim) < sim->host[host].stopped_until_ns)
		return;
	TRACE(sim, "host %u: releases its memory", host);
	host_release_memory(&sim->host[host]);
	shadow_on_released_memory(sim, host);
	host_offer_memory(&sim->host[host]);
}

void app_on_start(struct sim *sim, unsigned host)
{
	shadow_on_process(sim, host);
}

void app_on_end(struct sim *sim, unsigned host)
{
	struct shadow *s = &sim->app->shadow;

	for (unsigned i = 0; i < s->n_ends; i++)
		if (s->ends[i].group && s->ends[i].host == host) {
			shadow_abandon(sim, (int)i);
			forget(sim, (int)i);
		}
	shadow_on_process(sim, host);
}

/* ---- writing ---- */

static uint32_t choose_length(struct sim *sim, struct prng *p)
{
	if (prng_chance(p, sim->app->bare_per_mille))
		return 0;
	return (uint32_t)prng_between(p, 1, prng_chance(p, 500) ? SIM_MTU : HOST_SLOT_BYTES - 56);
}

/* Which of the three it is, and what there is to say of it. */
static void choose_operation(struct sim *sim, struct prng *p, struct shadow_write *w)
{
	const struct app *app = sim->app;

	w->is_send = prng_chance(p, app->send_per_mille);
	w->is_read = !w->is_send && prng_chance(p, app->read_per_mille);
	w->offset = 8 * (uint32_t)prng_below(p, 8);
	if (w->is_send)
		w->length = (uint32_t)prng_below(p, app->options.message_bytes + 1);
	else
		w->length = choose_length(sim, p);
	w->notify = w->is_send ||
		    (!w->is_read && (!w->length || prng_chance(p, app->notify_per_mille)));
	w->has_bad_key = w->length && !w->is_send && prng_chance(p, app->bad_key_per_mille);
	if (prng_chance(p, app->deadline_per_mille))
		w->deadline_ns = sim_now_ns(sim) + prng_log(p, 10 * LOOP_US, 4 * LOOP_S);
}

static int post_write(struct sim *sim, struct fare_group *group, uint32_t id,
		      const struct shadow_write *w)
{
	const struct process *from = sim->host[w->from].process, *to = sim->host[w->to].process;
	struct fare_write out = {.length = w->length,
				 .tag = id,
				 .context = id,
				 .flags = w->notify ? FARE_WRITE_NOTIFY : 0,
				 .deadline_ns = w->deadline_ns};

	if (w->length) {
		out.data = from->tx[w->tx_slot] + w->offset;
		out.mr = from->tx_mr;
		out.remote_addr =
			(uint64_t)(uintptr_t)to->rx[w->rx_slot < 0 ? 0 : w->rx_slot] + w->offset;
		out.rkey = fare_mr_rkey(to->rx_mr) ^ (w->has_bad_key ? 0x5555u : 0);
	}
	return fare_group_write(group, &out);
}

static int post_read(struct sim *sim, struct fare_group *group, uint32_t id,
		     const struct shadow_write *w)
{
	struct process *from = sim->host[w->from].process, *to = sim->host[w->to].process;
	struct fare_read in = {.length = w->length, .context = id, .deadline_ns = w->deadline_ns};

	if (w->length) {
		in.data = from->tx[w->tx_slot] + w->offset;
		in.mr = from->tx_mr;
		in.remote_addr = (uint64_t)(uintptr_t)to->ro + w->offset;
		in.rkey = fare_mr_rkey(to->ro_mr) ^ (w->has_bad_key ? 0x5555u : 0);
	}
	return fare_group_read(group, &in);
}

static int post_send(struct fare_group *group, uint32_t id, const struct shadow_write *w)
{
	uint8_t data[FARE_MESSAGE_MAX];
	const struct fare_send out = {.data = data,
				      .length = w->length,
				      .tag = id,
				      .context = id,
				      .deadline_ns = w->deadline_ns};
	int err;

	shadow_fill(id, data, w->length);
	err = fare_group_send(group, &out);
	memset(data, 0, sizeof(data)); /* it was copied */
	return err;
}

static void write_some(struct sim *sim, int e)
{
	struct app *app = sim->app;
	const struct shadow_end *end = &app->shadow.ends[e];
	struct host *from = &sim->host[end->host], *to = &sim->host[end->peer];
	struct prng *p = &from->prng;
	struct shadow_write w = {.end = e, .from = end->host, .to = end->peer};
	uint32_t id;
	int err;

	if (!to->process || end->is_closed || end->is_leaving)
		return;
	/* an opener cannot know of memory of a process that came later */
	if (end->other >= 0 && app->shadow.ends[end->other].process != to->process->number)
		return;
	w.from_process = from->process->number;
	w.to_process = to->process->number;
	w.ro_number = to->process->ro_number;
	choose_operation(sim, p, &w);
	id = shadow_begin(sim, &w);
	if (!id)
		return;
	w = app->shadow.writes[id - 1];
	err = w.is_send	  ? post_send(end->group, id, &w)
	      : w.is_read ? post_read(sim, end->group, id, &w)
			  : post_write(sim, end->group, id, &w);
	if (err) {
		shadow_cancel_begin(sim, id);
		if (err != -ENOBUFS && err != -ENOTCONN)
			VIOLATION(sim, "write: an operation returned %d", err);
		return;
	}
	app->budget--;
	TRACE(sim, "host %u: %s %u, end %d, slots %d to %u/%d, length %u%s%s deadline %llu", w.from,
	      w.is_send	  ? "message"
	      : w.is_read ? "read"
			  : "write",
	      id, e, w.tx_slot, w.to, w.rx_slot, w.length, w.notify ? " notify" : "",
	      w.has_bad_key ? " bad key" : "", (unsigned long long)w.deadline_ns);
}

static void work(struct sim *sim, unsigned host)
{
	struct app *app = sim->app;
	struct host *h = &sim->host[host];

	for (unsigned i = 0; i < app->n_intents && !app->is_ending; i++) {
		struct app_intent *intent = &app->intents[i];

		if (intent->host == host && intent->end < 0 && sim_now_ns(sim) >= intent->retry_ns)
			open_group(sim, intent);
		if (intent->host == host && intent->end < 0)
			host_wake_at(sim, host, intent->retry_ns);
	}
	for (unsigned i = 0; i < app->shadow.n_ends; i++) {
		if (app->shadow.ends[i].host != host || !app->shadow.ends[i].group)
			continue;
		while (app->budget && !sim->is_healed &&
		       (app->wanted[host] || prng_chance(&h->prng, app->write_per_mille))) {
			app->wanted[host] -= app->wanted[host] > 0;
			write_some(sim, (int)i);
			if (prng_chance(&h->prng, 300))
				break; /* another end's turn */
		}
	}
}

void app_want(struct sim *sim, unsigned host)
{
	sim->app->wanted[host] += 1 + (unsigned)prng_below(&sim->prng, 4);
	host_wake(sim, host);
}

/* ---- events ---- */

static void on_accepted(struct sim *sim, unsigned host, struct fare_group *group)
{
	struct shadow_end end = {.group = group,
				 .host = host,
				 .process = sim->host[host].process->number,
				 .key = host_group_key(group)};
	struct in6_addr peer;
	int i;

	fare_group_peer(group, &peer);
	end.peer = net_host_of(&peer);
	i = shadow_add_end(sim, &end);
	if (i < 0) {
		fare_group_close(group);
		return;
	}
	sim->app->shadow.ends[i].is_announced = true;
	TRACE(sim, "host %u: accepted a group of %u, end %d", host, end.peer, i);
}

static void on_closed(struct sim *sim, int i, int status)
{
	struct shadow_end *end = &sim->app->shadow.ends[i];

	TRACE(sim, "host %u: end %d closed, status %d", end->host, i, status);
	shadow_on_closed(sim, i);
	app_close_end(sim, i);
}

static void on_event(struct sim *sim, unsigned host, const struct fare_event *e)
{
	int end = shadow_end_of(sim, e->group);

	if (e->kind == FARE_EVENT_ACCEPTED) {
		if (end >= 0)
			VIOLATION(sim, "accept: end %d was accepted before", end);
		on_accepted(sim, host, e->group);
		return;
	}
	if (end < 0 || sim->app->shadow.ends[end].host != host) {
		VIOLATION(sim, "event: host %u: an event of kind %d names no open group", host,
			  e->kind);
		return;
	}
	switch (e->kind) {
	case FARE_EVENT_CONNECTED:
		if (sim->app->shadow.ends[end].is_announced)
			VIOLATION(sim, "connect: end %d connects twice", end);
		sim->app->shadow.ends[end].is_announced = true;
		TRACE(sim, "host %u: end %d connected", host, end);
		break;
	case FARE_EVENT_COMPLETED:
		shadow_on_completed(sim, end, (uint32_t)e->context, e->status);
		if (!e->status && !sim->is_healed &&
		    prng_chance(&sim->host[host].prng, sim->app->leave_per_mille))
			leave(sim, end);
		break;
	case FARE_EVENT_RELEASED:
		shadow_on_released(sim, end, (uint32_t)e->context, e->status);
		break;
	case FARE_EVENT_RECEIVED:
	case FARE_EVENT_MESSAGE:
		shadow_on_received(sim, end, e);
		break;
	case FARE_EVENT_CLOSED:
		on_closed(sim, end, e->status);
		break;
	default:
		break;
	}
}

void app_on_events(struct sim *sim, unsigned host, const struct fare_event *events, int n)
{
	const struct fare_group *closed[8];
	unsigned n_closed = 0;

	for (int i = 0; i < n; i++) {
		bool is_gone = false;

		/* defect T20: a batch names groups that were closed because of an event before */
		for (unsigned k = 0; k < n_closed; k++)
			is_gone |= events[i].group == closed[k];
		if (is_gone)
			continue;
		on_event(sim, host, &events[i]);
		if (shadow_end_of(sim, events[i].group) < 0 && n_closed < 8)
			closed[n_closed++] = events[i].group;
	}
	if (!host_has_events(sim, host))
		shadow_check_deadlines(sim, host);
	work(sim, host);
}

/* ---- quiet ---- */

const char *app_unrest(const struct sim *sim)
{
	const struct shadow *s = &sim->app->shadow;

	if (!shadow_is_settled(sim))
		return "a write is unfinished, or a notification missing";
	for (unsigned h = 0; h < sim->net.n_hosts; h++)
		if (host_has_events(sim, h))
			return "events are not taken";
	for (unsigned i = 0; i < sim->app->n_intents; i++)
		if (sim->app->intents[i].end < 0 && s->n_ends <= SHADOW_ENDS / 2 &&
		    host_is_up(sim, sim->app->intents[i].host) &&
		    host_is_up(sim, sim->app->intents[i].peer))
			return "a group is not open again";
	for (unsigned i = 0; i < s->n_ends; i++) {
		const struct shadow_end *end = &s->ends[i];

		if (!end->group)
			continue;
		if (end->other < 0 || !s->ends[end->other].group)
			return "a group has one end only";
		if (!host_group_is_whole(end->group))
			return "a lane is not up";
	}
	return NULL;
}

bool app_is_quiet(const struct sim *sim)
{
	return !app_unrest(sim);
}
