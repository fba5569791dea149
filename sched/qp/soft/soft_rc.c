/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_rc.c - the standard's reliable connection behind the engine's table: rc_requester.c and
 * rc_responder.c.
 */
#include "soft_endpoint.h"

static int soft_rc_create(struct qp *qp)
{
	return rc_receives_init(&qp->receives, qp->attr.receives);
}

static int soft_rc_start(struct qp *qp, const struct rc_requester_config *config)
{
	rc_responder_init(&qp->responder, config->path_mtu, qp->remote.psn,
			  qp->attr.receives ? &qp->receives : NULL, config->stats);
	return rc_requester_init(&qp->requester, config);
}

static void soft_rc_destroy(struct qp *qp)
{
	rc_requester_fini(&qp->requester);
	rc_receives_fini(&qp->receives);
}

static int soft_rc_post(struct qp *qp, const struct rc_work *work)
{
	return rc_requester_post(&qp->requester, work);
}

static enum qp_wc_status soft_rc_burst(struct qp *qp, struct roce_packet *out, unsigned max,
				       unsigned *n)
{
	return rc_requester_burst(&qp->requester, out, max, n);
}

static void soft_rc_sent(struct qp *qp, unsigned n_packets, uint64_t now_ns)
{
	rc_requester_sent(&qp->requester, n_packets, now_ns);
}

static bool soft_rc_has_unsent(const struct qp *qp)
{
	return rc_requester_has_unsent(&qp->requester);
}

static uint64_t soft_rc_unsent_bytes(const struct qp *qp)
{
	return rc_requester_unsent_bytes(&qp->requester);
}

static bool soft_rc_is_idle(const struct qp *qp)
{
	return !soft_rc_has_unsent(qp) && rc_requester_is_idle(&qp->requester);
}

static uint64_t soft_rc_deadline_ns(const struct qp *qp)
{
	return qp->requester.deadline_ns;
}

static enum qp_wc_status soft_rc_on_timer(struct qp *qp, uint64_t now_ns)
{
	return rc_requester_on_timer(&qp->requester, now_ns);
}

static enum qp_wc_status soft_rc_on_answer(struct qp *qp, const struct roce_packet *packet,
					   uint64_t now_ns)
{
	if (packet->opcode == ROCE_ACK)
		return rc_requester_on_ack(&qp->requester, packet, now_ns);
	if (roce_wire_is_read_response(packet->opcode))
		return rc_requester_on_response(&qp->requester, packet, now_ns);
	return QP_WC_SUCCESS;
}

static void soft_rc_kick(struct qp *qp, uint64_t now_ns)
{
	rc_requester_kick(&qp->requester, now_ns);
}

static void soft_rc_slow_down(struct qp *qp)
{
	struct rc_requester *r = &qp->requester;

	soft_window_marked(&r->window, r->una, r->sent);
}

static void soft_rc_fail(struct qp *qp, enum qp_wc_status status)
{
	rc_requester_fail(&qp->requester, status);
}

static void soft_rc_end_receives(struct qp *qp)
{
	struct rc_notice notice;

	/* posted ones there may be although it never was connected */
	qp->responder.receives = &qp->receives;
	while (rc_responder_flush(&qp->responder, &notice))
		soft_cq_notify(qp, &notice);
}

static void soft_rc_on_request(struct qp *qp, const struct roce_packet *packet)
{
	struct qp_endpoint *ep = qp->ep;
	/* posted receives have claimed their places already */
	bool claims = !qp->attr.receives &&
		      (roce_wire_has_imm(packet->opcode) || roce_wire_is_send(packet->opcode));
	bool can_notify = !claims || !soft_cq_claim(&ep->cq, true);
	struct rc_notice notice;
	enum rc_responder_verdict verdict =
		rc_responder_on_request(&qp->responder, &ep->regions, packet, can_notify, &notice);

	if (claims && can_notify && verdict != RC_RESPONDER_NOTIFIED)
		soft_cq_unclaim(&ep->cq, true);
	if (verdict == RC_RESPONDER_NOTIFIED)
		soft_cq_notify(qp, &notice);
	else
		ep->stats.rx_dropped += verdict != RC_RESPONDER_PLACED;
}

static bool soft_rc_answer_due(const struct qp *qp)
{
	return rc_responder_answer_due(&qp->responder);
}

static bool soft_rc_take_answer(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
				struct roce_packet *out)
{
	(void)bitmap;
	return rc_responder_take_answer(&qp->responder, out);
}

static uint8_t *soft_rc_syndrome(struct qp *qp)
{
	return &qp->responder.syndrome;
}

static bool soft_rc_is_dead(const struct qp *qp)
{
	return qp->responder.dead;
}

const struct soft_protocol soft_rc = SOFT_PROTOCOL(soft_rc);
