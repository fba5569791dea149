/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_life.c - QPs that end while devices work for them, and devices that go and come back, under
 * the verbs provider.
 *
 *   verbs_life stop|device        (inside the VM, after fabric_up 1 1)
 */
#include <pthread.h>

#include "base/clock.h"
#include "verbs_pair.h"

#define BYTES	 (1u << 20)
#define WRITES	 24
#define ROUNDS	 12
#define WATCH_NS UINT64_C(150000000) /* longer than the devices' retries: 7 of 67 ms at most */

static uint8_t memory[2][BYTES], seen[BYTES];
static struct qp_mr mr[2];

static void write_all(struct pair *p, uint8_t pattern)
{
	unsigned done = p->n_done[0];

	memset(memory[0], pattern, BYTES);
	pair_write(p, 0, memory[0], BYTES, mr[0].lkey, (uintptr_t)memory[1], mr[1].rkey, 0);
	pair_until(p, p->n_done[0] > done);
	if (p->n_failed[0] || memcmp(memory[0], memory[1], BYTES))
		pair_fail("a write of 0x%02x", pattern);
}

/*
 * What a QP has outstanding is cut off in the midst of it. Once qp_status says 0 at the sender, its
 * memory is not read any more; once at the receiver, nothing is written there.
 */
static void stop(struct pair *p)
{
	unsigned cut_off = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t end;
		unsigned failed = p->n_failed[0];

		pair_connect(p, 1);
		memset(memory[0], 0x10 + round, BYTES);
		for (int i = 0; i < WRITES; i++)
			pair_write(p, 0, memory[0], BYTES, mr[0].lkey, (uintptr_t)memory[1],
				   mr[1].rkey, 0);
		pair_end_qps(p);
		cut_off += p->n_failed[0] > failed;
		memset(memory[0], 0xff, BYTES); /* ours again */
		memcpy(seen, memory[1], BYTES);
		end = clock_now_ns() + WATCH_NS;
		while (clock_now_ns() < end)
			pair_turn(p);
		if (memcmp(seen, memory[1], BYTES))
			pair_fail("a QP that was quiet wrote");
		if (memchr(memory[1], 0xff, BYTES))
			pair_fail("a QP that was quiet read");
	}
	if (p->n_done[0] != ROUNDS * WRITES)
		pair_fail("%u of %d writes reported", p->n_done[0], ROUNDS * WRITES);
	if (!cut_off)
		pair_fail("no write was cut off: this test says nothing");
	printf("stop: %u of %d rounds cut writes off\n", cut_off, ROUNDS);
}

static void *delete_link(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)system("rdma link delete r1p0s0");
}

/* The receiver's device is deleted and made again, under the same netdev. */
static void device(struct pair *p)
{
	pthread_t thread;
	void *status;

	pair_connect(p, 2);
	write_all(p, 1);
	for (int round = 0; round < 3; round++) {
		pthread_create(&thread, NULL, delete_link, NULL); /* waits for the last user */
		pair_until(p, p->v->qp_status(p->qp[1][0]) < 0);
		if (p->v->qp_status(p->qp[1][1]) != -ENODEV)
			pair_fail("a QP of a device that is gone: %d",
				  p->v->qp_status(p->qp[1][1]));
		pair_end_qps(p);
		pair_until(p, !pthread_tryjoin_np(thread, &status));
		if (status)
			pair_fail("rdma link delete");
		if (system("rdma link add r1p0s0 type rxe netdev h1p0s0"))
			pair_fail("rdma link add");
		pair_connect(p, 2);
		p->n_failed[0] = 0;
		write_all(p, (uint8_t)(2 + round));
	}
	printf("device: lost and back, %d times\n", 3);
}

int main(int argc, char **argv)
{
	static struct pair p;

	pair_open(&p);
	for (int e = 0; e < 2; e++)
		pair_check(p.v->mr_register(p.ep[e], memory[e], BYTES, QP_ACCESS_REMOTE_WRITE,
					    &mr[e]));
	if (argc == 2 && !strcmp(argv[1], "stop"))
		stop(&p);
	else if (argc == 2 && !strcmp(argv[1], "device"))
		device(&p);
	else
		return 2;
	pair_close(&p);
	return 0;
}
