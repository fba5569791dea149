/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.c - see udp.h: receiving sockets; udp_send.c sends */
#include "udp_internal.h"

#include <errno.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/dgram.h"
#include "roce_ports.h"
#include "udp_age.h"

/* a thousand peers' probes at once, of 1 KiB each with what the kernel adds, four times over */
#define RX_BUFFER_BYTES (4 << 20)

struct udp_socket {
	int fd;
	struct in6_addr address;
	uint16_t port; /* asked for; 0: any of ours */
	uint16_t bound;
	struct udp_age_clocks emptied; /* when nothing was left to read, last */
};

static int set_options(int fd, bool v4)
{
	int rc = dgram_set_ip(fd, v4, IP_PKTINFO, IPV6_RECVPKTINFO, 1);

	if (!rc)
		rc = dgram_set_ip(fd, v4, IP_RECVTTL, IPV6_RECVHOPLIMIT, 1);
	if (!rc)
		rc = dgram_set_ip(fd, v4, IP_RECVTOS, IPV6_RECVTCLASS, 1);
	if (!rc)
		rc = dgram_set_ip(fd, v4, IP_FREEBIND, IPV6_FREEBIND, 1);
	if (!rc)
		rc = dgram_set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	dgram_set_buffer(fd, SO_RCVBUF, RX_BUFFER_BYTES); /* less is fine */
	return rc;
}

/*
 * RFC 7881 section 4 wants the initiator's port from the dynamic range; chance keeps off-path
 * guessers out.
 */
int udp_bind(struct udp_socket *s)
{
	uint16_t port = s->port;
	int rc = port ? dgram_bind(s->fd, &s->address, port)
		      : dgram_bind_random(s->fd, &s->address, FARE_PROBE_PORT_FIRST,
					  FARE_PROBE_PORT_LAST, &port);

	if (!rc)
		s->bound = port;
	return rc;
}

static int set_up(struct udp_socket *s)
{
	int rc;

	s->fd = dgram_open(&s->address);
	if (s->fd < 0)
		return s->fd;
	rc = set_options(s->fd, IN6_IS_ADDR_V4MAPPED(&s->address));
	if (!rc)
		rc = udp_bind(s);
	return rc == -EADDRINUSE ? 0 : rc; /* to be tried again */
}

int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port)
{
	struct udp_socket *s = malloc(sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	*s = (struct udp_socket){.fd = -1, .port = port};
	s->address = *address;
	s->emptied = udp_age_clocks();
	rc = set_up(s);
	if (rc)
		udp_close(s);
	else
		*out = s;
	return rc;
}

void udp_close(struct udp_socket *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int udp_fd(const struct udp_socket *s)
{
	return s->fd;
}

uint16_t udp_port(const struct udp_socket *s)
{
	return s->bound;
}

void udp_poll(struct udp_socket *const *sockets, unsigned n, bool *readable)
{
	struct pollfd fds[UDP_POLL_MAX];

	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = sockets[i]->fd, .events = POLLIN};
	if (poll(fds, n, 0) < 0)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		readable[i] = fds[i].revents;
}

/* ---- receiving ----------------------------------------------------------- */

static int64_t nanoseconds(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static void read_control(struct msghdr *m, const struct udp_age_clocks *emptied,
			 const struct udp_age_clocks *now, struct udp_packet *p)
{
	p->ifindex = 0;
	p->hop_limit = -1;
	p->is_data = false;
	p->waited_ns = 0;
	p->read_ns = (uint64_t)now->mono_ns;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		unsigned ifindex;

		if (dgram_read_arrival(c, &ifindex, &p->to)) {
			p->ifindex = (int)ifindex;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
			memcpy(&p->hop_limit, CMSG_DATA(c), sizeof(p->hop_limit));
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			p->is_data = *(const uint8_t *)CMSG_DATA(c) >> 2 == FARE_DSCP;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			int tclass;

			memcpy(&tclass, CMSG_DATA(c), sizeof(tclass));
			p->is_data = tclass >> 2 == FARE_DSCP;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			p->waited_ns = udp_age_ns(nanoseconds(&ts), emptied, now);
		}
	}
}

/* One that did not fit is none of ours: longer than anything that we send. */
static void take(const struct udp_socket *s, struct udp_buffers *b, unsigned i,
		 const struct udp_age_clocks *now)
{
	const struct msghdr *m = &b->headers[i].msg_hdr;
	struct udp_packet *p = &b->packets[i];

	p->bytes = b->bytes[i];
	p->length = m->msg_flags & MSG_TRUNC ? 0 : b->headers[i].msg_len;
	address_of_socket(&b->names[i], &p->from, &p->from_port);
	read_control(&b->headers[i].msg_hdr, &s->emptied, now, p);
	if (p->length > UDP_PACKET_BYTES)
		p->length = 0;
}

unsigned udp_receive(struct udp *u, struct udp_socket *s)
{
	struct udp_buffers *b = &u->in;
	struct udp_age_clocks now;
	int n;

	for (unsigned i = 0; i < UDP_BATCH; i++) {
		b->vectors[i] = (struct iovec){b->bytes[i], UDP_SLOT_BYTES};
		b->headers[i].msg_hdr.msg_namelen = sizeof(b->names[i]);
		b->headers[i].msg_hdr.msg_controllen = UDP_CONTROL_BYTES;
	}
	now = udp_age_clocks(); /* what comes after this has not waited */
	n = recvmmsg(s->fd, b->headers, UDP_BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		take(s, b, (unsigned)i, &now);
	if (n < (int)UDP_BATCH)
		s->emptied = now;
	return n > 0 ? (unsigned)n : 0;
}

const struct udp_packet *udp_received(const struct udp *u, unsigned i)
{
	return &u->in.packets[i];
}
