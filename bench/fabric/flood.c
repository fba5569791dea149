/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/flood.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/interrupt.h"
#include "fabric/lab.h"

#define FLOOD_PORT    20000	 /* of the first flow */
#define FLOOD_TURN_US 50000	 /* a socket waits no longer for itself */
#define FLOOD_ROOM    (64 << 20) /* of a receiver: what arrives is not lost there */
/* Of a sender whose queue drops nothing: so much is queued that it may be late. */
#define FLOOD_PAUSED_ROOM (1 << 20)
#define UDP_HEADER	  8
#define IPV4_HEADER	  20
#define IPV6_HEADER	  40

/* All threads that there are begin at once. */
struct flood_gate {
	pthread_mutex_t lock;
	pthread_cond_t open;
	unsigned ready, expected;
};

struct flood_end {
	struct flood *flood;
	struct flood_flow *flow;
	struct flood_end *sender; /* NULL: this is one */
	struct flood_gate *gate;
	atomic_int *err;
	atomic_uint_least64_t *any_ns; /* when a datagram of any flow arrived last */
	atomic_bool done;
	pthread_t thread;
};

static unsigned flood_headers(const struct topo *topo)
{
	return (topo->gpus[0].ipv4[0] ? IPV4_HEADER : IPV6_HEADER) + UDP_HEADER;
}

unsigned flood_frame_bytes(const struct topo *topo, unsigned bytes)
{
	return bytes + flood_headers(topo) + ETH_HLEN;
}

unsigned flood_most_bytes(const struct topo *topo)
{
	return topo->mtu_bytes - flood_headers(topo);
}

/* The address of a GPU; its length. */
static socklen_t flood_address(const struct topo *topo, unsigned gpu, unsigned port,
			       struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, topo_gpu_address(topo, gpu), &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	inet_pton(AF_INET6, topo_gpu_address(topo, gpu), &v6->sin6_addr);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return sizeof(*v6);
}

/* In the namespace of its server. */
static int flood_socket(const struct flood_end *end)
{
	const struct topo *topo = end->flood->topo;
	const struct timeval turn = {.tv_usec = FLOOD_TURN_US};
	const struct topo_gpu *gpu = &topo->gpus[end->sender ? end->flow->to : end->flow->from];
	const char *dev = gpu->plane[0].sub_port[0].dev;
	struct sockaddr_storage to;
	socklen_t length = flood_address(
		topo, end->flow->to, FLOOD_PORT + (unsigned)(end->flow - end->flood->flow), &to);
	const int room = FLOOD_ROOM, paused_room = FLOOD_PAUSED_ROOM;
	int fd, err = lab_enter(topo->servers[gpu->server].netns);

	if (err)
		return err;
	fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (end->sender)
		err = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof(turn)) ||
		      setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
		      bind(fd, (struct sockaddr *)&to, length);
	else
		err = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &turn, sizeof(turn)) ||
		      setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev,
				 (socklen_t)strlen(dev) + 1) ||
		      (topo->pfc.xoff_bytes && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE,
							  &paused_room, sizeof(paused_room))) ||
		      connect(fd, (struct sockaddr *)&to, length);
	if (!err)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void flood_send(struct flood_end *end, int fd, char *payload)
{
	const struct flood *flood = end->flood;
	const uint64_t until_ns = clock_now_ns() + (uint64_t)(flood->seconds * 1e9);

	while (clock_now_ns() < until_ns && !interrupt_pending() &&
	       (!flood->datagrams || end->flow->sent < flood->datagrams)) {
		ssize_t n = send(fd, payload, flood->bytes, 0);

		if (n >= 0) {
			end->flow->sent++;
		} else if (errno != EAGAIN && errno != ECONNREFUSED) {
			atomic_store(end->err, -errno);
			return;
		}
	}
}

static void flood_receive(struct flood_end *end, int fd, char *payload)
{
	const uint64_t quiet_ns = (uint64_t)(end->flood->quiet_s * 1e9);
	struct flood_flow *flow = end->flow;
	uint64_t since_ns = clock_now_ns(), now_ns;

	for (;;) {
		bool all_sent = atomic_load(&end->sender->done), came;

		came = recv(fd, payload, end->flood->bytes, 0) >= 0;
		now_ns = clock_now_ns();
		if ((came || !all_sent) && now_ns - since_ns > flow->gap_ns)
			flow->gap_ns = now_ns - since_ns;
		if (came) {
			if (!flow->received++)
				flow->first_ns = now_ns;
			flow->last_ns = since_ns = now_ns;
			atomic_store(end->any_ns, now_ns);
		}
		if (interrupt_pending() ||
		    (all_sent && (flow->received >= flow->sent ||
				  (!came && now_ns >= atomic_load(end->any_ns) + quiet_ns))))
			return;
	}
}

static void flood_gate_pass(struct flood_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->ready++;
	pthread_cond_broadcast(&gate->open);
	while (gate->ready < gate->expected)
		pthread_cond_wait(&gate->open, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void flood_gate_expect(struct flood_gate *gate, unsigned n)
{
	pthread_mutex_lock(&gate->lock);
	gate->expected = n;
	pthread_cond_broadcast(&gate->open);
	pthread_mutex_unlock(&gate->lock);
}

static void *flood_thread(void *arg)
{
	struct flood_end *end = arg;
	char *payload = calloc(1, end->flood->bytes + 1);
	int fd = payload ? flood_socket(end) : -ENOMEM;

	if (fd < 0)
		atomic_store(end->err, fd);
	flood_gate_pass(end->gate);
	if (fd >= 0 && !atomic_load(end->err)) {
		if (end->sender)
			flood_receive(end, fd, payload);
		else
			flood_send(end, fd, payload);
	}
	atomic_store(&end->done, true);
	if (fd >= 0)
		close(fd);
	free(payload);
	return NULL;
}

int flood_run(struct flood *flood)
{
	struct flood_end ends[2 * FLOOD_MOST_FLOW] = {0};
	struct flood_gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
				  .open = PTHREAD_COND_INITIALIZER,
				  .expected = 2 * flood->n};
	atomic_uint_least64_t any_ns = clock_now_ns();
	atomic_int err = 0;
	unsigned started = 0;
	int none = 0;

	if (!flood->n || flood->n > FLOOD_MOST_FLOW)
		return -EINVAL;
	for (; started < 2 * flood->n; started++) {
		struct flood_end *end = &ends[started];

		*end = (struct flood_end){.flood = flood,
					  .flow = &flood->flow[started / 2],
					  .sender = started % 2 ? end - 1 : NULL,
					  .gate = &gate,
					  .err = &err,
					  .any_ns = &any_ns};
		if (!(started % 2))
			*end->flow =
				(struct flood_flow){.from = end->flow->from, .to = end->flow->to};
		none = -pthread_create(&end->thread, NULL, flood_thread, end);
		if (none)
			break;
	}
	if (none) {
		fprintf(stderr, "farebench: flows of datagrams need %u threads, not %u: %s\n",
			2 * flood->n, started, strerror(-none));
		atomic_store(&err, none); /* those that wait end */
		flood_gate_expect(&gate, started);
	}
	while (started)
		pthread_join(ends[--started].thread, NULL);
	if (none)
		return none;
	if (err)
		fprintf(stderr, "farebench: a flow of datagrams: %s\n", strerror(-err));
	return err ? err : interrupt_pending() ? -EINTR : 0;
}
