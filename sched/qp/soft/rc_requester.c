/* SPDX-License-Identifier: BSD-2-Clause */
#include "rc_requester.h"
#include "qp/planted.h"

#include <errno.h>
#include <string.h>

#define SYNDROME_KIND(s) ((s) >> 5)
#define KIND_ACK	 0
#define KIND_RNR	 1
#define KIND_NAK	 3
#define NO_PSN		 UINT64_MAX
#define READS_AIMED_AT	 4u

static struct rc_request *request_at(const struct rc_requester *r, uint64_t i)
{
	return fifo_at(&r->queue, sizeof(struct rc_request), i);
}

/*
 * Super-packets in one request for remote memory, beside the border of two requests. A quarter of
 * the window is the aim: enough of them to keep the network busy. In a small window a request is
 * longer, up to QP_READ_BATCHES, because each costs a super-packet of three packets more. It leaves
 * a quarter of the window free, so that the next one is under way before the last response is
 * here.
 */
static uint32_t read_batches(uint32_t window_packets, uint32_t batch_packets)
{
	uint32_t aim = window_packets / READS_AIMED_AT / batch_packets;
	uint32_t room = window_packets - window_packets / 4;
	uint32_t most = room > QP_READ_BORDER ? (room - QP_READ_BORDER) / batch_packets : 0;

	most = most < QP_READ_BATCHES ? most : QP_READ_BATCHES;
	return aim > most ? aim : most;
}

/* PSNs of one request for remote memory: whole super-packets and the border. */
static uint32_t read_packets_of(const struct rc_requester_config *c)
{
	uint32_t window = c->window_bytes / c->path_mtu, batch = c->batch_bytes / c->path_mtu;
	uint32_t batches = batch ? read_batches(window, batch) : 0;

	if (batches)
		return batches * batch + QP_READ_BORDER;
	return window >= READS_AIMED_AT ? window / READS_AIMED_AT : 1;
}

int rc_requester_init(struct rc_requester *r, const struct rc_requester_config *config)
{
	memset(r, 0, sizeof(*r));
	r->config = *config;
	if (r->config.window_bytes < config->path_mtu)
		r->config.window_bytes = config->path_mtu;
	if (r->config.window_bytes > RC_WINDOW_MAX)
		r->config.window_bytes = RC_WINDOW_MAX;
	r->una = r->next = r->sent = r->end = config->first_psn & ROCE_PSN_MASK;
	r->failed_psn = r->asked = r->una;
	soft_window_init(&r->window, r->config.window_bytes, config->path_mtu, r->una);
	r->resumed_at = r->timed_psn = NO_PSN;
	soft_rtt_init(&r->rtt, config->timeout_ns, config->retry_cnt);
	r->read_packets = read_packets_of(&r->config);
	return 0;
}

void rc_requester_fini(struct rc_requester *r)
{
	fifo_fini(&r->queue);
	memset(r, 0, sizeof(*r));
}

int rc_requester_post(struct rc_requester *r, const struct qp_work *work)
{
	struct rc_request *w;

	if (r->tail - r->head >= RC_QUEUE_DEPTH)
		return -ENOBUFS;
	if (fifo_reserve(&r->queue, sizeof(*w), r->head, r->tail,
			 (uint32_t)(r->tail - r->head) + 1))
		return -ENOMEM;
	w = request_at(r, r->tail++);
	w->work = *work;
	w->first_psn = r->end;
	w->first_byte = r->end_byte;
	w->n_packets = work->length / r->config.path_mtu + (work->length % r->config.path_mtu != 0);
	if (!w->n_packets)
		w->n_packets = 1;
	w->is_row = work->op == QP_OP_WRITE && !(work->flags & QP_WR_IMM);
	r->n_reads += work->op == QP_OP_READ;
	r->end += w->n_packets;
	r->end_byte += work->length;
	return 0;
}

/* How many payload bytes were posted before packet psn of write w. */
static uint64_t byte_of(const struct rc_requester *r, const struct rc_request *w, uint64_t psn)
{
	uint64_t offset = (psn - w->first_psn) * r->config.path_mtu;

	return w->first_byte + (offset < w->work.length ? offset : w->work.length);
}

static uint64_t next_byte(const struct rc_requester *r)
{
	return r->cursor == r->tail ? r->end_byte : byte_of(r, request_at(r, r->cursor), r->next);
}

static uint64_t bytes_in_flight(const struct rc_requester *r)
{
	if (r->una == r->next)
		return 0;
	return next_byte(r) - byte_of(r, request_at(r, r->head), r->una);
}

bool rc_requester_has_unsent(const struct rc_requester *r)
{
	return r->next != r->end;
}

uint64_t rc_requester_unsent_bytes(const struct rc_requester *r)
{
	return r->end_byte - next_byte(r);
}

static uint8_t opcode_of(const struct rc_request *w, uint64_t i)
{
	/*
	 * first, middle, last, last with immediate, only, only with immediate: SENDs' opcodes, then
	 * WRITEs'
	 */
	bool first = i == 0, last = i + 1 == w->n_packets, imm = w->work.flags & QP_WR_IMM;
	uint8_t base = w->work.op == QP_OP_SEND ? ROCE_SEND_FIRST : ROCE_WRITE_FIRST;

	if (w->work.op == QP_OP_READ)
		return ROCE_READ_REQUEST;
	if (w->is_row)
		return ROCE_WRITE_ONLY;
	if (!last)
		return first ? base : base + (ROCE_SEND_MIDDLE - ROCE_SEND_FIRST);
	return (uint8_t)(base + (first ? ROCE_SEND_ONLY : ROCE_SEND_LAST) + imm);
}

/*
 * The PSN behind the packet that begins at psn: a request for remote memory covers those of its
 * answer.
 */
static uint64_t psn_after(const struct rc_requester *r, const struct rc_request *w, uint64_t psn)
{
	uint64_t end;

	if (w->work.op != QP_OP_READ)
		return psn + 1;
	end = ((psn - w->first_psn) / r->read_packets + 1) * r->read_packets;
	return w->first_psn + (end < w->n_packets ? end : w->n_packets);
}

static void make_packet(const struct rc_requester *r, const struct rc_request *w, uint64_t psn,
			struct roce_packet *out)
{
	uint64_t i = psn - w->first_psn, offset = i * r->config.path_mtu;
	uint64_t left = w->work.length - offset;
	uint32_t bytes = (uint32_t)(byte_of(r, w, psn_after(r, w, psn)) - byte_of(r, w, psn));

	*out = (struct roce_packet){
		.opcode = opcode_of(w, i),
		.dest_qpn = r->config.remote_qpn,
		.psn = psn & ROCE_PSN_MASK,
		.remote_addr = w->work.remote_addr,
		.rkey = w->work.rkey,
		.dma_bytes = (uint32_t)left,
		.imm = w->work.imm,
	};
	if (w->is_row || w->work.op == QP_OP_READ) {
		out->remote_addr += offset;
		out->dma_bytes = bytes;
	}
	if (bytes && w->work.op != QP_OP_READ) {
		out->payload = (const uint8_t *)w->work.data + offset;
		out->payload_bytes = bytes;
	}
}

/* How many requests for remote memory are unanswered. */
static unsigned reads_outstanding(const struct rc_requester *r)
{
	unsigned n = 0;

	for (uint64_t i = r->head; r->n_reads && i != r->tail; i++) {
		const struct rc_request *w = request_at(r, i);
		uint64_t from = w->first_psn > r->una ? w->first_psn : r->una;

		if (w->first_psn >= r->next)
			break;
		if (w->work.op != QP_OP_READ)
			continue;
		for (; from < r->next && from < w->first_psn + w->n_packets; n++)
			from = psn_after(r, w, from);
	}
	return n;
}

/* How long a burst is: two of them fit the window, so that one is under way while one is answered.
 */
static uint64_t burst_bytes(const struct rc_requester *r)
{
	uint32_t mtu = r->config.path_mtu, half = r->window.bytes / 2;

	if (half >= r->config.batch_bytes)
		return r->config.batch_bytes > mtu ? r->config.batch_bytes : mtu;
	return half > mtu ? half - half % mtu : mtu;
}

/*
 * Whether a burst that ends before PSN end, sent bytes in all by then, asks for an answer: every
 * quarter of a window, and whenever nothing can follow until an answer comes.
 */
static bool must_ask(const struct rc_requester *r, uint64_t end, uint64_t sent_bytes,
		     uint64_t room_left)
{
	uint64_t unsent = r->end_byte - sent_bytes, burst = burst_bytes(r);

	return end == r->end || sent_bytes - r->asked_byte >= r->window.bytes / 4 ||
	       room_left < (unsent < burst ? unsent : burst);
}

/* A piece of work's memory, as long as it is registered. */
static bool memory_is_there(const struct rc_requester *r, const struct rc_request *w)
{
	return mr_table_local_ok(r->config.regions, w->work.lkey, w->work.data, w->work.length);
}

enum qp_wc_status rc_requester_burst(struct rc_requester *r, struct roce_packet *out, unsigned max,
				     unsigned *n_out)
{
	uint64_t in_flight = bytes_in_flight(r), psn = r->next, cursor = r->cursor, bytes = 0;
	uint64_t room = in_flight < r->window.bytes ? r->window.bytes - in_flight : 0, whole_room;
	uint64_t burst = burst_bytes(r), unsent = rc_requester_unsent_bytes(r);
	unsigned n = 0, reads = reads_outstanding(r);
	bool is_checked = false;

	*n_out = 0;
	if (r->rnr_until_ns)
		return QP_WC_SUCCESS;
	/*
	 * an answer that nobody was asked for must not be waited for (the window may have shrunk
	 * since)
	 */
	if (r->una >= r->asked && room < burst)
		room = burst;
	/* small super-packets cost as much as large ones: a whole burst, or the queue's end */
	if (psn == r->end || room < (unsent < burst ? unsent : burst))
		return QP_WC_SUCCESS;
	whole_room = room;
	if (room > burst)
		room = burst;
	while (psn != r->end && n < max) {
		const struct rc_request *w = request_at(r, cursor);

		uint64_t after = psn_after(r, w, psn),
			 cost = byte_of(r, w, after) - byte_of(r, w, psn);
		bool is_read = w->work.op == QP_OP_READ;

		/*
		 * a request for remote memory may be for more than a burst; and one for more than a
		 * window that shrank has it to itself
		 */
		if (bytes + cost > (is_read ? whole_room : room) && (n || in_flight || !is_read))
			break;
		if (is_read && reads++ == QP_MAX_READS)
			break;
		if (!is_checked && !memory_is_there(r, w)) {
			if (n)
				break;
			r->failed_psn = psn;
			return QP_WC_LOC_PROT_ERR;
		}
		make_packet(r, w, psn, &out[n++]);
		bytes += cost;
		psn = after;
		is_checked = psn != w->first_psn + w->n_packets;
		cursor += !is_checked;
	}
	/* the answer to a READ comes unasked */
	if (n)
		out[n - 1].ack_req = out[n - 1].opcode != ROCE_READ_REQUEST &&
				     must_ask(r, psn, next_byte(r) + bytes,
					      whole_room > bytes ? whole_room - bytes : 0);
	*n_out = n;
	return QP_WC_SUCCESS;
}

/* When to look again, if nothing is received until then. */
static void set_deadline(struct rc_requester *r, uint64_t now_ns)
{
	bool waits = r->config.timeout_ns && r->una != r->sent;

	r->deadline_ns = waits ? soft_rtt_deadline_ns(&r->rtt, r->progress_ns, now_ns) : 0;
}

/* [from, next) was sent just now, the last of it with a request for an answer if asks. */
static void time_answer(struct rc_requester *r, uint64_t from, bool asks, uint64_t now_ns)
{
	/* sent again: an answer does not say to which of them */
	if (r->timed_psn >= from && r->timed_psn < r->next)
		r->timed_psn = NO_PSN;
	if (!asks || r->timed_psn != NO_PSN || r->next <= r->sent)
		return;
	r->timed_psn = r->next - 1;
	r->timed_ns = now_ns;
}

void rc_requester_sent(struct rc_requester *r, unsigned n_packets, uint64_t now_ns)
{
	bool asks = false; /* a READ does */
	uint64_t room, from = r->next;

	if (!n_packets)
		return;
	r->config.stats->tx_packets += n_packets;
	while (n_packets--) {
		const struct rc_request *w = request_at(r, r->cursor);
		uint64_t after = psn_after(r, w, r->next);

		r->config.stats->retransmitted_packets += r->next < r->sent;
		asks |= w->work.op == QP_OP_READ;
		if (w->work.op != QP_OP_READ)
			r->config.stats->tx_bytes += byte_of(r, w, after) - byte_of(r, w, r->next);
		r->next = after;
		if (after == w->first_psn + w->n_packets)
			r->cursor++;
	}
	room = bytes_in_flight(r);
	room = room < r->window.bytes ? r->window.bytes - room : 0;
	asks |= must_ask(r, r->next, next_byte(r), room);
	if (asks) {
		r->asked = r->next;
		r->asked_byte = next_byte(r);
	}
	time_answer(r, from, asks, now_ns);
	if (r->sent < r->next)
		r->sent = r->next;
	if (!r->deadline_ns) {
		r->progress_ns = now_ns;
		set_deadline(r, now_ns);
	}
}

static void go_back(struct rc_requester *r)
{
	r->timed_out = false;
	r->next = r->asked = r->una;
	r->cursor = r->head;
	r->asked_byte = next_byte(r);
}

/*
 * The first progress after a time-out: all before psn is placed. The other end takes packets in
 * their order, so if that is more than was sent again, the first ones have arrived after all.
 */
static void judge_timeout(struct rc_requester *r, uint64_t psn)
{
	if (!r->timed_out)
		return;
	r->timed_out = false;
	if (psn <= r->next)
		return;
	r->window = r->window_before;
	r->asked = r->asked_before;
	r->asked_byte = r->asked_byte_before;
	r->next = r->sent;
	while (r->cursor != r->tail &&
	       request_at(r, r->cursor)->first_psn + request_at(r, r->cursor)->n_packets <= r->next)
		r->cursor++;
}

/* All packets before psn are placed, at the other end or, being answers to READs, here. */
static void rc_requester_advance(struct rc_requester *r, uint64_t psn, uint64_t now_ns)
{
	if (psn == r->una)
		return;
	r->rnr_until_ns = 0;
	r->rnr_seen = 0;
	judge_timeout(r, psn);
	if (r->timed_psn != NO_PSN && r->timed_psn < psn) {
		soft_rtt_measured(&r->rtt, now_ns - r->timed_ns);
		r->timed_psn = NO_PSN;
	}
	soft_rtt_answered(&r->rtt);
	soft_window_acked(&r->window, (psn - r->una) * r->config.path_mtu, psn, r->sent);
	r->una = psn;
	while (r->head != r->tail) {
		const struct rc_request *w = request_at(r, r->head);

		if (psn < w->first_psn + w->n_packets)
			break;
		r->head++;
		r->n_reads -= w->work.op == QP_OP_READ;
		r->config.on_complete(r->config.arg, w->work.wr_id, QP_WC_SUCCESS, w->work.length);
	}
	if (r->head == r->tail)
		fifo_trim(&r->queue, RC_QUEUE_KEPT);
	if (r->next < r->una) {
		r->next = r->una;
		if (r->cursor < r->head)
			r->cursor = r->head;
	}
	if (r->asked < r->una) { /* the answer says more than was asked */
		r->asked = r->una;
		r->asked_byte = r->head == r->tail ? r->end_byte
						   : byte_of(r, request_at(r, r->head), r->una);
	}
	r->progress_ns = now_ns;
	set_deadline(r, now_ns);
}

/* The oldest PSN whose read response is outstanding; NO_PSN: none is. */
static uint64_t first_read(const struct rc_requester *r)
{
	for (uint64_t i = r->head; r->n_reads && i != r->tail; i++) {
		const struct rc_request *w = request_at(r, i);

		if (w->work.op == QP_OP_READ)
			return w->first_psn > r->una ? w->first_psn : r->una;
	}
	return NO_PSN;
}

/*
 * What comes behind a read response is here, but not that one: it was lost. Asked for again once.
 */
static void on_missing_response(struct rc_requester *r, uint64_t psn, uint64_t now_ns)
{
	rc_requester_advance(r, psn, now_ns);
	if (r->resumed_at == psn)
		return;
	r->resumed_at = psn;
	soft_window_lost(&r->window, false, r->una, r->sent);
	go_back(r);
}

static enum qp_wc_status on_sequence_nak(struct rc_requester *r)
{
	/* while the receiver was not ready it did not take what came after, either */
	if (r->rnr_until_ns)
		return QP_WC_SUCCESS;
	soft_window_lost(&r->window, false, r->una, r->sent);
	go_back(r);
	return QP_WC_SUCCESS;
}

static enum qp_wc_status on_nak(struct rc_requester *r, uint8_t syndrome)
{
	switch (syndrome) {
	case ROCE_SYNDROME_NAK_SEQUENCE:
		r->config.stats->naks_received++;
		return on_sequence_nak(r);
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

static enum qp_wc_status on_rnr(struct rc_requester *r, uint8_t syndrome, uint64_t now_ns)
{
	if (r->rnr_until_ns)
		return QP_WC_SUCCESS; /* the same answer again */
	r->config.stats->naks_received++;
	r->failed_psn = r->una;
	if (r->config.rnr_limit && ++r->rnr_seen >= r->config.rnr_limit)
		return QP_WC_RNR_RETRY_EXC_ERR;
	r->rnr_until_ns = r->deadline_ns = now_ns + roce_wire_rnr_ns(syndrome);
	r->progress_ns = now_ns; /* it lives */
	soft_rtt_answered(&r->rtt);
	go_back(r);
	return QP_WC_SUCCESS;
}

enum qp_wc_status rc_requester_on_ack(struct rc_requester *r, const struct roce_packet *ack,
				      uint64_t now_ns)
{
	uint64_t ahead = (ack->psn - r->una) & ROCE_PSN_MASK, psn = r->una + ahead;
	unsigned kind = SYNDROME_KIND(ack->syndrome);
	/* a NAK names the first packet not accepted */
	uint64_t read, done = kind == KIND_ACK ? psn + 1 : psn;

	if (PLANTED(psn_wrap))
		ahead = ack->psn - r->una;
	/* behind the window, or a packet that was never sent: a stale or a spoofed answer */
	if (ahead >= r->sent - r->una || (kind != KIND_ACK && kind != KIND_RNR && kind != KIND_NAK))
		return QP_WC_SUCCESS;
	read = first_read(r);
	if (read < done)
		on_missing_response(r, read, now_ns);
	else
		rc_requester_advance(r, done, now_ns);
	r->failed_psn = psn;
	if (kind == KIND_NAK)
		return on_nak(r, ack->syndrome);
	return kind == KIND_RNR && r->una == psn ? on_rnr(r, ack->syndrome, now_ns) : QP_WC_SUCCESS;
}

enum qp_wc_status rc_requester_on_response(struct rc_requester *r, const struct roce_packet *p,
					   uint64_t now_ns)
{
	uint64_t ahead = (p->psn - r->una) & ROCE_PSN_MASK, psn = r->una + ahead,
		 read = first_read(r);
	const struct rc_request *w;
	uint64_t offset;

	if (ahead >= r->sent - r->una || psn < read ||
	    (roce_wire_has_aeth(p->opcode) && SYNDROME_KIND(p->syndrome) != KIND_ACK))
		return QP_WC_SUCCESS;
	if (psn > read) {
		on_missing_response(r, read, now_ns);
		return QP_WC_SUCCESS;
	}
	rc_requester_advance(r, psn, now_ns); /* it was answered after what came before it */
	w = request_at(r, r->head);
	offset = (psn - w->first_psn) * r->config.path_mtu;
	r->failed_psn = psn;
	if (p->payload_bytes != byte_of(r, w, psn + 1) - byte_of(r, w, psn))
		return QP_WC_BAD_RESP_ERR;
	if (mr_table_place_local(r->config.regions, w->work.lkey,
				 (void *)((uintptr_t)w->work.data + offset), p->payload,
				 p->payload_bytes))
		return QP_WC_LOC_PROT_ERR;
	r->config.stats->rx_packets++;
	r->config.stats->rx_bytes += p->payload_bytes;
	rc_requester_advance(r, psn + 1, now_ns);
	return QP_WC_SUCCESS;
}

/* Nothing was received: as if all were lost, which the first answer may disprove. */
static void send_again(struct rc_requester *r)
{
	if (!r->timed_out) {
		r->window_before = r->window;
		r->asked_before = r->asked;
		r->asked_byte_before = r->asked_byte;
	}
	soft_window_lost(&r->window, true, r->una, r->sent);
	go_back(r);
	r->timed_out = true;
}

enum qp_wc_status rc_requester_on_timer(struct rc_requester *r, uint64_t now_ns)
{
	if (!r->deadline_ns || now_ns < r->deadline_ns)
		return QP_WC_SUCCESS;
	if (r->rnr_until_ns) { /* not a loss: the time to come back */
		r->rnr_until_ns = r->deadline_ns = 0;
		r->progress_ns = now_ns;
		return QP_WC_SUCCESS;
	}
	r->config.stats->timeouts++;
	r->resumed_at = NO_PSN;
	r->failed_psn = r->una;
	if (soft_rtt_gives_up(&r->rtt, r->progress_ns, now_ns))
		return QP_WC_RETRY_EXC_ERR;
	soft_rtt_back_off(&r->rtt);
	set_deadline(r, now_ns);
	send_again(r);
	return QP_WC_SUCCESS;
}

void rc_requester_kick(struct rc_requester *r, uint64_t now_ns)
{
	if (r->una == r->next || r->rnr_until_ns)
		return;
	soft_rtt_new_path(&r->rtt);
	r->progress_ns = now_ns;
	set_deadline(r, now_ns);
	go_back(r);
}

void rc_requester_fail(struct rc_requester *r, enum qp_wc_status status)
{
	r->deadline_ns = r->rnr_until_ns = 0;
	r->una = r->next = r->sent = r->asked = r->end;
	r->n_reads = 0;
	while (r->head != r->tail) {
		const struct rc_request *w = request_at(r, r->head++);
		bool is_cause = r->failed_psn >= w->first_psn &&
				r->failed_psn < w->first_psn + w->n_packets;

		r->config.on_complete(r->config.arg, w->work.wr_id,
				      is_cause ? status : QP_WC_FLUSH_ERR, 0);
	}
	r->cursor = r->head;
}
