/* SPDX-License-Identifier: BSD-2-Clause */
#include "of_sender.h"

#include <errno.h>
#include <string.h>

/* packets that an idle QP has memory for */
#define OF_PACKETS_KEPT 64
/* beyond what a round trip explains: a time slice of the other end's scheduler, 3 to 4 ms */
#define PROBE_NS 4000000u

static struct rc_request *request_at(const struct of_sender *s, uint64_t i)
{
	return fifo_at(&s->queue, sizeof(struct rc_request), i);
}

static struct of_packet *packet_at(const struct of_sender *s, uint64_t psn)
{
	return fifo_at(&s->packets, sizeof(struct of_packet), psn);
}

int of_sender_init(struct of_sender *s, const struct rc_requester_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	if (s->config.window_bytes < config->path_mtu)
		s->config.window_bytes = config->path_mtu;
	if (s->config.window_bytes > OF_WINDOW * config->path_mtu)
		s->config.window_bytes = OF_WINDOW * config->path_mtu;
	s->una = s->next = s->end = config->first_psn & ROCE_PSN_MASK;
	s->failed_psn = s->una;
	soft_rtt_init(&s->rtt, config->timeout_ns, config->retry_cnt);
	soft_window_init(&s->window, s->config.window_bytes, config->path_mtu, s->una);
	return 0;
}

void of_sender_fini(struct of_sender *s)
{
	fifo_fini(&s->queue);
	fifo_fini(&s->packets);
	memset(s, 0, sizeof(*s));
}

/* For one more write of n packets, which are not to lack memory once they are under way. */
static int of_sender_make_room(struct of_sender *s, uint32_t n)
{
	uint64_t packets = s->end + n - s->una;
	int err = fifo_reserve(&s->queue, sizeof(struct rc_request), s->head, s->tail,
			       (uint32_t)(s->tail - s->head) + 1);

	if (packets > OF_WINDOW)
		packets = OF_WINDOW;
	return err ? err
		   : fifo_reserve(&s->packets, sizeof(struct of_packet), s->una, s->next,
				  (uint32_t)packets);
}

int of_sender_post(struct of_sender *s, const struct qp_work *work)
{
	uint32_t n = work->length / s->config.path_mtu + (work->length % s->config.path_mtu != 0);
	struct rc_request *w;

	if (work->op != QP_OP_WRITE)
		return -EOPNOTSUPP;
	if (s->tail - s->head >= RC_QUEUE_DEPTH)
		return -ENOBUFS;
	n = n ? n : 1;
	if (of_sender_make_room(s, n))
		return -ENOMEM;
	w = request_at(s, s->tail++);
	*w = (struct rc_request){.work = *work, .first_psn = s->end, .n_packets = n};
	s->end += n;
	return 0;
}

/* ---- sending ---- */

static const struct rc_request *request_of(const struct of_sender *s, uint64_t psn)
{
	uint64_t low = s->head, high = s->tail;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (request_at(s, middle)->first_psn <= psn)
			low = middle;
		else
			high = middle;
	}
	return request_at(s, low);
}

static void make_packet(const struct of_sender *s, const struct rc_request *w, uint64_t psn,
			struct roce_packet *out)
{
	uint64_t i = psn - w->first_psn, offset = i * s->config.path_mtu,
		 left = w->work.length - offset;
	bool notifies = i + 1 == w->n_packets && w->work.flags & QP_WR_IMM;

	*out = (struct roce_packet){
		.opcode = notifies ? ROCE_PLACE_LAST_IMM : ROCE_PLACE,
		.dest_qpn = s->config.remote_qpn,
		.psn = psn & ROCE_PSN_MASK,
		.remote_addr = w->work.remote_addr + offset,
		.rkey = w->work.rkey,
		.dma_bytes = w->work.length,
		.imm = w->work.imm,
		.payload_bytes = (uint32_t)(left < s->config.path_mtu ? left : s->config.path_mtu),
	};
	if (out->payload_bytes)
		out->payload = (const uint8_t *)w->work.data + offset;
}

/*
 * The next to send at or after *psn: the lost ones first, then what never was. False: there is
 * none.
 */
static bool next_to_send(const struct of_sender *s, uint64_t *psn, unsigned *lost_left)
{
	for (; *lost_left && *psn < s->next; ++*psn) {
		if (packet_at(s, *psn)->state != OF_LOST)
			continue;
		--*lost_left;
		return true;
	}
	if (*psn < s->next)
		*psn = s->next;
	return *psn < s->end && *psn - s->una < OF_WINDOW;
}

/*
 * How many packets may go now: a whole burst or all there are, or none, as small batches cost as
 * much as large ones.
 */
static uint64_t allowance(const struct of_sender *s)
{
	uint64_t window = s->window.bytes / s->config.path_mtu,
		 burst = s->config.batch_bytes / s->config.path_mtu;
	uint64_t room = s->n_out < window ? window - s->n_out : 0,
		 unsent = s->n_lost + (s->end - s->next);

	if (burst > window / 2)
		burst = window / 2;
	if (!burst)
		burst = 1;
	if (room < (unsent < burst ? unsent : burst))
		return 0;
	return room < burst ? room : burst;
}

/* A write's memory, as long as it is registered. */
static bool memory_is_there(const struct of_sender *s, const struct rc_request *w)
{
	return mr_table_local_ok(s->config.regions, w->work.lkey, w->work.data, w->work.length);
}

enum qp_wc_status of_sender_burst(struct of_sender *s, struct roce_packet *out, unsigned max,
				  unsigned *n_out)
{
	uint64_t psn = s->una, room = allowance(s);
	unsigned n = 0, lost_left = s->n_lost;
	const struct rc_request *checked = NULL;

	*n_out = 0;
	for (; n < max && n < room && next_to_send(s, &psn, &lost_left); psn++) {
		const struct rc_request *w = request_of(s, psn);

		if (w != checked && !memory_is_there(s, w)) {
			if (n)
				break;
			s->failed_psn = psn;
			return QP_WC_LOC_PROT_ERR;
		}
		checked = w;
		make_packet(s, w, psn, &out[n++]);
	}
	if (n)
		out[n - 1].ack_req = true;
	*n_out = n;
	return QP_WC_SUCCESS;
}

static void set_deadline(struct of_sender *s)
{
	uint64_t when[] = {s->overdue_ns, s->probe_ns, s->timeout_ns};

	s->deadline_ns = 0;
	for (unsigned i = 0; i < 3; i++)
		if (when[i] && (!s->deadline_ns || when[i] < s->deadline_ns))
			s->deadline_ns = when[i];
}

/*
 * Something was received, or something was sent while nothing was waited for. After twice the usual
 * round trip the newest packet alone is sent again, which costs little; all are after the time-out.
 */
static void wait_anew(struct of_sender *s, uint64_t now_ns)
{
	uint64_t probe = 2 * soft_rtt_usual_ns(&s->rtt) + PROBE_NS;
	bool waits = s->una != s->next && s->config.timeout_ns;

	s->progress_ns = now_ns;
	s->timeout_ns = waits ? soft_rtt_deadline_ns(&s->rtt, s->progress_ns, now_ns) : 0;
	s->probe_ns = waits && s->rtt.srtt_ns ? now_ns + probe : 0;
	if (s->probe_ns >= s->timeout_ns)
		s->probe_ns = 0;
}

void of_sender_sent(struct of_sender *s, unsigned n_packets, uint64_t now_ns)
{
	unsigned lost_left = s->n_lost;
	bool waited = s->timeout_ns;

	for (uint64_t psn = s->una; n_packets && next_to_send(s, &psn, &lost_left);
	     psn++, n_packets--) {
		struct of_packet *p = packet_at(s, psn);
		struct roce_packet wire;

		make_packet(s, request_of(s, psn), psn, &wire);
		s->config.stats->tx_packets++;
		s->config.stats->tx_bytes += wire.payload_bytes;
		if (psn == s->next) {
			s->next++;
			*p = (struct of_packet){.sent_ns = now_ns};
		} else {
			s->n_lost--;
			*p = (struct of_packet){.sent_ns = now_ns, .again = true};
			s->config.stats->retransmitted_packets++;
		}
		s->n_out++;
	}
	if (!waited)
		wait_anew(s, now_ns);
	set_deadline(s);
}

/* ---- losses ---- */

static void of_sender_lose(struct of_sender *s, struct of_packet *p)
{
	p->state = OF_LOST;
	s->n_out--;
	s->n_lost++;
}

/*
 * Packets that were overtaken by one sent a whole patience later are lost; those overtaken by less
 * will be, if they do not come within a round trip and a patience of their sending.
 */
static void judge_overtaken(struct of_sender *s, uint64_t now_ns)
{
	uint64_t patience = soft_rtt_usual_ns(&s->rtt);
	bool any = false;

	s->overdue_ns = 0;
	for (uint64_t psn = s->una; s->n_out && s->rtt.srtt_ns && psn < s->next; psn++) {
		struct of_packet *p = packet_at(s, psn);
		uint64_t overdue = p->sent_ns + s->rtt.srtt_ns + patience;

		if (p->state != OF_OUT || p->sent_ns >= s->newest_placed_ns)
			continue;
		if (p->sent_ns + patience <= s->newest_placed_ns || overdue <= now_ns) {
			of_sender_lose(s, p);
			any = true;
		} else if (!s->overdue_ns || overdue < s->overdue_ns) {
			s->overdue_ns = overdue;
		}
	}
	if (any)
		soft_window_lost(&s->window, false, s->una, s->next);
}

/* ---- answers ---- */

/* What one acknowledgement says. */
struct news {
	unsigned placed;
	uint64_t newest_ns; /* of packets sent once */
	bool was_late;	    /* one that was taken for lost, and not sent again */
};

static void on_placed(struct of_sender *s, uint64_t psn, struct news *news)
{
	struct of_packet *p = packet_at(s, psn);

	if (p->state == OF_PLACED)
		return;
	if (p->state == OF_OUT)
		s->n_out--;
	else
		s->n_lost--;
	news->was_late |= p->state == OF_LOST && !p->again;
	p->state = OF_PLACED;
	news->placed++;
	if (!p->again && p->sent_ns > news->newest_ns)
		news->newest_ns = p->sent_ns;
	if (p->sent_ns > s->newest_placed_ns)
		s->newest_placed_ns = p->sent_ns;
}

static void complete(struct of_sender *s)
{
	while (s->head != s->tail) {
		const struct rc_request *w = request_at(s, s->head);

		if (s->una < w->first_psn + w->n_packets)
			break;
		s->head++;
		s->config.on_complete(s->config.arg, w->work.wr_id, QP_WC_SUCCESS, w->work.length);
	}
	if (s->head == s->tail) {
		fifo_trim(&s->queue, RC_QUEUE_KEPT);
		fifo_trim(&s->packets, OF_PACKETS_KEPT);
	}
}

static enum qp_wc_status on_nak(struct of_sender *s, const struct roce_packet *ack)
{
	uint64_t ahead = (ack->psn - s->una) & ROCE_PSN_MASK;

	if (ahead >= s->next - s->una)
		return QP_WC_SUCCESS;
	s->failed_psn = s->una + ahead;
	s->config.stats->naks_received++;
	switch (ack->syndrome) {
	case ROCE_SYNDROME_NAK_INVALID_REQUEST:
		return QP_WC_REM_INV_REQ_ERR;
	case ROCE_SYNDROME_NAK_REMOTE_ACCESS:
		return QP_WC_REM_ACCESS_ERR;
	case ROCE_SYNDROME_NAK_SEQUENCE: /* so it wants order after all */
		return QP_WC_BAD_RESP_ERR;
	default:
		return QP_WC_SUCCESS;
	}
}

/* The first answer after a time-out: packets that it took for lost are only late. */
static void judge_timeout(struct of_sender *s, const struct news *news)
{
	if (!s->timed_out)
		return;
	s->timed_out = false;
	if (!news->was_late)
		return;
	s->window = s->window_before;
	for (uint64_t psn = s->una; s->n_lost && psn < s->next; psn++) {
		struct of_packet *p = packet_at(s, psn);

		if (p->state != OF_LOST || p->again)
			continue;
		p->state = OF_OUT;
		s->n_lost--;
		s->n_out++;
	}
}

enum qp_wc_status of_sender_on_ack(struct of_sender *s, const struct roce_packet *ack,
				   uint64_t now_ns)
{
	uint64_t ahead = (ack->psn + 1 - s->una) & ROCE_PSN_MASK, next = s->una + ahead;
	struct news news = {0};

	if (ack->syndrome > ROCE_SYNDROME_ACK)
		return on_nak(s, ack);
	if (ahead > s->next - s->una)
		return QP_WC_SUCCESS; /* old, or of packets that were never sent */
	for (uint64_t psn = s->una; psn < next; psn++)
		on_placed(s, psn, &news);
	for (uint32_t i = 0;
	     ack->opcode == ROCE_SELECTIVE_ACK && i < ack->payload_bytes * 8 && i < OF_WINDOW; i++)
		if (ack->payload[i / 8] >> i % 8 & 1 && next + 1 + i < s->next)
			on_placed(s, next + 1 + i, &news);
	s->una = next;
	complete(s);
	if (!news.placed)
		return QP_WC_SUCCESS;
	judge_timeout(s, &news);
	if (news.newest_ns && news.newest_ns <= now_ns)
		soft_rtt_measured(&s->rtt, now_ns - news.newest_ns);
	soft_rtt_answered(&s->rtt);
	soft_window_acked(&s->window, (uint64_t)news.placed * s->config.path_mtu, s->una, s->next);
	judge_overtaken(s, now_ns);
	wait_anew(s, now_ns);
	set_deadline(s);
	return QP_WC_SUCCESS;
}

/* ---- time ---- */

static void lose_all(struct of_sender *s)
{
	for (uint64_t psn = s->una; s->n_out && psn < s->next; psn++)
		if (packet_at(s, psn)->state == OF_OUT)
			of_sender_lose(s, packet_at(s, psn));
}

/* Sends the newest again: its answer says what became of the others. */
static void probe(struct of_sender *s)
{
	s->probe_ns = 0;
	for (uint64_t psn = s->next; psn-- > s->una;) {
		if (packet_at(s, psn)->state != OF_OUT)
			continue;
		of_sender_lose(s, packet_at(s, psn));
		return;
	}
}

/* Nothing was received: as if all were lost. */
static void time_out(struct of_sender *s, uint64_t now_ns)
{
	if (!s->timed_out)
		s->window_before = s->window;
	s->timed_out = true;
	soft_window_lost(&s->window, true, s->una, s->next);
	lose_all(s);
	soft_rtt_back_off(&s->rtt);
	s->timeout_ns = soft_rtt_deadline_ns(&s->rtt, s->progress_ns, now_ns);
	s->probe_ns = s->overdue_ns = 0;
}

enum qp_wc_status of_sender_on_timer(struct of_sender *s, uint64_t now_ns)
{
	if (s->timeout_ns && now_ns >= s->timeout_ns) {
		s->config.stats->timeouts++;
		s->failed_psn = s->una;
		if (soft_rtt_gives_up(&s->rtt, s->progress_ns, now_ns))
			return QP_WC_RETRY_EXC_ERR;
		time_out(s, now_ns);
	}
	if (s->probe_ns && now_ns >= s->probe_ns)
		probe(s);
	if (s->overdue_ns && now_ns >= s->overdue_ns)
		judge_overtaken(s, now_ns);
	set_deadline(s);
	return QP_WC_SUCCESS;
}

void of_sender_kick(struct of_sender *s, uint64_t now_ns)
{
	lose_all(s);
	s->timed_out = false;
	soft_rtt_new_path(&s->rtt);
	wait_anew(s, now_ns);
	s->overdue_ns = 0;
	set_deadline(s);
}

void of_sender_fail(struct of_sender *s, enum qp_wc_status status)
{
	s->una = s->next = s->end;
	s->n_out = s->n_lost = 0;
	s->overdue_ns = s->probe_ns = s->timeout_ns = s->deadline_ns = 0;
	while (s->head != s->tail) {
		const struct rc_request *w = request_at(s, s->head++);
		bool is_cause = s->failed_psn >= w->first_psn &&
				s->failed_psn < w->first_psn + w->n_packets;

		s->config.on_complete(s->config.arg, w->work.wr_id,
				      is_cause ? status : QP_WC_FLUSH_ERR, 0);
	}
}
