/* SPDX-License-Identifier: BSD-2-Clause */
#include "pfc_agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "netns.h"
#include "pfc.h"
#include "pfc_program.h"
#include "print_error.h"

#define MAC_CONTROL 0x8808
#define IDLE_NS	    100000000ull /* between two looks at everything */
#define STALE_NS    1000000000ull

struct port {
	unsigned host, ifindex, rate_mbps; /* host: see plan_host_at() */
	uint8_t mac[ETH_ALEN];
	/* it is asked for pauses */
	struct pfc_pause pause;
	/* it asks for them */
	bool asks, first; /* first: no XOFF before this one was followed by a stop */
	uint64_t again_ns;
	uint64_t left, left_ns; /* packets that had left the switch, and when that grew */
};

struct host {
	int frames; /* PFC's, past the queues */
	int wake;   /* into the queues */
	int route;  /* rtnetlink */
};

struct agent {
	const struct topology *t;
	struct host *hosts;
	unsigned n_hosts;
	struct port *ports; /* by slot */
	unsigned n_ports;
	struct pfc_slot *slots; /* the programs' map */
	unsigned long *ring_read;
	const unsigned long *ring_written;
	int epoll;
};

unsigned pfc_agent_slot(unsigned link, bool leaf_end)
{
	return 2 * link + leaf_end;
}

/* ---- a port's queue --------------------------------------------------------- */

struct change {
	struct nlmsghdr header;
	struct tcmsg tc;
	struct rtattr kind;
	char tbf[4];
	struct rtattr options;
	struct rtattr parameters;
	struct tc_tbf_qopt values;
	struct rtattr burst;
	uint32_t burst_bytes;
};

/* Another rate for a tbf: its bucket is one frame, and full then. */
static int set_queue_rate(const struct agent *a, const struct port *port, unsigned bytes_per_s)
{
	const struct change m = {
		.header = {.nlmsg_len = sizeof(m),
			   .nlmsg_type = RTM_NEWQDISC,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.tc = {.tcm_ifindex = (int)port->ifindex,
		       .tcm_handle = TC_H_MAKE(2u << 16, 0),
		       .tcm_parent = TC_H_MAKE(1u << 16, 2)},
		.kind = {sizeof(m.kind) + sizeof(m.tbf), TCA_KIND},
		.tbf = "tbf",
		.options = {sizeof(m) - offsetof(struct change, options), TCA_OPTIONS},
		.parameters = {sizeof(m.parameters) + sizeof(m.values), TCA_TBF_PARMS},
		.values = {.rate = {.rate = bytes_per_s, .linklayer = TC_LINKLAYER_ETHERNET},
			   .limit = PFC_QUEUE_BYTES},
		.burst = {sizeof(m.burst) + sizeof(m.burst_bytes), TCA_TBF_BURST},
		.burst_bytes = a->t->mtu + ETH_HLEN};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char more[256];
	} reply;
	int fd = a->hosts[port->host].route;

	if (send(fd, &m, sizeof(m), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0)
		return -errno;
	return reply.header.nlmsg_type == NLMSG_ERROR ? reply.error.error : -EBADMSG;
}

static struct sockaddr_ll port_address(const struct port *port)
{
	return (struct sockaddr_ll){.sll_family = AF_PACKET,
				    .sll_protocol = htons(MAC_CONTROL),
				    .sll_ifindex = (int)port->ifindex,
				    .sll_halen = ETH_ALEN};
}

static void send_frame(const struct agent *a, const struct port *port, int fd, uint16_t quanta)
{
	struct sockaddr_ll to = port_address(port);
	uint8_t frame[PFC_FRAME_BYTES];

	pfc_frame_write(frame, port->mac, a->t->pfc.class, quanta);
	/* a link that is down takes none, and the pause ends with its time */
	if (sendto(fd, frame, sizeof(frame), 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return;
}

/*
 * A queue that stalled does not look at its new rate by itself: any packet that is handed to
 * the device makes it. This one is taken out by the filter in links.c.
 */
static void start_queue(const struct agent *a, const struct port *port)
{
	send_frame(a, port, a->hosts[port->host].wake, 0);
}

static void act(struct agent *a, unsigned slot, enum pfc_action action, uint64_t now_ns)
{
	struct pfc_slot *own = &a->slots[slot], *asking = &a->slots[slot ^ 1];
	struct port *port = &a->ports[slot];
	int rc;

	own->storms = port->pause.storms;
	if (action == PFC_NOTHING)
		return;
	rc = set_queue_rate(a, port, action == PFC_STOP ? 1 : PFC_QUEUE_GBIT * (1000000000u / 8));
	if (rc && rc != -ENOENT) /* -ENOENT: no shaper now */
		print_error("port %u: cannot change the queue: %s", slot, strerror(-rc));
	if (action == PFC_GO)
		start_queue(a, port);
	own->paused_ns = port->pause.paused_ns;
	own->paused_since_ns = action == PFC_STOP ? now_ns : 0;
	if (action == PFC_STOP && a->ports[slot ^ 1].first) {
		uint64_t took_ns = clock_now_ns() - asking->xoff_ns;

		a->ports[slot ^ 1].first = false;
		asking->reactions++;
		asking->reaction_ns += took_ns;
		if (took_ns > asking->reaction_max_ns)
			asking->reaction_max_ns = took_ns;
	}
}

/* ---- what a switch's port asks for ------------------------------------------- */

static void ask(struct agent *a, unsigned slot, uint64_t now_ns)
{
	struct port *port = &a->ports[slot];
	bool wants = a->slots[slot].xoff;

	if (!wants && !port->asks)
		return;
	if (wants && port->asks && now_ns < port->again_ns)
		return;
	if (wants && !port->asks)
		port->first = true;
	a->slots[slot].tx_pauses += wants;
	send_frame(a, port, a->hosts[port->host].frames, wants ? PFC_MAX_QUANTA : 0);
	port->asks = wants;
	port->again_ns = now_ns + pfc_quanta_ns(PFC_MAX_QUANTA, port->rate_mbps) / 2;
}

static bool host_paused(const struct agent *a, unsigned host)
{
	for (unsigned i = 0; i < a->n_ports; i++)
		if (a->ports[i].host == host && a->ports[i].pause.paused)
			return true;
	return false;
}

/*
 * Bytes of which none leave, while no queue of the switch stalls, are in none: a link that
 * went down, or is gray, dropped them after they were counted.
 */
static void drop_stale(struct agent *a, unsigned slot, uint64_t now_ns)
{
	struct port *port = &a->ports[slot];
	struct pfc_slot *s = &a->slots[slot];

	if (s->left != port->left || !s->bytes || host_paused(a, port->host)) {
		port->left = s->left;
		port->left_ns = now_ns;
	} else if (now_ns - port->left_ns >= STALE_NS) {
		s->bytes = 0;
		s->xoff = 0;
	}
}

static void on_ring(struct agent *a, uint64_t now_ns)
{
	__atomic_store_n(a->ring_read, __atomic_load_n(a->ring_written, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	for (unsigned i = 0; i < a->n_ports; i++)
		ask(a, i, now_ns);
}

static void on_frame(struct agent *a, unsigned host)
{
	struct sockaddr_ll from;
	socklen_t length = sizeof(from);
	uint8_t frame[128];
	uint16_t quanta;
	ssize_t n;

	while ((n = recvfrom(a->hosts[host].frames, frame, sizeof(frame), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &length)) > 0) {
		uint64_t now_ns = clock_now_ns();

		if (from.sll_pkttype == PACKET_OUTGOING ||
		    !pfc_frame_read(frame, (size_t)n, a->t->pfc.class, &quanta))
			continue;
		for (unsigned i = 0; i < a->n_ports; i++) {
			struct port *port = &a->ports[i];

			if (port->host != host || port->ifindex != (unsigned)from.sll_ifindex)
				continue;
			a->slots[i].rx_pauses += quanta != 0;
			act(a, i,
			    pfc_pause_receive(&port->pause, now_ns,
					      pfc_quanta_ns(quanta, port->rate_mbps)),
			    now_ns);
		}
	}
}

/* Returns when to look again. */
static uint64_t on_time(struct agent *a, uint64_t now_ns)
{
	uint64_t next_ns = now_ns + IDLE_NS;

	for (unsigned i = 0; i < a->n_ports; i++) {
		const uint64_t watchdog_ns = a->slots[i].watchdog_ns;
		struct port *port = &a->ports[i];
		uint64_t deadline_ns;

		act(a, i, pfc_pause_tick(&port->pause, now_ns, watchdog_ns), now_ns);
		drop_stale(a, i, now_ns);
		ask(a, i, now_ns);
		deadline_ns = pfc_pause_deadline(&port->pause, watchdog_ns);
		if (port->asks && port->again_ns < deadline_ns)
			deadline_ns = port->again_ns;
		if (deadline_ns < next_ns)
			next_ns = deadline_ns;
	}
	return next_ns;
}

static int run_agent(struct agent *a)
{
	const unsigned ring = a->n_hosts;
	uint64_t next_ns = 0;

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct epoll_event events[16];
		int n;

		if (now_ns >= next_ns)
			next_ns = on_time(a, now_ns);
		n = epoll_wait(a->epoll, events, 16,
			       next_ns > now_ns ? (int)((next_ns - now_ns + 999999) / 1000000) : 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			if (events[i].data.u32 == ring)
				on_ring(a, clock_now_ns());
			else
				on_frame(a, events[i].data.u32);
		}
	}
}

/* ---- opening ------------------------------------------------------------------ */

static int watch(struct agent *a, int fd, unsigned number)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = number}};

	return epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_port(struct agent *a, unsigned host, unsigned link, bool leaf_end, int fd,
		     const char *dev)
{
	struct port *port = &a->ports[pfc_agent_slot(link, leaf_end)];
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCGIFHWADDR, &request))
		return -errno;
	*port = (struct port){.host = host,
			      .ifindex = if_nametoindex(dev),
			      .rate_mbps = plan_link_mbps(a->t, link)};
	memcpy(port->mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
	return port->ifindex ? 0 : -ENODEV;
}

/* In its namespace. */
static int open_host(struct agent *a, unsigned k, struct plan_host host)
{
	const int one = 1;
	struct host *h = &a->hosts[k];
	int rc = 0;

	h->frames = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(MAC_CONTROL));
	h->wake = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	h->route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (h->frames < 0 || h->wake < 0 || h->route < 0 ||
	    setsockopt(h->frames, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -errno;
	PLAN_EACH_LINK(a->t, host, i)
	{
		struct plan_link link;
		bool leaf_end;

		plan_link_at(a->t, i, &link);
		leaf_end = plan_at_leaf(&link, host);
		if (!rc)
			rc = open_port(a, k, i, leaf_end, h->frames,
				       leaf_end ? link.leaf_dev : link.far_dev);
	}
	return rc ? rc : watch(a, h->frames, k);
}

/* The maps of a port of the namespace that the thread is in. */
static int open_maps(struct agent *a, const char *dev)
{
	const size_t page = PFC_PROGRAM_RING_BYTES;
	struct pfc_maps maps;
	int rc = pfc_maps_open(dev, &maps);

	if (rc)
		return rc;
	a->slots = mmap(NULL, a->n_ports * sizeof(*a->slots), PROT_READ | PROT_WRITE, MAP_SHARED,
			maps.slots, 0);
	a->ring_read = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, maps.ring, 0);
	a->ring_written = mmap(NULL, page, PROT_READ, MAP_SHARED, maps.ring, (off_t)page);
	if (a->slots == MAP_FAILED || a->ring_read == MAP_FAILED || a->ring_written == MAP_FAILED)
		return -errno;
	close(maps.slots);
	return watch(a, maps.ring, a->n_hosts); /* it stays open */
}

static int agent_open(struct agent *a, const struct lab *lab)
{
	int rc = 0;

	for (unsigned k = 0; !rc && k < a->n_hosts; k++) {
		struct plan_host host = plan_host_at(a->t, k);
		struct plan_link link;
		int home;

		rc = lab_enter(lab, host, &home);
		if (rc)
			break;
		plan_link_at(a->t, plan_link_next(a->t, host, 0), &link);
		rc = open_host(a, k, host);
		if (!rc && !a->slots)
			rc = open_maps(a, link.far_dev); /* the first host is a server */
		netns_leave(home);
	}
	return rc;
}

int pfc_agent_run(const struct lab *lab)
{
	const struct sched_param first = {.sched_priority = 1};
	struct agent a = {.t = &lab->topology,
			  .n_hosts = plan_hosts(&lab->topology),
			  .n_ports = 2 * plan_links(&lab->topology),
			  .epoll = epoll_create1(EPOLL_CLOEXEC)};
	int rc;

	a.hosts = calloc(a.n_hosts, sizeof(*a.hosts));
	a.ports = calloc(a.n_ports, sizeof(*a.ports));
	if (!a.hosts || !a.ports || a.epoll < 0) {
		print_error("no memory");
		return 1;
	}
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		print_error("no real-time priority (%s): reactions take longer", strerror(errno));
	rc = agent_open(&a, lab);
	if (!rc)
		rc = run_agent(&a);
	print_error("PFC of lab %s ends: %s", lab->name, strerror(-rc));
	return 1;
}
