/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_progress.c - who polls libfare's domain, when, and what each of its events leads to.
 *
 * The application's calls poll, while they come. If none came for a tick (5 ms), the progress
 * thread waits on the domain's descriptor in its place, until the next call. So a process that
 * computes for seconds still acknowledges, answers reads and takes messages (FI_PROGRESS_AUTO), and
 * one that polls all the time shares nothing with the thread but a counter. While the application
 * waits in a call (fi_cq_sread()), that call polls, and the thread rests: what arrives wakes one of
 * them.
 */
#include "ofi/ofi.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"

#define EVENTS	  32
#define ROUNDS	  16 /* then the caller goes on, however much arrives */
#define TICK_MS	  5  /* without a call for so long, the thread takes over */
#define TIMERS_MS 100
#define MS	  UINT64_C(1000000)
#define REOPEN_NS UINT64_C(100000000)
/* One for each direction, and others whose end this process has not seen yet. */
#define LINKS_MAX 8u

/* ---- events of libfare ---- */

/* The peer is who the group says that it is; none is this process itself. */
static void on_accepted(struct ofi_domain *domain, struct fare_group *group)
{
	struct fare_address address;
	struct ofi_peer *peer = NULL;
	struct ofi_link *link = NULL;
	unsigned n = LINKS_MAX;

	if (!fare_group_peer_address(group, &address))
		peer = ofi_peer_get(domain, &address);
	if (peer && !peer->is_self && !peer->is_cut)
		DL_COUNT(peer->links, link, n);
	link = n < LINKS_MAX ? ofi_link_add(peer, group) : NULL;
	if (link) {
		link->connected = true;
		ofi_av_name_up(peer);
	} else {
		fare_group_disconnect(group);
	}
	if (peer)
		ofi_peer_changed(peer);
}

/* The peer has accepted; what it has answered must be of this protocol, too. */
static void on_connected(struct ofi_link *link)
{
	size_t bytes;
	const void *reply = fare_group_private(link->group, &bytes);

	ofi_peer_changed(link->peer);
	link->status = ofi_link_check_greeting(link->peer->domain, reply, bytes);
	if (!link->status && !ofi_av_name_connected(link))
		link->status = -ENOMEM;
	link->connected = !link->status;
	if (link->status || link->peer->is_cut)
		fare_group_disconnect(link->group);
	else
		ofi_av_name_up(link->peer);
}

static void on_closed(struct ofi_link *link, int status)
{
	link->closed = true;
	link->status = link->status ? link->status : status;
	ofi_peer_changed(link->peer);
}

static void ofi_progress_on_event(struct ofi_domain *domain, const struct fare_event *e)
{
	struct ofi_link *link = fare_group_context(e->group);

	if (e->kind == FARE_EVENT_ACCEPTED) {
		on_accepted(domain, e->group);
	} else if (!link) {
		if (e->kind == FARE_EVENT_CLOSED)
			fare_group_close(e->group);
	} else if (e->kind == FARE_EVENT_CONNECTED) {
		on_connected(link);
	} else if (e->kind == FARE_EVENT_MESSAGE) {
		ofi_rx_record(link->peer, &link->partial, e->data, e->bytes);
	} else if (e->kind == FARE_EVENT_COMPLETED || e->kind == FARE_EVENT_RELEASED) {
		ofi_op_on_event(e);
	} else if (e->kind == FARE_EVENT_CLOSED) {
		on_closed(link, e->status);
	}
}

/* ---- the event queue ---- */

/* No answer so far. One may come later, unless the deadline has passed. */
static bool may_come(int status)
{
	return status == -ETIMEDOUT || status == -EHOSTUNREACH || status == -ENETUNREACH ||
	       status == -EADDRINUSE || status == -EUSERS;
}

static void end_link(struct ofi_link *link)
{
	struct ofi_peer *peer = link->peer;
	bool was_tx = peer->tx == link, was_connected = link->connected;
	int status = link->status ? link->status : -ECANCELED;

	DL_DELETE(peer->links, link);
	fare_group_close(link->group);
	if (link->partial)
		ofi_message_drop(link->partial);
	free(link);
	if (was_tx) {
		peer->tx = NULL;
		peer->credit_queued = false;
	}
	if (was_tx && !was_connected && peer->n_entries && may_come(status)) {
		peer->reopen_ns = clock_now_ns() + REOPEN_NS;
		peer->domain->peers.n_reopening++;
		return;
	}
	if (was_connected)
		ofi_op_fail_unanswered(peer, -ECONNABORTED);
	if (was_tx || (!peer->links && !peer->n_entries))
		ofi_queue_fail(peer, was_connected ? -ECONNABORTED : status);
	if (was_tx)
		peer->out_bytes = 0;
	if (!peer->links)
		ofi_av_name_down(peer);
}

/* Frees it if nothing needs it any more. What is kept of it names it, and is counted in limits. */
static void free_if_idle(struct ofi_peer *peer)
{
	bool is_idle = !peer->links && !peer->n_entries && !peer->is_self;

	ofi_peer_set_left(peer, is_idle);
	if (is_idle && !peer->n_ops && !peer->limits.bytes && !peer->is_changed) {
		ofi_av_name_down(peer);
		ofi_peer_destroy(peer);
	}
}

static void send_credit(struct ofi_peer *peer)
{
	const struct ofi_wire w = {.kind = OFI_CREDIT};

	peer->credit_queued = true; /* until it is sent, which may be at once */
	if (ofi_op_answer(peer, &w))
		peer->credit_queued = false;
	/* it could not be: trying again now would fail again */
	peer->credit_waits = ofi_peer_credit_is_due(peer);
	peer->domain->peers.credit_waits |= peer->credit_waits;
}

static void settle_peer(struct ofi_peer *peer)
{
	struct ofi_link *link, *next;

	DL_DELETE(peer->domain->events.peers, peer);
	peer->is_changed = false;
	DL_FOREACH_SAFE (peer->links, link, next)
		if (link->closed)
			end_link(link);
	if (!peer->credit_waits && ofi_peer_credit_is_due(peer) && ofi_peer_is_linked(peer))
		send_credit(peer);
	ofi_queue_run(peer);
	free_if_idle(peer);
}

static void settle_reads(struct ofi_domain *domain)
{
	struct ofi_op *op;

	while ((op = domain->events.reads)) {
		DL_DELETE(domain->events.reads, op);
		op->is_event = false;
		ofi_recv_read_done(op);
		ofi_op_settle(op, 0, 0);
	}
}

static bool has_timers(const struct ofi_domain *domain)
{
	return domain->peers.n_reopening || domain->env.deadline_ms || domain->peers.credit_waits;
}

/* The thread may wait without a bound, since there was nothing to wait for but what arrives. */
void ofi_progress_settle(struct ofi_domain *domain)
{
	bool had_timers = has_timers(domain);

	settle_reads(domain);
	/* in a child of fork() links and peers stay as they are */
	while (domain->events.peers && !domain->is_inherited) {
		settle_peer(domain->events.peers);
		settle_reads(domain);
	}
	if (!had_timers && has_timers(domain))
		ofi_progress_by_fd(domain);
}

/* ---- one turn ---- */

static void peers_tick(struct ofi_domain *domain, uint64_t now_ns)
{
	struct ofi_peer *peer, *next;

	domain->peers.credit_waits = false;
	HASH_ITER (hh, domain->peers.by_address, peer, next) {
		peer->credit_waits = false;
		if (ofi_peer_credit_is_due(peer))
			ofi_peer_changed(peer);
		ofi_queue_expire(peer, now_ns);
		if (peer->reopen_ns && now_ns >= peer->reopen_ns) {
			peer->reopen_ns = 0;
			domain->peers.n_reopening--;
			ofi_queue_run(peer);
		}
	}
	ofi_op_expire_unanswered(domain, now_ns);
}

static void run_timers(struct ofi_domain *domain)
{
	uint64_t now;

	if (!has_timers(domain))
		return;
	now = clock_now_ns();
	if (now < domain->progress.tick_ns)
		return;
	domain->progress.tick_ns = now + TIMERS_MS * MS;
	peers_tick(domain, now);
}

static void on_broken(struct ofi_domain *domain, int err)
{
	if (!domain->broken)
		OFI_WARN(FI_LOG_DOMAIN, "the domain is broken: %s\n", strerror(-err));
	domain->broken = true;
}

static void deliver_own(struct ofi_domain *domain)
{
	struct ofi_own_message *m;

	while ((m = ofi_op_next_own(domain))) {
		ofi_rx_record(m->peer, NULL, m->data, m->bytes);
		settle_reads(domain);
		free(m);
	}
}

void ofi_progress_turn(struct ofi_domain *domain)
{
	struct fare_event events[EVENTS];
	int n = EVENTS;

	if (domain->is_inherited)
		return;
	for (int round = 0; n == EVENTS && round < ROUNDS; round++) {
		n = fare_domain_poll(domain->fare_domain, events, EVENTS);
		if (n < 0)
			on_broken(domain, n);
		for (int i = 0; i < n; i++)
			ofi_progress_on_event(domain, &events[i]);
		ofi_rx_settle(domain);
		/* no event is left that names a group that this closes; may give itself credit */
		do {
			deliver_own(domain);
			ofi_progress_settle(domain);
		} while (domain->own);
	}
	run_timers(domain); /* what has arrived in time was read */
	ofi_progress_settle(domain);
}

void ofi_progress_by_application(struct ofi_domain *domain)
{
	atomic_fetch_add_explicit(&domain->progress.calls, 1, memory_order_relaxed);
	ofi_progress_turn(domain);
}

void ofi_progress_begin_wait(struct ofi_domain *domain)
{
	atomic_fetch_add(&domain->progress.waiting, 1);
}

void ofi_progress_end_wait(struct ofi_domain *domain)
{
	struct ofi_progress *p = &domain->progress;

	atomic_fetch_add_explicit(&p->calls, 1, memory_order_relaxed);
	atomic_fetch_sub(&p->waiting, 1);
	if (atomic_exchange(&p->rests, false))
		eventfd_write(p->wake, 1);
}

int ofi_progress_most_ms(struct ofi_domain *domain)
{
	bool bounded, is_own;

	ofi_lock(domain);
	bounded = has_timers(domain);
	is_own = domain->own; /* sent since its own last turn, by another thread */
	ofi_unlock(domain);
	return is_own ? 0 : bounded ? TIMERS_MS : -1;
}

/* ---- the thread ---- */

static uint64_t calls(struct ofi_progress *p)
{
	return atomic_load_explicit(&p->calls, memory_order_relaxed);
}

/* While calls wait; they look at what arrives. True: it was woken for another reason. */
static bool progress_rest(struct ofi_progress *p)
{
	struct pollfd wake = {.fd = p->wake, .events = POLLIN};
	eventfd_t value;

	atomic_store(&p->rests, true);
	if (!atomic_load(&p->waiting) && atomic_exchange(&p->rests, false))
		return false; /* the last one ended meanwhile, and wakes nobody */
	poll(&wake, 1, -1);
	eventfd_read(p->wake, &value);
	return atomic_exchange(&p->rests, false);
}

/* Until the application has made no call for a tick, or says that it waits by itself. */
static uint64_t wait_for_pause(struct ofi_progress *p)
{
	struct pollfd wake = {.fd = p->wake, .events = POLLIN};
	uint64_t seen, now = calls(p);
	eventfd_t value;

	do {
		seen = now;
		if (poll(&wake, 1, TICK_MS) > 0) {
			eventfd_read(p->wake, &value);
			return calls(p);
		}
		if (atomic_load(&p->waiting) && progress_rest(p))
			return calls(p);
		now = calls(p);
	} while (now != seen || atomic_load(&p->waiting));
	return now;
}

static void *progress_run(void *arg)
{
	struct ofi_domain *domain = arg;
	struct ofi_progress *p = &domain->progress;
	struct pollfd fds[] = {{.fd = fare_domain_fd(domain->fare_domain), .events = POLLIN},
			       {.fd = p->wake, .events = POLLIN}};
	uint64_t seen = 0;
	eventfd_t value;

	while (!atomic_load(&p->stop)) {
		/* not if it was woken: that is for a turn now */
		if (!fds[1].revents && calls(p) != seen)
			seen = wait_for_pause(p);
		if (atomic_load(&p->stop)) /* the wait may have taken the wake that was for this */
			break;
		ofi_lock(domain);
		ofi_progress_turn(domain);
		ofi_unlock(domain);
		poll(fds, 2, has_timers(domain) ? TIMERS_MS : -1);
		if (fds[1].revents)
			eventfd_read(p->wake, &value);
	}
	return NULL;
}

static int start_thread(struct ofi_domain *domain)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&domain->progress.thread, NULL, progress_run, domain);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	domain->progress.has_thread = !err;
	return -err;
}

int ofi_progress_init(struct ofi_domain *domain)
{
	domain->progress.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (domain->progress.wake < 0)
		return -errno;
	return domain->env.progress_thread ? start_thread(domain) : 0;
}

static void end_thread(struct ofi_progress *p)
{
	if (p->has_thread) {
		atomic_store(&p->stop, true);
		eventfd_write(p->wake, 1);
		pthread_join(p->thread, NULL);
		p->has_thread = false;
	}
	if (p->wake >= 0)
		close(p->wake);
	p->wake = -1;
}

static void end_links(struct ofi_domain *domain)
{
	struct ofi_peer *peer, *next_peer;
	struct ofi_link *link, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next_peer)
		DL_FOREACH_SAFE (peer->links, link, next) {
			DL_DELETE(peer->links, link);
			fare_group_close(link->group);
			free(link->partial);
			free(link);
		}
}

void ofi_progress_fini(struct ofi_domain *domain)
{
	struct ofi_peer *peer, *next;
	struct ofi_own_message *m;

	end_thread(&domain->progress);
	while ((m = ofi_op_next_own(domain)))
		free(m);
	end_links(domain); /* so no operation is a group's any more */
	while (domain->ops)
		ofi_op_destroy(domain->ops);
	HASH_ITER (hh, domain->peers.by_address, peer, next) {
		ofi_av_name_down(peer);
		ofi_peer_destroy(peer);
	}
}
