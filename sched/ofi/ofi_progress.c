/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_prov.h"
#include "base/clock.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_self.h"

#define EVENTS	  32
#define ROUNDS	  16 /* then the caller goes on, however much arrives */
#define TICK_MS	  5  /* without a call for so long, the thread takes over */
#define TIMERS_MS 100
#define MS	  UINT64_C(1000000)

/* ---- one turn ---- */

static bool has_timers(const struct ofi_domain *domain)
{
	return domain->peers.n_reopening || domain->env.deadline_ms;
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
	ofi_peers_tick(domain, now);
}

static void on_broken(struct ofi_domain *domain, int err)
{
	if (!domain->broken)
		OFI_WARN(FI_LOG_DOMAIN, "the domain is broken: %s\n", strerror(-err));
	domain->broken = true;
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
			ofi_peers_on_event(domain, &events[i]);
		ofi_rx_settle(domain);
		while (ofi_self_deliver(domain))
			;
		/* no event is left that names a group that this closes */
		ofi_peers_sweep(domain);
	}
	run_timers(domain);
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
	bool bounded;

	ofi_lock(domain);
	bounded = has_timers(domain);
	ofi_unlock(domain);
	return bounded ? TIMERS_MS : -1;
}

void ofi_progress_by_fd(struct ofi_domain *domain)
{
	if (domain->progress.has_thread)
		eventfd_write(domain->progress.wake, 1);
}

/* ---- the thread ---- */

static uint64_t calls(struct ofi_progress *p)
{
	return atomic_load_explicit(&p->calls, memory_order_relaxed);
}

/* While calls wait; they look at what arrives. True: it was woken for another reason. */
static bool rest(struct ofi_progress *p)
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
		if (atomic_load(&p->waiting) && rest(p))
			return calls(p);
		now = calls(p);
	} while (now != seen || atomic_load(&p->waiting));
	return now;
}

static void *run(void *arg)
{
	struct ofi_domain *domain = arg;
	struct ofi_progress *p = &domain->progress;
	struct pollfd fds[] = {{.fd = fare_domain_fd(domain->fare_domain), .events = POLLIN},
			       {.fd = p->wake, .events = POLLIN}};
	uint64_t seen = 0;

	while (!atomic_load(&p->stop)) {
		if (calls(p) != seen)
			seen = wait_for_pause(p);
		if (atomic_load(&p->stop)) /* the wait may have taken the wake that was for this */
			break;
		ofi_lock(domain);
		ofi_progress_turn(domain);
		ofi_unlock(domain);
		poll(fds, 2, has_timers(domain) ? TIMERS_MS : -1);
		if (fds[1].revents && !atomic_load(&p->stop)) {
			eventfd_t value;

			eventfd_read(p->wake, &value);
		}
	}
	return NULL;
}

static int start_thread(struct ofi_domain *domain)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&domain->progress.thread, NULL, run, domain);
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

void ofi_progress_inherit(struct ofi_progress *p)
{
	p->has_thread = false;
	atomic_store(&p->waiting, 0);
	atomic_store(&p->rests, false);
}

void ofi_progress_fini(struct ofi_domain *domain)
{
	struct ofi_progress *p = &domain->progress;

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
