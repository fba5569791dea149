/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/class_probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "core/interrupt.h"
#include "fabric/lab.h"

#define PROBE_PORT 20600 /* of the first */

struct probe_packet {
	uint64_t sent_ns, number;
};

struct probes {
	const struct topo *topo;
	struct class_probe *probe;
	unsigned n;
	uint64_t period_ns, until_ns, number; /* of the next of each probe */
	int tx[CLASS_PROBE_MOST], err;
	struct pollfd rx[CLASS_PROBE_MOST];
};

static int probe_socket(const struct topo *topo, unsigned gpu)
{
	int err = lab_enter(topo->servers[topo->gpus[gpu].server].netns),
	    fd = err ? -1 : socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return err ? err : fd < 0 ? -errno : fd;
}

/* Both ends of probe i, IPv4 as mapped addresses. */
static int probe_open(struct probes *p, unsigned i)
{
	const struct class_probe *probe = &p->probe[i];
	const char *dev = p->topo->gpus[probe->from].plane[0].sub_port[0].dev;
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons((uint16_t)(PROBE_PORT + i))};
	const int tos = (int)probe->dscp << 2;

	if (address_parse(topo_gpu_address(p->topo, probe->to), &to.sin6_addr))
		return -EINVAL;
	p->rx[i].events = POLLIN;
	p->rx[i].fd = probe_socket(p->topo, probe->to);
	if (p->rx[i].fd < 0)
		return p->rx[i].fd;
	if (bind(p->rx[i].fd, (struct sockaddr *)&to, sizeof(to)))
		return -errno;
	p->tx[i] = probe_socket(p->topo, probe->from);
	if (p->tx[i] < 0)
		return p->tx[i];
	if (setsockopt(p->tx[i], IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) ||
	    setsockopt(p->tx[i], IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)) ||
	    (!probe->routed &&
	     setsockopt(p->tx[i], SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev) + 1)) ||
	    connect(p->tx[i], (struct sockaddr *)&to, sizeof(to)))
		return -errno;
	return 0;
}

static void probe_send(struct probes *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct probe_packet packet = {clock_now_ns(), p->number};

		p->probe[i].sent += send(p->tx[i], &packet, sizeof(packet), 0) >= 0;
	}
	p->number++;
}

void class_probe_came(struct class_probe *probe, uint64_t number, uint64_t sent_ns, uint64_t now_ns)
{
	hist_add(&probe->delay, now_ns - sent_ns);
	probe->received++;
	if (number < probe->next)
		return; /* another one overtook it */
	if (number > probe->next) {
		if (!probe->lossy_to_ns)
			probe->lossy_from_ns = probe->newest_ns;
		probe->lossy_to_ns = sent_ns;
	}
	probe->next = number + 1;
	probe->newest_ns = sent_ns;
}

void class_probe_ended(struct class_probe *probe, uint64_t n, uint64_t period_ns, uint64_t until_ns)
{
	if (probe->next < n) {
		if (!probe->lossy_to_ns)
			probe->lossy_from_ns = probe->newest_ns;
		probe->lossy_to_ns = until_ns;
	}
	/* else all came, some late */
	if (probe->received < n && probe->lossy_to_ns > probe->lossy_from_ns + period_ns)
		probe->lossy_ns = probe->lossy_to_ns - probe->lossy_from_ns - period_ns;
}

/* Whether all that were sent are there. */
static bool probe_receive(struct probes *p)
{
	bool all = true;

	for (unsigned i = 0; i < p->n; i++) {
		struct class_probe *probe = &p->probe[i];
		struct probe_packet packet;

		while (p->rx[i].revents &&
		       recv(p->rx[i].fd, &packet, sizeof(packet), 0) == sizeof(packet)) {
			uint64_t now_ns = clock_now_ns();

			if (packet.sent_ns <= now_ns && packet.number < p->number)
				class_probe_came(probe, packet.number, packet.sent_ns, now_ns);
		}
		all &= probe->received == probe->sent;
	}
	return all;
}

static void *probe_thread(void *arg)
{
	struct probes *p = arg;
	uint64_t now_ns, next_ns = clock_now_ns(),
			 end_ns = p->until_ns + CLASS_PROBE_GRACE_S * UINT64_C(1000000000);
	bool all = true;

	for (unsigned i = 0; !p->err && i < p->n; i++)
		p->err = probe_open(p, i);
	while (!p->err && (now_ns = clock_now_ns()) < end_ns && !interrupt_pending()) {
		if (now_ns >= p->until_ns && all)
			break;
		if (now_ns >= next_ns && now_ns < p->until_ns) {
			probe_send(p);
			next_ns += p->period_ns;
		}
		poll(p->rx, p->n, 1);
		all = probe_receive(p);
	}
	for (unsigned i = 0; i < p->n; i++)
		class_probe_ended(&p->probe[i], p->number, p->period_ns, p->until_ns);
	for (unsigned i = 0; i < p->n; i++) {
		if (p->rx[i].fd >= 0)
			close(p->rx[i].fd);
		if (p->tx[i] >= 0)
			close(p->tx[i]);
	}
	return NULL;
}

int class_probe_run(const struct topo *topo, struct class_probe *probe, unsigned n,
		    uint64_t period_ns, uint64_t until_ns)
{
	struct probes p = {
		.topo = topo, .probe = probe, .n = n, .period_ns = period_ns, .until_ns = until_ns};
	pthread_t thread;
	int err = n <= CLASS_PROBE_MOST ? 0 : -EINVAL;

	for (unsigned i = 0; !err && i < n; i++) {
		p.rx[i].fd = p.tx[i] = -1;
		hist_init(&probe[i].delay);
		probe[i].sent = probe[i].received = probe[i].lossy_ns = probe[i].next = 0;
		probe[i].lossy_from_ns = probe[i].lossy_to_ns = 0;
		probe[i].newest_ns = clock_now_ns(); /* none came yet */
	}
	if (!err)
		err = -pthread_create(&thread, NULL, probe_thread, &p); /* it changes namespaces */
	if (!err) {
		pthread_join(thread, NULL);
		err = p.err;
	}
	if (err)
		fprintf(stderr, "farebench: probes of classes: %s\n", strerror(-err));
	return err ? err : interrupt_pending() ? -EINTR : 0;
}

struct class_probes *class_probes_create(const struct topo *topo, unsigned a, unsigned b,
					 unsigned n, unsigned dscp, uint64_t period_ns)
{
	struct class_probes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->topo = topo;
	p->n = n;
	p->period_ns = period_ns;
	for (unsigned i = 0; i < n; i++)
		p->probe[i] = (struct class_probe){
			.from = i % 2 ? b : a, .to = i % 2 ? a : b, .dscp = dscp, .routed = true};
	return p;
}

static void *class_probes_thread(void *arg)
{
	struct class_probes *p = arg;

	p->err = class_probe_run(p->topo, p->probe, p->n, p->period_ns, p->until_ns);
	return NULL;
}

int class_probes_start(struct class_probes *p, uint64_t until_ns)
{
	int err;

	p->until_ns = until_ns;
	p->err = 0;
	err = -pthread_create(&p->thread, NULL, class_probes_thread, p);
	p->started = !err;
	return err;
}

int class_probes_join(struct class_probes *p)
{
	if (p->started)
		pthread_join(p->thread, NULL);
	p->started = false;
	return p->err;
}
