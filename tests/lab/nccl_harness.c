/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_harness.c - loads libnccl-net-fare.so by dlopen, as NCCL does, into four processes on two
 * GPUs' addresses, and exchanges data between them while a plane dies, a process dies, and the
 * plane comes back.
 *
 *   nccl_harness PLUGIN [MESSAGES [VERSION OF RANK 0 [OF RANK 1...]]]
 *
 * Ranks 0 and 2 are at host 0, ranks 1 and 3 at host 1, and each rank has communicators to and from
 * both ranks of the other host: ranks 0 and 1 of 16 channels, the others of 2. They use versions
 * 12, 10, 11 and 8 of the interface unless others are given. The parent plays the daemon and the
 * bootstrap (it carries the listen handles across). Each message has a length and a content of its
 * own; a receiver posts several at once, in NCCL's manner: every call may say "not yet". A rank has
 * a thread for each peer.
 *
 * MESSAGES on each communicator: after a quarter a plane's link goes down before the daemon says
 * so, then rank 3 is killed, and the others go on with each other. The link comes back in
 * mid-transfer: it must have carried nothing meanwhile, and there are more messages than asked for
 * until it has carried a share of what came afterwards. A rank has no more than two groups with
 * each other rank. Before, init fails without a daemon, and nothing stays open; nor does listing
 * devices open anything. The plugin is loaded and unloaded 200 times, as NCCL does with each last
 * communicator, and nothing is left of that; other communicators come and go. An NCCL that knows
 * newer versions than 12, or no older ones, gets the newest that it knows; a device's speed follows
 * its ports. Exit 77: not root. One line of JSON at the end.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "nccl_versions.h"

#define PLANES	    4
#define VICTIM	    1u
#define RANKS	    4
#define VICTIM_RANK 3
#define WIDE	    16 /* channels of ranks 0 and 1 */
#define NARROW	    2  /* of the others */
#define STREAMS	    (2 * (WIDE + NARROW))
#define SLOTS	    16 /* of 16 channels: more than a group takes at once */
#define SLOT_MAX    (1u << 16)
#define LIMIT_S	    180
#define MORE	    40			/* messages at a time */
#define HEALED	    (UINT64_C(4) << 20) /* more than handshakes and replays are */
#define NOBODY	    (-1)
#define OLDEST	    8 /* versions of the interface */
#define NEWEST	    12
#define RELOADED    200

struct shared {
	uint8_t handle[RANKS][RANKS][WIDE][NCCL_NET_HANDLE_MAXSIZE]; /* from, to */
	_Atomic int listening[RANKS], failed, dead;
	_Atomic uint64_t done[RANKS][RANKS]; /* messages of its slowest stream with that rank */
	_Atomic uint64_t bytes[RANKS];	     /* received */
	_Atomic unsigned groups[RANKS];
	_Atomic uint64_t messages; /* so many on each stream so far ... */
	_Atomic int is_all;	   /* ... and there will be no more */
};

struct harness {
	struct bed bed;
	const char *plugin;
	int version[RANKS];
	uint64_t messages;
	uint64_t bytes_before, bytes_dead, bytes_after; /* received over the plane's link */
	pid_t child[RANKS];
	struct shared *shared;
};

/* One communicator of a rank's. */
struct stream {
	int peer;
	unsigned channel;
	bool sends;
	void *listener, *comm, *mr, *request[SLOTS];
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	uint8_t *slots;
	uint64_t filled, posted, done;
};

struct rank {
	struct harness *h;
	int rank;
	ncclNet_v10_t net; /* whichever version is behind it */
	struct stream streams[STREAMS];
	unsigned n_streams;
};

static time_t now_s(void)
{
	return (time_t)(clock_now_ns() / 1000000000);
}

static int fail(struct rank *r, const char *what)
{
	fprintf(stderr, "nccl_harness: rank %d: %s\n", r->rank, what);
	r->h->shared->failed = 1;
	return 1;
}

static int fail_stream(struct rank *r, const struct stream *s, const char *what)
{
	fprintf(stderr, "nccl_harness: rank %d %s rank %d, channel %u, message %llu: %s\n", r->rank,
		s->sends ? "to" : "from", s->peer, s->channel, (unsigned long long)s->done, what);
	r->h->shared->failed = 1;
	return 1;
}

/* ---- messages ---- */

static bool is_peer(int a, int b)
{
	return (a ^ b) & 1; /* at the other host */
}

static unsigned n_channels(int a, int b)
{
	return a < 2 && b < 2 ? WIDE : NARROW;
}

/* The next message, as both ends know it. */
static uint64_t id_of(const struct rank *r, const struct stream *s, uint64_t n)
{
	unsigned from = (unsigned)(s->sends ? r->rank : s->peer);
	unsigned to = (unsigned)(s->sends ? s->peer : r->rank);

	return ((uint64_t)(from * RANKS + to) * WIDE + s->channel) << 32 | n;
}

static size_t size_of(uint64_t id)
{
	return bed_mix(id, 1) % (id % 5 ? SLOT_MAX : 64) + (id % 5 != 0);
}

/* Two tags in flight: the plugin must pair sends with receives by them. */
static int tag_of(uint64_t n)
{
	return (int)(n & 1) + 100;
}

/* ---- loading ---- */

static struct shared *logged; /* NCCL's logger has no place for a context */
static int logged_rank;

__attribute__((format(printf, 5, 6))) static void say(ncclDebugLogLevel level, unsigned long flags,
						      const char *file, int line,
						      const char *format, ...)
{
	char text[256];
	va_list ap;

	(void)flags, (void)file, (void)line;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (strstr(text, ": group "))
		logged->groups[logged_rank]++;
	if (level <= NCCL_LOG_WARN)
		fprintf(stderr, "rank %d: %s\n", logged_rank, text);
}

static unsigned n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int check_properties(struct rank *r)
{
	ncclNetProperties_v9_t p;
	int n = 0;

	if (r->net.devices(&n) || n != 1 || r->net.getProperties(1, &p) != ncclInvalidArgument ||
	    r->net.getProperties(0, &p))
		return fail(r, "no properties");
	if (!p.name || p.pciPath || !p.guid || p.ptrSupport != NCCL_PTR_HOST ||
	    p.speed != PLANES * 200 || p.maxRecvs != 1 || p.netDeviceType)
		return fail(r, "wrong properties");
	return 0;
}

/* A first init fails, as there is no daemon, the second finds it; neither opens anything. */
static int check_listing(struct rank *r)
{
	unsigned n = n_descriptors();

	setenv("FARE_RUN_DIR", "/nonexistent", 1);
	if (r->net.init(NULL, NULL) != ncclSystemError || n_descriptors() != n)
		return fail(r, "init without a daemon");
	setenv("FARE_RUN_DIR", r->h->bed.dir[r->rank & 1], 1);
	setenv("FARE_KEY_FILE", r->h->bed.key, 1);
	if (r->net.init(say, NULL) || check_properties(r) || nccl_versions_another(&r->net, say))
		return fail(r, "init");
	return n_descriptors() == n ? 0 : fail(r, "listing devices left something open");
}

static void *open_plugin(struct rank *r)
{
	void *library = dlopen(r->h->plugin, RTLD_NOW | RTLD_LOCAL);
	int version = r->h->version[r->rank];

	if (library && nccl_versions_load(library, version, &r->net) == version)
		return library;
	fail(r, library ? "not the newest version that NCCL knows" : dlerror());
	return NULL;
}

/* A communicator listens, and goes; it was the last, and NCCL unloads the plugin. */
static int use_once(struct rank *r)
{
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	void *library = open_plugin(r), *listener;

	if (!library)
		return 1;
	if (r->net.init(say, NULL) || r->net.listen(0, handle, &listener) ||
	    r->net.closeListen(listener) || nccl_versions_finalize() || dlclose(library))
		return fail(r, "loaded once more");
	return 0;
}

static int check_reloading(struct rank *r)
{
	unsigned n;

	if (use_once(r))
		return 1;
	n = n_descriptors();
	for (int i = 1; i < RELOADED; i++)
		if (use_once(r))
			return 1;
	return n_descriptors() == n ? 0 : fail(r, "unloading left something open");
}

static int load(struct rank *r)
{
	void *library;

	bed_enter_namespace(&r->h->bed, r->rank & 1);
	logged = r->h->shared;
	logged_rank = r->rank;
	library = open_plugin(r);
	if (!library || check_listing(r))
		return 1;
	if (nccl_versions_finalize() || dlclose(library) || check_reloading(r))
		return fail(r, "unloading");
	return open_plugin(r) && !r->net.init(say, NULL) ? 0 : fail(r, "init after unloading");
}

/* ---- NCCLs of each age ---- */

static bool has_speed(const struct rank *r, int mbps)
{
	ncclNetProperties_v9_t p;

	return !r->net.getProperties(0, &p) && p.speed == mbps;
}

/* What an NCCL that knows the versions up to newest finds, and that speed follows a port. */
static bool fits(struct rank *r, void *library, int newest)
{
	struct bed *bed = &r->h->bed;
	int version = nccl_versions_load(library, newest, &r->net);
	bool ok = version == (newest < NEWEST ? newest : NEWEST) && !r->net.init(say, NULL) &&
		  has_speed(r, PLANES * 200);

	bed->sub_port_down[0][VICTIM][0] = true;
	bed_publish(bed);
	ok = ok && has_speed(r, (PLANES - 1) * 200);
	bed->sub_port_down[0][VICTIM][0] = false;
	bed_publish(bed);
	return ok && has_speed(r, PLANES * 200) && !nccl_versions_finalize();
}

static int ages_main(struct harness *h)
{
	struct rank r = {.h = h};
	void *library = dlopen(h->plugin, RTLD_NOW | RTLD_LOCAL);

	logged = h->shared;
	setenv("FARE_RUN_DIR", h->bed.dir[0], 1);
	if (!library)
		return fail(&r, dlerror());
	if (nccl_versions_load(library, OLDEST - 1, &r.net))
		return fail(&r, "a version older than any that is documented");
	for (int newest = OLDEST; newest <= NEWEST + 1; newest++)
		if (!fits(&r, library, newest))
			return fail(&r, "does not fit an NCCL");
	return 0;
}

/* ---- connecting ---- */

static void add_streams(struct rank *r, int peer)
{
	for (unsigned i = 0; i < 2 * n_channels(r->rank, peer); i++)
		r->streams[r->n_streams++] = (struct stream){
			.peer = peer,
			.channel = i / 2,
			.sends = i % 2,
			.slots = bed_memory((size_t)SLOTS * SLOT_MAX),
		};
}

static int listen_all(struct rank *r)
{
	struct shared *shared = r->h->shared;

	for (unsigned i = 0; i < r->n_streams; i++) {
		struct stream *s = &r->streams[i];

		if (!s->sends &&
		    r->net.listen(0, shared->handle[s->peer][r->rank][s->channel], &s->listener))
			return fail_stream(r, s, "listen");
	}
	shared->listening[r->rank] = 1;
	for (int peer = 0; peer < RANKS; peer++)
		while (is_peer(r->rank, peer) && !shared->listening[peer] && !shared->failed)
			poll(NULL, 0, 5);
	for (unsigned i = 0; i < r->n_streams; i++) {
		struct stream *s = &r->streams[i];

		memcpy(s->handle, shared->handle[r->rank][s->peer][s->channel], sizeof(s->handle));
	}
	return 0;
}

static int connect_one(struct rank *r, struct stream *s)
{
	if (s->sends ? r->net.connect(0, NULL, s->handle, &s->comm, NULL)
		     : r->net.accept(s->listener, &s->comm, NULL))
		return fail_stream(r, s, s->sends ? "connect" : "accept");
	if (s->comm &&
	    r->net.regMr(s->comm, s->slots, (size_t)SLOTS * SLOT_MAX, NCCL_PTR_HOST, &s->mr))
		return fail_stream(r, s, "regMr");
	return 0;
}

static int connect_all(struct rank *r)
{
	unsigned n = 0;

	for (time_t end = now_s() + LIMIT_S; n < r->n_streams;) {
		n = 0;
		for (unsigned i = 0; i < r->n_streams; i++) {
			if (!r->streams[i].comm && connect_one(r, &r->streams[i]))
				return 1;
			n += r->streams[i].comm != NULL;
		}
		if (now_s() > end || r->h->shared->failed)
			return fail(r, "connecting takes for ever");
	}
	return 0;
}

/* ---- data ---- */

static int post(struct rank *r, struct stream *s)
{
	unsigned at = (unsigned)(s->posted % SLOTS);
	void *slot = s->slots + at * SLOT_MAX;
	uint64_t id = id_of(r, s, s->posted);
	int tag = tag_of(s->posted);
	size_t size = SLOT_MAX;
	ncclResult_t result;

	if (s->sends && s->filled == s->posted) {
		bed_fill(slot, 0, size_of(id), id);
		s->filled++;
	}
	if (s->sends)
		result =
			r->net.isend(s->comm, slot, size_of(id), tag, s->mr, NULL, &s->request[at]);
	else
		result =
			r->net.irecv(s->comm, 1, &slot, &size, &tag, &s->mr, NULL, &s->request[at]);
	if (result)
		return fail_stream(r, s, "post");
	s->posted += s->request[at] != NULL;
	return 0;
}

static int check_received(struct rank *r, struct stream *s, int got)
{
	uint8_t *slot = s->slots + s->done % SLOTS * SLOT_MAX;
	uint64_t id = id_of(r, s, s->done);

	if ((size_t)got != size_of(id) || !bed_holds(slot, 0, (uint64_t)got, id))
		return fail_stream(r, s, (size_t)got != size_of(id) ? "wrong size" : "corrupted");
	memset(slot, 0xee, SLOT_MAX);
	r->h->shared->bytes[r->rank] += (uint64_t)got;
	return 0;
}

static int finish(struct rank *r, struct stream *s)
{
	unsigned at = (unsigned)(s->done % SLOTS);
	int finished, got;

	if (r->net.test(s->request[at], &finished, &got))
		return fail_stream(r, s, "test");
	if (!finished)
		return 0;
	if (!s->sends && check_received(r, s, got))
		return 1;
	s->request[at] = NULL;
	s->done++;
	return 0;
}

/* What of the stream can go on; its slowness is noted in *slowest. */
static int step(struct rank *r, struct stream *s, uint64_t *slowest)
{
	if (s->posted < r->h->shared->messages && s->posted < s->done + SLOTS && post(r, s))
		return 1;
	if (s->posted > s->done && finish(r, s))
		return 1;
	*slowest = s->done < *slowest ? s->done : *slowest;
	return 0;
}

/* All streams with one peer, until that is dead. */
struct thread {
	struct rank *r;
	int peer;
	pthread_t id;
	bool failed;
};

static bool goes_on(const struct thread *t)
{
	const struct shared *shared = t->r->h->shared;

	return shared->dead != t->peer &&
	       (!shared->is_all || shared->done[t->r->rank][t->peer] < shared->messages);
}

/* Each stream once. How many messages were posted or done so far; 0: failed. */
static uint64_t turn(struct thread *t)
{
	uint64_t slowest = UINT64_MAX, moved = 1;

	for (unsigned i = 0; i < t->r->n_streams; i++) {
		struct stream *s = &t->r->streams[i];

		if (s->peer != t->peer)
			continue;
		if (step(t->r, s, &slowest))
			return 0;
		moved += s->posted + s->done;
	}
	t->r->h->shared->done[t->r->rank][t->peer] = slowest;
	return moved;
}

static void *exchange_with(void *arg)
{
	struct thread *t = arg;
	uint64_t moved = 1, before;

	for (time_t end = now_s() + LIMIT_S; moved && goes_on(t);) {
		before = moved;
		moved = turn(t);
		if (now_s() > end || t->r->h->shared->failed)
			moved = 0;
		if (moved == before)
			poll(NULL, 0, 1);
	}
	t->failed = !moved;
	return NULL;
}

/* A thread for each peer: NCCL has one for each of its communicators, too. */
static int exchange(struct rank *r)
{
	struct thread threads[RANKS] = {0};
	int failed = 0;

	for (int peer = 0; peer < RANKS; peer++) {
		threads[peer] = (struct thread){.r = r, .peer = peer};
		if (is_peer(r->rank, peer) &&
		    pthread_create(&threads[peer].id, NULL, exchange_with, &threads[peer]))
			return fail(r, "no thread");
	}
	for (int peer = 0; peer < RANKS; peer++) {
		if (is_peer(r->rank, peer))
			pthread_join(threads[peer].id, NULL);
		failed |= threads[peer].failed;
	}
	return failed ? fail(r, "exchanging ended early") : 0;
}

static int close_all(struct rank *r)
{
	for (unsigned i = 0; i < r->n_streams; i++) {
		struct stream *s = &r->streams[i];

		if (r->net.deregMr(s->comm, s->mr) ||
		    (s->sends ? r->net.closeSend(s->comm)
			      : r->net.closeRecv(s->comm) || r->net.closeListen(s->listener)))
			return fail_stream(r, s, "close");
	}
	return 0;
}

static int rank_main(struct harness *h, int rank)
{
	static struct rank r;

	r.h = h;
	r.rank = rank;
	for (int peer = 0; peer < RANKS; peer++)
		if (is_peer(rank, peer))
			add_streams(&r, peer);
	return load(&r) || listen_all(&r) || connect_all(&r) || exchange(&r) || close_all(&r);
}

/* ---- the drill ---- */

static int start(struct harness *h, int rank)
{
	fflush(NULL);
	h->child[rank] = fork();
	if (h->child[rank] == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(rank_main(h, rank));
	}
	return h->child[rank] < 0;
}

/* In a process of its own, as each has one state of the plugin. */
static bool ages(struct harness *h)
{
	int status = 1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(ages_main(h));
	if (child > 0)
		waitpid(child, &status, 0);
	return !status;
}

/* Waits for it to end: its exit status. */
static int join(struct harness *h, int rank)
{
	int status = 1;

	if (h->child[rank] > 0)
		waitpid(h->child[rank], &status, 0);
	h->child[rank] = 0;
	return status;
}

static uint64_t slowest_done(const struct harness *h)
{
	uint64_t slowest = UINT64_MAX;

	for (int rank = 0; rank < RANKS; rank++)
		for (int peer = 0; peer < RANKS; peer++)
			if (is_peer(rank, peer) && rank != h->shared->dead &&
			    peer != h->shared->dead && h->shared->done[rank][peer] < slowest)
				slowest = h->shared->done[rank][peer];
	return slowest;
}

static bool wait_done(struct harness *h, uint64_t n)
{
	for (time_t end = now_s() + LIMIT_S;
	     slowest_done(h) < n && !h->shared->failed && now_s() < end;)
		poll(NULL, 0, 2);
	return slowest_done(h) >= n;
}

/* Of host 1. */
static uint64_t received_bytes(const struct harness *h)
{
	return h->shared->bytes[1] + h->shared->bytes[3];
}

static void kill_rank(struct harness *h, int rank)
{
	kill(h->child[rank], SIGKILL);
	join(h, rank);
	h->shared->dead = rank;
}

/* What the healed link has carried since is a share of all, and no trifle. */
static bool is_healed(struct harness *h, uint64_t up, uint64_t bytes_before)
{
	uint64_t share = (received_bytes(h) - bytes_before) / (8 * PLANES);
	uint64_t carried = bed_rx_bytes(&h->bed, 1, VICTIM, 0) - up;

	return carried > HEALED && carried > share;
}

/* Messages until it is, as many as that takes. */
static bool carries_again(struct harness *h, uint64_t up, uint64_t bytes_before)
{
	bool carries = false;

	for (time_t end = now_s() + LIMIT_S; !carries && !h->shared->failed && now_s() < end;) {
		if (slowest_done(h) + MORE / 2 > h->shared->messages)
			h->shared->messages += MORE;
		poll(NULL, 0, 2);
		carries = slowest_done(h) >= h->messages && is_healed(h, up, bytes_before);
	}
	h->shared->is_all = 1;
	return carries;
}

/* A plane dies, then a rank, and the plane comes back. */
static bool break_things(struct harness *h)
{
	uint64_t quarter = h->messages / 4, down, up, bytes;
	bool ok = wait_done(h, quarter);

	h->bytes_before = bed_rx_bytes(&h->bed, 1, VICTIM, 0);
	bed_link(&h->bed, VICTIM, 0, false); /* in the middle of it, and nobody has said so yet */
	down = bed_rx_bytes(&h->bed, 1, VICTIM, 0);
	ok = ok && wait_done(h, quarter + SLOTS + 1);
	h->bed.plane_down[VICTIM] = true;
	bed_publish(&h->bed);
	ok = ok && wait_done(h, 2 * quarter);
	kill_rank(h, VICTIM_RANK);
	ok = ok && wait_done(h, 3 * quarter);
	up = bed_rx_bytes(&h->bed, 1, VICTIM, 0);
	bytes = received_bytes(h);
	h->bytes_dead = up - down;
	bed_link(&h->bed, VICTIM, 0, true);
	h->bed.plane_down[VICTIM] = false;
	bed_publish(&h->bed);
	ok = ok && carries_again(h, up, bytes);
	h->shared->is_all = 1;
	h->bytes_after = bed_rx_bytes(&h->bed, 1, VICTIM, 0) - up;
	return ok && h->bytes_before && !h->bytes_dead;
}

/* Two with each of two other ranks, however many channels. */
static bool few_groups(const struct harness *h)
{
	bool ok = true;

	for (int rank = 0; rank < RANKS; rank++)
		ok &= h->shared->groups[rank] > 0 && h->shared->groups[rank] <= 4;
	return ok;
}

static bool drill(struct harness *h)
{
	struct shared *shared = h->shared;
	bool ok = true;

	shared->messages = h->messages;
	shared->dead = NOBODY;
	for (int rank = 0; rank < RANKS; rank++)
		ok = ok && !start(h, rank);
	ok = ok && break_things(h);
	shared->is_all = 1;
	for (int rank = 0; rank < RANKS; rank++)
		ok &= rank == VICTIM_RANK || !join(h, rank);
	ok = ok && few_groups(h) && !shared->failed;
	printf("{\"plugin\":\"%s\",\"messages\":%llu,\"done\":%llu,\"bytes\":%llu,"
	       "\"groups\":[%u,%u,%u,%u],\"plane_bytes_before\":%llu,"
	       "\"plane_bytes_while_dead\":%llu,\"plane_bytes_after_healing\":%llu,\"ok\":%s}\n",
	       h->plugin, (unsigned long long)shared->messages, (unsigned long long)slowest_done(h),
	       (unsigned long long)(received_bytes(h) + shared->bytes[0] + shared->bytes[2]),
	       shared->groups[0], shared->groups[1], shared->groups[2], shared->groups[3],
	       (unsigned long long)h->bytes_before, (unsigned long long)h->bytes_dead,
	       (unsigned long long)h->bytes_after, ok ? "true" : "false");
	return ok;
}

int main(int argc, char **argv)
{
	static struct harness h = {.version = {12, 10, 11, 8}};
	struct bed_options options = {
		.provider = "soft", .planes = PLANES, .sub_ports = 1, .rate_mbps = 200};
	bool ok = false;

	if (argc < 2)
		return 2;
	h.plugin = argv[1];
	h.messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 200;
	for (int rank = 0; rank < RANKS && rank + 3 < argc; rank++)
		h.version[rank] = atoi(argv[rank + 3]);
	h.shared = mmap(NULL, sizeof(*h.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!bed_make(&h.bed, &options))
		ok = ages(&h) && drill(&h);
	for (int rank = 0; rank < RANKS; rank++)
		if (h.child[rank] > 0)
			kill_rank(&h, rank);
	bed_destroy(&h.bed);
	return !ok;
}
