/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_order.c - what it costs to notify a receiver by every QP that placed bytes of a message, as
 * InfiniBand's ordering asks for (qp_provider.notify_per_qp), against one notification.
 *
 *   verbs_order MESSAGES BYTES        (inside the VM, after fabric_up 1 1)
 *
 * Three ways, for 1, 2, 4 and 8 QPs; time from the first post to the receiver's last completion.
 *   one     a write on each QP; when all are acknowledged, an immediate on the first
 *   every   a write and behind it an immediate of zero bytes, on each QP
 *   last    a write with immediate on each QP
 * It asserts that each way delivers as many notifications as it must, and all bytes. Packets are
 * the devices' own counts: data and immediates one way, acknowledgements the other. Times are
 * printed and not judged: this is emulated.
 */
#include "base/clock.h"
#include "verbs_pair.h"

#define MAX_BYTES (1u << 20)

enum way { WAY_ONE, WAY_EVERY, WAY_LAST, N_WAYS };

static const char *const names[N_WAYS] = {"one", "every", "last"};
static uint8_t memory[2][MAX_BYTES];
static struct qp_mr mr[2];
static unsigned n_posted;

static void write_part(struct pair *p, unsigned i, uint32_t from, uint32_t length, unsigned flags)
{
	pair_write(p, i, memory[0] + from, length, mr[0].lkey, (uintptr_t)memory[1] + from,
		   mr[1].rkey, flags);
	n_posted++;
}

static void send_message(struct pair *p, enum way way, unsigned n_qps, uint32_t bytes)
{
	uint32_t part = bytes / n_qps;
	unsigned received = p->n_received[1];

	for (unsigned i = 0; i < n_qps; i++)
		write_part(p, i, i * part, part, way == WAY_LAST ? QP_WR_IMM : 0);
	if (way == WAY_ONE)
		pair_until(p, p->n_done[0] == n_posted);
	for (unsigned i = 0; i < (way == WAY_ONE ? 1 : way == WAY_EVERY ? n_qps : 0); i++)
		write_part(p, i, 0, 0, QP_WR_IMM);
	pair_until(p, p->n_received[1] == received + (way == WAY_ONE ? 1 : n_qps));
}

/* Sent by the end's device. */
static uint64_t packets(int e)
{
	char path[96];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/r%dp0s0/ports/1/hw_counters/sent_pkts",
		 e);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lu", &n) != 1)
		pair_fail("%s", path);
	fclose(f);
	return n;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void measure(struct pair *p, enum way way, unsigned n_qps, unsigned messages, uint32_t bytes)
{
	uint64_t *ns = calloc(messages, sizeof(*ns)), sent[2] = {packets(0), packets(1)};

	for (unsigned m = 0; m < messages; m++) {
		uint64_t began;

		memset(memory[0], (int)(m + 1), bytes);
		began = clock_now_ns();
		send_message(p, way, n_qps, bytes);
		ns[m] = clock_now_ns() - began;
		pair_until(p, p->n_done[0] == n_posted);
		if (memcmp(memory[0], memory[1], bytes) || p->n_failed[0] || p->n_failed[1])
			pair_fail("%s, %u QPs, message %u", names[way], n_qps, m);
	}
	qsort(ns, messages, sizeof(*ns), compare);
	printf("{\"notify\":\"%s\",\"qps\":%u,\"bytes\":%u,\"packets\":%.2f,\"acks\":%.2f,"
	       "\"p50_us\":%.0f,\"n\":%u,\"emulated\":true}\n",
	       names[way], n_qps, bytes, (double)(packets(0) - sent[0]) / messages,
	       (double)(packets(1) - sent[1]) / messages, (double)ns[messages / 2] / 1e3, messages);
	free(ns);
}

int main(int argc, char **argv)
{
	static struct pair p;
	unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	uint32_t bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;

	if (!messages || !bytes || bytes > MAX_BYTES)
		return 2;
	pair_open(&p);
	for (int e = 0; e < 2; e++)
		pair_check(p.v->mr_register(p.ep[e], memory[e], MAX_BYTES, QP_ACCESS_REMOTE_WRITE,
					    &mr[e]));
	for (unsigned n = 1; n <= 8; n *= 2) {
		pair_connect(&p, n);
		send_message(&p, WAY_EVERY, n, bytes); /* asks for the keys */
		for (int way = 0; way < N_WAYS; way++)
			measure(&p, (enum way)way, n, messages, bytes);
		pair_end_qps(&p);
		p.n_failed[0] = p.n_failed[1] = 0; /* receives that were flushed */
	}
	pair_close(&p);
	return 0;
}
