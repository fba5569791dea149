/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_send.c - see udp.h: packets with headers of our own, by one raw socket for each family */
#include "udp_internal.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/dgram.h"
#include "roce_ports.h"
#include "sbfd_wire.h"
/* where the payload begins: room for IPv6 and UDP headers, and aligned */
#define PAYLOAD_AT (sizeof(struct ip6_hdr) + UDP_HEADER_BYTES)
/*
 * What waits in one device's queue counts against the socket, which must be able to send by the
 * others meanwhile: 32 devices that send nothing, each with a queue of 1,000 packets (txqueuelen)
 * of 1 KiB with what the kernel adds.
 */
#define TX_BUFFER_BYTES (32 * 1000 * 1024)

#define PRIORITY_MAX	     6	/* that needs no right: internetwork control's precedence */
#define NETWORK_CONTROL_DSCP 48 /* RFC 2474 4.2.2.2: and above; priority is precedence */

/* ---- life ---------------------------------------------------------------- */

/* Packets of protocol 255 come in by such a socket, too; nobody would read them. */
static int receive_nothing(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {1, &drop};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

/*
 * The header that is sent has its own traffic class. The socket's is for rules of routing.
 *
 * Queues of this machine (pfifo_fast, mqprio, a VLAN's egress map) go by the packet's priority,
 * which the kernel does not derive from the two network control classes: it takes them for best
 * effort in IPv4, and no class at all in IPv6. IP_TOS sets a priority, too: so it comes first.
 */
static int set_class(int fd, int family, uint8_t dscp)
{
	int rc = dgram_set_ip(fd, family == AF_INET, IP_TOS, IPV6_TCLASS, dscp << 2);

	return rc || dscp < NETWORK_CONTROL_DSCP
		       ? rc
		       : dgram_set(fd, SOL_SOCKET, SO_PRIORITY, PRIORITY_MAX);
}

static uint8_t class_of(const struct udp *u, bool is_data)
{
	return is_data ? FARE_DSCP : u->dscp;
}

/* The kernel doubles what is asked for, and gives less than that without CAP_NET_ADMIN. */
static void size_buffer(struct udp *u, int fd)
{
	socklen_t length = sizeof(int);
	int bytes = 0;

	dgram_set_buffer(fd, SO_SNDBUF, TX_BUFFER_BYTES);
	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length) || bytes < 2 * TX_BUFFER_BYTES)
		u->short_bytes = (uint32_t)bytes;
}

/* IPPROTO_RAW: headers are ours (IP_HDRINCL). */
static int open_fd(struct udp *u, int family, uint8_t dscp)
{
	int fd = socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW);
	int rc;

	if (fd < 0)
		return -errno;
	rc = receive_nothing(fd);
	if (!rc)
		rc = set_class(fd, family, dscp);
	if (!rc)
		rc = dgram_ignore_path_mtu(fd, family == AF_INET);
	if (rc) {
		close(fd);
		return rc;
	}
	size_buffer(u, fd);
	return fd;
}

static void set_up(struct udp_buffers *b)
{
	for (unsigned i = 0; i < UDP_BATCH; i++) {
		struct msghdr *m = &b->headers[i].msg_hdr;

		m->msg_iov = &b->vectors[i];
		m->msg_iovlen = 1;
		m->msg_name = &b->names[i];
		m->msg_control = b->control[i];
		b->packets[i].bytes = b->bytes[i] + PAYLOAD_AT;
	}
}

int udp_create(struct udp **out, uint8_t dscp)
{
	struct udp *u = calloc(1, sizeof(*u));
	int rc = 0;

	*out = NULL;
	if (!u)
		return -ENOMEM;
	u->dscp = dscp;
	set_up(&u->in);
	set_up(&u->out);
	for (int data = 0; data < 2; data++)
		for (int v6 = 0; v6 < 2; v6++) {
			int fd = open_fd(u, v6 ? AF_INET6 : AF_INET, class_of(u, data));

			u->fds[data][v6] = fd;
			if (fd < 0 && !rc && !(v6 && fd == -EAFNOSUPPORT)) /* no IPv6 */
				rc = fd;
		}
	if (rc)
		udp_destroy(u);
	else
		*out = u;
	return rc;
}

uint32_t udp_short_bytes(const struct udp *u)
{
	return u->short_bytes;
}

uint64_t udp_refused(const struct udp *u)
{
	return u ? u->n_refused : 0;
}

void udp_destroy(struct udp *u)
{
	if (!u)
		return;
	for (int i = 0; i < 4; i++)
		if (u->fds[i / 2][i % 2] >= 0)
			close(u->fds[i / 2][i % 2]);
	free(u);
}

/* ---- headers ------------------------------------------------------------- */

/* RFC 1071: in the machine's own byte order, for the result is stored in it, too. */
static uint64_t sum_of(const void *bytes, size_t n, uint64_t sum)
{
	const uint8_t *at = bytes;
	uint32_t part;

	for (; n >= sizeof(part); n -= sizeof(part), at += sizeof(part)) {
		memcpy(&part, at, sizeof(part));
		sum += part;
	}
	part = 0;
	memcpy(&part, at, n);
	return sum + part;
}

/*
 * Over the pseudo-header, too (RFC 768, RFC 8200 8.1). ::ffff:0:0/96 adds 0xffff to a sum of
 * 16-bit words, which is nothing: so IPv4 is summed as IPv6 is.
 */
static uint16_t checksum(const struct udp_packet *p, const struct udphdr *udp)
{
	uint64_t sum = (uint64_t)htons(IPPROTO_UDP) + udp->len;

	sum = sum_of(&p->from, sizeof(p->from), sum);
	sum = sum_of(&p->to, sizeof(p->to), sum);
	sum = sum_of(udp, UDP_HEADER_BYTES + p->length, sum);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? 0xffff : (uint16_t)~sum;
}

static void write_udp(const struct udp_packet *p)
{
	struct udphdr *udp = (struct udphdr *)(p->bytes - UDP_HEADER_BYTES);

	*udp = (struct udphdr){.source = htons(p->from_port),
			       .dest = htons(p->to_port),
			       .len = htons((uint16_t)(UDP_HEADER_BYTES + p->length))};
	udp->check = checksum(p, udp);
}

static uint8_t hop_limit_of(const struct udp_packet *p)
{
	return (uint8_t)(p->hop_limit > 0 ? p->hop_limit : SBFD_WIRE_TTL);
}

/* The kernel fills in length and checksum. Not fragmented: so it spares an id for each. */
static size_t write_ip4(const struct udp *u, const struct udp_packet *p)
{
	struct ip ip = {.ip_v = 4,
			.ip_hl = sizeof(ip) / 4,
			.ip_tos = (uint8_t)(class_of(u, p->is_data) << 2),
			.ip_off = htons(IP_DF),
			.ip_ttl = hop_limit_of(p),
			.ip_p = IPPROTO_UDP};

	memcpy(&ip.ip_src, p->from.s6_addr + 12, 4);
	memcpy(&ip.ip_dst, p->to.s6_addr + 12, 4);
	memcpy(p->bytes - UDP_HEADER_BYTES - sizeof(ip), &ip, sizeof(ip));
	return sizeof(ip);
}

/* A flow label for each source port, as the kernel gives its own: leaves may hash it. */
static size_t write_ip6(const struct udp *u, const struct udp_packet *p)
{
	struct ip6_hdr ip = {.ip6_src = p->from, .ip6_dst = p->to};

	ip.ip6_flow =
		htonl(6u << 28 | (uint32_t)class_of(u, p->is_data) << 22 | 1u << 16 | p->from_port);
	ip.ip6_plen = htons((uint16_t)(UDP_HEADER_BYTES + p->length));
	ip.ip6_nxt = IPPROTO_UDP;
	ip.ip6_hlim = hop_limit_of(p);
	memcpy(p->bytes - UDP_HEADER_BYTES - sizeof(ip), &ip, sizeof(ip));
	return sizeof(ip);
}

/* The device, and in IPv4 the source address, which routing rules may select by. */
static size_t write_control(const struct udp_packet *p, bool v4, struct msghdr *m)
{
	struct in6_pktinfo info6 = {.ipi6_ifindex = (unsigned)p->ifindex};
	struct in_pktinfo info = {.ipi_ifindex = p->ifindex};
	struct cmsghdr *c;

	m->msg_controllen = UDP_CONTROL_BYTES;
	c = CMSG_FIRSTHDR(m);
	if (v4) {
		memcpy(&info.ipi_spec_dst, p->from.s6_addr + 12, 4);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		return CMSG_SPACE(sizeof(info));
	}
	*c = (struct cmsghdr){CMSG_LEN(sizeof(info6)), IPPROTO_IPV6, IPV6_PKTINFO};
	memcpy(CMSG_DATA(c), &info6, sizeof(info6));
	return CMSG_SPACE(sizeof(info6));
}

static void frame(struct udp *u, unsigned i)
{
	struct msghdr *m = &u->out.headers[i].msg_hdr;
	const struct udp_packet *p = &u->out.packets[i];
	bool v4 = IN6_IS_ADDR_V4MAPPED(&p->to);
	size_t head = UDP_HEADER_BYTES;

	write_udp(p);
	head += v4 ? write_ip4(u, p) : write_ip6(u, p);
	u->out.vectors[i] = (struct iovec){p->bytes - head, head + p->length};
	m->msg_namelen = address_to_socket(&p->to, 0, &u->out.names[i]);
	m->msg_controllen = write_control(p, v4, m);
}

/* ---- sending ------------------------------------------------------------- */

struct udp_packet *udp_next(struct udp *u)
{
	struct udp_packet *p;

	if (u->n_out == UDP_BATCH)
		udp_send(u);
	p = &u->out.packets[u->n_out++];
	p->hop_limit = 0;
	p->is_data = false;
	return p;
}

void udp_put_back(struct udp *u)
{
	u->n_out--;
}

static int fd_of(const struct udp *u, unsigned i)
{
	const struct udp_packet *p = &u->out.packets[i];

	return u->fds[p->is_data][!IN6_IS_ADDR_V4MAPPED(&p->to)];
}

/* Those from `at` on that one socket takes. */
static unsigned run_of(const struct udp *u, unsigned at)
{
	unsigned n = 1;

	while (at + n < u->n_out && fd_of(u, at + n) == fd_of(u, at))
		n++;
	return n;
}

unsigned udp_send(struct udp *u)
{
	unsigned at = 0, taken = 0;

	for (unsigned i = 0; i < u->n_out; i++)
		frame(u, i);
	while (at < u->n_out) {
		int n = sendmmsg(fd_of(u, at), u->out.headers + at, run_of(u, at), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		u->n_refused += n <= 0;
		at += n > 0 ? (unsigned)n : 1; /* the one refused is skipped */
		taken += n > 0 ? (unsigned)n : 0;
	}
	u->n_out = 0;
	return taken;
}
