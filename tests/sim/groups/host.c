/* SPDX-License-Identifier: BSD-2-Clause */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "daemon.h"
#include "nic.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/lane.h"
#include "qp/regions.h"
#include "qp/transfer_state.h"
#include "shadow.h"

#define EVENTS_MAX 32

static uint64_t random_of(void *host)
{
	uint64_t v = prng_next(&((struct host *)host)->prng);

	return v ? v : 1;
}

void host_init(struct sim *sim, unsigned i)
{
	struct host *h = &sim->host[i];
	struct prng *p = &sim->prng;

	memset(h, 0, sizeof(*h));
	h->prng.state = prng_next(p);
	h->late_ns = prng_log(p, 200, 100 * LOOP_US);
	h->very_late_ns = prng_chance(p, 400) ? prng_log(p, LOOP_MS, 50 * LOOP_MS) : 0;
	h->poll_interval_ns = prng_chance(p, 200) ? prng_log(p, LOOP_MS / 10, 20 * LOOP_MS) : 0;
	h->events_max = prng_chance(p, 300) ? 1 + (int)prng_below(p, 4) : EVENTS_MAX;
}

static void describe(struct sim *sim, unsigned i, struct fare_domain *domain)
{
	struct qp_endpoint_attr *attr = &domain->ep.attr;

	attr->address = net_address(i);
	attr->n_planes = (uint16_t)sim->net.n_planes;
	for (unsigned p = 0; p < sim->net.n_planes; p++)
		attr->n_sub_ports[p] = (uint16_t)sim->net.n_sub_ports;
	attr->path_mtu = SIM_MTU;
	attr->on_control = engine_on_control;
	attr->arg = domain;
}

void host_offer_memory(struct host *h)
{
	struct process *process = h->process;

	process->ro_number = (uint32_t)prng_next(&h->prng) | 1;
	shadow_fill_ro(process->ro_number, process->ro, sizeof(process->ro));
	if (fare_mr_register(&process->ro_mr, h->domain, process->ro, sizeof(process->ro),
			     FARE_REMOTE_READ) ||
	    fare_mr_register(&process->rx_mr, h->domain, process->rx, sizeof(process->rx),
			     FARE_REMOTE_WRITE))
		abort();
}

void host_release_memory(struct host *h)
{
	fare_mr_deregister(h->process->ro_mr);
	fare_mr_deregister(h->process->rx_mr);
	memset(h->process->ro, 0x3c, sizeof(h->process->ro));
	memset(h->process->rx, 0x5a, sizeof(h->process->rx));
}

void host_start(struct sim *sim, unsigned i)
{
	struct host *h = &sim->host[i];
	struct fare_domain *domain = calloc(1, sizeof(*domain));
	struct process *process = calloc(1, sizeof(*process));

	domain->fare = &sim->daemon[i].fare;
	domain->options = (struct fare_domain_options){
		.accept = true, .trusted_network = true, .busy_poll = prng_chance(&h->prng, 300)};
	domain->ep.provider = sim->config.is_device ? &nic_device_provider : &qp_soft_provider;
	domain->ep.random = random_of;
	domain->ep.random_arg = h;
	domain->ep.now_ns = sim_now_ns(sim);
	domain->epoll_fd = domain->timer_fd = -1;
	describe(sim, i, domain);
	if (control_auth_load(&domain->ep.auth, NULL, 7) || engine_init(domain) ||
	    nic_create(&h->nic, sim, i, &domain->ep.attr))
		abort();
	domain->ep.handle = h->nic;
	domain->ep.info = domain->ep.provider->endpoint_info(h->nic);
	h->domain = domain;
	h->process = process;
	process->number = (uint32_t)prng_next(&h->prng) | 1;
	memset(process->tx, 0xa5, sizeof(process->tx));
	if (fare_mr_register(&process->tx_mr, domain, process->tx, sizeof(process->tx), 0))
		abort();
	host_offer_memory(h);
	TRACE(sim, "host %u: a process starts", i);
	app_on_start(sim, i);
	host_wake(sim, i);
}

static void end(struct sim *sim, unsigned i)
{
	struct host *h = &sim->host[i];

	app_on_end(sim, i);
	engine_fini(h->domain);
	regions_fini(h->domain);
	if (nic_n_regions(h->nic))
		VIOLATION(sim, "leak: host %u: %u regions are left", i, nic_n_regions(h->nic));
	nic_destroy(h->nic);
	free(h->domain);
	free(h->process);
	h->nic = NULL;
	h->domain = NULL;
	h->process = NULL;
	h->is_waiting = false;
	h->wake_token++;
}

void host_kill(struct sim *sim, unsigned i)
{
	if (!sim->host[i].domain)
		return;
	TRACE(sim, "host %u: its process is killed", i);
	nic_kill(sim->host[i].nic);
	end(sim, i);
}

void host_close(struct sim *sim, unsigned i)
{
	if (!sim->host[i].domain)
		return;
	TRACE(sim, "host %u: closes its domain", i);
	end(sim, i);
}

bool host_is_up(const struct sim *sim, unsigned i)
{
	return sim->host[i].domain != NULL;
}

void host_wake_at(struct sim *sim, unsigned i, uint64_t at_ns)
{
	struct host *h = &sim->host[i];

	if (at_ns < sim_now_ns(sim))
		at_ns = sim_now_ns(sim);
	if (at_ns < h->stopped_until_ns)
		at_ns = h->stopped_until_ns;
	if (at_ns < h->looked_ns + h->poll_interval_ns)
		at_ns = h->looked_ns + h->poll_interval_ns;
	if (h->is_waiting && h->wake_ns <= at_ns)
		return;
	h->is_waiting = true;
	h->wake_ns = at_ns;
	loop_add(&sim->net.loop, at_ns, LOOP_HOST, i, ++h->wake_token, NULL);
}

static uint64_t lateness(struct sim *sim, struct host *h)
{
	if (h->very_late_ns && prng_chance(&h->prng, 20))
		return prng_below(&h->prng, h->very_late_ns);
	(void)sim;
	return 100 + prng_below(&h->prng, h->late_ns);
}

void host_wake(struct sim *sim, unsigned i)
{
	struct host *h = &sim->host[i];

	if (h->domain && !(h->is_waiting && h->wake_ns <= sim_now_ns(sim) + 100))
		host_wake_at(sim, i, sim_now_ns(sim) + lateness(sim, h));
}

void domain_has_work(struct fare_domain *domain)
{
	(void)domain; /* applications look again after everything that they do */
}

static void trace_groups(struct sim *sim, unsigned i, const struct fare_domain *domain)
{
	static const char *const names[] = {"down",	 "learning", "opening",	 "connecting",
					    "accepting", "up",	     "resetting"};

	for (const struct fare_group *g = domain->groups; g; g = g->next) {
		char line[200];
		int n = 0;

		for (unsigned l = 0; l < g->lanes->n && n < (int)sizeof(line) - 30; l++)
			n += snprintf(line + n, sizeof(line) - (size_t)n, " %u:%s/%u%s", l,
				      names[g->lanes->lane[l].state], g->lanes->lane[l].epoch,
				      g->lanes->lane[l].confirmed ? "c" : "");
		TRACE(sim, "host %u: group %x to %u state %u%s messages %u replay %u lanes%s", i,
		      g->link.id, net_host_of(&g->link.address.address), g->state,
		      g->closing ? " closing" : "", g->transfer->n_messages, g->transfer->replay.n,
		      line);
	}
}

void host_run(struct sim *sim, unsigned i, uint64_t token)
{
	struct host *h = &sim->host[i];
	struct fare_event events[EVENTS_MAX];
	uint64_t due_ns, nic_ns;
	int n;

	if (token != h->wake_token || !h->domain)
		return;
	h->is_waiting = false;
	if (sim_now_ns(sim) < h->stopped_until_ns) {
		host_wake_at(sim, i, h->stopped_until_ns);
		return;
	}
	h->looked_ns = sim_now_ns(sim);
	if (engine_poll(h->domain, sim_now_ns(sim)))
		VIOLATION(sim, "poll: host %u: engine_poll() failed", i);
	n = event_queue_take(&h->domain->events, events, h->events_max);
	if (sim->trace->is_on)
		trace_groups(sim, i, h->domain);
	app_on_events(sim, i, events, n);
	if (!h->domain)
		return;
	due_ns = engine_due_ns(h->domain);
	nic_ns = nic_due_ns(h->nic);
	if (nic_ns < due_ns)
		due_ns = nic_ns;
	if (h->domain->events.count)
		due_ns = sim_now_ns(sim);
	/* the shell's fast tick is 2 ms, and a busy application is sooner there */
	if (due_ns <= sim_now_ns(sim))
		due_ns = sim_now_ns(sim) + (nic_ns <= sim_now_ns(sim) || h->domain->events.count
						    ? lateness(sim, h)
						    : prng_between(&h->prng, 5000, 2 * LOOP_MS));
	if (due_ns != ENDPOINT_NEVER)
		host_wake_at(sim, i, due_ns);
}

struct host_group_key host_group_key(const struct fare_group *g)
{
	if (g->opener)
		return (struct host_group_key){g->domain->ep.incarnation, g->link.id};
	return (struct host_group_key){g->link.peer_incarnation, g->link.peer_id};
}

unsigned host_n_groups(const struct sim *sim, unsigned i)
{
	return sim->host[i].domain ? sim->host[i].domain->n_groups : 0;
}

bool host_group_is_whole(const struct fare_group *g)
{
	for (unsigned l = 0; l < g->lanes->n; l++)
		if (g->lanes->lane[l].state != LANE_UP)
			return false;
	return g->state == GROUP_OPEN && g->announced;
}

bool host_has_events(const struct sim *sim, unsigned i)
{
	const struct host *h = &sim->host[i];

	return h->domain && (h->domain->events.count || nic_n_unread(h->nic));
}

bool host_knows_group(const struct sim *sim, unsigned i, struct host_group_key key)
{
	const struct fare_domain *domain = sim->host[i].domain;

	for (const struct fare_group *g = domain ? domain->groups : NULL; g; g = g->next) {
		struct host_group_key k = host_group_key(g);

		if (k.incarnation == key.incarnation && k.id == key.id)
			return true;
	}
	return false;
}
