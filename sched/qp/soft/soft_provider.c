/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_endpoint.h"

static int endpoint_fd(struct qp_endpoint *ep)
{
	return ep->epoll_fd;
}

static uint16_t endpoint_port(const struct qp_endpoint *ep)
{
	return ep->port;
}

static uint32_t endpoint_path_mtu(const struct qp_endpoint *ep)
{
	return ep->attr.path_mtu;
}

static const struct qp_mtus *endpoint_mtus(const struct qp_endpoint *ep)
{
	return &ep->mtus;
}

static void endpoint_stats(struct qp_endpoint *ep, struct qp_stats *out)
{
	*out = ep->stats;
}

static int mr_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
		       struct qp_mr *out)
{
	int err = ep->n_keys ? 0 : soft_endpoint_random(ep->keys, sizeof(ep->keys));

	if (err)
		return err;
	ep->n_keys = ep->n_keys ? ep->n_keys : SOFT_KEYS;
	return mr_table_add(&ep->regions, addr, length, access, ep->keys[--ep->n_keys], out);
}

static int mr_deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	return mr_table_remove(&ep->regions, mr);
}

static uint32_t num(const struct qp *qp)
{
	return qp->qpn;
}

static bool refused(const struct qp *qp)
{
	return qp->state == SOFT_QP_REFUSING;
}

static uint32_t psn(const struct qp *qp)
{
	return qp->first_psn;
}

static uint16_t source_port(const struct qp *qp)
{
	return qp->attr.udp_source_port;
}

static int poll_completions(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	return soft_cq_poll(&ep->cq, wc, max);
}

const struct qp_provider qp_soft_provider = {
	.name = "soft",
	.first_port = ROCE_UDP_PORT,
	.echoes_tell_ports = true,
	.endpoint_create = soft_endpoint_create,
	.endpoint_destroy = soft_endpoint_destroy,
	.endpoint_leave = soft_endpoint_leave,
	.endpoint_port = endpoint_port,
	.endpoint_path_mtu = endpoint_path_mtu,
	.endpoint_mtus = endpoint_mtus,
	.endpoint_fd = endpoint_fd,
	.endpoint_progress = soft_endpoint_progress,
	.endpoint_stats = endpoint_stats,
	.mr_register = mr_register,
	.mr_deregister = mr_deregister,
	.qp_create = soft_qp_create,
	.qp_num = num,
	.qp_psn = psn,
	.qp_source_port = source_port,
	.qp_connect = soft_qp_connect,
	.qp_status = soft_qp_status,
	.qp_refused = refused,
	.qp_move = soft_qp_move,
	.qp_spread = soft_qp_spread,
	.qp_kick = soft_qp_kick,
	.qp_error = soft_qp_error,
	.qp_destroy = soft_qp_destroy,
	.post_write = soft_qp_post_write,
	.post_send = soft_qp_post_send,
	.post_read = soft_qp_post_read,
	.post_recv = soft_qp_post_recv,
	.poll = poll_completions,
	.control_send = soft_control_send,
};
