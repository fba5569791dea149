/*
 * nccl_harness.c - loads libnccl-net-fare.so by dlopen, as NCCL does, and moves data through it
 * between two network namespaces while a plane is killed and healed.
 *
 *   nccl_harness PLUGIN [MESSAGES]
 *
 * The parent plays the daemon and the bootstrap (it carries the listen handle across). Each message
 * has a length and a content of its own; the receiver posts several at once, in NCCL's manner:
 * every call may say "not yet". Half-way the plane's links go down before the daemon says so, then
 * come back. Exit 77: not root. One line of JSON at the end.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fare_verdict.h"
#include "nccl/nccl_net.h"
#include "shm_writer.h"

#define PLANES	  4
#define SUB_PORTS 1
#define SLOTS	  8
#define SLOT_MAX  (1u << 20)
#define LIMIT_S	  60

struct shared {
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	_Atomic int listening, failed, finished;
	_Atomic uint64_t received, bytes;
};

struct harness {
	const char *plugin;
	uint64_t messages;
	char ns[2][32], dir[2][48];
	pid_t child[2];
	struct shm_writer *writer[2];
	bool down;
	struct shared *shared;
};

static struct in6_addr address(int host)
{
	struct in6_addr a;
	char text[32];

	snprintf(text, sizeof(text), "::ffff:198.19.0.%d", host + 1);
	inet_pton(AF_INET6, text, &a);
	return a;
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

static int fail(struct harness *h, const char *what, uint64_t id)
{
	fprintf(stderr, "nccl_harness: %s (message %llu)\n", what, (unsigned long long)id);
	h->shared->failed = 1;
	return 1;
}

/* ---- messages ---- */

static uint64_t mix(uint64_t id, uint64_t i)
{
	uint64_t x = (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ i * UINT64_C(0xc2b2ae3d27d4eb4f);

	return x ^ x >> 29;
}

static int size_of(uint64_t id)
{
	return id % 5 ? (int)(mix(id, 1) % SLOT_MAX) + 1 : (int)(mix(id, 1) % 64);
}

static void fill(uint8_t *slot, uint64_t id)
{
	for (int i = 0, n = size_of(id); i < n; i++)
		slot[i] = (uint8_t)(mix(id, (uint64_t)i / 8) >> 8 * (i % 8));
}

static bool verify(const uint8_t *slot, uint64_t id)
{
	for (int i = 0, n = size_of(id); i < n; i++)
		if (slot[i] != (uint8_t)(mix(id, (uint64_t)i / 8) >> 8 * (i % 8)))
			return false;
	return true;
}

/* Two tags in flight: the plugin must pair sends with receives by them. */
static int tag_of(uint64_t id)
{
	return (int)(id & 1) + 100;
}

/* ---- the two ranks ---- */

__attribute__((format(printf, 5, 6))) static void
say(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format,
    ...)
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
	char path[64];
	void *library;
	int fd, n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/run/netns/%s", h->ns[rank]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	setenv("FARE_RUN_DIR", h->dir[rank], 1);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		return NULL;
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

static int receiver(struct harness *h)
{
	const ncclNet_v8_t *net = load(h, 1);
	uint8_t *slots = mmap(NULL, (size_t)SLOTS * SLOT_MAX, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
	for (time_t end = now_s() + LIMIT_S; done < h->messages;) {
		unsigned at = (unsigned)(done % SLOTS);
		int finished, size = SLOT_MAX, got;

		if (now_s() > end)
			return fail(h, "receives take for ever", done);
		while (posted < h->messages && posted < done + SLOTS) {
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
		if (got != size_of(done) || !verify(slots + at * SLOT_MAX, done))
			return fail(h, got != size_of(done) ? "wrong size" : "corrupted", done);
		memset(slots + at * SLOT_MAX, 0xee, SLOT_MAX);
		h->shared->bytes += (uint64_t)got;
		h->shared->received = ++done;
	}
	while (!h->shared->finished)
		poll(NULL, 0, 5);
	return net->deregMr(comm, mr) || net->closeRecv(comm) || net->closeListen(listener);
}

static int sender(struct harness *h)
{
	const ncclNet_v8_t *net = load(h, 0);
	uint8_t *slots = mmap(NULL, (size_t)SLOTS * SLOT_MAX, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
	for (time_t end = now_s() + LIMIT_S; done < h->messages;) {
		int finished, got;

		if (now_s() > end || h->shared->failed)
			return fail(h, "sends take for ever", done);
		if (posted < h->messages && posted < done + SLOTS) {
			uint8_t *slot = slots + posted % SLOTS * SLOT_MAX;

			fill(slot, posted);
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

/* ---- the fabric, and the daemons' part ---- */

static int build(struct harness *h)
{
	for (int i = 0; i < 2; i++) {
		snprintf(h->ns[i], sizeof(h->ns[i]), "fl-nccl%d-%d", (int)getpid(), i);
		if (run("ip netns add %s && ip -n %s link set lo up && ip -n %s addr add "
			"198.19.0.%d/32 dev lo && "
			"ip netns exec %s sysctl -qw net.ipv4.conf.all.rp_filter=0 "
			"net.ipv4.conf.default.rp_filter=0",
			h->ns[i], h->ns[i], h->ns[i], i + 1, h->ns[i]))
			return 1;
	}
	for (int p = 0; p < PLANES; p++)
		if (run("ip link add p%d netns %s mtu 4200 type veth peer name p%d netns %s mtu "
			"4200",
			p, h->ns[0], p, h->ns[1]) ||
		    run("ip -n %s addr add 198.18.%d.0/31 dev p%d && ip -n %s addr add "
			"198.18.%d.1/31 dev p%d",
			h->ns[0], p, p, h->ns[1], p, p) ||
		    run("ip -n %s link set p%d up && ip -n %s link set p%d up", h->ns[0], p,
			h->ns[1], p) ||
		    run("ip netns exec %s tc qdisc add dev p%d root tbf rate 200mbit burst 131072 "
			"limit 1048576",
			h->ns[0], p))
			return 1;
	for (int i = 0; i < 2; i++)
		if (run("ip -n %s route add 198.19.0.%d/32 via 198.18.0.%d", h->ns[i], 2 - i,
			1 - i))
			return 1;
	return 0;
}

static void publish(struct harness *h)
{
	for (int i = 0; i < 2; i++) {
		struct shm_path path[PLANES];
		struct in6_addr peer = address(1 - i);

		for (int p = 0; p < PLANES; p++)
			path[p] = h->down && p == 1
					  ? (struct shm_path){0, FARE_VERDICT_NO_ROUTE, 0}
					  : (struct shm_path){200000000, FARE_VERDICT_OK, 0};
		shm_writer_publish(h->writer[i],
				   (uint32_t)shm_writer_pair(h->writer[i], 0, peer.s6_addr), path,
				   PLANES);
	}
}

static int start_daemons(struct harness *h)
{
	for (int i = 0; i < 2; i++) {
		struct shm_writer_gpu gpu = {.n_planes = PLANES};
		struct in6_addr own = address(i);

		snprintf(h->dir[i], sizeof(h->dir[i]), "/tmp/fl-nccl%d-%d", (int)getpid(), i);
		memcpy(gpu.address[0], &own, 16);
		for (unsigned p = 0; p < PLANES; p++) {
			gpu.n_sub_ports[p] = SUB_PORTS;
			snprintf(gpu.dev[p][0], sizeof(gpu.dev[p][0]), "p%u", p % 16);
		}
		if (run("mkdir -p %s", h->dir[i]) ||
		    shm_writer_open(&h->writer[i], h->dir[i], 0600, &gpu, 1, NULL))
			return 1;
		for (uint32_t p = 0; p < PLANES; p++)
			shm_writer_sub_port(h->writer[i], 0, p, 0, true, 200000000);
	}
	publish(h);
	return 0;
}

static void tear_down(struct harness *h)
{
	for (int i = 0; i < 2; i++) {
		if (h->child[i] > 0) {
			kill(h->child[i], SIGKILL);
			waitpid(h->child[i], NULL, 0);
		}
		if (h->ns[i][0])
			run("ip netns del %s 2>/dev/null; rm -rf %s", h->ns[i], h->dir[i]);
	}
}

static bool wait_received(struct harness *h, uint64_t n)
{
	for (time_t end = now_s() + LIMIT_S;
	     h->shared->received < n && !h->shared->failed && now_s() < end;)
		poll(NULL, 0, 2);
	return h->shared->received >= n;
}

static bool drill(struct harness *h)
{
	int status[2] = {1, 1};
	bool ok;

	for (int i = 0; i < 2; i++) {
		h->child[i] = fork();
		if (h->child[i] == 0)
			_exit(i ? receiver(h) : sender(h));
	}
	ok = wait_received(h, h->messages / 4);
	run("ip -n %s link set p1 down",
	    h->ns[1]); /* in the middle of it, and nobody has said so yet */
	ok = ok && wait_received(h, h->messages / 4 + SLOTS + 4);
	h->down = true;
	publish(h);
	ok = ok && wait_received(h, h->messages / 2);
	run("ip -n %s link set p1 up", h->ns[1]);
	h->down = false;
	publish(h);
	ok = ok && wait_received(h, h->messages);
	waitpid(h->child[0], &status[0], 0);
	h->shared->finished = 1;
	waitpid(h->child[1], &status[1], 0);
	h->child[0] = h->child[1] = 0;
	ok = ok && !status[0] && !status[1] && !h->shared->failed;
	printf("{\"plugin\":\"%s\",\"messages\":%llu,\"received\":%llu,\"bytes\":%llu,\"ok\":%s}\n",
	       h->plugin, (unsigned long long)h->messages, (unsigned long long)h->shared->received,
	       (unsigned long long)h->shared->bytes, ok ? "true" : "false");
	return ok;
}

int main(int argc, char **argv)
{
	static struct harness h;
	bool ok = false;

	if (argc < 2)
		return 2;
	h.plugin = argv[1];
	h.messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 400;
	if (geteuid()) {
		printf("skipped: needs root to make network namespaces\n");
		return 77;
	}
	h.shared = mmap(NULL, sizeof(*h.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!build(&h) && !start_daemons(&h))
		ok = drill(&h);
	tear_down(&h);
	return !ok;
}
