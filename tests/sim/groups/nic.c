/* SPDX-License-Identifier: BSD-2-Clause */
#include "nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "host.h"
#include "qp/planted.h"
#include "qp/soft/of_receiver.h"
#include "qp/soft/of_sender.h"
#include "qp/soft/rc_requester.h"
#include "qp/soft/rc_responder.h"
#include "qp/soft/soft_cq.h"
#include "shadow.h"

#define NEVER	     UINT64_MAX
#define BURST	     16
#define CONTROL_PORT 49000
#define QPN_MASK     0xffffffu
/* what arrived and was not read: a socket's buffer */
#define RX_ROOM 512
/* as soft_qp.c: how long a QP that failed by itself does not count as failed */
#define FAILED_NS (100 * LOOP_MS)
/* until a QP that does not drain has been reset, as verbs_qp.c does */
#define HALT_NS (2 * LOOP_S)

/* NIC_REFUSING: SOFT_QP_REFUSING of soft_endpoint.h; a device's is in error at once */
enum nic_state { NIC_RESET, NIC_CONNECTING, NIC_RTS, NIC_REFUSING, NIC_ENDING, NIC_ERR };

struct qp {
	struct qp *next;
	struct qp_endpoint *ep;
	struct qp_attr attr;
	unsigned peer; /* host */
	uint32_t qpn, peer_qpn, first_psn;
	enum nic_state state;
	uint64_t change_ns; /* a device's: when the change is done; 0: none is under way */
	bool has_failed;    /* by itself */
	bool is_swallowing; /* what is posted, for ever */
	uint64_t failed_ns;
	bool is_zombie; /* destroyed, and not yet known to be quiet */
	bool is_answering;
	struct rc_requester requester;
	struct rc_responder responder;
	struct rc_receives receives;
	struct of_sender *of_tx;
	struct of_receiver *of_rx;
	struct qp_path paths[QP_MAX_PATHS];
	unsigned n_paths, turn;
	uint32_t *hidden; /* a device's: writes placed that nothing flushed, one a packet */
	unsigned n_hidden, hidden_room;
};

struct qp_endpoint {
	struct sim *sim;
	unsigned host;
	bool is_device, is_dead, in_progress;
	struct qp_endpoint_attr attr;
	struct qp_endpoint_info info;
	struct qp_stats stats;
	struct mr_table regions;
	unsigned n_regions, n_qps;
	struct qp *qps;
	uint32_t next_qpn, reused_psn;
	struct packet_queue rx;
	struct soft_cq cq;
	struct prng prng;
	uint64_t change_most_ns;    /* how long a device takes to change a QP's state, at most */
	unsigned partial_per_mille; /* how often poll() gives less than there is */
	bool acks_wait;		    /* until the next progress, as with busy_poll */
	uint16_t foreign_ports;	    /* of the pool: a socket of another user has them */
	uint64_t device_due_ns, device_token;
};

static uint64_t now_of(const struct qp_endpoint *ep)
{
	return sim_now_ns(ep->sim);
}

/* ---- completions ---- */

static void cq_push(struct qp_endpoint *ep, const struct qp_wc *wc)
{
	if (soft_cq_claim(&ep->cq, wc->is_receive))
		abort();
	soft_cq_push(&ep->cq, wc);
}

static void on_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	struct qp *qp = arg;
	struct qp_wc wc = {.qp = qp,
			   .context = qp->attr.context,
			   .wr_id = wr_id,
			   .status = status,
			   .byte_len = bytes};

	if (!qp->is_zombie)
		cq_push(qp->ep, &wc);
}

static void notify(struct qp *qp, const struct rc_notice *notice)
{
	struct qp_wc wc = {.qp = qp,
			   .context = qp->attr.context,
			   .status = notice->status,
			   .is_receive = true,
			   .has_imm = notice->has_imm,
			   .imm = notice->imm,
			   .byte_len = notice->bytes};

	if (!qp->is_zombie)
		cq_push(qp->ep, &wc);
}

/* ---- what can be seen ---- */

/*
 * As little as the standard promises: what a device placed is visible once an immediate of that QP
 * or a READ over it came behind, or the QP is quiet.
 */
static void hide(struct qp *qp, uint32_t write_id)
{
	if (!qp->ep->is_device || !write_id)
		return;
	if (qp->n_hidden == qp->hidden_room) {
		qp->hidden_room = qp->hidden_room ? 2 * qp->hidden_room : 16;
		qp->hidden = realloc(qp->hidden, qp->hidden_room * sizeof(*qp->hidden));
	}
	qp->hidden[qp->n_hidden++] = write_id;
	shadow_hide(qp->ep->sim, write_id);
}

static void reveal(struct qp *qp)
{
	while (qp->n_hidden)
		shadow_reveal(qp->ep->sim, qp->hidden[--qp->n_hidden]);
}

/* ---- sending ---- */

static bool is_live(const struct qp *qp)
{
	return qp->state == NIC_RTS || qp->state == NIC_REFUSING || qp->state == NIC_ENDING;
}

/* False: the device does not carry packets of that length. */
static bool send_packet(struct qp *qp, const struct roce_packet *roce, const struct qp_path *path)
{
	struct qp_endpoint *ep = qp->ep;
	struct fabric_packet *p;

	if (ep->is_dead)
		return true;
	p = fabric_packet(ep->sim, ep->host, qp->peer);
	p->on.plane = qp->attr.plane;
	p->on.sub_port = path->sub_port;
	p->on.from_port = path->udp_source_port;
	p->roce = *roce;
	p->roce.dest_qpn = qp->peer_qpn;
	p->length = roce->payload_bytes;
	if (!fabric_fits(ep->sim, p)) {
		net_free(&ep->sim->net, &p->on);
		return false;
	}
	if (p->length)
		memcpy(p->data, roce->payload, p->length);
	if (p->length && roce_wire_is_request(roce->opcode))
		p->write_id = shadow_on_read(ep->sim, ep->host, roce->payload, p->length,
					     roce->remote_addr);
	fabric_send(ep->sim, p);
	return true;
}

static void fail(struct qp *qp, enum qp_wc_status status);

static const struct qp_path *path_of(const struct qp *qp)
{
	return &qp->paths[qp->turn % qp->n_paths];
}

static void transmit(struct qp *qp)
{
	struct roce_packet packets[BURST];
	enum qp_wc_status status;
	unsigned n;

	while (is_live(qp) && !qp->is_swallowing) {
		status = qp->of_tx ? of_sender_burst(qp->of_tx, packets, BURST, &n)
				   : rc_requester_burst(&qp->requester, packets, BURST, &n);
		if (status)
			fail(qp, status);
		if (!n)
			return;
		for (unsigned i = 0; i < n; i++) {
			if (!send_packet(qp, &packets[i], path_of(qp))) {
				fail(qp, QP_WC_LOC_LEN_ERR);
				return;
			}
			qp->turn += qp->of_tx != NULL;
		}
		if (qp->of_tx)
			of_sender_sent(qp->of_tx, n, now_of(qp->ep));
		else
			rc_requester_sent(&qp->requester, n, now_of(qp->ep));
	}
}

static void complete_all(struct qp *qp, enum qp_wc_status status)
{
	if (qp->of_tx)
		of_sender_fail(qp->of_tx, status);
	else
		rc_requester_fail(&qp->requester, status);
}

static void end(struct qp *qp)
{
	struct rc_notice notice;

	reveal(qp);
	qp->state = NIC_ERR;
	qp->responder.receives = &qp->receives;
	while (rc_responder_flush(&qp->responder, &notice))
		;
	qp->is_answering = false;
}

static bool is_dead(const struct qp *qp)
{
	return qp->of_rx ? qp->of_rx->dead : qp->responder.dead;
}

/* A device's QP is in error at once, whatever answer is due to the peer. */
static void fail(struct qp *qp, enum qp_wc_status status)
{
	if (qp->state == NIC_ERR)
		return;
	complete_all(qp, status);
	if (qp->state == NIC_REFUSING)
		return;
	qp->has_failed = true;
	qp->failed_ns = now_of(qp->ep);
	if (is_dead(qp) && !qp->ep->is_device)
		qp->state = NIC_REFUSING;
	else
		end(qp);
}

/* The answer to a request that is wrong is out. */
static void refuse(struct qp *qp)
{
	if (qp->ep->is_device) {
		fail(qp, QP_WC_FLUSH_ERR);
	} else if (qp->state == NIC_RTS) {
		qp->state = NIC_REFUSING;
		qp->has_failed = true;
		qp->failed_ns = now_of(qp->ep);
	}
}

static void answer_reads(struct qp *qp)
{
	struct roce_packet out[BURST];
	unsigned n;

	while ((n = rc_responder_read_burst(&qp->responder, &qp->ep->regions, out, BURST))) {
		for (unsigned i = 0; i < n; i++) {
			if (send_packet(qp, &out[i], path_of(qp)))
				continue;
			fail(qp, QP_WC_LOC_LEN_ERR);
			return;
		}
		rc_responder_reads_sent(&qp->responder, n);
	}
}

static void answer(struct qp *qp)
{
	uint8_t bitmap[OF_BITMAP_BYTES];
	struct roce_packet out = {0};

	qp->is_answering = false;
	if (!is_live(qp))
		return;
	if (!qp->of_rx)
		answer_reads(qp);
	if (!is_live(qp))
		return;
	if (qp->of_rx ? of_receiver_take_answer(qp->of_rx, bitmap, &out)
		      : rc_responder_take_answer(&qp->responder, &out))
		send_packet(qp, &out, path_of(qp));
	if (is_dead(qp))
		refuse(qp);
}

/* ---- receiving ---- */

static struct qp *find(const struct qp_endpoint *ep, uint32_t qpn)
{
	struct qp *qp = ep->qps;

	while (qp && qp->qpn != qpn)
		qp = qp->next;
	return qp;
}

static void on_answer(struct qp *qp, const struct roce_packet *roce)
{
	uint64_t now_ns = now_of(qp->ep);
	enum qp_wc_status status;

	if (qp->is_swallowing)
		return;
	if (qp->of_tx)
		status = of_sender_on_ack(qp->of_tx, roce, now_ns);
	else if (roce_wire_is_read_response(roce->opcode))
		status = rc_requester_on_response(&qp->requester, roce, now_ns);
	else
		status = rc_requester_on_ack(&qp->requester, roce, now_ns);
	if (status)
		fail(qp, status);
}

static void on_request(struct qp *qp, const struct fabric_packet *p)
{
	struct qp_endpoint *ep = qp->ep;
	enum rc_responder_verdict verdict;
	struct rc_notice notice;

	if (qp->of_rx) {
		verdict = of_receiver_on_request(qp->of_rx, &ep->regions, &p->roce, true);
		while (of_receiver_take_notice(qp->of_rx, &notice))
			notify(qp, &notice);
	} else {
		verdict = rc_responder_on_request(&qp->responder, &ep->regions, &p->roce, true,
						  &notice);
		if (p->length && verdict == RC_RESPONDER_PLACED)
			hide(qp, p->write_id);
		if (verdict == RC_RESPONDER_NOTIFIED || p->roce.opcode == ROCE_READ_REQUEST)
			reveal(qp);
		if (verdict == RC_RESPONDER_NOTIFIED)
			notify(qp, &notice);
	}
	if (p->length && (verdict == RC_RESPONDER_PLACED || verdict == RC_RESPONDER_NOTIFIED))
		shadow_on_place(ep->sim, ep->host, p->roce.remote_addr, p->data, p->length,
				p->write_id);
	qp->is_answering =
		qp->is_answering || (qp->of_rx ? of_receiver_answer_due(qp->of_rx)
					       : rc_responder_answer_due(&qp->responder));
}

static void on_packet(struct qp_endpoint *ep, const struct fabric_packet *p)
{
	struct qp *qp = find(ep, p->roce.dest_qpn);

	if (!qp || !is_live(qp) || qp->peer != p->on.from)
		return;
	if (p->roce.opcode == ROCE_ACK || p->roce.opcode == ROCE_SELECTIVE_ACK ||
	    roce_wire_is_read_response(p->roce.opcode))
		on_answer(qp, &p->roce);
	else
		on_request(qp, p);
}

static void on_control(struct qp_endpoint *ep, const struct fabric_packet *p)
{
	struct qp_control control = {.remote = net_address(p->on.from),
				     .plane = p->on.plane,
				     .sub_port = p->on.sub_port,
				     .udp_source_port = p->on.from_port,
				     .data = p->data,
				     .length = p->length};

	ep->attr.on_control(ep->attr.arg, &control);
}

/* When its requester's timer expires; 0: not at all. */
static uint64_t timer_of(const struct qp *qp)
{
	if (qp->is_swallowing)
		return 0;
	return qp->of_tx ? qp->of_tx->deadline_ns : qp->requester.deadline_ns;
}

static void run_timers(struct qp_endpoint *ep)
{
	uint64_t now_ns = now_of(ep);

	for (struct qp *qp = ep->qps; qp; qp = qp->next) {
		uint64_t due_ns = timer_of(qp);
		enum qp_wc_status status;

		if (!is_live(qp) || !due_ns || due_ns > now_ns)
			continue;
		status = qp->of_tx ? of_sender_on_timer(qp->of_tx, now_ns)
				   : rc_requester_on_timer(&qp->requester, now_ns);
		if (status)
			fail(qp, status);
	}
}

static void transmit_all(struct qp_endpoint *ep)
{
	for (struct qp *qp = ep->qps; qp; qp = qp->next)
		transmit(qp);
}

static void answer_all(struct qp_endpoint *ep)
{
	for (struct qp *qp = ep->qps; qp; qp = qp->next)
		if (qp->is_answering)
			answer(qp);
}

static void qp_free(struct qp *qp)
{
	if (qp->of_tx) {
		of_sender_fini(qp->of_tx);
		of_receiver_fini(qp->of_rx);
		free(qp->of_tx);
		free(qp->of_rx);
	}
	rc_requester_fini(&qp->requester);
	rc_receives_fini(&qp->receives);
	free(qp->hidden);
	free(qp);
}

static void unlink_qp(struct qp *qp)
{
	struct qp **link = &qp->ep->qps;

	while (*link != qp)
		link = &(*link)->next;
	*link = qp->next;
	qp->ep->n_qps--;
}

/* ---- devices: what happens without the process ---- */

static void change(struct qp *qp)
{
	qp->change_ns = 0;
	if (qp->state == NIC_CONNECTING)
		qp->state = NIC_RTS;
	else if (qp->state == NIC_ENDING)
		fail(qp, QP_WC_FLUSH_ERR);
	if (qp->state == NIC_ERR)
		qp->has_failed = false;
	if (qp->is_zombie) {
		unlink_qp(qp);
		qp_free(qp);
	}
}

static uint64_t device_next_ns(const struct qp_endpoint *ep)
{
	uint64_t next_ns = NEVER;

	for (const struct qp *qp = ep->qps; qp; qp = qp->next) {
		uint64_t due_ns = timer_of(qp);

		if (is_live(qp) && due_ns && due_ns < next_ns)
			next_ns = due_ns;
		if (qp->change_ns && qp->change_ns < next_ns)
			next_ns = qp->change_ns;
	}
	return next_ns;
}

static void device_rearm(struct qp_endpoint *ep)
{
	uint64_t next_ns = ep->is_device ? device_next_ns(ep) : NEVER;

	if (next_ns < ep->device_due_ns) {
		ep->device_due_ns = next_ns;
		loop_add(&ep->sim->net.loop, next_ns, LOOP_DEVICE, ep->host, ++ep->device_token,
			 NULL);
	}
	if (ep->cq.n)
		host_wake(ep->sim, ep->host);
}

static void device_run(struct qp_endpoint *ep)
{
	struct qp *qp, *next;

	run_timers(ep);
	for (qp = ep->qps; qp; qp = next) {
		next = qp->next;
		if (qp->change_ns && qp->change_ns <= now_of(ep))
			change(qp);
	}
	transmit_all(ep);
	answer_all(ep);
	device_rearm(ep);
}

void nic_device_event(struct qp_endpoint *ep, uint64_t token)
{
	if (token != ep->device_token)
		return;
	ep->device_due_ns = NEVER;
	device_run(ep);
}

void nic_receive(struct qp_endpoint *ep, struct packet *packet)
{
	struct fabric_packet *p = (struct fabric_packet *)packet;

	p->roce.payload = p->data; /* not the original's, in a copy */
	if (ep->is_device && !p->is_control) {
		on_packet(ep, p);
		net_free(&ep->sim->net, &p->on);
		device_run(ep);
		return;
	}
	if (ep->rx.n == RX_ROOM) {
		net_free(&ep->sim->net, &p->on);
		return;
	}
	net_queue_put(&ep->rx, packet);
	host_wake(ep->sim, ep->host);
}

void nic_break_qp(struct qp_endpoint *ep)
{
	unsigned turn = ep->n_qps ? (unsigned)prng_below(&ep->prng, ep->n_qps) : 0;
	struct qp *qp = ep->qps;

	while (qp && turn--)
		qp = qp->next;
	if (qp && qp->state == NIC_RTS)
		fail(qp, QP_WC_FLUSH_ERR);
	device_rearm(ep);
}

void nic_swallow(struct qp_endpoint *ep)
{
	unsigned turn = ep->n_qps ? (unsigned)prng_below(&ep->prng, ep->n_qps) : 0;
	struct qp *qp = ep->qps;

	while (qp && turn--)
		qp = qp->next;
	if (!qp || qp->state != NIC_RTS || !ep->is_device)
		return;
	TRACE(ep->sim, "host %u: QP %x swallows what is posted", ep->host, qp->qpn);
	qp->is_swallowing = true;
}

uint64_t nic_due_ns(const struct qp_endpoint *ep)
{
	if (ep->rx.n || ep->cq.n)
		return now_of(ep);
	if (ep->is_device)
		return NEVER;
	for (const struct qp *qp = ep->qps; qp; qp = qp->next)
		if (qp->is_answering)
			return now_of(ep);
	return device_next_ns(ep);
}

unsigned nic_n_qps(const struct qp_endpoint *ep)
{
	return ep->n_qps;
}

unsigned nic_n_regions(const struct qp_endpoint *ep)
{
	return ep->n_regions;
}

unsigned nic_n_unread(const struct qp_endpoint *ep)
{
	return ep->rx.n + (unsigned)ep->cq.n;
}

/* ---- the provider ---- */

int nic_create(struct qp_endpoint **out, struct sim *sim, unsigned host,
	       const struct qp_endpoint_attr *attr)
{
	struct qp_endpoint *ep = calloc(1, sizeof(*ep));

	*out = ep;
	if (!ep)
		return -ENOMEM;
	ep->sim = sim;
	ep->host = host;
	ep->is_device = sim->config.is_device;
	ep->attr = *attr;
	ep->info =
		(struct qp_endpoint_info){.fd = -1,
					  .port = ep->is_device ? FARE_CONTROL_PORT : ROCE_UDP_PORT,
					  .path_mtu = attr->path_mtu,
					  .stats = &ep->stats};
	ep->prng.state = prng_next(&sim->prng);
	ep->next_qpn = (uint32_t)prng_next(&ep->prng) & QPN_MASK;
	ep->reused_psn = ep->next_qpn >> 1;
	ep->device_due_ns = NEVER;
	ep->device_token = prng_next(&ep->prng) & ~UINT64_C(0xffffffff);
	ep->change_most_ns =
		prng_chance(&ep->prng, 200) ? 0 : prng_log(&ep->prng, 50 * LOOP_US, 60 * LOOP_MS);
	ep->partial_per_mille = prng_chance(&ep->prng, 500) ? 300 : 0;
	ep->acks_wait = prng_chance(&ep->prng, 300);
	if (!ep->is_device && prng_chance(&ep->prng, 100))
		ep->foreign_ports = (uint16_t)(prng_next(&ep->prng) & prng_next(&ep->prng));
	soft_cq_allow(&ep->cq, SIZE_MAX, SIZE_MAX);
	return 0;
}

void nic_kill(struct qp_endpoint *ep)
{
	ep->is_dead = true;
}

void nic_destroy(struct qp_endpoint *ep)
{
	struct packet *p;

	if (!ep)
		return;
	while (ep->qps) {
		struct qp *qp = ep->qps;

		unlink_qp(qp);
		qp_free(qp);
	}
	while ((p = net_queue_take(&ep->rx)))
		net_free(&ep->sim->net, p);
	mr_table_fini(&ep->regions);
	soft_cq_fini(&ep->cq);
	free(ep);
}

static int endpoint_progress(struct qp_endpoint *ep)
{
	/* what comes while this runs waits; a call never takes all of a flood */
	unsigned most = 1 + (unsigned)prng_below(&ep->prng, 64);
	bool late = false;
	struct fabric_packet *p;
	int did = 0;

	if (ep->in_progress)
		return 0;
	ep->in_progress = true;
	for (struct qp *qp = ep->qps; qp; qp = qp->next)
		late |= qp->is_answering;
	while (did < (int)most && (p = (struct fabric_packet *)net_queue_take(&ep->rx))) {
		if (p->is_control)
			on_control(ep, p);
		else
			on_packet(ep, p);
		net_free(&ep->sim->net, &p->on);
		did++;
	}
	if (!ep->is_device) {
		run_timers(ep);
		transmit_all(ep);
		if (late || !ep->acks_wait)
			answer_all(ep);
	}
	ep->in_progress = false;
	return did;
}

static const struct qp_endpoint_info *endpoint_info(const struct qp_endpoint *ep)
{
	return &ep->info;
}

static int mr_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
		       struct qp_mr *out)
{
	int err = mr_table_add(&ep->regions, addr, length, access, (uint32_t)prng_next(&ep->prng),
			       out);

	ep->n_regions += !err;
	return err;
}

static int mr_deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	int err = mr_table_remove(&ep->regions, mr);

	ep->n_regions -= !err;
	return err;
}

/*
 * QPs of all processes of a user share ports. (Echoes from such a port would be refused, too, and a
 * lane would learn for ever: not modelled.)
 */
static bool port_is_taken(const struct qp_endpoint *ep, uint16_t port)
{
	unsigned p = port - FARE_SOURCE_PORT_FIRST;

	return p < FARE_SOURCE_PORTS && ep->foreign_ports >> p & 1;
}

static int init_machines(struct qp *qp)
{
	struct rc_requester_config config = {
		.path_mtu = SIM_MTU,
		.window_bytes = qp->attr.window_bytes,
		.batch_bytes = 4 * SIM_MTU,
		.timeout_ns = 4096ull << qp->attr.timeout,
		.retry_cnt = qp->attr.retry_cnt,
		.rnr_limit = qp->attr.rnr_limit,
		.first_psn = qp->first_psn,
		.regions = &qp->ep->regions,
		.stats = &qp->ep->stats,
		.on_complete = on_complete,
		.arg = qp,
	};
	static const struct qp_recv empty;
	int err;

	if (qp->attr.order_free) {
		qp->of_tx = calloc(1, sizeof(*qp->of_tx));
		qp->of_rx = calloc(1, sizeof(*qp->of_rx));
		return qp->of_tx && qp->of_rx ? of_sender_init(qp->of_tx, &config) : -ENOMEM;
	}
	err = rc_requester_init(&qp->requester, &config);
	if (err || !qp->ep->is_device)
		return err;
	err = rc_receives_init(&qp->receives, qp->attr.notifications);
	while (!err && qp->receives.n < qp->attr.notifications)
		err = rc_receives_post(&qp->receives, &empty);
	return err;
}

static int qp_create(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out)
{
	struct qp *qp;
	int err;

	*out = NULL;
	if (port_is_taken(ep, attr->udp_source_port))
		return -EADDRINUSE;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->ep = ep;
	qp->attr = *attr;
	/* of every four, one is about to wrap */
	qp->first_psn = (uint32_t)prng_next(&ep->prng) & QPN_MASK;
	if (prng_chance(&ep->prng, 250))
		qp->first_psn |= 0xfffff0u;
	if (PLANTED(qp_reused))
		qp->first_psn = ep->reused_psn;
	err = init_machines(qp);
	if (err) {
		qp_free(qp);
		return err;
	}
	if (!PLANTED(qp_reused))
		ep->next_qpn++;
	do
		qp->qpn = ep->next_qpn & QPN_MASK;
	while ((qp->qpn < 2 || find(ep, qp->qpn)) && ++ep->next_qpn);
	qp->paths[0] = (struct qp_path){
		attr->sub_port, attr->udp_source_port ? attr->udp_source_port
						      : (uint16_t)(ROCE_SOURCE_PORT_FIRST +
								   prng_below(&ep->prng, 16384))};
	qp->n_paths = 1;
	qp->next = ep->qps;
	ep->qps = qp;
	ep->n_qps++;
	*out = qp;
	return 0;
}

static uint32_t qp_num(const struct qp *qp)
{
	return qp->qpn;
}

static uint32_t qp_psn(const struct qp *qp)
{
	return qp->first_psn;
}

static uint16_t qp_source_port(const struct qp *qp)
{
	return qp->paths[0].udp_source_port;
}

static void begin_change(struct qp *qp, enum nic_state state)
{
	uint64_t most_ns = qp->is_swallowing ? HALT_NS : qp->ep->change_most_ns;

	qp->state = state;
	if (most_ns) {
		qp->change_ns = now_of(qp->ep) + 1 + prng_below(&qp->ep->prng, most_ns);
		device_rearm(qp->ep);
	} else {
		change(qp);
	}
}

static int qp_connect(struct qp *qp, const struct qp_remote *remote)
{
	if (qp->state != NIC_RESET)
		return -EINVAL;
	if (qp->attr.order_free != remote->order_free)
		return -EPROTONOSUPPORT;
	qp->peer = net_host_of(&remote->address);
	qp->peer_qpn = remote->qpn;
	if (qp->of_tx) {
		qp->of_tx->config.remote_qpn = remote->qpn;
		of_receiver_init(qp->of_rx, SIM_MTU, remote->psn, &qp->ep->stats);
	} else {
		qp->requester.config.remote_qpn = remote->qpn;
		rc_responder_init(&qp->responder, SIM_MTU, remote->psn,
				  qp->ep->is_device ? &qp->receives : NULL, &qp->ep->stats);
	}
	qp->state = NIC_RTS;
	if (qp->ep->is_device)
		begin_change(qp, NIC_CONNECTING);
	return 0;
}

static int qp_status(struct qp *qp)
{
	uint64_t refusing_ns = (UINT64_C(4096) << qp->attr.timeout) * (qp->attr.retry_cnt + 1);
	uint64_t wait_ns = qp->state == NIC_REFUSING ? refusing_ns : FAILED_NS;

	if (qp->change_ns)
		return 1;
	return qp->has_failed && now_of(qp->ep) - qp->failed_ns > wait_ns ? -EIO : 0;
}

static void qp_kick(struct qp *qp)
{
	if (qp->state != NIC_RTS && qp->state != NIC_REFUSING)
		return;
	if (qp->of_tx)
		of_sender_kick(qp->of_tx, now_of(qp->ep));
	else
		rc_requester_kick(&qp->requester, now_of(qp->ep));
	if (qp->ep->is_device)
		device_run(qp->ep);
}

static int qp_move(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port)
{
	if (qp->of_tx || (qp->ep->is_device && qp->ep->sim->config.is_multi_device))
		return -EOPNOTSUPP;
	if (qp->attr.plane == QP_ANY_PLANE)
		return -EINVAL;
	if (qp->state != NIC_RTS && qp->state != NIC_REFUSING)
		return -ENOTCONN;
	if (port_is_taken(qp->ep, udp_source_port))
		return -EADDRINUSE;
	qp->paths[0].sub_port = sub_port;
	if (udp_source_port)
		qp->paths[0].udp_source_port = udp_source_port;
	qp_kick(qp);
	return 0;
}

static int qp_spread(struct qp *qp, const struct qp_path *paths, unsigned n)
{
	if (!qp->of_tx)
		return -EOPNOTSUPP;
	for (unsigned i = 0; i < n; i++)
		if (port_is_taken(qp->ep, paths[i].udp_source_port))
			return -EADDRINUSE;
	memcpy(qp->paths, paths, n * sizeof(*paths));
	qp->n_paths = n;
	return 0;
}

static void qp_error(struct qp *qp)
{
	bool was_error = qp->state == NIC_ERR, had_failed = qp->has_failed;

	if (!qp->ep->is_device || qp->state == NIC_RESET) {
		complete_all(qp, QP_WC_FLUSH_ERR);
		end(qp);
		qp->has_failed = false;
		return;
	}
	if (was_error && had_failed && !qp->change_ns)
		begin_change(qp, NIC_ERR);
	else if (!was_error && qp->state != NIC_ENDING)
		begin_change(qp, NIC_ENDING);
}

static void qp_destroy(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;

	qp_error(qp);
	soft_cq_purge(&ep->cq, qp);
	if (qp->change_ns) {
		qp->is_zombie = true;
		return;
	}
	unlink_qp(qp);
	qp_free(qp);
}

static int post(struct qp *qp, const struct qp_work *work)
{
	int err;

	if (qp->state != NIC_RTS)
		return -ENOTCONN;
	if (!mr_table_local_ok(&qp->ep->regions, work->lkey, work->data, work->length))
		return -EINVAL;
	err = qp->of_tx ? of_sender_post(qp->of_tx, work) : rc_requester_post(&qp->requester, work);
	if (err)
		return err;
	transmit(qp);
	device_rearm(qp->ep);
	return 0;
}

/* A look at every QP found nothing: used receives are posted again. */
static void replenish(struct qp_endpoint *ep)
{
	static const struct qp_recv empty;

	for (struct qp *qp = ep->qps; qp; qp = qp->next)
		while (is_live(qp) && qp->receives.n < qp->receives.room &&
		       !rc_receives_post(&qp->receives, &empty))
			;
}

static int poll_completions(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	int n;

	if (ep->cq.n && prng_chance(&ep->prng, ep->partial_per_mille))
		max = 1 + (int)prng_below(&ep->prng, (uint64_t)max);
	n = soft_cq_poll(&ep->cq, wc, max);
	if (!n && ep->is_device)
		replenish(ep);
	return n;
}

static int control_send(struct qp_endpoint *ep, const struct qp_control *control)
{
	struct fabric_packet *p;

	if (ep->is_dead)
		return 0;
	p = fabric_packet(ep->sim, ep->host, net_host_of(&control->remote));
	p->is_control = true;
	p->on.plane = control->plane;
	p->on.sub_port = control->sub_port;
	p->on.from_port = control->udp_source_port ? control->udp_source_port : CONTROL_PORT;
	p->length = (uint32_t)control->length;
	memcpy(p->data, control->data, control->length);
	fabric_send(ep->sim, p);
	return 0;
}

const struct qp_provider qp_soft_provider = {
	.name = "sim-soft",
	.first_port = ROCE_UDP_PORT,
	.echoes_learn_ports = true,
	.endpoint_progress = endpoint_progress,
	.endpoint_info = endpoint_info,
	.mr_register = mr_register,
	.mr_deregister = mr_deregister,
	.qp_create = qp_create,
	.qp_num = qp_num,
	.qp_psn = qp_psn,
	.qp_source_port = qp_source_port,
	.qp_connect = qp_connect,
	.qp_status = qp_status,
	.qp_move = qp_move,
	.qp_spread = qp_spread,
	.qp_kick = qp_kick,
	.qp_error = qp_error,
	.qp_destroy = qp_destroy,
	.post = post,
	.poll = poll_completions,
	.control_send = control_send,
};

const struct qp_provider nic_device_provider = {
	.name = "sim-device",
	.notify_per_qp = true,
	.first_port = FARE_CONTROL_PORT,
	.endpoint_progress = endpoint_progress,
	.endpoint_info = endpoint_info,
	.mr_register = mr_register,
	.mr_deregister = mr_deregister,
	.qp_create = qp_create,
	.qp_num = qp_num,
	.qp_psn = qp_psn,
	.qp_source_port = qp_source_port,
	.qp_connect = qp_connect,
	.qp_status = qp_status,
	.qp_move = qp_move,
	.qp_kick = qp_kick,
	.qp_error = qp_error,
	.qp_destroy = qp_destroy,
	.post = post,
	.poll = poll_completions,
	.control_send = control_send,
};
