/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_sock.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/dgram.h"
#include "roce_ports.h"

#define RX_BUFFER_BYTES (16 << 20)

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Not fragmented: an IPv4 id is 0 then, and the ICRC covers it. */
int soft_sock_open(const struct in6_addr *address)
{
	int fd = dgram_open(address), err;

	if (fd < 0)
		return fd;
	err = dgram_ignore_path_mtu(fd, IN6_IS_ADDR_V4MAPPED(address));
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int setup_rx(int fd, bool v4)
{
	int err = dgram_set(fd, SOL_UDP, UDP_GRO, 1);

	if (!err)
		err = dgram_set_ip(fd, v4, IP_PKTINFO, IPV6_RECVPKTINFO, 1);
	if (!err)
		err = dgram_set_ip(fd, v4, IP_RECVTOS, IPV6_RECVTCLASS, 1);
	if (!err && !v4) /* RDMA devices send without a UDP checksum: the ICRC is there */
		err = dgram_set(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
	dgram_set_buffer(fd, SO_RCVBUF, RX_BUFFER_BYTES);
	return err;
}

int soft_sock_bind_free(int fd, const struct in6_addr *address, uint16_t *port, unsigned n)
{
	uint16_t first = *port;
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < n && err == -EADDRINUSE; i++) {
		*port = (uint16_t)(first + i);
		if (!i || *port != FARE_CONTROL_PORT)
			err = dgram_bind(fd, address, *port);
	}
	if (n > 1 && err == -EADDRINUSE)
		err = dgram_bind_random(fd, address, ROCE_SOURCE_PORT_FIRST, ROCE_SOURCE_PORT_LAST,
					port);
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

int soft_sock_set_dscp(int fd, bool v4, uint8_t dscp)
{
	return dgram_set_ip(fd, v4, IP_TOS, IPV6_TCLASS, ROCE_TRAFFIC_CLASS(dscp));
}

static int setup_tx(int fd, bool v4, const char *dev, uint8_t dscp, uint32_t tx_bytes)
{
	int err = soft_sock_set_dscp(fd, v4, dscp);

	if (!err && dev && dev[0])
		err = bind_device(fd, dev);
	if (!err)
		err = dgram_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	/* it never reads: what others send to this port must not take memory */
	(void)dgram_set(fd, SOL_SOCKET, SO_RCVBUF, 0);
	dgram_set_buffer(fd, SO_SNDBUF, (int)tx_bytes);
	return err;
}

int soft_sock_random(void *out, size_t bytes)
{
	return getrandom(out, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

int soft_sock_random_port(uint16_t *port)
{
	return dgram_random_port(ROCE_SOURCE_PORT_FIRST, ROCE_SOURCE_PORT_LAST, port);
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
		err = dgram_bind(fd, address, port);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
