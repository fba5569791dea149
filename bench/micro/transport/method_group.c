/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfare's QP group over the soft provider: one plane, or four, per flow or sprayed. The path
 * table that it attaches to says that all planes work alike.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "fare.h"
#include "micro/transport/method.h"

#define CONNECT_S 10

struct group_card {
	uint64_t base;
	uint32_t rkey;
};

struct group_method {
	const struct transport_end *end;
	struct fare *fare;
	struct fare_domain *domain;
	struct fare_mr *mr;
	struct fare_group *group; /* end 0 opens it, end 1 accepts it */
	struct group_card theirs;
	bool connected;
	uint64_t n_notified;
};

static int poll_events(struct group_method *g, unsigned *done, int max)
{
	struct fare_event e[64];
	int n = fare_domain_poll(g->domain, e, max < 64 ? max : 64), n_done = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		/* the other end may close first: what was still missing then, the driver notices */
		if (e[i].kind == FARE_EVENT_COMPLETED && e[i].status)
			return e[i].status;
		if (e[i].kind == FARE_EVENT_COMPLETED)
			done[n_done++] = (unsigned)e[i].context;
		g->n_notified += e[i].kind == FARE_EVENT_RECEIVED;
		if (e[i].kind == FARE_EVENT_CONNECTED || e[i].kind == FARE_EVENT_ACCEPTED) {
			g->group = e[i].group;
			g->connected = true;
		}
	}
	return n_done;
}

/*
 * Until both ends are connected: the acceptor's first plane is enough for it, but the opener
 * waits for all of them, and they come up by both ends' doing.
 */
static int await_both(struct group_method *g)
{
	double end = clock_now_s() + CONNECT_S;
	bool notified = false, theirs = false;
	unsigned none[1];
	char byte = 0;
	int err = 0;

	while (!err && !(g->connected && theirs)) {
		struct pollfd p = {.fd = fare_domain_fd(g->domain), .events = POLLIN};
		ssize_t n;

		err = poll_events(g, none, 1);
		err = err < 0 ? err : clock_now_s() > end ? -ETIMEDOUT : 0;
		if (!err && g->connected && !notified)
			err = write(g->end->oob, &byte, 1) == 1 ? 0 : -EPIPE;
		notified = g->connected;
		n = theirs ? -1 : recv(g->end->oob, &byte, 1, MSG_DONTWAIT);
		theirs |= n == 1;
		if (!err && n == 0)
			err = -EPIPE;
		if (!err && !(g->connected && theirs))
			poll(&p, 1, 1);
	}
	if (err == -ETIMEDOUT && g->group)
		fare_group_dump(g->group, STDERR_FILENO);
	return err;
}

static int connect_group(struct group_method *g)
{
	struct fare_group_options options = {.mode = (enum fare_mode)g->end->method->mode,
					     .qps_per_sub_port = g->end->qps,
					     .max_messages = 64};
	struct in6_addr peer = transport_address(g->end->remote);
	int err = 0;

	if (g->end->who == 0)
		err = fare_group_open(&g->group, g->domain, &peer, &options);
	return err ? err : await_both(g);
}

static int group_open(struct transport_end *end, void **state)
{
	struct fare_domain_options options = {.path_mtu = TRANSPORT_PATH_MTU,
					      .accept = end->who == 1,
					      .trusted_network = true,
					      .busy_poll = end->method->busy_poll};
	struct group_method *g = calloc(1, sizeof(*g));
	struct group_card mine;
	int err;

	*state = g;
	if (!g)
		return -ENOMEM;
	g->end = end;
	err = fare_attach(&g->fare, end->run_dir);
	if (!err)
		err = fare_domain_open(&g->domain, g->fare, 0, &options);
	if (!err)
		err = fare_mr_register(&g->mr, g->domain, end->memory, end->memory_bytes,
				       FARE_REMOTE_WRITE | FARE_REMOTE_READ);
	if (err)
		return err;
	mine = (struct group_card){(uintptr_t)end->memory, fare_mr_rkey(g->mr)};
	err = transport_exchange(end, &mine, &g->theirs, sizeof(mine));
	return err ? err : connect_group(g);
}

static uint64_t group_notified(void *state)
{
	return ((struct group_method *)state)->n_notified;
}

static int group_post(void *state, unsigned slot)
{
	struct group_method *g = state;
	size_t offset = slot * g->end->stride;
	struct fare_write w = {.data = g->end->memory + offset,
			       .mr = g->mr,
			       .length = g->end->bytes,
			       .remote_addr = g->theirs.base + offset,
			       .rkey = g->theirs.rkey,
			       .flags = g->end->method->notified ? FARE_WRITE_NOTIFY : 0,
			       .context = slot};
	int err = fare_group_write(g->group, &w);

	return err == -ENOBUFS ? -EAGAIN : err;
}

static int group_post_read(void *state, unsigned slot)
{
	struct group_method *g = state;
	size_t offset = slot * g->end->stride;
	struct fare_read r = {.data = g->end->memory + offset,
			      .mr = g->mr,
			      .length = g->end->bytes,
			      .remote_addr = g->theirs.base + offset,
			      .rkey = g->theirs.rkey,
			      .context = slot};
	int err = fare_group_read(g->group, &r);

	return err == -ENOBUFS ? -EAGAIN : err;
}

static int group_progress(void *state, unsigned *done, int max)
{
	return poll_events(state, done, max);
}

static int group_fd(void *state)
{
	return fare_domain_fd(((struct group_method *)state)->domain);
}

static void group_close(void *state)
{
	struct group_method *g = state;

	fare_domain_close(g->domain);
	fare_detach(g->fare);
	free(g);
}

#define GROUP_METHOD(MODE)                                                                         \
	.many_qps = true, .mode = MODE, .open = group_open, .progress = group_progress,            \
	.fd = group_fd, .close = group_close

const struct transport_method transport_group_plane = {.name = "group-1",
						       .what = "libfare's QP group over one plane",
						       .n_planes = 1,
						       .post = group_post,
						       GROUP_METHOD(FARE_MODE_SPRAY)};
const struct transport_method transport_group_busy = {
	.name = "group-1-busy",
	.what = "the same, and promises to poll (busy_poll)",
	.is_probe = true,
	.n_planes = 1,
	.post = group_post,
	.busy_poll = true, /* the driver never does anything else */
	GROUP_METHOD(FARE_MODE_SPRAY)};
const struct transport_method transport_group_flow = {
	.name = "group-4-flow",
	.what = "libfare's QP group, four planes, per flow",
	.n_planes = 4,
	.post = group_post,
	GROUP_METHOD(FARE_MODE_FLOW)};
const struct transport_method transport_group_spray = {
	.name = "group-4-spray",
	.what = "libfare's QP group, four planes, sprayed",
	.n_planes = 4,
	.post = group_post,
	GROUP_METHOD(FARE_MODE_SPRAY)};
const struct transport_method transport_group_read = {
	.name = "group-4-read",
	.what = "libfare's QP group, four planes, sprayed, fetched by RDMA READ",
	.reads = true,
	.n_planes = 4,
	.post = group_post_read,
	GROUP_METHOD(FARE_MODE_SPRAY)};
const struct transport_method transport_group_packet = {
	.name = "group-4-packet",
	.what = "libfare's QP group, four planes, one order-free QP each",
	.n_planes = 4,
	.post = group_post,
	GROUP_METHOD(FARE_MODE_PACKET)};
const struct transport_method transport_group_notified = {
	.name = "group-4-notified",
	.what = "four planes, sprayed, which promises to poll; each write notified and answered "
		"when that is notified",
	.is_probe = true,
	.n_planes = 4,
	.notified = group_notified,
	.post = group_post,
	.busy_poll = true,
	GROUP_METHOD(FARE_MODE_SPRAY)};
