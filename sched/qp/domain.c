/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.c - the shell around engine.c: endpoint, clock, timer and descriptor of one local GPU.
 *
 * Owns the endpoint and the descriptor of fare_domain_fd().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/regions.h"
#include "sized.h"

/*
 * Interval of the tick, which wakes an application that waits. A change of paths is noticed so late
 * at most: while something is under way, and otherwise. An operation that is queued when nothing is
 * under way follows the paths at once (transfer.c).
 */
#define TICK_BUSY_NS 2000000
#define TICK_IDLE_NS 100000000

/* getrandom() of 8 bytes is never short. 0 means "none" wherever the result is used. */
static uint64_t system_random(void *arg)
{
	uint64_t v = 0;

	(void)arg;
	while (getrandom(&v, sizeof(v), 0) != sizeof(v) || v == 0)
		;
	return v;
}

static int domain_describe(struct fare_domain *domain)
{
	struct qp_endpoint_attr *attr = &domain->ep.attr;
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
			attr->bps[p][s] = atomic_load_explicit(&gpu.shm->sub_ports[p][s].speed_bps,
							       memory_order_relaxed);
		}
	}
	attr->udp_port = domain->options.port;
	attr->path_mtu = domain->options.path_mtu;
	attr->max_path_mtu = domain->options.max_path_mtu;
	attr->max_path_mtu_dev = domain->options.max_path_mtu_dev;
	attr->acknowledge_now = !domain->options.busy_poll;
	attr->control_key = &domain->ep.auth;
	attr->control_dscp = FARE_DSCP;
	attr->on_control = engine_on_control;
	attr->arg = domain;
	return 0;
}

/* interval_ns 0: no more. */
static int start_ticking(struct fare_domain *domain, uint64_t interval_ns)
{
	struct itimerspec tick = {.it_interval.tv_nsec = (long)interval_ns,
				  .it_value.tv_nsec = (long)interval_ns};

	domain->tick_ns = interval_ns;
	/* not later than the timer expires */
	domain->tick_due_ns = interval_ns ? clock_now_ns() + interval_ns : UINT64_MAX;
	return timerfd_settime(domain->timer_fd, 0, &tick, NULL);
}

static int domain_watch(struct fare_domain *domain)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fds[2];

	domain->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	domain->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (domain->epoll_fd < 0 || domain->timer_fd < 0 || start_ticking(domain, 0))
		return -errno;
	fds[0] = domain->timer_fd;
	fds[1] = domain->ep.info->fd;
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

int fare_domain_open_sized(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
			   const struct fare_domain_options *given, size_t size)
{
	struct fare_domain_options options;
	const struct qp_provider *provider;
	struct fare_domain *domain;
	int err = sized_in(&options, sizeof(options), given, size);

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (!err)
		err = attach_check(fare);
	if (!err && options.family && options.family != AF_INET && options.family != AF_INET6)
		err = -EINVAL;
	if (!err && options.port >= ROCE_SOURCE_PORT_FIRST)
		err = -EINVAL;
	if (err)
		return err;
	provider = provider_by_name(options.provider);
	if (!provider)
		return -EPROTONOSUPPORT;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -ENOMEM;
	domain->fare = fare;
	domain->local_gpu = local_gpu;
	domain->options = options;
	domain->ep.provider = provider;
	err = -ENOKEY;
	if (domain->options.key_file || domain->options.trusted_network)
		err = control_auth_load(&domain->ep.auth, domain->options.key_file,
					domain->options.secret);
	domain->ep.random = system_random;
	domain->epoll_fd = domain->timer_fd = -1;
	if (!err)
		err = engine_init(domain);
	if (!err)
		err = domain_describe(domain);
	if (!err)
		err = domain->ep.provider->endpoint_create(&domain->ep.handle, &domain->ep.attr);
	if (!err) {
		domain->ep.info = provider->endpoint_info(domain->ep.handle);
		err = domain_watch(domain);
	}
	if (err) {
		fare_domain_close(domain);
		return err;
	}
	*out = domain;
	return 0;
}

static void close_descriptors(struct fare_domain *domain)
{
	if (domain->epoll_fd >= 0)
		close(domain->epoll_fd);
	if (domain->timer_fd >= 0)
		close(domain->timer_fd);
}

/*
 * In a child: descriptors are the process's own, and all else is the parent's or a copy in any
 * state.
 */
static void domain_leave(struct fare_domain *domain)
{
	if (domain->ep.handle && domain->ep.provider->endpoint_leave)
		domain->ep.provider->endpoint_leave(domain->ep.handle);
	close_descriptors(domain);
}

void fare_domain_close(struct fare_domain *domain)
{
	if (!domain)
		return;
	if (domain_check(domain)) {
		domain_leave(domain);
		return;
	}
	engine_fini(domain);
	regions_fini(domain);
	if (domain->ep.handle)
		domain->ep.provider->endpoint_destroy(domain->ep.handle);
	close_descriptors(domain);
	free(domain);
}

void fare_domain_address(const struct fare_domain *domain, struct fare_address *out)
{
	struct peer_address own;

	if (!out)
		return;
	*out = (struct fare_address){0};
	if (domain_check(domain))
		return;
	own = (struct peer_address){domain->ep.attr.address, domain->ep.info->port};
	peer_address_encode(&own, domain->ep.incarnation, out);
}

int fare_domain_fd(const struct fare_domain *domain)
{
	int err = domain_check(domain);

	return err ? err : domain->epoll_fd;
}

void domain_has_work(struct fare_domain *domain)
{
	if (domain->tick_ns != TICK_BUSY_NS)
		start_ticking(domain, TICK_BUSY_NS);
}

/*
 * There is no tick without groups, and a fast one only while something is under way, so that an
 * idle application costs nothing. It becomes slow at a tick and not at the end of a message.
 * Reason: with requests and replies a domain is idle after each message, and setting a timer may
 * cost as much as sending one.
 */
static void set_tick(struct fare_domain *domain, bool ticked)
{
	uint64_t ns = !domain->n_groups ? 0 : engine_busy(domain) ? TICK_BUSY_NS : TICK_IDLE_NS;

	if ((domain->tick_ns == TICK_BUSY_NS && !ticked) || domain->tick_ns == ns)
		return;
	start_ticking(domain, ns);
}

/* Takes a tick that is due. True: there was one. */
static bool take_tick(struct fare_domain *domain)
{
	uint64_t expirations;

	if (domain->ep.now_ns < domain->tick_due_ns ||
	    read(domain->timer_fd, &expirations, sizeof(expirations)) <= 0)
		return false;
	domain->tick_due_ns += expirations * domain->tick_ns;
	attach_refresh(domain->fare, domain->ep.now_ns);
	return true;
}

/* Takes events into an array of another release's struct fare_event. */
static int take_sized(struct fare_domain *domain, struct fare_event *events, int max, size_t size)
{
	struct fare_event e;
	int n;

	for (n = 0; n < max && event_queue_take(&domain->events, &e, 1); n++)
		sized_out((uint8_t *)events + (size_t)n * size, size, &e, sizeof(e));
	return n;
}

int fare_domain_poll_sized(struct fare_domain *domain, struct fare_event *events, int max,
			   size_t size)
{
	uint64_t now_ns;
	bool ticked;
	int err = domain_check(domain);

	if (err || max < 0 || (max && !events))
		return err ? err : -EINVAL;
	now_ns = clock_now_ns();
	domain->ep.now_ns = now_ns; /* take_tick() uses it */
	ticked = take_tick(domain);
	err = engine_poll(domain, now_ns);
	if (err)
		return err;
	set_tick(domain, ticked);
	return size == sizeof(*events) ? event_queue_take(&domain->events, events, max)
				       : take_sized(domain, events, max, size);
}
