/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/dgram.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/address.h"

#define RANDOM_TRIES 64

int dgram_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

int dgram_set_ip(int fd, bool v4, int v4_name, int v6_name, int value)
{
	return v4 ? dgram_set(fd, IPPROTO_IP, v4_name, value)
		  : dgram_set(fd, IPPROTO_IPV6, v6_name, value);
}

int dgram_open(const struct in6_addr *address)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(address);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	err = v4 ? 0 : dgram_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int dgram_ignore_path_mtu(int fd, bool v4)
{
	_Static_assert(IP_PMTUDISC_PROBE == IPV6_PMTUDISC_PROBE, "one value for both");

	return dgram_set_ip(fd, v4, IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

void dgram_set_buffer(int fd, int name, int bytes)
{
	if (dgram_set(fd, SOL_SOCKET, name == SO_RCVBUF ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, bytes))
		(void)dgram_set(fd, SOL_SOCKET, name, bytes);
}

int dgram_bind(int fd, const struct in6_addr *address, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t length = address_to_socket(address, port, &at);

	return bind(fd, (struct sockaddr *)&at, length) ? -errno : 0;
}

int dgram_random_port(uint16_t first, uint16_t last, uint16_t *port)
{
	uint16_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	*port = (uint16_t)(first + random % (last - first + 1));
	return 0;
}

int dgram_bind_random(int fd, const struct in6_addr *address, uint16_t first, uint16_t last,
		      uint16_t *port)
{
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < RANDOM_TRIES && err == -EADDRINUSE; i++) {
		err = dgram_random_port(first, last, port);
		if (!err)
			err = dgram_bind(fd, address, *port);
	}
	return err;
}

bool dgram_read_arrival(const struct cmsghdr *message, unsigned *ifindex, struct in6_addr *to)
{
	struct in_pktinfo v4;
	struct in6_pktinfo v6;

	if (message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_PKTINFO) {
		memcpy(&v4, CMSG_DATA(message), sizeof(v4));
		v6.ipi6_addr = address_of_v4(&v4.ipi_addr);
		v6.ipi6_ifindex = (unsigned)v4.ipi_ifindex;
	} else if (message->cmsg_level == IPPROTO_IPV6 && message->cmsg_type == IPV6_PKTINFO) {
		memcpy(&v6, CMSG_DATA(message), sizeof(v6));
	} else {
		return false;
	}
	*ifindex = v6.ipi6_ifindex;
	if (to)
		*to = v6.ipi6_addr;
	return true;
}
