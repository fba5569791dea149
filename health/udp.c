/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.c - see udp.h: receiving sockets; udp_send.c sends */
#include "udp_internal.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "roce_ports.h"
#include "sbfd_wire.h"
#include "udp_age.h"

#define PORT_COUNT (FARE_PROBE_PORT_LAST - FARE_PROBE_PORT_FIRST + 1)
#define PORT_TRIES 64u
#define FARE	   0x46415245 /* how our trailer begins */
/* a thousand peers' probes at once, of 1 KiB each with what the kernel adds, four times over */
#define RX_BUFFER_BYTES (4 << 20)

struct udp_socket {
	int fd;
	struct in6_addr address;
	uint16_t port; /* asked for; 0: any of ours */
	uint16_t bound;
	bool is_raw, is_v4;
	struct udp_age_clocks emptied; /* when nothing was left to read, last */
};

int udp_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int set_options(int fd, bool v4, bool is_raw)
{
	int rc;

	if (v4)
		(void)((rc = udp_set(fd, IPPROTO_IP, IP_PKTINFO, 1)) ||
		       (rc = udp_set(fd, IPPROTO_IP, IP_RECVTTL, 1)) ||
		       (rc = udp_set(fd, IPPROTO_IP, IP_FREEBIND, 1)));
	else
		/* a raw socket is of one family anyway, and refuses the option */
		(void)((rc = is_raw ? 0 : udp_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
		       (rc = udp_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)) ||
		       (rc = udp_set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1)) ||
		       (rc = udp_set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1)));
	if (!rc)
		rc = udp_set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	/* less than asked for is fine */
	if (!rc && udp_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RX_BUFFER_BYTES))
		udp_set(fd, SOL_SOCKET, SO_RCVBUF, RX_BUFFER_BYTES);
	return rc;
}

/*
 * Passes datagrams to ROCE_UDP_PORT that hold an S-BFD packet and our trailer. X: where UDP begins;
 * the kernel shows raw IPv4 sockets the IP header too, IPv6 ones not. RoCE cannot look like that:
 * the fourth octet of its header belongs to the partition key, and FARE in the middle of its
 * payload is no accident.
 */
static int filter(int fd, bool v4)
{
	struct sock_filter code[] = {
		v4 ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
		   : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_UDP_PORT, 0, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_HEADER_BYTES + 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SBFD_WIRE_BYTES, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_HEADER_BYTES),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xe0), /* BFD version 1 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, UDP_HEADER_BYTES + SBFD_WIRE_BYTES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FARE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UDP_SLOT_BYTES),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int bind_to(int fd, const struct in6_addr *address, uint16_t port)
{
	struct sockaddr_storage name;
	socklen_t length = address_to_socket(address, port, &name);

	return bind(fd, (struct sockaddr *)&name, length) ? -errno : 0;
}

/*
 * RFC 7881 section 4 wants the initiator's port from the dynamic range; chance keeps off-path
 * guessers out.
 */
static int bind_by_chance(struct udp_socket *s)
{
	int rc = -EADDRINUSE;

	for (unsigned i = 0; i < PORT_TRIES && rc == -EADDRINUSE; i++) {
		uint16_t chance;

		if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
			return -EIO;
		chance = (uint16_t)(FARE_PROBE_PORT_FIRST + chance % PORT_COUNT);
		rc = bind_to(s->fd, &s->address, chance);
		if (!rc)
			s->bound = chance;
	}
	return rc;
}

int udp_bind(struct udp_socket *s)
{
	int rc;

	if (!s->is_raw && !s->port)
		return bind_by_chance(s);
	rc = bind_to(s->fd, &s->address, s->port);
	if (!rc)
		s->bound = s->port;
	return rc;
}

static int set_up(struct udp_socket *s)
{
	int type = (s->is_raw ? SOCK_RAW : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, rc = 0;

	s->fd = socket(s->is_v4 ? AF_INET : AF_INET6, type, IPPROTO_UDP);
	if (s->fd < 0)
		return -errno;
	if (s->is_raw) /* first of all: nothing else is ever queued here */
		rc = filter(s->fd, s->is_v4);
	if (!rc)
		rc = set_options(s->fd, s->is_v4, s->is_raw);
	if (!rc)
		rc = udp_bind(s);
	return rc == -EADDRINUSE ? 0 : rc; /* to be tried again */
}

static int open_socket(struct udp_socket **out, const struct in6_addr *address,
		       struct udp_socket like)
{
	struct udp_socket *s = malloc(sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	*s = like;
	s->address = *address;
	s->emptied = udp_age_clocks();
	s->is_v4 = IN6_IS_ADDR_V4MAPPED(address);
	rc = set_up(s);
	if (rc)
		udp_close(s);
	else
		*out = s;
	return rc;
}

int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port)
{
	return open_socket(out, address, (struct udp_socket){.fd = -1, .port = port});
}

int udp_open_beside(struct udp_socket **out, const struct in6_addr *address)
{
	return open_socket(out, address, (struct udp_socket){.fd = -1, .is_raw = true});
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
	p->waited_ns = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			p->ifindex = info.ipi_ifindex;
			p->to = address_of_v4(&info.ipi_addr);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			p->ifindex = (int)info.ipi6_ifindex;
			p->to = info.ipi6_addr;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
			memcpy(&p->hop_limit, CMSG_DATA(c), sizeof(p->hop_limit));
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			p->waited_ns = udp_age_ns(nanoseconds(&ts), emptied, now);
		}
	}
}

/* A raw socket gives the UDP header too, and before it, in IPv4, the IP header. */
static void strip(const struct udp_socket *s, struct udp_packet *p)
{
	size_t at = s->is_v4 && p->length ? (size_t)(p->bytes[0] & 15) * 4 : 0;

	if (at + UDP_HEADER_BYTES > p->length) {
		p->length = 0;
		return;
	}
	p->from_port = (uint16_t)(p->bytes[at] << 8 | p->bytes[at + 1]);
	p->bytes += at + UDP_HEADER_BYTES;
	p->length -= at + UDP_HEADER_BYTES;
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
	if (s->is_raw)
		strip(s, p);
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
