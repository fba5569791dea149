/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.c - one local GPU's endpoint: opens it, polls it, and hands what arrives to the group
 * concerned.
 *
 * Owns the endpoint, the event queue and the list of groups. Messages for groups that do not exist
 * are answered GROUP_GONE, so that a peer that outlived us learns of it; echoes are answered by
 * anyone, without state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "qp/internal.h"

#define POLL_BATCH  64
#define POLL_ROUNDS 4
/* while anything is under way: how late a change of paths is noticed */
#define TICK_BUSY_NS	 2000000
#define TICK_IDLE_NS	 20000000
#define MAX_GROUPS	 4096
#define EVENTS_PER_ROUND (2 * POLL_BATCH + 2 * FARE_MAX_PLANES)

struct fare_mr {
	struct fare_domain *domain;
	struct fare_mr *next;
	uintptr_t addr;
	size_t length;
	struct qp_mr mr;
};

uint64_t domain_random(void)
{
	uint64_t v = 0;

	/*
	 * 8 bytes never block or come short once the pool is seeded; 0 means "none" everywhere here
	 */
	while (getrandom(&v, sizeof(v), 0) != sizeof(v) || v == 0)
		;
	return v;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void domain_event(struct fare_domain *domain, const struct fare_event *event)
{
	if (domain->event_count == domain->event_room)
		return; /* cannot be: polling stops long before (room_for_events) */
	domain->events[(domain->event_head + domain->event_count) % domain->event_room] = *event;
	domain->event_count++;
}

/* Room for one group more: done when it is made, so that no event is ever without a place. */
int domain_reserve_events(struct fare_domain *domain)
{
	uint32_t room = EVENT_QUEUE + (domain->n_groups + 1) * EVENTS_PER_GROUP;
	struct fare_event *events;

	if (room <= domain->event_room)
		return 0;
	room *= 2;
	events = calloc(room, sizeof(*events));
	if (!events)
		return -ENOMEM;
	for (uint32_t i = 0; i < domain->event_count; i++)
		events[i] = domain->events[(domain->event_head + i) % domain->event_room];
	free(domain->events);
	domain->events = events;
	domain->event_room = room;
	domain->event_head = 0;
	return 0;
}

void domain_forget_events(struct fare_domain *domain, const struct fare_group *group)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < domain->event_count; i++) {
		struct fare_event *e =
			&domain->events[(domain->event_head + i) % domain->event_room];

		if (e->group != group)
			domain->events[(domain->event_head + kept++) % domain->event_room] = *e;
	}
	domain->event_count = kept;
}

static bool room_for_events(const struct fare_domain *domain)
{
	return domain->event_room - domain->event_count >
	       POLL_ROUNDS * EVENTS_PER_ROUND + domain->n_groups * EVENTS_PER_GROUP;
}

void domain_send(struct fare_domain *domain, const struct in6_addr *remote,
		 struct control_message *message, uint16_t plane, uint16_t sub_port,
		 uint16_t source_port)
{
	uint8_t buf[QP_CONTROL_MAX];
	struct qp_control control = {.remote = *remote,
				     .plane = plane,
				     .sub_port = sub_port,
				     .udp_source_port = source_port,
				     .data = buf};
	int n;

	message->source = domain->incarnation;
	n = control_wire_encode(message, buf + CONTROL_SEAL_BYTES,
				sizeof(buf) - CONTROL_SEAL_BYTES);
	if (n < 0)
		return;
	control_seal_close(&domain->seal, &domain->attr.address, remote, buf, (size_t)n);
	control.length = CONTROL_SEAL_BYTES + (size_t)n;
	/* loss is normal: all of it is repeated */
	domain->provider->control_send(domain->endpoint, &control);
}

static struct fare_group *group_by_id(struct fare_domain *domain, uint32_t id)
{
	struct fare_group *g = domain->groups;

	while (g && g->id != id)
		g = g->next;
	return g;
}

static struct fare_group *group_by_opener(struct fare_domain *domain,
					  const struct control_message *m)
{
	struct fare_group *g = domain->groups;

	while (g &&
	       (g->opener || g->peer_incarnation != m->source || g->peer_id != m->source_group))
		g = g->next;
	return g;
}

/* A peer opens a group toward us: once per (incarnation, group), however often it asks. */
static void on_group_open(struct fare_domain *domain, const struct qp_control *c,
			  const struct control_message *m)
{
	struct fare_group_options options = {
		.mode = (enum fare_mode)m->open.mode,
		.qps_per_sub_port = m->open.qps_per_sub_port,
		.flows = m->open.flows,
		.chunk_bytes = m->open.chunk_bytes,
		.window_bytes = m->open.window_bytes,
		.max_messages = m->open.max_messages,
		.random_ports = m->open.random_ports != 0,
	};
	struct control_message reply = {.type = CONTROL_GROUP_ACCEPT,
					.destination = m->source,
					.destination_group = m->source_group};
	struct fare_group *group = group_by_opener(domain, m);
	int err = domain->options.accept ? 0 : -ECONNREFUSED;

	/*
	 * it may be the echo of a former life: whoever is there says again that he means this one
	 */
	if (m->destination != domain->incarnation) {
		reply.type = CONTROL_GROUP_CHALLENGE;
		domain_send(domain, &c->remote, &reply, c->plane, c->sub_port, 0);
		return;
	}

	if (group && group->state == GROUP_CLOSED) {
		group = NULL;
		err = -ECANCELED;
	}
	if (!group && !err && domain->n_groups >= MAX_GROUPS)
		err = -EUSERS;
	if (!group && !err)
		err = group_create(&group, domain, &c->remote, &options, false,
				   m->open.qps_per_lane, m->open.n_lanes);
	if (!group) {
		reply.type = CONTROL_GROUP_REFUSE;
		reply.error = (uint32_t)-err;
		domain_send(domain, &c->remote, &reply, c->plane, c->sub_port, 0);
		return;
	}
	group->peer_id = m->source_group;
	group->peer_incarnation = m->source;
	group->peer_ring_addr = m->open.ring_addr;
	group->peer_ring_rkey = m->open.ring_rkey;
	group->state = GROUP_OPEN;
	reply.source_group = group->id;
	group_fill_open(group, &reply);
	domain_send(domain, &c->remote, &reply, c->plane, c->sub_port, 0);
}

static void on_echo(struct fare_domain *domain, const struct qp_control *c,
		    const struct control_message *m)
{
	struct control_message reply = {.type = CONTROL_ECHO_REPLY,
					.destination = m->source,
					.destination_group = m->source_group};

	reply.echo.nonce = m->echo.nonce;
	reply.echo.candidate = m->echo.candidate;
	reply.echo.plane = c->plane;
	reply.echo.sub_port = c->sub_port;
	domain_send(domain, &c->remote, &reply, c->plane, c->sub_port, 0);
}

static void on_control(void *arg, const struct qp_control *c)
{
	struct fare_domain *domain = arg;
	struct control_message m;
	struct fare_group *group;
	const uint8_t *message;
	const char *reason;
	size_t length;

	if (control_seal_open(&domain->seal, &c->remote, &domain->attr.address, c->data, c->length,
			      &message, &length) ||
	    control_wire_decode(&m, message, length, &reason)) {
		domain->control_rejected++;
		return;
	}
	if (m.type == CONTROL_ECHO) {
		on_echo(domain, c, &m);
		return;
	}
	if (m.type == CONTROL_GROUP_OPEN) {
		on_group_open(domain, c, &m);
		return;
	}
	/* meant for a former life of ours, or from somebody else: there is no such group */
	group = m.destination == domain->incarnation ? group_by_id(domain, m.destination_group)
						     : NULL;
	if (group && memcmp(&group->peer, &c->remote, sizeof(c->remote)))
		group = NULL;
	if (group) {
		group_on_control(group, &m);
	} else if (m.type != CONTROL_GROUP_GONE && m.type != CONTROL_GROUP_CLOSE) {
		struct control_message gone = {.type = CONTROL_GROUP_GONE,
					       .destination = m.source,
					       .destination_group = m.source_group,
					       .source_group = m.destination_group};

		domain_send(domain, &c->remote, &gone, c->plane, c->sub_port, 0);
	}
}

static int describe(struct fare_domain *domain)
{
	struct qp_endpoint_attr *attr = &domain->attr;
	struct attach_gpu gpu;
	int err;

	if (!attach_local_gpu(domain->fare, domain->local_gpu, &gpu))
		return -ENOENT;
	err = fare_local_address(domain->fare, domain->local_gpu,
				 domain->options.family == AF_INET6 ? AF_INET6 : AF_INET,
				 &attr->address);
	if (err)
		return err;
	attr->n_planes = (uint16_t)gpu.n_planes;
	for (unsigned p = 0; p < gpu.n_planes; p++) {
		attr->n_sub_ports[p] = (uint16_t)gpu.n_sub_ports[p];
		for (unsigned s = 0; s < gpu.n_sub_ports[p]; s++) {
			memcpy(attr->dev[p][s], gpu.shm->sub_ports[p][s].dev, FARE_DEV_NAME_MAX);
			attr->dev[p][s][FARE_DEV_NAME_MAX - 1] = 0;
		}
	}
	attr->path_mtu = domain->options.path_mtu ? domain->options.path_mtu : 4096;
	attr->on_control = on_control;
	attr->arg = domain;
	return 0;
}

static int start_ticking(struct fare_domain *domain, uint64_t interval_ns)
{
	struct itimerspec tick = {.it_interval.tv_nsec = (long)interval_ns,
				  .it_value.tv_nsec = (long)interval_ns};

	domain->tick_ns = interval_ns;
	domain->tick_due_ns = monotonic_ns() + interval_ns; /* never later than the timer itself */
	return timerfd_settime(domain->timer_fd, 0, &tick, NULL);
}

static int watch(struct fare_domain *domain)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fds[2];

	domain->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	domain->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (domain->epoll_fd < 0 || domain->timer_fd < 0 || start_ticking(domain, TICK_IDLE_NS))
		return -errno;
	fds[0] = domain->timer_fd;
	fds[1] = domain->provider->endpoint_fd(domain->endpoint);
	for (int i = 0; i < 2; i++)
		if (epoll_ctl(domain->epoll_fd, EPOLL_CTL_ADD, fds[i], &e))
			return -errno;
	return 0;
}

static const struct qp_provider *provider_by_name(const char *name)
{
	if (!name || !strcmp(name, qp_soft_provider.name))
		return &qp_soft_provider;
	return strcmp(name, qp_verbs_provider.name) ? NULL : &qp_verbs_provider;
}

int fare_domain_open(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
		     const struct fare_domain_options *options)
{
	const struct qp_provider *provider = provider_by_name(options ? options->provider : NULL);
	struct fare_domain *domain;
	int err;

	*out = NULL;
	if (!provider)
		return -EPROTONOSUPPORT;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -ENOMEM;
	domain->fare = fare;
	domain->local_gpu = local_gpu;
	if (options)
		domain->options = *options;
	domain->provider = provider;
	err = -ENOKEY;
	if (domain->options.key_file || domain->options.trusted_network)
		err = control_seal_load(&domain->seal, domain->options.key_file,
					domain->options.secret);
	domain->incarnation = domain_random();
	domain->next_group_id = (uint32_t)domain_random() | 1;
	domain->epoll_fd = domain->timer_fd = -1;
	if (!err)
		err = domain_reserve_events(domain);
	if (!err)
		err = describe(domain);
	if (!err)
		err = domain->provider->endpoint_create(&domain->endpoint, &domain->attr);
	if (!err)
		err = watch(domain);
	if (err) {
		fare_domain_close(domain);
		return err;
	}
	*out = domain;
	return 0;
}

void fare_domain_close(struct fare_domain *domain)
{
	if (!domain)
		return;
	while (domain->groups)
		fare_group_close(domain->groups);
	while (domain->regions)
		fare_mr_deregister(domain->regions);
	if (domain->endpoint)
		domain->provider->endpoint_destroy(domain->endpoint);
	if (domain->epoll_fd >= 0)
		close(domain->epoll_fd);
	if (domain->timer_fd >= 0)
		close(domain->timer_fd);
	free(domain->events);
	free(domain);
}

int fare_domain_fd(const struct fare_domain *domain)
{
	return domain->epoll_fd;
}

/*
 * A fast tick only while something is under way: an idle application should cost nothing. It ends
 * with a tick, not with the message: request and reply are idle after each, and to set a timer may
 * cost as much as to send one.
 */
static void set_tick(struct fare_domain *domain, bool ticked)
{
	bool busy = false;

	if (domain->tick_ns == TICK_BUSY_NS && !ticked)
		return;
	for (struct fare_group *g = domain->groups; g && !busy; g = g->next)
		busy = group_busy(g);
	if (domain->tick_ns == (busy ? TICK_BUSY_NS : TICK_IDLE_NS))
		return;
	start_ticking(domain, busy ? TICK_BUSY_NS : TICK_IDLE_NS);
}

static int take_events(struct fare_domain *domain, struct fare_event *events, int max)
{
	int n = 0;

	while (n < max && domain->event_count) {
		events[n++] = domain->events[domain->event_head];
		domain->event_head = (domain->event_head + 1) % domain->event_room;
		domain->event_count--;
	}
	return n;
}

static void step_groups(struct fare_domain *domain)
{
	struct fare_group *next;

	for (struct fare_group *g = domain->groups; g; g = next) {
		next = g->next;
		group_step(g);
		if (group_stillborn(g))
			group_destroy(g);
	}
}

/*
 * What arrives is taken in; completions wait for poll, and no more is heard before all were taken.
 */
int domain_hear(struct fare_domain *domain)
{
	domain->drained = false;
	return domain->provider->endpoint_progress(domain->endpoint);
}

/*
 * All that there are, for a lane that ends waits for it; but no more than there is room for their
 * events.
 */
static int take_completions(struct fare_domain *domain)
{
	struct qp_wc wc[POLL_BATCH];
	int n, total = 0;

	do {
		n = domain->provider->poll(domain->endpoint, wc, POLL_BATCH);
		/* fewer than asked for may mean that it looks at each QP in turn */
		domain->drained = n == 0;
		total += n;
		for (int i = 0; i < n; i++) {
			struct lane_qp *q = wc[i].context;

			messages_on_completion(q->group, &wc[i]);
		}
	} while (n && room_for_events(domain));
	return total;
}

static int progress(struct fare_domain *domain)
{
	int n, err, rounds = domain->options.busy_poll ? 1 : POLL_ROUNDS;

	if (!domain->drained)
		take_completions(domain); /* there was no room for their events */
	/* nothing new before all is read that came, which it might displace (ring.h) */
	/*
	 * All rounds are taken even if events are there: only an idle round sends the ACKs held
	 * back, and an application that has its last message may not poll again.
	 */
	for (int round = 0; round < rounds && domain->drained; round++) {
		err = domain_hear(domain);
		if (err < 0)
			return err;
		n = take_completions(domain);
		if (n == 0 && err == 0)
			break;
		step_groups(domain);
	}
	return 0;
}

/* True: one was due. */
static bool take_tick(struct fare_domain *domain)
{
	uint64_t expirations;

	if (domain->now_ns < domain->tick_due_ns ||
	    read(domain->timer_fd, &expirations, sizeof(expirations)) <= 0)
		return false;
	domain->tick_due_ns += expirations * domain->tick_ns;
	attach_refresh(domain->fare, domain->now_ns);
	return true;
}

int fare_domain_poll(struct fare_domain *domain, struct fare_event *events, int max)
{
	bool ticked;
	int err;

	domain->now_ns = monotonic_ns();
	ticked = take_tick(domain);
	/*
	 * an application that does not take its events stops being acknowledged: that is the
	 * back-pressure
	 */
	if (room_for_events(domain)) {
		err = progress(domain);
		if (err)
			return err;
		step_groups(domain);
	}
	set_tick(domain, ticked);
	return take_events(domain, events, max);
}

int fare_mr_register(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		     bool remote_write)
{
	struct fare_mr *mr = calloc(1, sizeof(*mr));
	int err;

	*out = NULL;
	if (!mr)
		return -ENOMEM;
	mr->domain = domain;
	mr->addr = (uintptr_t)addr;
	mr->length = length;
	err = domain->provider->mr_register(domain->endpoint, addr, length,
					    remote_write ? QP_ACCESS_REMOTE_WRITE : 0, &mr->mr);
	if (err) {
		free(mr);
		return err;
	}
	mr->next = domain->regions;
	domain->regions = mr;
	*out = mr;
	return 0;
}

void fare_mr_deregister(struct fare_mr *mr)
{
	struct fare_mr **link;

	if (!mr)
		return;
	for (link = &mr->domain->regions; *link != mr; link = &(*link)->next)
		;
	*link = mr->next;
	mr->domain->provider->mr_deregister(mr->domain->endpoint, &mr->mr);
	free(mr);
}

uint32_t fare_mr_rkey(const struct fare_mr *mr)
{
	return mr->mr.rkey;
}

bool domain_mr_holds(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		     uint64_t length)
{
	uintptr_t at = (uintptr_t)data;

	return mr->domain == domain && at >= mr->addr && length <= mr->length &&
	       at - mr->addr <= mr->length - length;
}

uint32_t domain_mr_lkey(const struct fare_mr *mr)
{
	return mr->mr.lkey;
}
