/* SPDX-License-Identifier: BSD-2-Clause */
/* soft_control.c - control datagrams of an endpoint, sent and received */
#include "soft_endpoint.h"

#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"

#define DEVICES_REFRESH_NS UINT64_C(1000000000)
#define CONTROL_QKEY	   0x46415245u /* "FARE"; keeps out strays that happen to name the QPN */

static struct soft_socket **own_socket(struct qp_endpoint *ep, const struct qp_control *c)
{
	return c->plane == QP_ANY_PLANE ? &ep->any_control : &ep->control[c->plane][c->sub_port];
}

/*
 * With a source port asked for it is a QP's socket, or as good as one: a leaf hashes the datagram
 * as it would hash the QP's packets. (It hashes no DSCP.)
 */
static int get_socket(struct qp_endpoint *ep, const struct qp_control *c, struct soft_socket **out)
{
	struct soft_socket_key key = {c->plane, c->sub_port, c->udp_source_port,
				      ep->attr.control_dscp};
	struct soft_socket **own = own_socket(ep, c);
	int err = 0;

	if (c->udp_source_port)
		return soft_sockets_get(&ep->sockets, key, SOFT_CONTROL_TX_BYTES, out);
	if (!*own)
		err = soft_sockets_get_own(&ep->sockets, key, SOFT_CONTROL_TX_BYTES, own);
	*out = *own;
	return err;
}

static bool soft_control_is_valid(const struct qp_endpoint *ep, const struct qp_control *c)
{
	if (c->plane != QP_ANY_PLANE &&
	    (c->plane >= ep->attr.n_planes || c->sub_port >= ep->attr.n_sub_ports[c->plane]))
		return false;
	return !IN6_IS_ADDR_V4MAPPED(&ep->attr.address) == !IN6_IS_ADDR_V4MAPPED(&c->remote);
}

static int transmit(struct qp_endpoint *ep, const struct qp_control *c, int fd, uint16_t port)
{
	uint16_t remote_port = c->remote_port ? c->remote_port : ROCE_UDP_PORT;
	struct roce_flow flow = {.source = ep->attr.address,
				 .destination = c->remote,
				 .source_port = port,
				 .destination_port = remote_port};
	struct roce_packet p = {.opcode = ROCE_UD_SEND_ONLY,
				.dest_qpn = SOFT_CONTROL_QPN,
				.src_qpn = SOFT_CONTROL_QPN,
				.psn = ep->control_psn++ & ROCE_PSN_MASK,
				.qkey = CONTROL_QKEY,
				.payload = c->data,
				.payload_bytes = (uint32_t)c->length};
	uint8_t bytes[ROCE_HEADER_MAX + QP_CONTROL_MAX + ROCE_TRAILER_MAX];
	uint32_t pad = roce_wire_pad_bytes(p.payload_bytes), crc;
	size_t n = roce_wire_build(&p, bytes);
	struct sockaddr_storage to;
	socklen_t to_bytes = address_to_socket(&c->remote, remote_port, &to);

	crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, c->data, c->length, pad));
	if (c->length)
		memcpy(bytes + n, c->data, c->length);
	memset(bytes + n + c->length, 0, pad);
	n += c->length + pad;
	memcpy(bytes + n, &crc, sizeof(crc));
	return sendto(fd, bytes, n + sizeof(crc), MSG_DONTWAIT, (struct sockaddr *)&to, to_bytes) <
			       0
		       ? -errno
		       : 0;
}

/* What it says may end a connection: what that has brought here is acknowledged before. */
int soft_control_send(struct qp_endpoint *ep, const struct qp_control *c)
{
	struct soft_socket *socket;
	int err;

	if (c->length > QP_CONTROL_MAX)
		return -EMSGSIZE;
	if (!soft_control_is_valid(ep, c))
		return -EINVAL;
	err = get_socket(ep, c, &socket);
	if (err)
		return err;
	if (!soft_link_is_alone(&ep->answering))
		soft_tx_answers(ep);
	err = transmit(ep, c, socket->fd, socket->key.port);
	if (err == -ENODEV)
		soft_sockets_renew(&ep->sockets, socket, clock_now_ns());
	if (c->udp_source_port)
		soft_sockets_put(&ep->sockets, socket);
	return err;
}

bool soft_control_is_wanted(const struct qp_endpoint *ep, const struct roce_packet *packet)
{
	return packet->dest_qpn == SOFT_CONTROL_QPN && packet->qkey == CONTROL_QKEY &&
	       packet->payload_bytes <= QP_CONTROL_MAX && ep->attr.on_control;
}

static bool find_device(struct qp_endpoint *ep, unsigned ifindex, uint16_t *plane,
			uint16_t *sub_port)
{
	uint64_t now_ns = clock_now_ns();

	for (;;) {
		for (uint16_t p = 0; p < ep->attr.n_planes; p++) {
			for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++) {
				if (!ifindex || ep->ifindex[p][s] != ifindex)
					continue;
				*plane = p;
				*sub_port = s;
				return true;
			}
		}
		/* a device may be new; but not every packet is worth a system call */
		if (ep->devices_read_ns && now_ns - ep->devices_read_ns < DEVICES_REFRESH_NS)
			return false;
		ep->devices_read_ns = now_ns;
		for (uint16_t p = 0; p < ep->attr.n_planes; p++)
			for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++)
				ep->ifindex[p][s] = if_nametoindex(ep->attr.dev[p][s]);
	}
}

void soft_control_on_packet(struct qp_endpoint *ep, const struct roce_packet *packet,
			    const struct roce_flow *flow, unsigned ifindex)
{
	struct qp_control c = {.remote = flow->source,
			       .plane = QP_ANY_PLANE,
			       .udp_source_port = flow->source_port,
			       .data = packet->payload,
			       .length = packet->payload_bytes};

	find_device(ep, ifindex, &c.plane, &c.sub_port);
	ep->attr.on_control(ep->attr.arg, &c);
}
