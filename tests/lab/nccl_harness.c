/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_harness.c - loads libnccl-net-fare.so by dlopen, as NCCL does, and moves data through it
 * between two network namespaces while a plane is killed and healed.
 *
 *   nccl_harness PLUGIN [MESSAGES]
 *
 * The parent plays the daemon and the bootstrap (it carries the listen handle across). Each message
 * has a length and a content of its own; the receiver posts several at once, in NCCL's manner:
 * every call may say "not yet". In mid-transfer a plane's link goes down before the daemon says so,
 * and comes back in mid-transfer, too: the link itself must have carried nothing meanwhile, and
 * there are more messages than asked for until it has carried a share of what came afterwards. Exit
 * 77: not root. One line of JSON at the end.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bed.h"
#include "nccl/nccl_net.h"

#define PLANES	 4
#define VICTIM	 1u
#define SLOTS	 8
#define SLOT_MAX (1u << 20)
#define LIMIT_S	 180
#define MORE	 200 /* messages at a time */

struct shared {
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	_Atomic int listening, failed, finished;
	_Atomic uint64_t received, bytes;
	_Atomic uint64_t messages; /* so many so far ... */
	_Atomic int is_all;	   /* ... and there will be no more */
};

struct harness {
	struct bed bed;
	const char *plugin;
	uint64_t messages;
	uint64_t bytes_before, bytes_dead, bytes_after; /* received over the plane's link */
	struct shared *shared;
};

static time_t now_s(void)
{
	return (time_t)(bed_now_ns() / 1000000000);
}

static int fail(struct harness *h, const char *what, uint64_t id)
{
	fprintf(stderr, "nccl_harness: %s (message %llu)\n", what, (unsigned long long)id);
	h->shared->failed = 1;
	return 1;
}

/* ---- messages ---- */

static int size_of(uint64_t id)
{
	return id % 5 ? (int)(bed_mix(id, 1) % SLOT_MAX) + 1 : (int)(bed_mix(id, 1) % 64);
}

/* Two tags in flight: the plugin must pair sends with receives by them. */
static int tag_of(uint64_t id)
{
	return (int)(id & 1) + 100;
}

static bool is_over(const struct harness *h, uint64_t done)
{
	return h->shared->is_all && done == h->shared->messages;
}

/* ---- the two ranks ---- */

__attribute__((format(printf, 5, 6))) static void say(ncclDebugLogLevel level, unsigned long flags,
						      const char *file, int line,
						      const char *format, ...)
{
	va_list ap;

	(void)flags, (void)file, (void)line;
	if (level > NCCL_LOG_WARN)
		return;
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const ncclNet_v8_t *load(struct harness *h, int rank)
{
	const ncclNet_v8_t *net;
	void *library;
	int n = 0;

	bed_enter_namespace(&h->bed, rank);
	setenv("FARE_RUN_DIR", h->bed.dir[rank], 1);
	setenv("FARE_KEY_FILE", h->bed.key, 1);
	library = dlopen(h->plugin, RTLD_NOW | RTLD_LOCAL);
	net = library ? dlsym(library, "ncclNetPlugin_v8") : NULL;
	if (!net) {
		fprintf(stderr, "nccl_harness: %s\n", dlerror());
		return NULL;
	}
	if (net->init(say) || net->devices(&n) || n != 1)
		return NULL;
	return net;
}

static int check_properties(struct harness *h, const ncclNet_v8_t *net)
{
	ncclNetProperties_v8_t p;

	if (net->getProperties(0, &p) || !p.name || p.ptrSupport != NCCL_PTR_HOST ||
	    p.speed != PLANES * 200 || p.maxRecvs != 1 || p.netDeviceType)
		return fail(h, "properties", 0);
	return 0;
}

static int receiver(void *arg)
{
	struct harness *h = arg;
	const ncclNet_v8_t *net = load(h, 1);
	uint8_t *slots = bed_memory((size_t)SLOTS * SLOT_MAX);
	void *listener, *comm = NULL, *mr, *request[SLOTS] = {0};
	uint64_t posted = 0, done = 0;

	if (!net || check_properties(h, net) || net->listen(0, h->shared->handle, &listener))
		return fail(h, "receiver: no network", 0);
	h->shared->listening = 1;
	for (time_t end = now_s() + LIMIT_S; !comm;)
		if (net->accept(listener, &comm, NULL) || now_s() > end)
			return fail(h, "accept", 0);
	if (net->regMr(comm, slots, (size_t)SLOTS * SLOT_MAX, NCCL_PTR_HOST, &mr))
		return fail(h, "regMr", 0);
	for (time_t end = now_s() + LIMIT_S; !is_over(h, done);) {
		unsigned at = (unsigned)(done % SLOTS);
		int finished, size = SLOT_MAX, got;

		if (now_s() > end)
			return fail(h, "receives take for ever", done);
		while (posted < h->shared->messages && posted < done + SLOTS) {
			void *data = slots + posted % SLOTS * SLOT_MAX;
			int tag = tag_of(posted);

			if (net->irecv(comm, 1, &data, &size, &tag, &mr, &request[posted % SLOTS]))
				return fail(h, "irecv", posted);
			if (!request[posted % SLOTS])
				break;
			posted++;
		}
		if (posted == done)
			continue;
		if (net->test(request[at], &finished, &got))
			return fail(h, "test of a receive", done);
		if (!finished)
			continue;
		if (got != size_of(done) ||
		    !bed_holds(slots + at * SLOT_MAX, 0, (uint64_t)got, done))
			return fail(h, got != size_of(done) ? "wrong size" : "corrupted", done);
		memset(slots + at * SLOT_MAX, 0xee, SLOT_MAX);
		h->shared->bytes += (uint64_t)got;
		h->shared->received = ++done;
	}
	while (!h->shared->finished)
		poll(NULL, 0, 5);
	return net->deregMr(comm, mr) || net->closeRecv(comm) || net->closeListen(listener);
}

static int sender(void *arg)
{
	struct harness *h = arg;
	const ncclNet_v8_t *net = load(h, 0);
	uint8_t *slots = bed_memory((size_t)SLOTS * SLOT_MAX);
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	void *comm = NULL, *mr, *request[SLOTS] = {0};
	uint64_t posted = 0, done = 0;

	if (!net)
		return fail(h, "sender: no network", 0);
	while (!h->shared->listening)
		poll(NULL, 0, 5);
	memcpy(handle, h->shared->handle, sizeof(handle));
	for (time_t end = now_s() + LIMIT_S; !comm;)
		if (net->connect(0, handle, &comm, NULL) || now_s() > end)
			return fail(h, "connect", 0);
	if (net->regMr(comm, slots, (size_t)SLOTS * SLOT_MAX, NCCL_PTR_HOST, &mr))
		return fail(h, "regMr", 0);
	for (time_t end = now_s() + LIMIT_S; !is_over(h, done);) {
		int finished, got;

		if (now_s() > end || h->shared->failed)
			return fail(h, "sends take for ever", done);
		if (posted < h->shared->messages && posted < done + SLOTS) {
			uint8_t *slot = slots + posted % SLOTS * SLOT_MAX;

			bed_fill(slot, 0, (uint64_t)size_of(posted), posted);
			if (net->isend(comm, slot, size_of(posted), tag_of(posted), mr,
				       &request[posted % SLOTS]))
				return fail(h, "isend", posted);
			posted += request[posted % SLOTS] != NULL;
		}
		if (posted == done)
			continue;
		if (net->test(request[done % SLOTS], &finished, &got))
			return fail(h, "test of a send", done);
		if (!finished)
			continue;
		request[done % SLOTS] = NULL;
		done++;
	}
	return net->deregMr(comm, mr) || net->closeSend(comm);
}

/* ---- the drill ---- */

static bool wait_received(struct harness *h, uint64_t n)
{
	for (time_t end = now_s() + LIMIT_S;
	     h->shared->received < n && !h->shared->failed && now_s() < end;)
		poll(NULL, 0, 2);
	return h->shared->received >= n;
}

/* What has arrived over the plane's link, as the kernel counts. */
static uint64_t link_bytes(struct harness *h)
{
	char command[160], in[48], text[32] = "";
	FILE *f;

	snprintf(command, sizeof(command), "%scat /sys/class/net/p%us0/statistics/rx_bytes",
		 bed_in(&h->bed, 1, in), VICTIM);
	f = popen(command, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		pclose(f);
	return strtoull(text, NULL, 10);
}

/* Messages until the healed link has carried a share of what came since, as many as that takes. */
static bool carries_again(struct harness *h, uint64_t up, uint64_t bytes_before)
{
	bool carries = false;

	for (time_t end = now_s() + LIMIT_S; !carries && !h->shared->failed && now_s() < end;) {
		if (h->shared->received + MORE / 2 > h->shared->messages)
			h->shared->messages += MORE;
		poll(NULL, 0, 2);
		carries = h->shared->received >= h->messages &&
			  link_bytes(h) - up > (h->shared->bytes - bytes_before) / (8 * PLANES);
	}
	h->shared->is_all = 1;
	return carries;
}

static bool drill(struct harness *h)
{
	uint64_t down, up, bytes;
	bool ok;

	h->shared->messages = h->messages;
	if (bed_start(&h->bed, 1, receiver, h) || bed_start(&h->bed, 0, sender, h))
		return false;
	ok = wait_received(h, h->messages / 4);
	h->bytes_before = link_bytes(h);
	bed_link(&h->bed, VICTIM, 0, false); /* in the middle of it, and nobody has said so yet */
	down = link_bytes(h);
	ok = ok && wait_received(h, h->messages / 4 + SLOTS + 4);
	h->bed.plane_down[VICTIM] = true;
	bed_publish(&h->bed);
	ok = ok && wait_received(h, h->messages / 2);
	up = link_bytes(h);
	bytes = h->shared->bytes;
	h->bytes_dead = up - down;
	bed_link(&h->bed, VICTIM, 0, true);
	h->bed.plane_down[VICTIM] = false;
	bed_publish(&h->bed);
	ok = ok && carries_again(h, up, bytes) && wait_received(h, h->shared->messages);
	h->shared->is_all = 1;
	h->bytes_after = link_bytes(h) - up;
	ok &= !bed_join(&h->bed, 0);
	h->shared->finished = 1;
	ok &= !bed_join(&h->bed, 1);
	ok = ok && !h->shared->failed && h->bytes_before && !h->bytes_dead;
	printf("{\"plugin\":\"%s\",\"messages\":%llu,\"received\":%llu,\"bytes\":%llu,"
	       "\"plane_bytes_before\":%llu,\"plane_bytes_while_dead\":%llu,"
	       "\"plane_bytes_after_healing\":%llu,\"ok\":%s}\n",
	       h->plugin, (unsigned long long)h->shared->messages,
	       (unsigned long long)h->shared->received, (unsigned long long)h->shared->bytes,
	       (unsigned long long)h->bytes_before, (unsigned long long)h->bytes_dead,
	       (unsigned long long)h->bytes_after, ok ? "true" : "false");
	return ok;
}

int main(int argc, char **argv)
{
	static struct harness h;
	struct bed_options options = {
		.provider = "soft", .planes = PLANES, .sub_ports = 1, .rate_mbps = 200};
	bool ok = false;

	if (argc < 2)
		return 2;
	h.plugin = argv[1];
	h.messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 600;
	h.shared = mmap(NULL, sizeof(*h.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!bed_make(&h.bed, &options))
		ok = drill(&h);
	bed_destroy(&h.bed);
	return !ok;
}
