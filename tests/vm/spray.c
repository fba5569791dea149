/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray.c - one order-free QP, and a standard one beside it, across a leaf that shuffles packets.
 *
 *   spray NAMESPACE-A ADDRESS-A NAMESPACE-B ADDRESS-B DEVICE MEGABYTES     (IPv4 as ::ffff:a.b.c.d)
 *
 * The order-free QP must arrive whole and send next to nothing twice; the standard one, over the
 * same leaf, shows that the leaf was not harmless. Every byte is checked. One line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/provider.h"

#define P	   (&qp_soft_provider)
#define CHUNK	   (1u << 20)
#define PATIENCE_S 600

struct end {
	struct in6_addr address;
	struct qp_endpoint *ep;
	struct qp *qp;
	struct qp_mr mr;
	uint8_t *memory;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "spray: %s: %s\n", what, strerror(err < 0 ? -err : errno));
	exit(1);
}

static void enter(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(name, 0);
	close(fd);
}

static void open_end(struct end *e, const char *ns, const char *address, const char *dev,
		     size_t bytes)
{
	struct qp_endpoint_attr attr = {.n_planes = 1, .n_sub_ports = {1}, .path_mtu = 1024};
	int err;

	enter(ns);
	inet_pton(AF_INET6, address, &e->address);
	attr.address = e->address;
	snprintf(attr.dev[0][0], sizeof(attr.dev[0][0]), "%s", dev);
	e->memory = calloc(1, bytes);
	err = P->endpoint_create(&e->ep, &attr);
	if (!err)
		err = P->mr_register(e->ep, e->memory, bytes, QP_ACCESS_REMOTE_WRITE, &e->mr);
	if (err)
		die("endpoint", err);
}

static void make_qp(struct end *e, const char *ns, bool order_free)
{
	struct qp_attr attr = {/*
		 * the leaf loses nothing: the order-free QP must not repeat what a busy machine
		 * delays
		 */
			       .timeout = order_free ? 22 : 16,
			       .retry_cnt = 7,
			       .window_bytes = 256 << 10,
			       .order_free = order_free};
	struct qp_path paths[4];
	int err;

	enter(ns);
	err = P->qp_create(e->ep, &attr, &e->qp);
	for (uint16_t i = 0; i < 4; i++)
		paths[i] = (struct qp_path){0, (uint16_t)(51000 + i)};
	if (!err && order_free)
		err = P->qp_spread(e->qp, paths, 4);
	if (err)
		die("QP", err);
}

static void connect_to(struct end *e, const struct end *other, bool order_free)
{
	struct qp_remote r = {.address = other->address,
			      .qpn = P->qp_num(other->qp),
			      .psn = P->qp_psn(other->qp),
			      .order_free = order_free};
	int err = P->qp_connect(e->qp, &r);

	if (err)
		die("connect", err);
}

/* Sends all of a's memory; how many completions and notifications came, each in its turn. */
static bool transfer(struct end *a, struct end *b, unsigned n)
{
	struct pollfd fds[2] = {{P->endpoint_info(a->ep)->fd, POLLIN, 0},
				{P->endpoint_info(b->ep)->fd, POLLIN, 0}};
	unsigned posted = 0, completed = 0, told = 0;
	double end = clock_now_s() + PATIENCE_S;
	struct qp_wc wc;

	while ((completed < n || told < n) && clock_now_s() < end) {
		struct qp_work w = {.wr_id = posted,
				    .data = a->memory + (size_t)posted * CHUNK,
				    .lkey = a->mr.lkey,
				    .length = CHUNK,
				    .remote_addr = (uintptr_t)b->memory + (size_t)posted * CHUNK,
				    .rkey = b->mr.rkey,
				    .imm = posted,
				    .flags = QP_WR_IMM};

		if (posted < n && posted < completed + 4 && !P->post(a->qp, &w))
			posted++;
		poll(fds, 2, 10);
		P->endpoint_progress(a->ep);
		P->endpoint_progress(b->ep);
		while (P->poll(a->ep, &wc, 1))
			if (wc.status || wc.wr_id != completed++)
				return false;
		while (P->poll(b->ep, &wc, 1))
			if (wc.status || wc.imm != told++ || wc.byte_len != CHUNK)
				return false;
	}
	return completed == n && told == n && !memcmp(a->memory, b->memory, (size_t)n * CHUNK);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"standard", "order_free"};
	struct end a, b;
	uint64_t again[2], sent[2];
	double seconds[2];
	unsigned n;
	bool ok = true;

	if (argc != 7)
		return 2;
	n = (unsigned)atoi(argv[6]);
	open_end(&a, argv[1], argv[2], argv[5], (size_t)n * CHUNK);
	open_end(&b, argv[3], argv[4], argv[5], (size_t)n * CHUNK);
	for (int order_free = 0; order_free < 2; order_free++) {
		struct qp_stats before, after;

		for (size_t i = 0; i < (size_t)n * CHUNK; i++)
			a.memory[i] = (uint8_t)(i * 2654435761u >> 13 ^ (size_t)order_free);
		make_qp(&a, argv[1], order_free);
		make_qp(&b, argv[3], order_free);
		connect_to(&a, &b, order_free);
		connect_to(&b, &a, order_free);
		before = *P->endpoint_info(a.ep)->stats;
		seconds[order_free] = -clock_now_s();
		if (!transfer(&a, &b, n)) {
			printf("wrong: %s\n", names[order_free]);
			ok = false;
		}
		seconds[order_free] += clock_now_s();
		after = *P->endpoint_info(a.ep)->stats;
		again[order_free] = after.retransmitted_packets - before.retransmitted_packets;
		sent[order_free] = after.tx_packets - before.tx_packets;
		P->qp_destroy(a.qp);
		P->qp_destroy(b.qp);
	}
	/* what a shuffling leaf costs the one, and not the other */
	ok = ok && again[1] * 50 < sent[1] && again[0] > 10 * (again[1] + 1);
	printf("{\"megabytes\":%u,\"standard\":{\"seconds\":%.2f,\"packets\":%llu,\"again\":%llu},"
	       "\"order_free\":{\"seconds\":%.2f,\"packets\":%llu,\"again\":%llu},\"ok\":%s}\n",
	       n, seconds[0], (unsigned long long)sent[0], (unsigned long long)again[0], seconds[1],
	       (unsigned long long)sent[1], (unsigned long long)again[1], ok ? "true" : "false");
	P->endpoint_destroy(a.ep);
	P->endpoint_destroy(b.ep);
	return ok ? 0 : 1;
}
