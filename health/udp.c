/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.c - see udp.h */
#include "udp.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "roce_ports.h"

#define MAX_PINS      128u
#define CONTROL_BYTES 96
#define PORT_COUNT    (FARE_PROBE_PORT_LAST - FARE_PROBE_PORT_FIRST + 1)
#define PORT_TRIES    64u
#define HOP_LIMIT     255
#define SOCKET_BUFFER (4 << 20)

struct pin {
	int ifindex, fd;
};

struct udp_socket {
	struct in6_addr address;
	uint16_t port;
	uint8_t dscp;
	uid_t owner;
	int fd;	      /* hears all devices that have no pin */
	int ready_fd; /* IPv6: an epoll set of fd and the pins; else -1 */
	unsigned n_pins;
	struct pin pins[MAX_PINS];
};

struct udp_batch {
	unsigned n_out;
	struct udp_packet packets[UDP_BATCH];
	struct mmsghdr headers[UDP_BATCH];
	struct iovec vectors[UDP_BATCH];
	struct sockaddr_storage names[UDP_BATCH];
	_Alignas(struct cmsghdr) uint8_t control[UDP_BATCH][CONTROL_BYTES];
	uint8_t bytes[UDP_BATCH][UDP_PACKET_BYTES];
};

int udp_batch_create(struct udp_batch **out)
{
	struct udp_batch *b = calloc(1, sizeof(*b));

	*out = b;
	if (!b)
		return -ENOMEM;
	for (unsigned i = 0; i < UDP_BATCH; i++) {
		b->packets[i].bytes = b->bytes[i];
		b->vectors[i].iov_base = b->bytes[i];
		b->headers[i].msg_hdr.msg_iov = &b->vectors[i];
		b->headers[i].msg_hdr.msg_iovlen = 1;
		b->headers[i].msg_hdr.msg_name = &b->names[i];
		b->headers[i].msg_hdr.msg_control = b->control[i];
	}
	return 0;
}

void udp_batch_destroy(struct udp_batch *b)
{
	free(b);
}

static bool is_v4(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a);
}

static struct in6_addr mapped(const struct in_addr *v4)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(a.s6_addr + 12, v4, 4);
	return a;
}

static socklen_t name_of(const struct in6_addr *address, uint16_t port,
			 struct sockaddr_storage *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;

	if (is_v4(address)) {
		*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		memcpy(&v4->sin_addr, address->s6_addr + 12, 4);
		return sizeof(*v4);
	}
	*v6 = (struct sockaddr_in6){
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *address};
	return sizeof(*v6);
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int set_options(int fd, bool v4, uint8_t dscp)
{
	int rc;

	if (v4) {
		/* spares an id for each */
		if ((rc = set(fd, IPPROTO_IP, IP_TTL, HOP_LIMIT)) ||
		    (rc = set(fd, IPPROTO_IP, IP_TOS, dscp << 2)) ||
		    (rc = set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)) ||
		    (rc = set(fd, IPPROTO_IP, IP_PKTINFO, 1)) ||
		    (rc = set(fd, IPPROTO_IP, IP_RECVTTL, 1)) ||
		    (rc = set(fd, IPPROTO_IP, IP_FREEBIND, 1)))
			return rc;
	} else {
		if ((rc = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
		    (rc = set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOP_LIMIT)) ||
		    (rc = set(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2)) ||
		    (rc = set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)) ||
		    (rc = set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1)) ||
		    (rc = set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1)))
			return rc;
	}
	/*
	 * A burst of a thousand peers at once must not overflow; and what waits in one device's
	 * queue counts against the socket, which must be able to send by the others meanwhile. Less
	 * than asked for is fine.
	 */
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER))
		set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER);
	if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER))
		set(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER);
	return 0;
}

/*
 * RFC 7881 section 4 wants the initiator's port from the dynamic range; chance keeps off-path
 * guessers out.
 */
static int bind_dynamic(int fd, const struct in6_addr *address)
{
	for (unsigned i = 0; i < PORT_TRIES; i++) {
		struct sockaddr_storage name;
		uint16_t port;
		socklen_t length;

		if (getrandom(&port, sizeof(port), 0) != sizeof(port))
			return -EIO;
		length = name_of(address, (uint16_t)(FARE_PROBE_PORT_FIRST + port % PORT_COUNT),
				 &name);
		if (!bind(fd, (struct sockaddr *)&name, length))
			return 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

static int bind_to(int fd, const struct in6_addr *address, uint16_t port)
{
	struct sockaddr_storage name;
	socklen_t length = name_of(address, port, &name);

	if (!port)
		return bind_dynamic(fd, address);
	return bind(fd, (struct sockaddr *)&name, length) ? -errno : 0;
}

/*
 * Lets pins bind the address and port of a socket that is bound already. Not by SO_REUSEADDR, which
 * for UDP asks for no owner: any local user could bind them too, and take what arrives. With
 * SO_REUSEPORT the kernel refuses sockets of another owner. Pins are made after privileges are
 * dropped, so the owner is the user that the daemon becomes.
 */
static int share_port(int fd, uid_t owner)
{
	if (owner != geteuid() && fchown(fd, owner, (gid_t)-1))
		return -errno;
	return set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

/*
 * A descriptor bound to the socket's address and to port (0: by chance); ifindex: a pin's device,
 * or 0. What is no pin is bound before it shares: a second daemon gets -EADDRINUSE.
 */
static int open_fd(const struct udp_socket *s, uint16_t port, int ifindex)
{
	bool v4 = is_v4(&s->address);
	int rc, fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	rc = set_options(fd, v4, s->dscp);
	if (!rc && ifindex)
		rc = set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, ifindex);
	if (!rc && ifindex)
		rc = share_port(fd, s->owner);
	if (!rc)
		rc = bind_to(fd, &s->address, port);
	if (!rc && !v4 && !ifindex)
		rc = share_port(fd, s->owner);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

static int watch(struct udp_socket *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(s->ready_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &length))
		return 0;
	return ntohs(name.ss_family == AF_INET ? ((struct sockaddr_in *)&name)->sin_port
					       : ((struct sockaddr_in6 *)&name)->sin6_port);
}

int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port, uint8_t dscp,
	     uid_t owner)
{
	struct udp_socket *s = calloc(1, sizeof(*s));
	int rc = 0;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->address = *address;
	s->dscp = dscp;
	s->owner = owner;
	s->ready_fd = -1;
	s->fd = open_fd(s, port, 0);
	if (s->fd < 0)
		rc = s->fd;
	else
		s->port = bound_port(s->fd);
	if (!rc && !is_v4(address)) {
		s->ready_fd = epoll_create1(EPOLL_CLOEXEC);
		rc = s->ready_fd < 0 ? -errno : watch(s, s->fd);
	}
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
	for (unsigned i = 0; i < s->n_pins; i++)
		close(s->pins[i].fd);
	if (s->ready_fd >= 0)
		close(s->ready_fd);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int udp_fd(const struct udp_socket *s)
{
	return s->ready_fd >= 0 ? s->ready_fd : s->fd;
}

uint16_t udp_port(const struct udp_socket *s)
{
	return s->port;
}

/* The descriptor that sends out of that device; -1: it has none yet. */
static int pinned(const struct udp_socket *s, int ifindex)
{
	if (s->ready_fd < 0)
		return s->fd;
	for (unsigned i = 0; i < s->n_pins; i++)
		if (s->pins[i].ifindex == ifindex)
			return s->pins[i].fd;
	return -1;
}

/*
 * Asks by a descriptor that we have: if_indextoname() would need another, of which there is none.
 */
static bool is_gone(const struct pin *pin)
{
	struct ifreq r = {.ifr_ifindex = pin->ifindex};

	return ioctl(pin->fd, SIOCGIFNAME, &r) < 0 && errno == ENODEV;
}

/* Closes what sends out of devices that are gone; false: there was none. */
static bool drop_dead_pins(struct udp_socket *s)
{
	unsigned kept = 0, before = s->n_pins;

	for (unsigned i = 0; i < before; i++) {
		if (is_gone(&s->pins[i]))
			close(s->pins[i].fd);
		else
			s->pins[kept++] = s->pins[i];
	}
	s->n_pins = kept;
	return kept < before;
}

/* The same, made on first use and kept; -errno. */
static int pin_for(struct udp_socket *s, int ifindex)
{
	int rc, fd = pinned(s, ifindex);

	if (fd >= 0)
		return fd;
	if (s->n_pins == MAX_PINS) { /* devices come and go: the oldest is the likeliest gone */
		close(s->pins[0].fd);
		memmove(s->pins, s->pins + 1, (MAX_PINS - 1) * sizeof(s->pins[0]));
		s->n_pins--;
	}
	fd = open_fd(s, s->port, ifindex);
	if (udp_is_shortage(fd) && drop_dead_pins(s))
		fd = open_fd(s, s->port, ifindex);
	if (fd < 0)
		return fd;
	rc = watch(s, fd);
	if (rc) {
		close(fd);
		return rc;
	}
	s->pins[s->n_pins++] = (struct pin){ifindex, fd};
	return fd;
}

int udp_pin(struct udp_socket *s, int ifindex)
{
	int fd = pin_for(s, ifindex);

	return fd < 0 ? fd : 0;
}

bool udp_is_pinned(const struct udp_socket *s, int ifindex)
{
	return pinned(s, ifindex) >= 0;
}

bool udp_is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM || rc == -ENOSPC;
}

/* ---- receiving ----------------------------------------------------------- */

void udp_read_control(struct msghdr *m, struct udp_packet *p)
{
	p->ifindex = 0;
	p->hop_limit = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			p->ifindex = info.ipi_ifindex;
			p->to = mapped(&info.ipi_addr);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			p->ifindex = (int)info.ipi6_ifindex;
			p->to = info.ipi6_addr;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
			memcpy(&p->hop_limit, CMSG_DATA(c), sizeof(p->hop_limit));
		}
	}
}

void udp_read_name(const struct sockaddr_storage *name, struct udp_packet *p)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;

	p->from = name->ss_family == AF_INET ? mapped(&v4->sin_addr) : v6->sin6_addr;
	p->from_port = ntohs(name->ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
}

/* Whichever of the descriptors has something; -1: none. */
static int ready(const struct udp_socket *s)
{
	struct epoll_event event;

	if (s->ready_fd < 0)
		return s->fd;
	return epoll_wait(s->ready_fd, &event, 1, 0) == 1 ? event.data.fd : -1;
}

int udp_receive(struct udp_socket *s, struct udp_batch *b)
{
	int n, fd = ready(s);

	if (fd < 0)
		return 0;

	for (unsigned i = 0; i < UDP_BATCH; i++) {
		b->vectors[i].iov_len = UDP_PACKET_BYTES;
		b->headers[i].msg_hdr.msg_namelen = sizeof(b->names[i]);
		b->headers[i].msg_hdr.msg_controllen = CONTROL_BYTES;
	}
	n = recvmmsg(fd, b->headers, UDP_BATCH, MSG_DONTWAIT, NULL);
	if (n < 0) /* ICMP errors of earlier sends come up here; they say nothing we heed */
		return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ||
				       errno == EHOSTUNREACH || errno == ENETUNREACH
			       ? 0
			       : -errno;
	for (int i = 0; i < n; i++) {
		struct udp_packet *p = &b->packets[i];

		/* one that did not fit is none of ours: longer than anything that we send */
		p->length = b->headers[i].msg_hdr.msg_flags & MSG_TRUNC ? 0 : b->headers[i].msg_len;
		udp_read_name(&b->names[i], p);
		udp_read_control(&b->headers[i].msg_hdr, p);
	}
	return n;
}

struct udp_packet *udp_received(struct udp_batch *b, unsigned i)
{
	return &b->packets[i];
}

/* ---- sending ------------------------------------------------------------- */

struct udp_packet *udp_next(struct udp_batch *b)
{
	return b->n_out < UDP_BATCH ? &b->packets[b->n_out++] : NULL;
}

void udp_put_back(struct udp_batch *b)
{
	b->n_out--;
}

size_t udp_write_control(const struct udp_packet *p, struct msghdr *m)
{
	struct cmsghdr *c;

	m->msg_controllen = CONTROL_BYTES;
	c = CMSG_FIRSTHDR(m);
	if (is_v4(&p->to)) {
		struct in_pktinfo info = {.ipi_ifindex = p->ifindex};

		memcpy(&info.ipi_spec_dst, p->from.s6_addr + 12, 4);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		return CMSG_SPACE(sizeof(info));
	}
	struct in6_pktinfo info = {.ipi6_addr = p->from, .ipi6_ifindex = (unsigned)p->ifindex};

	*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IPV6, IPV6_PKTINFO};
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	return CMSG_SPACE(sizeof(info));
}

/* Those from `at` on that leave by the same device, as far as one descriptor takes them. */
static unsigned run_of(const struct udp_socket *s, const struct udp_batch *b, unsigned at)
{
	unsigned n = 1;

	if (s->ready_fd < 0)
		return b->n_out - at;
	while (at + n < b->n_out && b->packets[at + n].ifindex == b->packets[at].ifindex)
		n++;
	return n;
}

unsigned udp_send(struct udp_socket *s, struct udp_batch *b)
{
	unsigned at = 0, taken = 0;

	for (unsigned i = 0; i < b->n_out; i++) {
		struct udp_packet *p = &b->packets[i];
		struct msghdr *m = &b->headers[i].msg_hdr;

		b->vectors[i].iov_len = p->length;
		m->msg_namelen = name_of(&p->to, p->to_port, &b->names[i]);
		m->msg_controllen = udp_write_control(p, m);
		m->msg_flags = 0;
	}
	while (at < b->n_out) {
		int fd = pin_for(s, b->packets[at].ifindex), n = -1;

		if (fd >= 0)
			n = sendmmsg(fd, b->headers + at, run_of(s, b, at), MSG_DONTWAIT);
		if (fd >= 0 && n < 0 && errno == EINTR)
			continue;
		at += n > 0 ? (unsigned)n : 1; /* the one refused is skipped */
		taken += n > 0 ? (unsigned)n : 0;
	}
	b->n_out = 0;
	return taken;
}
