/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.c - dispatch, run queue, timers, events (engine.h).
 *
 * Messages for groups that do not exist are answered GROUP_GONE, so that a peer that outlived this
 * process learns of it; echoes are answered without state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/planted.h"

/* A group's id: its slot, and above that a number that changes when the slot is used again. */
#define SLOT_BITS 12
_Static_assert(MAX_GROUPS == 1 << SLOT_BITS, "slots");

#define POLL_BATCH	 64
#define POLL_ROUNDS	 4
#define EVENTS_PER_ROUND (2 * POLL_BATCH + 2 * FARE_MAX_PLANES)
/*
 * A QP that fails by itself (a device's port, a spoofed packet) while nothing is posted on it
 * raises no completion. So idle groups are looked at in turn, SCAN_GROUPS every SCAN_NS: with 1,024
 * groups each within 1.3 s.
 */
#define SCAN_NS	    20000000u
#define SCAN_GROUPS 16
/*
 * Groups that were accepted, and that their opener has not named yet. If there are as many, one
 * that is so old makes place: an opener goes on after a round trip.
 */
#define UNPROVEN_MAX 512
#define UNPROVEN_NS  UINT64_C(2000000000)
#define GROUP_OF(pointer, member)                                                                  \
	((struct fare_group *)((char *)(pointer)-offsetof(struct fare_group, member)))
/* a process that did not poll for so long cannot say that a QP did nothing meanwhile */
#define AWAY_NS UINT64_C(5000000000)

static int engine_enter(struct fare_domain *domain, struct fare_group *group)
{
	uint32_t slot = 0;
	int err = domain->n_groups < MAX_GROUPS ? 0 : -EUSERS;

	if (!err)
		err = timers_reserve(&domain->timers, domain->n_groups + 1);
	if (!err)
		err = event_queue_reserve(&domain->events, group_most_events(group));
	if (err)
		return err;
	while (domain->slots[slot])
		slot++;
	domain->slots[slot] = group;
	domain->n_groups++;
	DL_APPEND(domain->groups, group);
	run_queue_add(&group->run);
	group_begin(group, domain->next_generation++ << SLOT_BITS | slot);
	return 0;
}

int engine_open(struct fare_group **out, struct fare_domain *domain,
		const struct peer_address *peer, const struct fare_group_options *options,
		const struct control_message *offer)
{
	int err = group_create(out, domain, peer, options, offer);

	if (!err)
		err = engine_enter(domain, *out);
	if (err && *out) {
		group_destroy(*out);
		*out = NULL;
	}
	return err;
}

void engine_close(struct fare_group *group)
{
	struct fare_domain *domain = group->domain;

	if (!PLANTED(events_kept))
		event_queue_forget(&domain->events, group);
	timers_remove(&domain->timers, &group->timer);
	run_queue_remove(&group->run);
	domain->slots[group->link.id % MAX_GROUPS] = NULL;
	if (domain->scan == group)
		domain->scan = group->next;
	DL_DELETE(domain->groups, group);
	domain->n_busy -= group->is_busy;
	event_queue_release(&domain->events, group_most_events(group));
	domain->n_groups--;
	group_destroy(group);
}

static struct fare_group *group_by_id(struct fare_domain *domain, uint32_t id)
{
	struct fare_group *group = domain->slots[id % MAX_GROUPS];

	return group && group->link.id == id ? group : NULL;
}

static struct fare_group *group_by_opener(struct fare_domain *domain,
					  const struct control_message *m)
{
	struct fare_group *group;

	DL_FOREACH (domain->groups, group)
		if (!group->opener && group->link.peer_incarnation == m->source &&
		    group->link.peer_id == m->source_group)
			break;
	return group;
}

/* ---- control messages ---- */

/*
 * The answer leaves by the plane and sub-port of the question; but not by a sub-port that is down,
 * or loses packets that leave: a leaf that does not know yet sends what comes in by it.
 */
static void reply_to(struct fare_domain *domain, const struct qp_control *c,
		     const struct control_message *m, struct control_message *reply)
{
	const struct peer_address to = {c->remote, m->source_port};
	uint32_t live = port_cache_live(&domain->ports, &to, c->plane);
	uint16_t sub_port = c->sub_port;

	if (live && (sub_port >= FARE_MAX_SUB_PORTS || !(live >> sub_port & 1)))
		sub_port = (uint16_t)__builtin_ctz(live);
	endpoint_send(&domain->ep, &to, reply, c->plane, sub_port, 0);
}

/* What the application says to a peer that wants a group. 0, or why not. */
static int ask_application(struct fare_domain *domain, const struct qp_control *c,
			   const struct control_message *m, struct fare_request *request)
{
	int err;

	if (!domain->options.accept)
		return -ECONNREFUSED;
	if (!domain->options.on_request)
		return 0;
	*request = (struct fare_request){.peer = c->remote,
					 .data = m->open.options.private_data,
					 .bytes = m->open.options.private_bytes};
	err = domain->options.on_request(domain->options.on_request_arg, request);
	if (err > 0 || err < -4095)
		err = -ECONNREFUSED;
	return !err && request->reply_bytes > FARE_PRIVATE_MAX ? -EINVAL : err;
}

static int accept_group(struct fare_group **out, struct fare_domain *domain,
			const struct qp_control *c, const struct control_message *m)
{
	struct fare_request request = {0};
	struct fare_group_options options = m->open.options;
	const struct peer_address from = {c->remote, m->source_port};
	int err = ask_application(domain, c, m, &request);

	*out = NULL;
	options.private_data = request.reply;
	options.private_bytes = request.reply_bytes;
	if (!err)
		err = engine_open(out, domain, &from, &options, m);
	return err;
}

/*
 * It may be a recorded or delayed copy. An opener that is there sends it again with the nonce that
 * it gets here.
 */
static void challenge(struct fare_domain *domain, const struct qp_control *c,
		      const struct control_message *m, const struct admission_opener *opener)
{
	struct control_message reply = {.type = CONTROL_GROUP_CHALLENGE,
					.destination = m->source,
					.destination_group = m->source_group};

	admission_challenge(&domain->admission, opener, domain->ep.now_ns, reply.nonce);
	reply_to(domain, c, m, &reply);
}

static void engine_refuse(struct fare_domain *domain, const struct qp_control *c,
			  const struct control_message *m, int err)
{
	struct control_message reply = {.type = CONTROL_GROUP_REFUSE,
					.destination = m->source,
					.destination_group = m->source_group,
					.error = (uint32_t)-err};

	reply_to(domain, c, m, &reply);
}

/*
 * Openers that do not go on must not make this process hold any number of groups for ABANDONED_NS
 * (group.c). Such groups have no QPs, and the application does not know them. True: one more may be
 * accepted. If not, the opener asks again.
 */
static bool has_place(struct fare_domain *domain)
{
	struct fare_group *group, *oldest = NULL;
	unsigned n = 0;

	DL_FOREACH (domain->groups, group) { /* in the order of making */
		if (group->opener || group->peer_proven)
			continue;
		oldest = oldest ? oldest : group;
		n++;
	}
	if (n < UNPROVEN_MAX)
		return true;
	if (domain->ep.now_ns - oldest->opening_ns < UNPROVEN_NS)
		return false;
	engine_close(oldest);
	return true;
}

/* A group that is admitted now, or not at all. NULL: it is refused. */
static struct fare_group *admit(struct fare_domain *domain, const struct qp_control *c,
				const struct control_message *m,
				const struct admission_opener *opener)
{
	struct admission_entry *entry =
		admission_add(&domain->admission, opener, domain->ep.now_ns);
	struct fare_group *group;

	entry->error = accept_group(&group, domain, c, m);
	if (!entry->error)
		lanes_prepare(group->lanes);
	else
		engine_refuse(domain, c, m, entry->error);
	return group;
}

/* A peer opens a group toward us: once per (incarnation, group), however often it asks. */
static void on_group_open(struct fare_domain *domain, const struct qp_control *c,
			  const struct control_message *m)
{
	struct control_message reply = {.type = CONTROL_GROUP_ACCEPT,
					.destination = m->source,
					.destination_group = m->source_group};
	const struct admission_opener opener = {
		{c->remote, m->source_port}, m->source, m->source_group};
	const struct admission_entry *before =
		admission_find(&domain->admission, &opener, domain->ep.now_ns);
	struct fare_group *group = group_by_opener(domain, m);

	if (group ? group_is_over(group) : before != NULL) {
		engine_refuse(domain, c, m, before && before->error ? before->error : -ECANCELED);
		return;
	}
	if (!group &&
	    (m->destination != domain->ep.incarnation ||
	     !admission_is_fresh(&domain->admission, &opener, domain->ep.now_ns, m->nonce))) {
		challenge(domain, c, m, &opener);
		return;
	}
	if (!group && has_place(domain))
		group = admit(domain, c, m, &opener);
	if (!group)
		return;
	run_queue_add(&group->run);
	reply.source_group = group->link.id;
	group_fill_open(group, &reply);
	reply_to(domain, c, m, &reply);
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
	reply_to(domain, c, m, &reply);
}

/*
 * An opener that names the id of a group that was just accepted is alive after that. So what other
 * incarnations opened from its address and port before is lost: they restarted, and will not say
 * so. (A delayed GROUP_OPEN alone proves nothing.)
 */
static void prove_peer(struct fare_domain *domain, struct fare_group *group, uint64_t source)
{
	struct fare_group *other;

	if (group->opener || group->peer_proven || group->state != GROUP_OPEN ||
	    source != group->link.peer_incarnation)
		return;
	group->peer_proven = true;
	/* the list is in the order of making */
	for (other = domain->groups; other != group; other = other->next) {
		if (!other->link.peer_incarnation ||
		    other->link.peer_incarnation == group->link.peer_incarnation ||
		    !peer_address_equal(&other->link.address, &group->link.address))
			continue;
		group_on_peer_gone(other);
		run_queue_add(&other->run);
	}
}

void engine_on_control(void *arg, const struct qp_control *c)
{
	struct fare_domain *domain = arg;
	struct peer_address from = {.address = c->remote};
	struct control_message m;
	struct fare_group *group;
	const uint8_t *message;
	const char *reason;
	size_t length;

	if (control_auth_verify(&domain->ep.auth, &c->remote, &domain->ep.attr.address, c->data,
				c->length, &message, &length) ||
	    control_wire_decode(&m, message, length, &reason)) {
		domain->control_rejected++;
		return;
	}
	from.port = m.source_port;
	port_cache_on_message(&domain->ports, &from);
	if (m.type == CONTROL_ECHO) {
		on_echo(domain, c, &m);
		return;
	}
	if (m.type == CONTROL_ECHO_REPLY) {
		if (m.destination == domain->ep.incarnation)
			port_cache_on_reply(&domain->ports, &from, &m);
		return;
	}
	if (m.type == CONTROL_GROUP_OPEN) {
		on_group_open(domain, c, &m);
		return;
	}
	/* meant for an earlier incarnation of this process, or from another peer: no such group */
	group = m.destination == domain->ep.incarnation ? group_by_id(domain, m.destination_group)
							: NULL;
	if (group && (!peer_address_equal(&group->link.address, &from) || group_is_over(group)))
		group = NULL;
	if (group) {
		group_on_control(group, &m);
		prove_peer(domain, group, m.source);
		run_queue_add(&group->run);
	} else if (m.type != CONTROL_GROUP_GONE && m.type != CONTROL_GROUP_CLOSE &&
		   !PLANTED(gone_unsaid)) {
		struct control_message gone = {.type = CONTROL_GROUP_GONE,
					       .destination = m.source,
					       .destination_group = m.source_group,
					       .source_group = m.destination_group};

		reply_to(domain, c, &m, &gone);
	}
}

/* ---- the turn ---- */

static void engine_step(struct fare_domain *domain, struct fare_group *group)
{
	uint64_t due_ns;
	bool busy;

	group_step(group);
	if (group_is_abandoned(group)) {
		engine_close(group);
		return;
	}
	busy = group_busy(group);
	domain->n_busy += (unsigned)busy - (unsigned)group->is_busy;
	group->is_busy = busy;
	due_ns = group_due_ns(group);
	timers_set(&domain->timers, &group->timer, due_ns == ENDPOINT_NEVER ? 0 : due_ns);
}

/* Groups that are woken meanwhile, by this or by each other, wait for the next round. */
static void step_groups(struct fare_domain *domain)
{
	struct run_item *last, *item;
	struct timer *timer;

	port_cache_step(&domain->ports);
	while ((timer = timers_expire(&domain->timers, domain->ep.now_ns)))
		run_queue_add(&GROUP_OF(timer, timer)->run);
	last = domain->run_queue ? domain->run_queue->prev : NULL;
	while ((item = domain->run_queue)) {
		bool is_last = item == last;

		run_queue_remove(item);
		engine_step(domain, GROUP_OF(item, run));
		if (is_last)
			break;
	}
}

/* The daemon has published something, or a device's MTU changed: groups that it concerns wake. */
static void follow_paths(struct fare_domain *domain)
{
	uint64_t generation = attach_generation(domain->fare);
	const struct qp_mtus *mtus = domain->ep.info->mtus;
	uint64_t mtu_changes = mtus ? mtus->changes : 0;
	struct fare_group *group;

	if (generation == domain->generation && mtu_changes == domain->mtu_changes)
		return;
	domain->generation = generation;
	domain->mtu_changes = mtu_changes;
	DL_FOREACH (domain->groups, group)
		if (group_paths_changed(&group->paths))
			run_queue_add(&group->run);
}

static void scan(struct fare_domain *domain)
{
	if (domain->ep.now_ns < domain->scan_due_ns)
		return;
	domain->scan_due_ns = domain->ep.now_ns + SCAN_NS;
	for (unsigned i = 0; i < SCAN_GROUPS && i < domain->n_groups; i++) {
		struct fare_group *group = domain->scan ? domain->scan : domain->groups;

		domain->scan = group->next;
		run_queue_add(&group->run);
	}
}

int engine_receive(struct fare_domain *domain)
{
	domain->ep.drained = false;
	return domain->ep.provider->endpoint_progress(domain->ep.handle);
}

/*
 * All completions that there are, as a lane that ends waits for that; but no more than there is
 * room for their events.
 */
static int take_completions(struct fare_domain *domain)
{
	struct qp_wc wc[POLL_BATCH];
	int n, total = 0;

	do {
		n = domain->ep.provider->poll(domain->ep.handle, wc, POLL_BATCH);
		/* fewer than asked for may mean that it looks at each QP in turn */
		domain->ep.drained = n == 0;
		total += n;
		for (int i = 0; i < n; i++) {
			const struct lanes_qp *at = wc[i].context;

			group_on_completion(at->group, at, &wc[i]);
		}
	} while (n && event_queue_has_room(&domain->events));
	return total;
}

static int progress(struct fare_domain *domain)
{
	int n, err, rounds = domain->options.busy_poll ? 1 : POLL_ROUNDS;

	if (!domain->ep.drained)
		take_completions(domain); /* there was no room for their events */
	/*
	 * Nothing new is taken in before all is read that arrived, as it might overwrite that
	 * (ring.h). All rounds are taken even if events are there: only an idle round sends the
	 * ACKs held back, and an application that has its last message may not poll again.
	 */
	for (int round = 0; round < rounds && domain->ep.drained; round++) {
		err = engine_receive(domain);
		if (err < 0)
			return err;
		n = take_completions(domain);
		if (n == 0 && err == 0)
			break;
		step_groups(domain);
	}
	return 0;
}

int engine_poll(struct fare_domain *domain, uint64_t now_ns)
{
	int err;

	event_queue_free_handed(&domain->events);
	domain->ep.now_ns = now_ns;
	if (!event_queue_has_room(&domain->events))
		return 0;
	if (now_ns - domain->polled_ns > AWAY_NS)
		domain->ep.resumed_ns = now_ns;
	domain->polled_ns = now_ns;
	err = progress(domain);
	if (err)
		return err;
	follow_paths(domain);
	scan(domain);
	step_groups(domain);
	return 0;
}

uint64_t engine_due_ns(const struct fare_domain *domain)
{
	uint64_t next = timers_next(&domain->timers), ports_ns = port_cache_due_ns(&domain->ports);

	if (domain->run_queue)
		return domain->ep.now_ns;
	next = next ? next : ENDPOINT_NEVER;
	next = ports_ns < next ? ports_ns : next;
	return domain->groups && next > domain->scan_due_ns ? domain->scan_due_ns : next;
}

bool engine_busy(const struct fare_domain *domain)
{
	return domain->n_busy > 0;
}

static void init_admission(struct fare_domain *domain)
{
	uint64_t secret[ADMISSION_SECRET / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++)
		secret[i] = endpoint_random(&domain->ep);
	admission_init(&domain->admission, (const uint8_t *)secret);
}

int engine_init(struct fare_domain *domain)
{
	domain->ep.incarnation = endpoint_random(&domain->ep);
	init_admission(domain);
	domain->next_generation = (uint32_t)endpoint_random(&domain->ep) >> SLOT_BITS;
	port_cache_init(&domain->ports, &domain->ep, &domain->pace);
	return event_queue_init(&domain->events, POLL_ROUNDS * EVENTS_PER_ROUND);
}

void engine_fini(struct fare_domain *domain)
{
	while (domain->groups) {
		group_leave(domain->groups);
		engine_close(domain->groups);
	}
	timers_fini(&domain->timers);
	port_cache_fini(&domain->ports);
	event_queue_fini(&domain->events);
}
