/*
 * interop_soft.c - the soft provider's end of the conformance test, toward a device driven by
 * interop_device.
 *
 *   interop_soft OWN-ADDRESS PEER-ADDRESS DEVICE          (IPv4 as ::ffff:a.b.c.d; listens for the
 * peer)
 *
 * Writes in both directions of lengths around every boundary, with and without immediates, byte for
 * byte; PSN wrap; wrong key and bounds in both directions: who is wrong gets the completion that
 * the standard names.
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

#define PATIENCE_S 60

struct soft {
	const struct qp_provider *p;
	struct qp_endpoint *ep;
	struct qp *qp;
	struct in6_addr own, peer;
	uint8_t *source, *target;
	struct qp_mr source_mr, target_mr;
	struct interop_answer remote; /* to INTEROP_QP */
	int fd, checks, failures;
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

/* Serves the endpoint until a completion of that kind comes. False: none came. */
static bool complete(struct soft *s, bool receive, struct qp_wc *wc)
{
	struct pollfd p = {.fd = s->p->endpoint_fd(s->ep), .events = POLLIN};

	for (time_t end = now_s() + PATIENCE_S; now_s() < end; poll(&p, 1, 10)) {
		s->p->endpoint_progress(s->ep);
		while (s->p->poll(s->ep, wc, 1) == 1)
			if (wc->is_receive == receive)
				return true;
	}
	return false;
}

/* Asks, and serves the endpoint until the answer is there. */
static struct interop_answer ask(struct soft *s, const struct interop_ask *what)
{
	struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN},
			      {.fd = s->p->endpoint_fd(s->ep), .events = POLLIN}};
	struct interop_ask copy = *what;
	struct interop_answer answer = {.status = -1};

	if (interop_io(s->fd, &copy, sizeof(copy), 1)) {
		fprintf(stderr, "interop_soft: the device's end is gone\n");
		exit(1);
	}
	for (time_t end = now_s() + PATIENCE_S; now_s() < end; poll(p, 2, 10)) {
		s->p->endpoint_progress(s->ep);
		if (!(p[0].revents & POLLIN))
			continue;
		if (!interop_io(s->fd, &answer, sizeof(answer), 0))
			return answer;
		break;
	}
	fprintf(stderr, "interop_soft: no answer to %u\n", what->op);
	exit(1);
}

static void new_qp(struct soft *s)
{
	struct qp_attr attr = {.timeout = 16, .retry_cnt = 7, .window_bytes = 64 << 10};
	struct interop_ask a = {.op = INTEROP_QP};
	struct qp_remote remote = {.address = s->peer};

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

static int soft_write(struct soft *s, uint32_t offset, uint32_t length, uint32_t rkey,
		      const uint32_t *imm, uint64_t seed)
{
	struct qp_write w = {.data = s->source,
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
	if (s->p->post_write(s->qp, &w) || !complete(s, false, &wc))
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

	check(s, ask(s, &a).status == 0, "write from the device", length);
	for (uint32_t i = 0; i < length; i++)
		same &= s->target[offset + i] == interop_byte(a.seed, i);
	check(s, same, "what came from the device", length);
	if (with_imm)
		check(s, complete(s, true, &wc) && wc.imm == a.imm && wc.byte_len == length,
		      "the immediate from the device", length);
}

static void transfers(struct soft *s)
{
	static const uint32_t lengths[] = {1,	 2,    3,    4,	   5,	 63,	1023,  1024,
					   1025, 2047, 2048, 2049, 4096, 65536, 65537, 300001};

	new_qp(s);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		soft_to_device(s, i * 3, lengths[i], i % 2);
		device_to_soft(s, i * 5, lengths[i], i % 2);
	}
	soft_to_device(s, 0, 0, true);
	device_to_soft(s, 0, 0, true);
}

/* Who asks for what it may not have gets "remote access error", and nothing was touched. */
static void refusals(struct soft *s)
{
	struct interop_ask a = {
		.op = INTEROP_WRITE, .length = 3000, .addr = (uintptr_t)s->target, .seed = 5};

	new_qp(s);
	check(s, soft_write(s, 0, 3000, s->remote.rkey ^ 0x5500, NULL, 1) == QP_WC_REM_ACCESS_ERR,
	      "the device's word on a wrong key", 3000);
	new_qp(s);
	check(s,
	      soft_write(s, INTEROP_BYTES - 100, 3000, s->remote.rkey, NULL, 1) ==
		      QP_WC_REM_ACCESS_ERR,
	      "the device's word on a write past the end", 3000);
	new_qp(s);
	memset(s->target, 0x77, 3000);
	a.rkey = s->target_mr.rkey ^ 1;
	check(s, ask(s, &a).status == QP_WC_REM_ACCESS_ERR, "our word on a wrong key", 3000);
	new_qp(s);
	a.rkey = s->target_mr.rkey;
	a.addr = (uintptr_t)s->target + INTEROP_BYTES - 100;
	check(s, ask(s, &a).status == QP_WC_REM_ACCESS_ERR, "our word on a write past the end",
	      3000);
	check(s, s->target[0] == 0x77 && s->target[2999] == 0x77, "memory that was refused", 3000);
	new_qp(s);
	a.rkey = s->source_mr.rkey; /* registered, but not for peers */
	a.addr = (uintptr_t)s->source;
	check(s, ask(s, &a).status == QP_WC_REM_ACCESS_ERR, "our word on a private region", 3000);
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
	struct qp_endpoint_attr attr = {
		.n_planes = 1, .n_sub_ports = {1}, .path_mtu = INTEROP_MTU, .device_peers = true};
	static struct soft s = {.p = &qp_soft_provider};
	struct qp_stats stats;
	int err;

	if (argc != 4 || inet_pton(AF_INET6, argv[1], &s.own) != 1 ||
	    inet_pton(AF_INET6, argv[2], &s.peer) != 1)
		return 2;
	attr.address = s.own;
	snprintf(attr.dev[0][0], sizeof(attr.dev[0][0]), "%s", argv[3]);
	s.source = calloc(1, INTEROP_BYTES);
	s.target = calloc(1, INTEROP_BYTES);
	err = s.p->endpoint_create(&s.ep, &attr);
	if (!err)
		err = s.p->mr_register(s.ep, s.source, INTEROP_BYTES, 0, &s.source_mr);
	if (!err)
		err = s.p->mr_register(s.ep, s.target, INTEROP_BYTES, QP_ACCESS_REMOTE_WRITE,
				       &s.target_mr);
	if (err) {
		fprintf(stderr, "interop_soft: %s\n", strerror(-err));
		return 1;
	}
	s.fd = accept_peer(&s.own);
	transfers(&s);
	refusals(&s);
	interop_io(s.fd, &(struct interop_ask){.op = INTEROP_END}, sizeof(struct interop_ask), 1);
	s.p->endpoint_stats(s.ep, &stats);
	printf("{\"own\":\"%s\",\"checks\":%d,\"failures\":%d,\"tx_packets\":%llu,\"rx_packets\":%"
	       "llu,\"icrc_errors\":%llu,"
	       "\"naks_sent\":%llu,\"naks_received\":%llu,\"retransmitted\":%llu}\n",
	       argv[1], s.checks, s.failures, (unsigned long long)stats.tx_packets,
	       (unsigned long long)stats.rx_packets, (unsigned long long)stats.icrc_errors,
	       (unsigned long long)stats.naks_sent, (unsigned long long)stats.naks_received,
	       (unsigned long long)stats.retransmitted_packets);
	s.p->endpoint_destroy(s.ep);
	return s.failures || stats.icrc_errors ? 1 : 0;
}
