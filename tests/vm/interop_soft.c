/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interop_soft.c - the soft provider's end of the conformance test, toward a device driven by
 * interop_device.
 *
 *   interop_soft OWN-ADDRESS PEER-ADDRESS DEVICE PATH-MTU [lossy]
 *
 * Addresses: IPv4 as ::ffff:a.b.c.d. This end listens for the peer.
 *
 * WRITEs, SENDs and READs in both directions of lengths around every boundary, with and without
 * immediates, byte for byte; PSN wrap; receiver not ready; wrong key, right, bounds and packet
 * length in both directions: who is wrong gets the completion that the standard names; or, where
 * packets get lost, hears nothing more: nobody says twice that a connection is over.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "interop.h"
#include "qp/provider.h"

struct shape {
	uint32_t device_mtu; /* 0: ours */
	uint16_t receives;   /* of ours */
	bool bare;	     /* the device without receives */
	bool impatient;	     /* both give up at the second "not ready" */
};

struct soft {
	const struct qp_provider *p;
	struct qp_endpoint *ep;
	struct qp *qp;
	struct in6_addr own, peer;
	uint8_t *source, *target;
	struct qp_mr source_mr, target_mr;
	struct interop_answer remote; /* to INTEROP_QP */
	int fd, checks, failures, n_forgotten;
	uint32_t mtu;
	bool lossy, forgotten;
	struct shape shape; /* of the QP that is there */
};

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void check(struct soft *s, bool ok, const char *what, uint32_t length)
{
	s->checks++;
	if (ok)
		return;
	s->failures++;
	printf("wrong: %s, %u bytes\n", what, length);
}

static void refused(struct soft *s, int status, int wanted, const char *what, uint32_t length)
{
	check(s, status == wanted || (s->lossy && status == QP_WC_RETRY_EXC_ERR), what, length);
}

/*
 * Whether a request of the device succeeded. rxe can forget one of which the other end took all:
 * the acknowledgement of the last packet that arrives while rxe repeats the request counts as seen
 * and completes nothing; when those that follow are lost, its timer finds nothing without
 * acknowledgement and stops. That needs losses, is rare enough to happen once at most, and is no
 * fault of this end: a device that lacks an answer gives up before. The QP is of no more use to the
 * device's requests.
 */
static bool succeeded(struct soft *s, int status)
{
	s->forgotten = s->lossy && status == INTEROP_NONE;
	if (s->forgotten)
		printf("rxe forgot a request after check %d\n", s->checks);
	return !status || (s->forgotten && ++s->n_forgotten == 1);
}

/* Serves the endpoint until a completion of that kind comes. False: none came. */
static bool complete(struct soft *s, bool receive, struct qp_wc *wc)
{
	struct pollfd p = {.fd = s->p->endpoint_info(s->ep)->fd, .events = POLLIN};

	for (time_t end = now_s() + INTEROP_SOFT_S; now_s() < end; poll(&p, 1, 10)) {
		s->p->endpoint_progress(s->ep);
		while (s->p->poll(s->ep, wc, 1) == 1)
			if (wc->is_receive == receive)
				return true;
	}
	return false;
}

/* Serves the endpoint until one more NAK went out, or came. */
static void serve_until_nak(struct soft *s, bool sent)
{
	time_t end = now_s() + INTEROP_SOFT_S;
	struct qp_stats before, now;

	before = *s->p->endpoint_info(s->ep)->stats;
	do {
		s->p->endpoint_progress(s->ep);
		now = *s->p->endpoint_info(s->ep)->stats;
		if (now_s() > end) {
			fprintf(stderr, "interop_soft: no NAK after check %d\n", s->checks);
			exit(1);
		}
	} while (sent ? now.naks_sent == before.naks_sent
		      : now.naks_received == before.naks_received);
}

static void ask_only(struct soft *s, const struct interop_ask *what)
{
	struct interop_ask copy = *what;

	if (interop_io(s->fd, &copy, sizeof(copy), 1)) {
		fprintf(stderr, "interop_soft: the device's end is gone\n");
		exit(1);
	}
}

/* Serves the endpoint until the answer is there. */
static struct interop_answer hear(struct soft *s)
{
	struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN},
			      {.fd = s->p->endpoint_info(s->ep)->fd, .events = POLLIN}};
	struct interop_answer answer = {.status = -1};

	for (time_t end = now_s() + INTEROP_SOFT_S; now_s() < end; poll(p, 2, 10)) {
		s->p->endpoint_progress(s->ep);
		if (!(p[0].revents & POLLIN))
			continue;
		if (!interop_io(s->fd, &answer, sizeof(answer), 0))
			return answer;
		break;
	}
	fprintf(stderr, "interop_soft: no answer after check %d\n", s->checks);
	exit(1);
}

static struct interop_answer ask(struct soft *s, const struct interop_ask *what)
{
	ask_only(s, what);
	return hear(s);
}

static void new_qp_as(struct soft *s, struct shape shape)
{
	struct qp_attr attr = {.timeout = 16,
			       .retry_cnt = 7,
			       .window_bytes = 64 << 10,
			       .receives = shape.receives,
			       .rnr_limit = shape.impatient ? 2 : 0};
	struct interop_ask a = {.op = INTEROP_QP,
				.mtu = shape.device_mtu ? shape.device_mtu : s->mtu,
				.rnr_retry = shape.impatient ? 1 : 7,
				.bare = shape.bare};
	struct qp_remote remote = {.address = s->peer};

	s->shape = shape;
	if (s->qp)
		s->p->qp_destroy(s->qp);
	if (s->p->qp_create(s->ep, &attr, &s->qp))
		exit(1);
	a.qpn = s->p->qp_num(s->qp);
	a.psn = s->p->qp_psn(s->qp);
	s->remote = ask(s, &a);
	remote.qpn = s->remote.qpn;
	remote.psn = s->remote.psn;
	if (s->p->qp_connect(s->qp, &remote))
		exit(1);
}

static void new_qp(struct soft *s)
{
	new_qp_as(s, (struct shape){0});
}

static void renew_forgotten(struct soft *s)
{
	if (s->forgotten)
		new_qp_as(s, s->shape);
	s->forgotten = false;
}

static int soft_write(struct soft *s, uint32_t offset, uint32_t length, uint32_t rkey,
		      const uint32_t *imm, uint64_t seed)
{
	struct qp_work w = {.data = s->source,
			    .lkey = s->source_mr.lkey,
			    .length = length,
			    .remote_addr = s->remote.addr + offset,
			    .rkey = rkey};
	struct qp_wc wc;

	for (uint32_t i = 0; i < length && i < INTEROP_BYTES; i++)
		s->source[i] = interop_byte(seed, i);
	if (imm) {
		w.flags = QP_WR_IMM;
		w.imm = *imm;
	}
	if (s->p->post(s->qp, &w) || !complete(s, false, &wc))
		return -1;
	return (int)wc.status;
}

static void soft_to_device(struct soft *s, uint32_t offset, uint32_t length, bool with_imm)
{
	uint64_t seed = length * 7u + offset;
	uint32_t imm = 0xc0ffee00u + length % 251;
	struct interop_ask look = {
		.op = INTEROP_CHECK, .offset = offset, .length = length, .seed = seed};
	struct interop_answer a;

	check(s,
	      soft_write(s, offset, length, s->remote.rkey, with_imm ? &imm : NULL, seed) ==
		      QP_WC_SUCCESS,
	      "write to the device", length);
	check(s, ask(s, &look).status == 0, "what the device got", length);
	if (!with_imm)
		return;
	a = ask(s, &(struct interop_ask){.op = INTEROP_ARRIVED});
	check(s, a.status == 0 && a.imm == imm, "the immediate that the device got", length);
}

static void device_to_soft(struct soft *s, uint32_t offset, uint32_t length, bool with_imm)
{
	struct interop_ask a = {.op = INTEROP_WRITE,
				.rkey = s->target_mr.rkey,
				.length = length,
				.addr = (uintptr_t)s->target + offset,
				.seed = length * 11u + offset,
				.with_imm = with_imm,
				.imm = 0xbeef0000u + length % 257};
	struct qp_wc wc;
	bool same = true;

	check(s, succeeded(s, ask(s, &a).status), "write from the device", length);
	for (uint32_t i = 0; i < length; i++)
		same &= s->target[offset + i] == interop_byte(a.seed, i);
	check(s, same, "what came from the device", length);
	if (with_imm)
		check(s, complete(s, true, &wc) && wc.imm == a.imm && wc.byte_len == length,
		      "the immediate from the device", length);
	renew_forgotten(s);
}

/* ---- SEND ---- */

static void post_recv(struct soft *s, uint32_t offset, uint32_t length)
{
	struct qp_recv r = {.wr_id = length,
			    .data = s->target + offset,
			    .lkey = s->target_mr.lkey,
			    .length = length};

	check(s, s->p->post_recv(s->qp, &r) == 0, "posting a receive", length);
}

static void post_send(struct soft *s, uint32_t length, bool with_imm, uint64_t seed)
{
	struct qp_work w = {.op = QP_OP_SEND,
			    .data = s->source,
			    .lkey = s->source_mr.lkey,
			    .length = length,
			    .imm = 0xabc00000u + length % 251,
			    .flags = with_imm ? QP_WR_IMM : 0};

	for (uint32_t i = 0; i < length; i++)
		s->source[i] = interop_byte(seed, i);
	check(s, s->p->post(s->qp, &w) == 0, "posting a send", length);
}

static int done(struct soft *s)
{
	struct qp_wc wc;

	return complete(s, false, &wc) ? (int)wc.status : -1;
}

static void send_to_device(struct soft *s, uint32_t length, bool with_imm)
{
	struct interop_ask look = {.op = INTEROP_CHECK, .length = length, .seed = length + 1};
	struct interop_answer a;

	ask(s, &(struct interop_ask){.op = INTEROP_RECV, .length = length});
	post_send(s, length, with_imm, look.seed);
	check(s, done(s) == QP_WC_SUCCESS, "send to the device", length);
	a = ask(s, &(struct interop_ask){.op = INTEROP_ARRIVED});
	check(s,
	      a.status == 0 && a.length == length && (bool)a.has_imm == with_imm &&
		      (!with_imm || a.imm == 0xabc00000u + length % 251),
	      "what the device was told", length);
	check(s, ask(s, &look).status == 0, "what the device received", length);
}

static void device_sends(struct soft *s, uint32_t length, bool with_imm)
{
	struct interop_ask a = {.op = INTEROP_SEND,
				.length = length,
				.seed = length + 2,
				.with_imm = with_imm,
				.imm = 77};
	struct qp_wc wc = {0};
	bool same = true;

	post_recv(s, 0, length);
	check(s, succeeded(s, ask(s, &a).status), "send from the device", length);
	check(s,
	      complete(s, true, &wc) && wc.status == 0 && wc.byte_len == length &&
		      wc.wr_id == length && wc.has_imm == with_imm && (!with_imm || wc.imm == 77),
	      "what we were told", length);
	for (uint32_t i = 0; i < length; i++)
		same &= s->target[i] == interop_byte(a.seed, i);
	check(s, same, "what we received", length);
	renew_forgotten(s);
}

/* Who has no receive says "not ready"; who has one too short, that the request is invalid. */
static void receives_matter(struct soft *s)
{
	struct interop_ask a = {.op = INTEROP_SEND, .length = 100, .seed = 4};
	struct qp_wc wc;
	int status;

	new_qp_as(s, (struct shape){.receives = 4, .bare = true});
	post_send(s, 100, false, 3);
	serve_until_nak(s, false);
	ask(s, &(struct interop_ask){.op = INTEROP_RECV, .length = 100});
	check(s, done(s) == QP_WC_SUCCESS, "waiting for the device's receive", 100);
	ask_only(s, &a);
	serve_until_nak(s, true);
	post_recv(s, 0, 100);
	check(s, hear(s).status == 0, "the device waiting for our receive", 100);
	check(s, complete(s, true, &wc) && wc.status == 0, "its receive", 100);

	post_recv(s, 0, 99);
	refused(s, ask(s, &a).status, QP_WC_REM_INV_REQ_ERR, "our word on a send too long", 100);
	check(s, complete(s, true, &wc) && wc.status == QP_WC_LOC_LEN_ERR, "the receive too short",
	      99);
	new_qp_as(s, (struct shape){.bare = true});
	ask(s, &(struct interop_ask){.op = INTEROP_RECV, .length = 99});
	post_send(s, 100, false, 3);
	/* the standard's word is "invalid request" (IBTA 9.7.5.2.8); rxe says "operation" */
	status = done(s);
	refused(s, status == QP_WC_REM_OP_ERR ? QP_WC_REM_INV_REQ_ERR : status,
		QP_WC_REM_INV_REQ_ERR, "the device's word on a send too long", 100);

	new_qp_as(s, (struct shape){.receives = 4, .bare = true, .impatient = true});
	post_send(s, 100, false, 3);
	refused(s, done(s), QP_WC_RNR_RETRY_EXC_ERR, "giving up on the device", 100);
	new_qp_as(s, (struct shape){.receives = 4, .bare = true, .impatient = true});
	refused(s, ask(s, &a).status, QP_WC_RNR_RETRY_EXC_ERR, "the device giving up on us", 100);
}

/* ---- READ ---- */

static int soft_read(struct soft *s, uint32_t offset, uint32_t length, uint32_t rkey)
{
	struct qp_work r = {.op = QP_OP_READ,
			    .data = s->target,
			    .lkey = s->target_mr.lkey,
			    .length = length,
			    .remote_addr = s->remote.addr + offset,
			    .rkey = rkey};

	memset(s->target, 0, length);
	check(s, s->p->post(s->qp, &r) == 0, "posting a read", length);
	return done(s);
}

static void read_from_device(struct soft *s, uint32_t offset, uint32_t length)
{
	struct interop_ask a = {
		.op = INTEROP_FILL, .offset = offset, .length = length, .seed = length + 5};
	bool same = true;

	ask(s, &a);
	check(s, soft_read(s, offset, length, s->remote.rkey) == QP_WC_SUCCESS,
	      "read from the device", length);
	for (uint32_t i = 0; i < length; i++)
		same &= s->target[i] == interop_byte(a.seed, i);
	check(s, same, "what we read", length);
}

static void device_reads(struct soft *s, uint32_t offset, uint32_t length)
{
	struct interop_ask a = {.op = INTEROP_READ,
				.rkey = s->target_mr.rkey,
				.length = length,
				.addr = (uintptr_t)s->target + offset},
			   look = {.op = INTEROP_CHECK, .length = length, .seed = length + 6};

	for (uint32_t i = 0; i < length; i++)
		s->target[offset + i] = interop_byte(look.seed, i);
	check(s, ask(s, &a).status == 0, "read by the device", length);
	check(s, ask(s, &look).status == 0, "what the device read", length);
}

static void reads_are_guarded(struct soft *s)
{
	struct interop_ask a = {.op = INTEROP_READ, .length = 3000, .addr = (uintptr_t)s->target};

	new_qp(s);
	refused(s, soft_read(s, 0, 3000, s->remote.rkey ^ 0x5500), QP_WC_REM_ACCESS_ERR,
		"the device's word on reading with a wrong key", 3000);
	new_qp(s);
	refused(s, soft_read(s, INTEROP_BYTES - 100, 3000, s->remote.rkey), QP_WC_REM_ACCESS_ERR,
		"the device's word on reading past the end", 3000);
	new_qp(s);
	a.rkey = s->target_mr.rkey ^ 1;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on reading with a wrong key",
		3000);
	new_qp(s);
	a.rkey = s->target_mr.rkey;
	a.addr = (uintptr_t)s->target + INTEROP_BYTES - 100;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on reading past the end",
		3000);
	new_qp(s);
	a.rkey = s->source_mr.rkey; /* registered, but not for peers */
	a.addr = (uintptr_t)s->source;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on reading a private region",
		3000);
}

/* Packets longer than the path MTU of the one end: the other uses a larger one. */
static void lengths_matter(struct soft *s)
{
	struct interop_ask a = {.op = INTEROP_WRITE,
				.length = 4096,
				.addr = (uintptr_t)s->target,
				.rkey = s->target_mr.rkey};

	if (s->mtu == 4096) {
		new_qp_as(s, (struct shape){.device_mtu = 1024});
		refused(s, soft_write(s, 0, 4096, s->remote.rkey, NULL, 1), QP_WC_REM_INV_REQ_ERR,
			"the device's word on a packet too long", 4096);
	} else {
		new_qp_as(s, (struct shape){.device_mtu = 4096});
		refused(s, ask(s, &a).status, QP_WC_REM_INV_REQ_ERR,
			"our word on a packet too long", 4096);
	}
}

static void transfers(struct soft *s)
{
	static const uint32_t lengths[] = {1,	 2,    3,     4,     5,	    63,	  1023,
					   1024, 1025, 2047,  2048,  2049,  4095, 4096,
					   4097, 8193, 65536, 65537, 300001};
	unsigned n = sizeof(lengths) / sizeof(lengths[0]);

	new_qp(s);
	for (unsigned i = 0; i < n; i++) {
		soft_to_device(s, i * 3, lengths[i], i % 2);
		device_to_soft(s, i * 5, lengths[i], i % 2);
		read_from_device(s, i * 3, lengths[i]);
		device_reads(s, i * 5, lengths[i]);
	}
	soft_to_device(s, 0, 0, true);
	device_to_soft(s, 0, 0, true);
	new_qp_as(s, (struct shape){.receives = 4, .bare = true});
	for (unsigned i = 0; i < n; i++) {
		send_to_device(s, lengths[i], i % 2);
		device_sends(s, lengths[i], i % 2);
	}
}

/* Who asks for what it may not have gets "remote access error", and nothing was touched. */
static void refusals(struct soft *s)
{
	struct interop_ask a = {
		.op = INTEROP_WRITE, .length = 3000, .addr = (uintptr_t)s->target, .seed = 5};

	new_qp(s);
	refused(s, soft_write(s, 0, 3000, s->remote.rkey ^ 0x5500, NULL, 1), QP_WC_REM_ACCESS_ERR,
		"the device's word on a wrong key", 3000);
	new_qp(s);
	refused(s, soft_write(s, INTEROP_BYTES - 100, 3000, s->remote.rkey, NULL, 1),
		QP_WC_REM_ACCESS_ERR, "the device's word on a write past the end", 3000);
	new_qp(s);
	memset(s->target, 0x77, 3000);
	a.rkey = s->target_mr.rkey ^ 1;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on a wrong key", 3000);
	new_qp(s);
	a.rkey = s->target_mr.rkey;
	a.addr = (uintptr_t)s->target + INTEROP_BYTES - 100;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on a write past the end",
		3000);
	check(s, s->target[0] == 0x77 && s->target[2999] == 0x77, "memory that was refused", 3000);
	new_qp(s);
	a.rkey = s->source_mr.rkey; /* registered, but not for peers */
	a.addr = (uintptr_t)s->source;
	refused(s, ask(s, &a).status, QP_WC_REM_ACCESS_ERR, "our word on a private region", 3000);
}

static int accept_peer(const struct in6_addr *own)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6, .sin6_port = htons(INTEROP_PORT), .sin6_addr = *own};
	int fd = socket(AF_INET6, SOCK_STREAM, 0), one = 1, peer;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1)) {
		perror("interop_soft: listen");
		exit(1);
	}
	peer = accept(fd, NULL, NULL);
	close(fd);
	return peer;
}

int main(int argc, char **argv)
{
	struct qp_endpoint_attr attr = {.n_planes = 1, .n_sub_ports = {1}, .device_peers = true};
	static struct soft s = {.p = &qp_soft_provider};
	struct qp_stats stats;
	int err;

	if (argc < 5 || inet_pton(AF_INET6, argv[1], &s.own) != 1 ||
	    inet_pton(AF_INET6, argv[2], &s.peer) != 1)
		return 2;
	attr.address = s.own;
	attr.path_mtu = s.mtu = (uint32_t)atoi(argv[4]);
	s.lossy = argc > 5;
	snprintf(attr.dev[0][0], sizeof(attr.dev[0][0]), "%s", argv[3]);
	s.source = calloc(1, INTEROP_BYTES);
	s.target = calloc(1, INTEROP_BYTES);
	err = s.p->endpoint_create(&s.ep, &attr);
	if (!err)
		err = s.p->mr_register(s.ep, s.source, INTEROP_BYTES, 0, &s.source_mr);
	if (!err)
		err = s.p->mr_register(s.ep, s.target, INTEROP_BYTES,
				       QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ,
				       &s.target_mr);
	if (err) {
		fprintf(stderr, "interop_soft: %s\n", strerror(-err));
		return 1;
	}
	s.fd = accept_peer(&s.own);
	transfers(&s);
	receives_matter(&s);
	refusals(&s);
	reads_are_guarded(&s);
	lengths_matter(&s);
	interop_io(s.fd, &(struct interop_ask){.op = INTEROP_END}, sizeof(struct interop_ask), 1);
	stats = *s.p->endpoint_info(s.ep)->stats;
	printf("{\"own\":\"%s\",\"mtu\":%s,\"checks\":%d,\"failures\":%d,\"tx_packets\":%llu,\"rx_"
	       "packets\":%"
	       "llu,\"icrc_errors\":%llu,"
	       "\"naks_sent\":%llu,\"naks_received\":%llu,\"retransmitted\":%llu}\n",
	       argv[1], argv[4], s.checks, s.failures, (unsigned long long)stats.tx_packets,
	       (unsigned long long)stats.rx_packets, (unsigned long long)stats.icrc_errors,
	       (unsigned long long)stats.naks_sent, (unsigned long long)stats.naks_received,
	       (unsigned long long)stats.retransmitted_packets);
	s.p->endpoint_destroy(s.ep);
	return s.failures || stats.icrc_errors ? 1 : 0;
}
