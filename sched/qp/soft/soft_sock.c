/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_sock.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/address.h"
#include "roce_ports.h"

#define RX_BUFFER_BYTES (16 << 20)
#define RANDOM_TRIES	64

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

/* Beyond the system's limit where privilege allows it, up to the limit otherwise. */
static void set_buffer(int fd, int forced, int option, int bytes)
{
	if (set_int(fd, SOL_SOCKET, forced, bytes))
		(void)set_int(fd, SOL_SOCKET, option, bytes);
}

/*
 * Packets are not fragmented: an IPv4 id is 0 then, and the ICRC covers it. What they may measure
 * is the device's to say: a path MTU in the route cache comes from ICMP messages, which anybody can
 * send.
 */
static int set_path_mtu(int fd, bool v4)
{
	return v4 ? set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
		  : set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

int soft_sock_open(const struct in6_addr *address)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(address);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	err = set_path_mtu(fd, v4);
	if (!err && !v4 && set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1))
		err = -EPROTONOSUPPORT;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int bind_to(int fd, const struct in6_addr *address, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t length = address_to_socket(address, port, &at);

	return bind(fd, (struct sockaddr *)&at, length) ? -errno : 0;
}

static int setup_rx(int fd, bool v4)
{
	int err = set_int(fd, SOL_UDP, UDP_GRO, 1);

	if (!err && v4)
		err = set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
	if (!err && v4)
		err = set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
	if (!err && !v4)
		err = set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	if (!err && !v4)
		err = set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	if (!err && !v4) /* RDMA devices send without a UDP checksum: the ICRC is there */
		err = set_int(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, RX_BUFFER_BYTES);
	return err;
}

int soft_sock_bind_free(int fd, const struct in6_addr *address, uint16_t *port, unsigned n)
{
	uint16_t first = *port;
	int err = -EADDRINUSE, rc = 0;

	for (unsigned i = 0; i < n && err == -EADDRINUSE; i++) {
		*port = (uint16_t)(first + i);
		if (!i || *port != FARE_CONTROL_PORT)
			err = bind_to(fd, address, *port);
	}
	for (unsigned i = 0; n > 1 && i < RANDOM_TRIES && err == -EADDRINUSE && !rc; i++) {
		rc = soft_sock_random_port(port);
		if (!rc)
			err = bind_to(fd, address, *port);
	}
	return err;
}

int soft_sock_open_rx(const struct in6_addr *address, uint16_t *port, unsigned n)
{
	int fd = soft_sock_open(address), err;

	if (fd < 0)
		return fd;
	err = setup_rx(fd, IN6_IS_ADDR_V4MAPPED(address));
	if (!err)
		err = soft_sock_bind_free(fd, address, port, n);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int bind_device(int fd, const char *dev)
{
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev) + 1) ? -errno
											    : 0;
}

void soft_sock_set_tx_bytes(int fd, uint32_t tx_bytes)
{
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, (int)tx_bytes);
}

int soft_sock_set_dscp(int fd, bool v4, uint8_t dscp)
{
	return v4 ? set_int(fd, IPPROTO_IP, IP_TOS, ROCE_TRAFFIC_CLASS(dscp))
		  : set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, ROCE_TRAFFIC_CLASS(dscp));
}

static int setup_tx(int fd, bool v4, const char *dev, uint8_t dscp, uint32_t tx_bytes)
{
	int err = soft_sock_set_dscp(fd, v4, dscp);

	if (!err && dev && dev[0])
		err = bind_device(fd, dev);
	if (!err)
		err = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	/* it never reads: what others send to this port must not take memory */
	(void)set_int(fd, SOL_SOCKET, SO_RCVBUF, 0);
	soft_sock_set_tx_bytes(fd, tx_bytes);
	return err;
}

int soft_sock_random(void *out, size_t bytes)
{
	return getrandom(out, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

int soft_sock_random_port(uint16_t *port)
{
	uint16_t random;

	if (soft_sock_random(&random, sizeof(random)))
		return -EIO;
	*port = (uint16_t)(ROCE_SOURCE_PORT_FIRST +
			   random % (ROCE_SOURCE_PORT_LAST - ROCE_SOURCE_PORT_FIRST + 1));
	return 0;
}

int soft_sock_open_tx(const struct in6_addr *address, uint16_t port, const char *dev, uint8_t dscp,
		      uint32_t tx_bytes)
{
	int fd = soft_sock_open(address), err;

	if (fd < 0)
		return fd;
	err = setup_tx(fd, IN6_IS_ADDR_V4MAPPED(address), dev, dscp, tx_bytes);
	/* after the device: sockets of two devices may own one port */
	if (!err)
		err = bind_to(fd, address, port);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
