#include "rc_requester.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYNDROME_KIND(s) ((s) >> 5)
#define KIND_ACK	 0
#define KIND_NAK	 3

static struct rc_write *write_at(const struct rc_requester *r, uint64_t i)
{
	return &r->writes[i & (RC_QUEUE_DEPTH - 1)];
}

int rc_requester_init(struct rc_requester *r, const struct rc_requester_config *config)
{
	memset(r, 0, sizeof(*r));
	r->writes = calloc(RC_QUEUE_DEPTH, sizeof(*r->writes));
	if (!r->writes)
		return -ENOMEM;
	r->config = *config;
	if (r->config.window_bytes < config->path_mtu)
		r->config.window_bytes = config->path_mtu;
	if (r->config.window_bytes > RC_WINDOW_MAX)
		r->config.window_bytes = RC_WINDOW_MAX;
	r->window_bytes = r->slow_start_bytes = r->config.window_bytes;
	r->una = r->next = r->sent = r->end = config->first_psn & ROCE_PSN_MASK;
	r->recovered_at = r->una;
	return 0;
}

void rc_requester_fini(struct rc_requester *r)
{
	free(r->writes);
	memset(r, 0, sizeof(*r));
}

int rc_requester_post(struct rc_requester *r, const struct qp_write *write)
{
	struct rc_write *w;

	if (r->tail - r->head >= RC_QUEUE_DEPTH)
		return -ENOBUFS;
	w = write_at(r, r->tail++);
	w->write = *write;
	w->first_psn = r->end;
	w->first_byte = r->end_byte;
	w->n_packets =
		write->length / r->config.path_mtu + (write->length % r->config.path_mtu != 0);
	if (!w->n_packets)
		w->n_packets = 1;
	w->is_row = !(write->flags & QP_WR_IMM) && write->length <= r->config.batch_bytes;
	r->end += w->n_packets;
	r->end_byte += write->length;
	return 0;
}

/* How many payload bytes were posted before packet psn of write w. */
static uint64_t byte_of(const struct rc_requester *r, const struct rc_write *w, uint64_t psn)
{
	uint64_t offset = (psn - w->first_psn) * r->config.path_mtu;

	return w->first_byte + (offset < w->write.length ? offset : w->write.length);
}

static uint64_t next_byte(const struct rc_requester *r)
{
	return r->cursor == r->tail ? r->end_byte : byte_of(r, write_at(r, r->cursor), r->next);
}

static uint64_t bytes_in_flight(const struct rc_requester *r)
{
	if (r->una == r->next)
		return 0;
	return next_byte(r) - byte_of(r, write_at(r, r->head), r->una);
}

bool rc_requester_has_unsent(const struct rc_requester *r)
{
	return r->next != r->end;
}

uint64_t rc_requester_unsent_bytes(const struct rc_requester *r)
{
	return r->end_byte - next_byte(r);
}

static uint8_t opcode_of(const struct rc_write *w, uint64_t i)
{
	bool last = i + 1 == w->n_packets, imm = w->write.flags & QP_WR_IMM;

	if (w->is_row)
		return ROCE_WRITE_ONLY;
	if (i == 0 && last)
		return imm ? ROCE_WRITE_ONLY_IMM : ROCE_WRITE_ONLY;
	if (i == 0)
		return ROCE_WRITE_FIRST;
	if (last)
		return imm ? ROCE_WRITE_LAST_IMM : ROCE_WRITE_LAST;
	return ROCE_WRITE_MIDDLE;
}

static void make_packet(const struct rc_requester *r, const struct rc_write *w, uint64_t psn,
			struct roce_packet *out)
{
	uint64_t i = psn - w->first_psn, offset = i * r->config.path_mtu;
	uint64_t left = w->write.length - offset;

	*out = (struct roce_packet){
		.opcode = opcode_of(w, i),
		.dest_qpn = r->config.remote_qpn,
		.psn = psn & ROCE_PSN_MASK,
		.remote_addr = w->write.remote_addr,
		.rkey = w->write.rkey,
		.dma_bytes = w->write.length,
		.imm = w->write.imm,
		.payload_bytes = (uint32_t)(left < r->config.path_mtu ? left : r->config.path_mtu),
	};
	if (w->is_row) {
		out->remote_addr += offset;
		out->dma_bytes = out->payload_bytes;
	}
	if (out->payload_bytes)
		out->payload = (const uint8_t *)w->write.data + offset;
}

/* How long a burst is: two of them fit the window, so that one is on its way while one is answered.
 */
static uint64_t burst_bytes(const struct rc_requester *r)
{
	uint32_t mtu = r->config.path_mtu, half = r->window_bytes / 2;

	if (half >= r->config.batch_bytes)
		return r->config.batch_bytes > mtu ? r->config.batch_bytes : mtu;
	return half > mtu ? half - half % mtu : mtu;
}

unsigned rc_requester_burst(const struct rc_requester *r, struct roce_packet *out, unsigned max)
{
	uint64_t in_flight = bytes_in_flight(r), psn = r->next, cursor = r->cursor, bytes = 0;
	uint64_t room = in_flight < r->window_bytes ? r->window_bytes - in_flight : 0;
	uint64_t burst = burst_bytes(r), unsent = rc_requester_unsent_bytes(r);
	unsigned n = 0;

	/* small super-packets cost as much as large ones: a whole burst, or the queue's end */
	if (psn == r->end || room < (unsent < burst ? unsent : burst))
		return 0;
	if (room > burst)
		room = burst;
	while (psn != r->end && n < max) {
		const struct rc_write *w = write_at(r, cursor);

		make_packet(r, w, psn, &out[n]);
		if (bytes + out[n].payload_bytes > room)
			break;
		bytes += out[n++].payload_bytes;
		if (++psn == w->first_psn + w->n_packets)
			cursor++;
	}
	/* one request per burst: the answer covers all of it */
	if (n)
		out[n - 1].ack_req = true;
	return n;
}

void rc_requester_sent(struct rc_requester *r, unsigned n_packets, uint64_t now_ns)
{
	uint64_t from = next_byte(r), again;

	if (!n_packets)
		return;
	again = r->sent > r->next ? r->sent - r->next : 0;
	r->config.stats->retransmitted_packets += again < n_packets ? again : n_packets;
	if (r->config.timeout_ns && !r->deadline_ns)
		r->deadline_ns = now_ns + r->config.timeout_ns;
	r->next += n_packets;
	if (r->sent < r->next)
		r->sent = r->next;
	while (r->cursor != r->tail) {
		const struct rc_write *w = write_at(r, r->cursor);

		if (r->next < w->first_psn + w->n_packets)
			break;
		r->cursor++;
	}
	r->config.stats->tx_packets += n_packets;
	r->config.stats->tx_bytes += next_byte(r) - from;
}

static void grow_window(struct rc_requester *r, uint64_t acked_bytes)
{
	uint64_t window = r->window_bytes;

	if (window >= r->config.window_bytes)
		return;
	/* doubles per round trip at first, later a packet per round trip */
	if (window < r->slow_start_bytes)
		window += acked_bytes;
	else
		window += 1 + acked_bytes * r->config.path_mtu / window;
	if (window > r->config.window_bytes)
		window = r->config.window_bytes;
	r->window_bytes = (uint32_t)window;
}

/* A loss; silence: nothing came back at all. */
static void shrink_window(struct rc_requester *r, bool silence)
{
	if (r->una >= r->recovered_at)
		r->slow_start_bytes = r->window_bytes / 2;
	else if (!silence)
		return;
	if (r->slow_start_bytes < r->config.path_mtu)
		r->slow_start_bytes = r->config.path_mtu;
	r->window_bytes = silence ? r->config.path_mtu : r->slow_start_bytes;
	r->recovered_at = r->sent;
}

static void go_back(struct rc_requester *r)
{
	r->next = r->una;
	r->cursor = r->head;
}

/* All packets before psn are placed at the other end. */
static void advance(struct rc_requester *r, uint64_t psn, uint64_t now_ns)
{
	if (psn == r->una)
		return;
	grow_window(r, (psn - r->una) * r->config.path_mtu);
	r->una = psn;
	r->retries = 0;
	while (r->head != r->tail) {
		const struct rc_write *w = write_at(r, r->head);

		if (psn < w->first_psn + w->n_packets)
			break;
		r->head++;
		r->config.on_complete(r->config.arg, w->write.wr_id, QP_WC_SUCCESS,
				      w->write.length);
	}
	if (r->next < r->una) {
		r->next = r->una;
		if (r->cursor < r->head)
			r->cursor = r->head;
	}
	r->deadline_ns = 0;
	if (r->config.timeout_ns && r->una != r->sent)
		r->deadline_ns = now_ns + r->config.timeout_ns;
}

static enum qp_wc_status on_nak(struct rc_requester *r, uint8_t syndrome)
{
	switch (syndrome) {
	case ROCE_SYNDROME_NAK_SEQUENCE:
		r->config.stats->naks_received++;
		shrink_window(r, false);
		go_back(r);
		return QP_WC_SUCCESS;
	case ROCE_SYNDROME_NAK_INVALID_REQUEST:
		r->config.stats->naks_received++;
		return QP_WC_REM_INV_REQ_ERR;
	case ROCE_SYNDROME_NAK_REMOTE_ACCESS:
		r->config.stats->naks_received++;
		return QP_WC_REM_ACCESS_ERR;
	case ROCE_SYNDROME_NAK_REMOTE_OPERATION:
		r->config.stats->naks_received++;
		return QP_WC_REM_OP_ERR;
	default:
		return QP_WC_SUCCESS; /* a code of nobody's: as if lost */
	}
}

enum qp_wc_status rc_requester_on_ack(struct rc_requester *r, const struct roce_packet *ack,
				      uint64_t now_ns)
{
	uint64_t ahead = (ack->psn - r->una) & ROCE_PSN_MASK;

	/* behind the window, or a packet that was never sent: an old or a forged answer */
	if (ahead >= r->sent - r->una)
		return QP_WC_SUCCESS;
	switch (SYNDROME_KIND(ack->syndrome)) {
	case KIND_ACK:
		advance(r, r->una + ahead + 1, now_ns);
		return QP_WC_SUCCESS;
	case KIND_NAK: /* names the first packet that was not accepted */
		advance(r, r->una + ahead, now_ns);
		return on_nak(r, ack->syndrome);
	default: /* receiver not ready: nothing here waits for receives; the timer sends again */
		return QP_WC_SUCCESS;
	}
}

enum qp_wc_status rc_requester_on_timer(struct rc_requester *r, uint64_t now_ns)
{
	if (!r->deadline_ns || now_ns < r->deadline_ns)
		return QP_WC_SUCCESS;
	r->config.stats->timeouts++;
	if (r->retries >= r->config.retry_cnt)
		return QP_WC_RETRY_EXC_ERR;
	r->retries++;
	r->deadline_ns = now_ns + r->config.timeout_ns;
	shrink_window(r, true);
	go_back(r);
	return QP_WC_SUCCESS;
}

void rc_requester_kick(struct rc_requester *r, uint64_t now_ns)
{
	if (r->una == r->next)
		return;
	if (r->deadline_ns)
		r->deadline_ns = now_ns + r->config.timeout_ns;
	go_back(r);
}

void rc_requester_fail(struct rc_requester *r, enum qp_wc_status status)
{
	r->deadline_ns = 0;
	r->una = r->next = r->sent = r->end;
	while (r->head != r->tail) {
		uint64_t wr_id = write_at(r, r->head++)->write.wr_id;

		r->config.on_complete(r->config.arg, wr_id, status, 0);
		status = QP_WC_FLUSH_ERR;
	}
	r->cursor = r->head;
}
