/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_endpoint.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "soft_sock.h"

#define CONTROL_QKEY 0x46415245u /* "FARE"; keeps out strays that happen to name the QPN */

struct tx_socket {
	int fd;
	uint16_t port;
	bool ours_to_close; /* opened for one datagram */
};

static int *cached_fd(struct qp_endpoint *ep, const struct qp_control *c, uint16_t **port)
{
	if (c->plane == QP_ANY_PLANE) {
		*port = &ep->any_control_port;
		return &ep->any_control_fd;
	}
	*port = &ep->control_port[c->plane][c->sub_port];
	return &ep->control_fd[c->plane][c->sub_port];
}

static const char *device_of(const struct qp_endpoint *ep, const struct qp_control *c)
{
	return c->plane == QP_ANY_PLANE ? NULL : ep->attr.dev[c->plane][c->sub_port];
}

/* The socket of the QP that sends from there; -1: none does. */
static int find_owner(const struct qp_endpoint *ep, const struct qp_control *c)
{
	const struct qp_path path = {c->sub_port, c->udp_source_port};

	for (const struct soft_link *l = ep->qps.next; l != &ep->qps; l = l->next) {
		const struct qp *qp = soft_link_owner(l, const struct qp, all);
		int fd = -1;

		if (qp->attr.plane != c->plane)
			continue;
		if (qp->order_free)
			fd = soft_order_free_fd(qp, &path);
		else if (qp->attr.udp_source_port == c->udp_source_port &&
			 (c->plane == QP_ANY_PLANE || qp->attr.sub_port == c->sub_port))
			fd = qp->fd;
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* A socket with the source port asked for: the leaf hashes it as it would hash a QP's packets. */
static int pick_port(struct qp_endpoint *ep, const struct qp_control *c, struct tx_socket *out)
{
	out->port = c->udp_source_port;
	out->fd = find_owner(ep, c);
	if (out->fd >= 0)
		return 0;
	out->fd = soft_sock_open_tx(&ep->attr.address, &out->port, device_of(ep, c),
				    SOFT_CONTROL_TX_BYTES);
	out->ours_to_close = out->fd >= 0;
	return out->fd < 0 ? out->fd : 0;
}

static int pick(struct qp_endpoint *ep, const struct qp_control *c, struct tx_socket *out)
{
	uint16_t *port;
	int *fd;

	*out = (struct tx_socket){.fd = -1};
	if (c->udp_source_port)
		return pick_port(ep, c, out);
	fd = cached_fd(ep, c, &port);
	if (*fd < 0) {
		*port = 0;
		*fd = soft_sock_open_tx(&ep->attr.address, port, device_of(ep, c),
					SOFT_CONTROL_TX_BYTES);
	}
	out->fd = *fd;
	out->port = *port;
	return *fd < 0 ? *fd : 0;
}

static bool is_valid(const struct qp_endpoint *ep, const struct qp_control *c)
{
	if (c->plane != QP_ANY_PLANE &&
	    (c->plane >= ep->attr.n_planes || c->sub_port >= ep->attr.n_sub_ports[c->plane]))
		return false;
	return !IN6_IS_ADDR_V4MAPPED(&ep->attr.address) == !IN6_IS_ADDR_V4MAPPED(&c->remote);
}

static int transmit(struct qp_endpoint *ep, const struct qp_control *c, const struct tx_socket *s)
{
	struct roce_flow flow = {.source = ep->attr.address,
				 .destination = c->remote,
				 .source_port = s->port,
				 .destination_port = ROCE_UDP_PORT};
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
	socklen_t to_bytes = soft_sock_address(&to, &c->remote, ROCE_UDP_PORT);

	crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, c->data, c->length, pad));
	if (c->length)
		memcpy(bytes + n, c->data, c->length);
	memset(bytes + n + c->length, 0, pad);
	n += c->length + pad;
	memcpy(bytes + n, &crc, sizeof(crc));
	return sendto(s->fd, bytes, n + sizeof(crc), MSG_DONTWAIT, (struct sockaddr *)&to,
		      to_bytes) < 0
		       ? -errno
		       : 0;
}

int soft_control_send(struct qp_endpoint *ep, const struct qp_control *c)
{
	struct tx_socket s;
	uint16_t *port;
	int err, *fd;

	if (c->length > QP_CONTROL_MAX)
		return -EMSGSIZE;
	if (!is_valid(ep, c))
		return -EINVAL;
	err = pick(ep, c, &s);
	if (err)
		return err;
	err = transmit(ep, c, &s);
	if (s.ours_to_close)
		close(s.fd);
	if (err == -ENODEV && !c->udp_source_port) {
		/* the device was made anew under its name: the next datagram opens a socket */
		fd = cached_fd(ep, c, &port);
		close(*fd);
		*fd = -1;
	}
	return err;
}

void soft_control_on_packet(struct qp_endpoint *ep, const struct roce_packet *packet,
			    const struct roce_flow *flow, unsigned ifindex)
{
	struct qp_control c = {.remote = flow->source,
			       .plane = QP_ANY_PLANE,
			       .udp_source_port = flow->source_port,
			       .data = packet->payload,
			       .length = packet->payload_bytes};

	if (packet->dest_qpn != SOFT_CONTROL_QPN || packet->qkey != CONTROL_QKEY ||
	    c.length > QP_CONTROL_MAX || !ep->attr.on_control) {
		ep->stats.rx_dropped++;
		return;
	}
	soft_endpoint_find_device(ep, ifindex, &c.plane, &c.sub_port);
	ep->attr.on_control(ep->attr.arg, &c);
}

void soft_control_close(struct qp_endpoint *ep)
{
	if (ep->any_control_fd >= 0)
		close(ep->any_control_fd);
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			if (ep->control_fd[p][s] >= 0)
				close(ep->control_fd[p][s]);
}
