/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_raw.c - see udp_raw.h */
#include "udp_raw.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbfd_wire.h"

#define MAX_DEVICES  128u
#define HOP_LIMIT    255
#define UDP_BYTES    8u
#define IP_BYTES_MAX 60u
#define FARE	     0x46415245 /* how our trailer begins */

struct udp_raw {
	struct in6_addr address;
	int fd; /* hears; IPv4: sends by any device */
	unsigned n_devices;
	/* IPv6 takes the device for a hint unless bound to it */
	int ifindex[MAX_DEVICES], fds[MAX_DEVICES];
};

static bool is_v4(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a);
}

/*
 * Passes datagrams to ROCE_UDP_PORT that hold an S-BFD packet and our trailer. X: where UDP begins;
 * the kernel shows raw IPv4 sockets the IP header too, IPv6 ones not. RoCE cannot look like that:
 * the fourth octet of its header belongs to the partition key, and FARE in the middle of its
 * payload is no accident.
 */
static int filter(int fd, bool v4, bool deaf)
{
	struct sock_filter code[] = {
		v4 ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
		   : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_UDP_PORT, 0, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_BYTES + 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SBFD_WIRE_BYTES, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_BYTES),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xe0), /* BFD version 1 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, UDP_BYTES + SBFD_WIRE_BYTES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FARE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, IP_BYTES_MAX + UDP_BYTES + UDP_PACKET_BYTES),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (deaf)
		program = (struct sock_fprog){1, &code[10]};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int set_options(int fd, bool v4, uint8_t dscp)
{
	int rc;

	if (v4) {
		if ((rc = set(fd, IPPROTO_IP, IP_TTL, HOP_LIMIT)) ||
		    (rc = set(fd, IPPROTO_IP, IP_TOS, dscp << 2)) ||
		    (rc = set(fd, IPPROTO_IP, IP_PKTINFO, 1)))
			return rc;
		return set(fd, IPPROTO_IP, IP_FREEBIND, 1);
	}
	if ((rc = set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOP_LIMIT)) ||
	    (rc = set(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2)) ||
	    (rc = set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)) ||
	    (rc = set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1)) ||
	    (rc = set(fd, IPPROTO_IPV6, IPV6_CHECKSUM, 6)))
		return rc;
	return set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
}

static socklen_t name_of(const struct in6_addr *a, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	if (is_v4(a)) {
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_addr, a->s6_addr + 12, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_addr = *a;
	return sizeof(*v6);
}

static int open_fd(const struct in6_addr *address, uint8_t dscp, bool deaf)
{
	bool v4 = is_v4(address);
	struct sockaddr_storage name;
	socklen_t length = name_of(address, &name);
	int rc, fd = socket(v4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
			    IPPROTO_UDP);

	if (fd < 0)
		return -errno;
	rc = filter(fd, v4, deaf); /* first of all: nothing else is ever queued here */
	if (!rc)
		rc = set_options(fd, v4, dscp);
	if (!rc && bind(fd, (struct sockaddr *)&name, length))
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

int udp_raw_open(struct udp_raw **out, const struct in6_addr *address, uint8_t dscp,
		 unsigned n_devices)
{
	struct udp_raw *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return -ENOMEM;
	r->address = *address;
	r->fd = open_fd(address, dscp, n_devices > 0);
	if (n_devices > MAX_DEVICES)
		n_devices = MAX_DEVICES;
	while (r->fd >= 0 && !is_v4(address) && r->n_devices < n_devices) {
		int fd = open_fd(address, dscp, true);

		if (fd < 0) {
			close(r->fd);
			r->fd = fd;
		} else {
			r->fds[r->n_devices++] = fd;
		}
	}
	if (r->fd < 0) {
		int rc = r->fd;

		udp_raw_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

void udp_raw_close(struct udp_raw *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n_devices; i++)
		close(r->fds[i]);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

int udp_raw_fd(const struct udp_raw *r)
{
	return r->fd;
}

/* ---- hearing ------------------------------------------------------------- */

/* IP (IPv4 only) and UDP headers off; false: cut short. */
static bool strip(bool v4, struct udp_packet *p, const uint8_t *bytes, size_t n)
{
	size_t at = 0;

	if (v4) {
		if (n < sizeof(struct ip))
			return false;
		at = (size_t)(bytes[0] & 15) * 4;
		p->hop_limit = bytes[offsetof(struct ip, ip_ttl)];
	}
	if (at + UDP_BYTES > n || n - at - UDP_BYTES > UDP_PACKET_BYTES)
		return false;
	p->from_port = (uint16_t)(bytes[at] << 8 | bytes[at + 1]);
	p->length = n - at - UDP_BYTES;
	memcpy(p->bytes, bytes + at + UDP_BYTES, p->length);
	return true;
}

int udp_raw_receive(struct udp_raw *r, struct udp_packet *p)
{
	uint8_t bytes[IP_BYTES_MAX + UDP_BYTES + UDP_PACKET_BYTES];
	_Alignas(struct cmsghdr) uint8_t control[96];
	struct sockaddr_storage name;
	struct iovec vector = {bytes, sizeof(bytes)};
	struct msghdr m = {
		.msg_name = &name, .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};
	ssize_t n;

	for (;;) {
		m.msg_namelen = sizeof(name);
		m.msg_controllen = sizeof(control);
		n = recvmsg(r->fd, &m, MSG_DONTWAIT);
		if (n < 0)
			return 0;
		udp_read_control(&m, p);
		udp_read_name(&name, p);
		if (!(m.msg_flags & MSG_TRUNC) && strip(is_v4(&r->address), p, bytes, (size_t)n))
			return 1;
	}
}

/* ---- sending ------------------------------------------------------------- */

/*
 * Devices are bound on first use and for good: to change one takes a privilege that is gone by
 * then.
 */
static int fd_for(struct udp_raw *r, int ifindex)
{
	if (is_v4(&r->address))
		return r->fd;
	for (unsigned i = 0; i < r->n_devices; i++) {
		int rc;

		if (r->ifindex[i] == ifindex)
			return r->fds[i];
		if (r->ifindex[i])
			continue;
		rc = set(r->fds[i], SOL_SOCKET, SO_BINDTOIFINDEX, ifindex);
		if (rc)
			return rc;
		r->ifindex[i] = ifindex;
		return r->fds[i];
	}
	return -ENOSPC;
}

int udp_raw_send(struct udp_raw *r, const struct udp_packet *p)
{
	uint8_t bytes[UDP_BYTES + UDP_PACKET_BYTES];
	_Alignas(struct cmsghdr) uint8_t control[96] = {0};
	struct sockaddr_storage name;
	struct iovec vector = {bytes, UDP_BYTES + p->length};
	struct msghdr m = {.msg_name = &name,
			   .msg_namelen = name_of(&p->to, &name),
			   .msg_iov = &vector,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct udphdr head = {.source = htons(p->from_port),
			      .dest = htons(ROCE_UDP_PORT),
			      /* checksum: IPv4 none, IPv6 the kernel's */
			      .len = htons((uint16_t)vector.iov_len)};
	int fd = fd_for(r, p->ifindex);

	if (fd < 0)
		return fd;
	memcpy(bytes, &head, UDP_BYTES);
	memcpy(bytes + UDP_BYTES, p->bytes, p->length);
	m.msg_controllen = udp_write_control(p, &m);
	return sendmsg(fd, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}
