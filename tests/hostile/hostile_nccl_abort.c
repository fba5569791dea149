/* links: test_bed dl */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_nccl_abort.c - one of two NCCL communicators that share a group is aborted.
 *
 *   hostile_nccl_abort PLUGIN
 *
 * NCCL's proxy then deregisters the communicator's buffer while a send of it is under way, frees
 * the buffer, and closes the communicator last. The group goes on in the test() of the other one:
 * it must not read that buffer, and the other's messages arrive whole. The receiver is stopped
 * meanwhile, so that what is under way has to be sent again. Exit 77: not root.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "nccl/nccl_net.h"

#define BYTES	 (32u << 20)
#define LIMIT_NS UINT64_C(20000000000)
#define TAG	 7

enum { ABORTED, KEPT, N };

struct shared {
	uint8_t handle[N][NCCL_NET_HANDLE_MAXSIZE];
	_Atomic int listens, received, receiver;
};

static struct bed bed;
static struct shared *shared;
static uint8_t *target[N]; /* the receiver's buffers, which both ends see */
static const ncclNet_v10_t *net;

static void ok(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "hostile_nccl_abort: %s\n", what);
	exit(1);
}

__attribute__((format(printf, 5, 6))) static void say(ncclDebugLogLevel level, unsigned long flags,
						      const char *file, int line,
						      const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static void load(const char *plugin, int host)
{
	void *library;

	bed_enter_namespace(&bed, host);
	setenv("FARE_RUN_DIR", bed.dir[host], 1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
	ok(library, "the plugin cannot be loaded");
	net = dlsym(library, "ncclNetPlugin_v10");
	ok(net && !net->init(say, NULL), "init");
}

static bool is_late(uint64_t since_ns)
{
	return clock_now_ns() - since_ns > LIMIT_NS;
}

static void *send_or_receive(void *comm, uint8_t *data, void *mr, bool sends)
{
	void *request = NULL, *at = data;
	size_t size = BYTES;
	int tag = TAG;

	for (uint64_t since = clock_now_ns(); !request;) {
		ncclResult_t result =
			sends ? net->isend(comm, data, BYTES, TAG, mr, NULL, &request)
			      : net->irecv(comm, 1, &at, &size, &tag, &mr, NULL, &request);

		ok(result == ncclSuccess && !is_late(since), sends ? "isend" : "irecv");
	}
	return request;
}

static void finish(void *request)
{
	int done = 0, bytes;

	for (uint64_t since = clock_now_ns(); !done;)
		ok(net->test(request, &done, &bytes) == ncclSuccess && !is_late(since),
		   "the other communicator fails");
}

static int receiver(void *plugin)
{
	void *listener[N], *comm[N] = {NULL}, *mr[N], *request[N];
	int done, bytes;

	load(plugin, 1);
	for (int i = 0; i < N; i++)
		ok(!net->listen(0, shared->handle[i], &listener[i]), "listen");
	shared->listens = 1;
	for (uint64_t since = clock_now_ns(); !comm[0] || !comm[1];)
		for (int i = 0; i < N; i++)
			ok((comm[i] || !net->accept(listener[i], &comm[i], NULL)) &&
				   !is_late(since),
			   "accept");
	for (int i = 0; i < N; i++) {
		ok(!net->regMr(comm[i], target[i], BYTES, NCCL_PTR_HOST, &mr[i]), "regMr");
		request[i] = send_or_receive(comm[i], target[i], mr[i], false);
	}
	for (int round = 0; round < 2; round++) {
		finish(request[KEPT]);
		shared->received = round + 1;
		if (!round)
			request[KEPT] = send_or_receive(comm[KEPT], target[KEPT], mr[KEPT], false);
	}
	ok(net->test(request[ABORTED], &done, &bytes) || !done, "the aborted one is done");
	for (int i = 0; i < N; i++) {
		net->deregMr(comm[i], mr[i]);
		net->closeRecv(comm[i]);
		net->closeListen(listener[i]);
	}
	return 0;
}

static void connect_both(void *comm[N])
{
	while (!shared->listens)
		usleep(1000);
	for (uint64_t since = clock_now_ns(); !comm[0] || !comm[1];)
		for (int i = 0; i < N; i++)
			ok((comm[i] || !net->connect(0, NULL, shared->handle[i], &comm[i], NULL)) &&
				   !is_late(since),
			   "connect");
}

static int sender(void *plugin)
{
	void *comm[N] = {NULL}, *mr[N], *request[N];
	uint8_t *data[N];
	int done, bytes;

	load(plugin, 0);
	connect_both(comm);
	for (int i = 0; i < N; i++) {
		data[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		ok(data[i] != MAP_FAILED, "no memory");
		memset(data[i], 0x11 * (i + 1), BYTES);
		ok(!net->regMr(comm[i], data[i], BYTES, NCCL_PTR_HOST, &mr[i]), "regMr");
		request[i] = send_or_receive(comm[i], data[i], mr[i], true);
	}
	for (uint64_t since = clock_now_ns(); !target[ABORTED][BYTES / 4];)
		ok(!net->test(request[ABORTED], &done, &bytes) && !done && !is_late(since),
		   "nothing is under way");
	kill(shared->receiver, SIGSTOP);
	net->deregMr(comm[ABORTED], mr[ABORTED]);
	munmap(data[ABORTED], BYTES);
	net->closeSend(comm[ABORTED]);
	for (int i = 0; i < 10; i++)
		ok(!net->test(request[KEPT], &done, &bytes) && !done, "done by itself");
	kill(shared->receiver, SIGCONT);
	finish(request[KEPT]);
	ok(!memcmp(data[KEPT], target[KEPT], BYTES), "corrupted");
	memset(data[KEPT], 0x77, BYTES);
	finish(send_or_receive(comm[KEPT], data[KEPT], mr[KEPT], true));
	ok(!memcmp(data[KEPT], target[KEPT], BYTES), "corrupted");
	for (uint64_t since = clock_now_ns(); shared->received < 2;)
		ok(!is_late(since), "not received");
	net->deregMr(comm[KEPT], mr[KEPT]);
	net->closeSend(comm[KEPT]);
	return 0;
}

int main(int argc, char **argv)
{
	struct bed_options options = {
		.provider = "soft", .planes = 2, .sub_ports = 1, .rate_mbps = 400};
	int failed;

	ok(argc == 2, "usage: hostile_nccl_abort PLUGIN");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	for (int i = 0; i < N; i++)
		target[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	if (bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, receiver, argv[1]);
	shared->receiver = bed.child[1];
	failed = failed || bed_start(&bed, 0, sender, argv[1]) || bed_join(&bed, 0);
	if (!failed)
		failed = bed_join(&bed, 1);
	bed_destroy(&bed);
	if (!failed)
		puts("hostile_nccl_abort: ok");
	return failed;
}
