/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The group's messages and the questions for keys travel as UDP datagrams between kernel sockets,
 * not over UD QPs: a peer is known by its loopback address, which is no GID; only the kernel's
 * routing leads there. A socket bound to a sub-port's netdev leaves by that sub-port. (On
 * FARE_CONTROL_PORT: what a leaf's hash does with it says nothing of port 4791, so echoes say
 * that a plane answers, and, where sub-ports are one device, nothing of how its QPs spread.)
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/dgram.h"
#include "qp/control_auth.h"
#include "qp/soft/soft_sock.h"

#define TX_BYTES   (256 << 10)
#define RX_BYTES   (1 << 20)
#define RX_MAX	   256		       /* datagrams a turn */
#define NETDEVS_NS UINT64_C(100000000) /* how long a reading of the bonds is good */

/* One process at an address is found at FARE_CONTROL_PORT; those that start later say where. */
static int bind_control(struct qp_endpoint *ep)
{
	ep->info.port = ep->attr.udp_port ? ep->attr.udp_port : FARE_CONTROL_PORT;
	return soft_sock_bind_free(ep->control_fd, &ep->attr.address, &ep->info.port,
				   ep->attr.udp_port ? 1 : FARE_PROCESS_PORTS);
}

int verbs_control_open(struct qp_endpoint *ep)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&ep->attr.address);
	int err;

	ep->control_fd = soft_sock_open(&ep->attr.address);
	if (ep->control_fd < 0)
		return ep->control_fd;
	dgram_set_buffer(ep->control_fd, SO_RCVBUF, RX_BYTES);
	err = dgram_set_ip(ep->control_fd, v4, IP_PKTINFO, IPV6_RECVPKTINFO, 1);
	if (!err)
		err = soft_sock_set_dscp(ep->control_fd, v4, ep->attr.control_dscp);
	return err ? err : bind_control(ep);
}

void verbs_control_close(struct qp_endpoint *ep)
{
	if (ep->control_fd >= 0)
		close(ep->control_fd);
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			if (ep->tx_fd[p][s] >= 0)
				close(ep->tx_fd[p][s]);
}

static int transmit(int fd, const struct qp_control *c)
{
	struct sockaddr_storage at;
	socklen_t length = address_to_socket(
		&c->remote, c->remote_port ? c->remote_port : FARE_CONTROL_PORT, &at);

	return sendto(fd, c->data, c->length, MSG_DONTWAIT, (struct sockaddr *)&at, length) < 0
		       ? -errno
		       : 0;
}

/* A socket bound to the sub-port's netdev. */
static int open_tx(const struct qp_endpoint *ep, uint16_t plane, uint16_t sub_port, uint16_t port)
{
	const char *dev = ep->attr.dev[plane][sub_port];
	struct verbs_netdev netdev;

	verbs_netdev_read(&netdev, VERBS_NETDEV_SYSFS, dev);
	return soft_sock_open_tx(&ep->attr.address, port, verbs_netdev_socket_device(&netdev, dev),
				 ep->attr.control_dscp, TX_BYTES);
}

/* From a random source port. If another user has it, this fails; the next attempt takes another. */
static int open_standing(const struct qp_endpoint *ep, uint16_t plane, uint16_t sub_port)
{
	uint16_t port;
	int err = soft_sock_random_port(&port);

	return err ? err : open_tx(ep, plane, sub_port, port);
}

/* From the source port that is asked for: by a socket of the moment. */
static int send_from(const struct qp_endpoint *ep, const struct qp_control *c)
{
	int fd = open_tx(ep, c->plane, c->sub_port, c->udp_source_port), err;

	if (fd < 0)
		return fd;
	err = transmit(fd, c);
	close(fd);
	return err;
}

/* By the sub-port's standing socket, or by one of the moment if a source port is asked for. */
static int send_over(struct qp_endpoint *ep, const struct qp_control *c)
{
	int *fd = &ep->tx_fd[c->plane][c->sub_port], err;

	if (c->udp_source_port)
		return send_from(ep, c);
	if (*fd < 0)
		*fd = open_standing(ep, c->plane, c->sub_port);
	if (*fd < 0)
		return *fd;
	err = transmit(*fd, c);
	if (err == -ENODEV) { /* made anew under its name: the next datagram opens a socket */
		close(*fd);
		*fd = -1;
	}
	return err;
}

/* m, to where c says; c's own data does not count. */
static int verbs_control_send_message(struct qp_endpoint *ep, const struct qp_control *c,
				      const struct verbs_wire_message *m)
{
	struct qp_control datagram = *c;
	uint8_t buf[VERBS_WIRE_MAX];
	int n = verbs_wire_encode(m, buf, sizeof(buf));

	if (n < 0)
		return n;
	datagram.data = buf;
	datagram.length = (size_t)n;
	/* an answer to what arrived on no sub-port of ours: the receiving socket sends it by the
	 * kernel's routing */
	if (c->plane == QP_ANY_PLANE)
		return transmit(ep->control_fd, &datagram);
	return send_over(ep, &datagram);
}

int verbs_control_send(struct qp_endpoint *ep, const struct qp_control *c)
{
	struct verbs_wire_message m = {
		.type = VERBS_WIRE_GROUP, .payload = c->data, .payload_bytes = c->length};

	if (c->length > QP_CONTROL_MAX)
		return -EMSGSIZE;
	if ((c->plane != QP_ANY_PLANE &&
	     (c->plane >= ep->attr.n_planes || c->sub_port >= ep->attr.n_sub_ports[c->plane])) ||
	    !IN6_IS_ADDR_V4MAPPED(&ep->attr.address) != !IN6_IS_ADDR_V4MAPPED(&c->remote))
		return -EINVAL;
	return verbs_control_send_message(ep, c, &m);
}

/* A question for keys, or the answer: authenticated if there is a key. */
static void send_keys(struct qp_endpoint *ep, const struct qp_control *c,
		      const struct verbs_wire_message *m)
{
	uint8_t buf[VERBS_WIRE_MAX];
	struct verbs_wire_message envelope = {.type = VERBS_WIRE_AUTHENTICATED, .payload = buf};
	int n;

	if (!ep->attr.control_key) {
		verbs_control_send_message(ep, c, m);
		return;
	}
	n = verbs_wire_encode(m, buf + CONTROL_AUTH_BYTES, sizeof(buf) - CONTROL_AUTH_BYTES);
	if (n < 0)
		return;
	control_auth_sign(ep->attr.control_key, &ep->attr.address, &c->remote, buf, (size_t)n);
	envelope.payload_bytes = CONTROL_AUTH_BYTES + (size_t)n;
	verbs_control_send_message(ep, c, &envelope);
}

void verbs_control_ask(struct qp_endpoint *ep, const struct qp *qp, uint32_t key, uint64_t nonce)
{
	struct verbs_wire_message m = {
		.type = VERBS_WIRE_KEY_QUERY, .key = key, .nonce = nonce, .port = ep->info.port};
	struct qp_control to = {.remote = qp->peer.address,
				.remote_port = qp->peer.port,
				.plane = qp->attr.plane,
				.sub_port = qp->attr.sub_port};

	send_keys(ep, &to, &m);
}

/* Read again at most so often: bonds are made and dissolved while the endpoint is open. */
static void refresh_netdevs(struct qp_endpoint *ep)
{
	uint64_t now = clock_now_ns();

	if (ep->netdevs_read_ns && now - ep->netdevs_read_ns < NETDEVS_NS)
		return;
	ep->netdevs_read_ns = now;
	for (uint16_t p = 0; p < ep->attr.n_planes; p++)
		for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++)
			verbs_netdev_read(&ep->netdevs[p][s], VERBS_NETDEV_SYSFS,
					  ep->attr.dev[p][s]);
}

/*
 * Where a datagram arrived. Of a bond with several members that are sub-ports the first stands for
 * all: the kernel does not say which of them it was.
 */
static void find_sub_port(struct qp_endpoint *ep, unsigned ifindex, struct qp_control *c)
{
	char name[IF_NAMESIZE];

	c->plane = QP_ANY_PLANE;
	if (!ifindex || !if_indextoname(ifindex, name))
		return;
	for (int by_bond = 0; by_bond <= 1; by_bond++) {
		if (by_bond)
			refresh_netdevs(ep);
		for (uint16_t p = 0; p < ep->attr.n_planes; p++) {
			for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++) {
				if (by_bond ? !verbs_netdev_is_bond_of(&ep->netdevs[p][s], ifindex)
					    : strncmp(ep->attr.dev[p][s], name, FARE_DEV_NAME_MAX))
					continue;
				c->plane = p;
				c->sub_port = s;
				return;
			}
		}
	}
}

static unsigned arrival_ifindex(struct msghdr *m)
{
	unsigned ifindex = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		dgram_read_arrival(c, &ifindex, NULL);
	return ifindex;
}

static int on_keys(struct qp_endpoint *ep, const struct qp_control *c, struct verbs_wire_message *m)
{
	struct qp_control back = {.remote = c->remote,
				  .remote_port = m->port,
				  .plane = c->plane,
				  .sub_port = c->sub_port};

	if (m->type == VERBS_WIRE_KEY_REPLY) {
		verbs_keys_answer(&ep->keys, &c->remote, m, clock_now_ns());
		return 0;
	}
	if (m->type != VERBS_WIRE_KEY_QUERY)
		return -EBADMSG;
	m->type = VERBS_WIRE_KEY_REPLY;
	if (verbs_region_answer(ep, m))
		send_keys(ep, &back, m);
	return 0;
}

/*
 * A question that is recorded and sent again is answered to its first sender, who did not ask; an
 * answer that is recorded carries a nonce that is over.
 */
static int on_authenticated(struct qp_endpoint *ep, const struct qp_control *c,
			    const struct verbs_wire_message *envelope)
{
	struct verbs_wire_message m;
	const uint8_t *message;
	const char *reason;
	size_t length, at;
	int err;

	if (!ep->attr.control_key)
		return -EKEYREJECTED;
	err = control_auth_verify(ep->attr.control_key, &c->remote, &ep->attr.address,
				  envelope->payload, envelope->payload_bytes, &message, &length);
	if (!err)
		err = verbs_wire_decode(&m, message, length, &reason, &at);
	return err ? err : on_keys(ep, c, &m);
}

/* 0, or -errno: it does not count. */
static int verbs_control_on_message(struct qp_endpoint *ep, struct qp_control *c,
				    struct verbs_wire_message *m)
{
	if (m->type == VERBS_WIRE_GROUP) {
		c->data = m->payload;
		c->length = m->payload_bytes;
		if (ep->attr.on_control)
			ep->attr.on_control(ep->attr.arg, c);
		return 0;
	}
	if (m->type == VERBS_WIRE_AUTHENTICATED)
		return on_authenticated(ep, c, m);
	return ep->attr.control_key ? -EKEYREJECTED : on_keys(ep, c, m);
}

int verbs_control_receive(struct qp_endpoint *ep)
{
	uint8_t buf[VERBS_WIRE_MAX + 1];
	_Alignas(struct cmsghdr) uint8_t cmsg[128];
	int n = 0;

	for (; n < RX_MAX; n++) {
		struct sockaddr_storage from;
		struct iovec iov = {buf, sizeof(buf)};
		struct msghdr h = {.msg_name = &from,
				   .msg_namelen = sizeof(from),
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = cmsg,
				   .msg_controllen = sizeof(cmsg)};
		ssize_t bytes = recvmsg(ep->control_fd, &h, MSG_DONTWAIT);
		struct verbs_wire_message m;
		struct qp_control c = {0};
		const char *reason;
		size_t at;

		if (bytes < 0)
			break;
		if (bytes > VERBS_WIRE_MAX ||
		    verbs_wire_decode(&m, buf, (size_t)bytes, &reason, &at)) {
			ep->stats.rx_dropped++;
			continue;
		}
		address_of_socket(&from, &c.remote, &c.udp_source_port);
		find_sub_port(ep, arrival_ifindex(&h), &c);
		ep->stats.rx_dropped += verbs_control_on_message(ep, &c, &m) != 0;
	}
	return n;
}
