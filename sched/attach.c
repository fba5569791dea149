/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "fork_mark.h"
#include "shm_pair.h"
#include "weights.h"

#define DEFAULT_RUN_DIR	   "/run/fared"
#define REFRESH_NS	   UINT64_C(1000000000)
#define HEARTBEAT_ALIVE_NS UINT64_C(1000000000)

struct fare {
	struct fork_mark mark;
	char run_dir[PATH_MAX];
	const struct shm_header *map; /* never NULL once attached */
	struct fare_pair *pairs;
	int control_fd;
	uint64_t refresh_due_ns;
	uint64_t n_segments; /* mapped so far */
	struct conn_segment *segment;
	struct spray_shared spray_shared;
};

struct fare_pair {
	struct fare *fare;
	struct fare_pair *next;
	struct in6_addr peer;
	uint32_t local_gpu;
	const struct shm_pair *shm;    /* NULL while the daemon knows no such pair */
	const _Atomic uint64_t *watch; /* the word whose change means: read again */
	uint64_t epoch;		       /* added to it, so that a new segment is always a change */
	struct attach_watch *watches;
};

static int map_segment(const char *run_dir, const struct shm_header **out)
{
	char path[PATH_MAX + sizeof(SHM_NAME)];
	const struct shm_header *map;
	struct stat st;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", run_dir, SHM_NAME);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size != (off_t)sizeof(struct shm_header))
		err = -EPROTO;
	map = err ? NULL : mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (err)
		return err;
	if (map == MAP_FAILED)
		return -errno;
	if (map->magic != SHM_MAGIC || map->version != SHM_VERSION ||
	    map->size_bytes != sizeof(*map)) {
		munmap((void *)map, sizeof(*map));
		return -EPROTO;
	}
	*out = map;
	return 0;
}

/* A number that anybody may be writing over: read once, and cut to what there is room for. */
static uint32_t bounded(const uint32_t *shared, uint32_t most)
{
	uint32_t n = __atomic_load_n(shared, __ATOMIC_RELAXED);

	return n < most ? n : most;
}

/* Differs from the word it is compared with, so that the next look reads again. */
static void watch_point(const struct fare_pair *pair, struct attach_watch *w)
{
	w->head->word = (const uint64_t *)(const void *)pair->watch;
	w->head->seen = ~atomic_load_explicit(pair->watch, memory_order_relaxed);
}

/*
 * Finds the pair in the segment in force. What the segment says of itself is bounded first. Returns
 * the segment's generation from before it looked: who did not find the pair has to look again as
 * soon as that has changed.
 */
static uint64_t pair_resolve(struct fare_pair *pair)
{
	const struct shm_header *map = pair->fare->map;
	uint64_t generation = atomic_load_explicit(&map->generation, memory_order_acquire);
	uint32_t n = atomic_load_explicit(&map->n_pairs, memory_order_acquire);

	pair->shm = NULL;
	pair->watch = &map->generation;
	for (uint32_t i = 0; i < n && i < FARE_MAX_PAIRS; i++) {
		const struct shm_pair *p = &map->pairs[i];

		if (p->local_gpu != pair->local_gpu ||
		    memcmp(p->peer, &pair->peer, sizeof(p->peer)) || p->n_planes == 0 ||
		    p->n_planes > FARE_MAX_PLANES)
			continue;
		pair->shm = p;
		pair->watch = &map->words[i];
		break;
	}
	pair->epoch += UINT64_C(1) << 48;
	for (struct attach_watch *w = pair->watches; w; w = w->next)
		watch_point(pair, w);
	return generation;
}

/*
 * {"cmd":"attach"} with the segment beside it. Failing is fine: tried again later, nothing depends
 * on it.
 */
static void control_offer(struct fare *fare)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char line[128], control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {.iov_base = line};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd, segment = conn_segment_fd(fare->segment);

	if (snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/control.sock", fare->run_dir) >=
	    (int)sizeof(sun.sun_path))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	iov.iov_len = (size_t)snprintf(line, sizeof(line), "{\"cmd\":\"attach\",\"pid\":%d}\n",
				       (int)getpid());
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &segment, sizeof(int));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) ||
	    sendmsg(fd, &msg, MSG_NOSIGNAL) != (ssize_t)iov.iov_len) {
		close(fd);
		return;
	}
	fare->control_fd = fd;
}

/* The daemon's answers are not needed; end of file means that it went away. */
static void control_watch(struct fare *fare)
{
	char buf[512];
	ssize_t n;

	if (fare->control_fd >= 0) {
		do
			n = recv(fare->control_fd, buf, sizeof(buf), MSG_DONTWAIT);
		while (n > 0);
		if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			close(fare->control_fd);
			fare->control_fd = -1;
		}
	}
	if (fare->control_fd < 0)
		control_offer(fare);
}

int attach_check(const struct fare *fare)
{
	if (!fare)
		return -EINVAL;
	return fork_mark_is_own(&fare->mark) ? 0 : -ECHILD;
}

int attach_check_pair(const struct fare_pair *pair)
{
	return attach_check(pair ? pair->fare : NULL);
}

int fare_attach(struct fare **out, const char *run_dir)
{
	struct fare *fare;
	int err;

	if (!out)
		return -EINVAL;
	*out = NULL;
	fare = calloc(1, sizeof(*fare));
	if (!fare)
		return -ENOMEM;
	fare->control_fd = -1;
	err = fork_mark_init(&fare->mark);
	if (err) {
		free(fare);
		return err;
	}
	if (snprintf(fare->run_dir, sizeof(fare->run_dir), "%s",
		     run_dir ? run_dir : DEFAULT_RUN_DIR) >= (int)sizeof(fare->run_dir))
		err = -ENAMETOOLONG;
	else
		err = map_segment(fare->run_dir, &fare->map);
	if (!err)
		err = conn_segment_create(&fare->segment);
	if (err) {
		fare_detach(fare);
		return err;
	}
	control_watch(fare);
	fare->refresh_due_ns = clock_now_ns() + REFRESH_NS;
	*out = fare;
	return 0;
}

/* In a child: gives back what belongs to the process alone. Memory may be in any state. */
static void attach_leave_child(struct fare *fare)
{
	if (fare->control_fd >= 0)
		close(fare->control_fd);
	conn_segment_destroy(fare->segment);
	munmap((void *)fare->map, sizeof(*fare->map));
}

void fare_detach(struct fare *fare)
{
	if (!fare)
		return;
	if (attach_check(fare)) {
		attach_leave_child(fare);
		return;
	}
	if (fare->control_fd >= 0)
		close(fare->control_fd);
	conn_segment_destroy(fare->segment);
	if (fare->map)
		munmap((void *)fare->map, sizeof(*fare->map));
	spray_shared_fini(&fare->spray_shared);
	fork_mark_fini(&fare->mark);
	free(fare);
}

bool attach_retired(const struct fare *fare)
{
	return atomic_load_explicit(&fare->map->retired, memory_order_acquire);
}

/*
 * A retired segment is left as soon as its successor can be mapped; until then the old one serves.
 */
static void follow_retired(struct fare *fare)
{
	const struct shm_header *old = fare->map, *map;

	if (!attach_retired(fare) || map_segment(fare->run_dir, &map))
		return;
	if (atomic_load_explicit(&map->retired, memory_order_acquire)) {
		/* the same one: its successor is still to come */
		munmap((void *)map, sizeof(*map));
		return;
	}
	fare->map = map;
	fare->n_segments++;
	for (struct fare_pair *p = fare->pairs; p; p = p->next)
		pair_resolve(p);
	munmap((void *)old, sizeof(*old));
}

uint64_t attach_generation(const struct fare *fare)
{
	return (fare->n_segments << 48) +
	       atomic_load_explicit(&fare->map->generation, memory_order_acquire);
}

void attach_refresh(struct fare *fare, uint64_t now_ns)
{
	if (now_ns < fare->refresh_due_ns)
		return;
	fare->refresh_due_ns = now_ns + REFRESH_NS;
	follow_retired(fare);
	control_watch(fare);
}

unsigned fare_n_local_gpus(const struct fare *fare)
{
	uint32_t n = attach_check(fare) ? 0 : atomic_load(&fare->map->n_local_gpus);

	return n <= FARE_MAX_LOCAL_GPUS ? n : FARE_MAX_LOCAL_GPUS;
}

bool attach_local_gpu(const struct fare *fare, unsigned local_gpu, struct attach_gpu *out)
{
	memset(out, 0, sizeof(*out));
	if (local_gpu >= fare_n_local_gpus(fare))
		return false;
	out->shm = &fare->map->local_gpus[local_gpu];
	out->n_planes = bounded(&out->shm->n_planes, FARE_MAX_PLANES + 1);
	if (out->n_planes == 0 || out->n_planes > FARE_MAX_PLANES)
		return false;
	for (unsigned p = 0; p < out->n_planes; p++) {
		out->n_sub_ports[p] = bounded(&out->shm->n_sub_ports[p], FARE_MAX_SUB_PORTS + 1);
		if (out->n_sub_ports[p] > FARE_MAX_SUB_PORTS)
			return false;
	}
	return true;
}

int fare_local_address(const struct fare *fare, unsigned local_gpu, int family,
		       struct in6_addr *out)
{
	static const struct in6_addr none;
	struct attach_gpu gpu;
	int err = attach_check(fare);

	if (err)
		return err;
	if (!out || (family != AF_INET && family != AF_INET6))
		return -EINVAL;
	if (!attach_local_gpu(fare, local_gpu, &gpu))
		return -ENOENT;
	memcpy(out, gpu.shm->address[family == AF_INET6], sizeof(*out));
	return memcmp(out, &none, sizeof(none)) ? 0 : -ENOENT;
}

bool attach_is_local(const struct fare *fare, const struct in6_addr *address)
{
	int family = IN6_IS_ADDR_V4MAPPED(address) ? AF_INET : AF_INET6;
	struct in6_addr own;

	for (unsigned gpu = 0; gpu < fare_n_local_gpus(fare); gpu++)
		if (!fare_local_address(fare, gpu, family, &own) &&
		    !memcmp(&own, address, sizeof(own)))
			return true;
	return false;
}

bool fare_daemon_alive(const struct fare *fare)
{
	uint64_t beat;

	if (attach_check(fare))
		return false;
	beat = atomic_load_explicit(&fare->map->heartbeat_ns, memory_order_relaxed);
	return clock_now_ns() - beat < HEARTBEAT_ALIVE_NS;
}

int fare_pair_open(struct fare_pair **out, struct fare *fare, unsigned local_gpu,
		   const struct in6_addr *peer)
{
	struct fare_pair *pair;
	struct attach_gpu gpu;
	int err = attach_check(fare);

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (!err && !peer)
		err = -EINVAL;
	if (err)
		return err;
	if (!attach_local_gpu(fare, local_gpu, &gpu))
		return -ENOENT;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return -ENOMEM;
	pair->fare = fare;
	pair->local_gpu = local_gpu;
	pair->peer = *peer;
	pair_resolve(pair);
	LL_PREPEND(fare->pairs, pair);
	*out = pair;
	return 0;
}

void fare_pair_close(struct fare_pair *pair)
{
	if (attach_check_pair(pair))
		return;
	LL_DELETE(pair->fare->pairs, pair);
	free(pair);
}

uint64_t fare_pair_generation(const struct fare_pair *pair)
{
	if (attach_check_pair(pair))
		return 0;
	return pair->epoch + atomic_load_explicit(pair->watch, memory_order_acquire);
}

/* What is configured of a pair that the daemon has not spoken of. */
static void no_route(const struct attach_gpu *gpu, struct fare_paths *out)
{
	out->n_planes = gpu->n_planes;
	for (unsigned p = 0; p < out->n_planes; p++)
		out->path[p].n_sub_ports = gpu->n_sub_ports[p];
}

static void attach_fill_paths(const struct attach_gpu *gpu, const struct shm_path *copy,
			      struct fare_paths *out)
{
	for (unsigned p = 0; p < out->n_planes; p++) {
		uint32_t n = gpu->n_sub_ports[p];

		out->path[p].usable_bps = copy[p].usable_bps;
		out->path[p].verdict = copy[p].verdict < FARE_VERDICT_COUNT
					       ? (enum fare_verdict)copy[p].verdict
					       : FARE_VERDICT_NO_ROUTE;
		out->path[p].n_sub_ports = n;
		out->path[p].live_sub_ports = copy[p].live_sub_ports & ((1u << n) - 1);
		/* a scribbled segment cannot make us post nowhere */
		if (!out->path[p].live_sub_ports)
			out->path[p].usable_bps = 0;
	}
}

/* The copy in force, for a pair that the daemon has spoken of; *word is 0 otherwise. */
static int copy_paths(struct fare_pair *pair, struct shm_path copy[FARE_MAX_PLANES], uint64_t *word)
{
	*word = 0;
	follow_retired(pair->fare);
	if (!pair->shm)
		*word = pair_resolve(pair);
	if (pair->shm && shm_pair_read(pair->fare->map,
				       (uint32_t)(pair->shm - pair->fare->map->pairs), copy, word))
		return -EAGAIN;
	return 0;
}

uint32_t attach_pair_path_mtu(const struct fare_pair *cpair)
{
	struct fare_pair *pair = (struct fare_pair *)cpair; /* resolving is a cache, not a change */
	struct shm_path copy[FARE_MAX_PLANES];
	uint32_t least = UINT32_MAX;
	uint64_t word;

	if (copy_paths(pair, copy, &word) || !pair->shm || !word)
		return least;
	for (uint32_t p = 0; p < bounded(&pair->shm->n_planes, FARE_MAX_PLANES); p++)
		if (copy[p].usable_bps && copy[p].path_mtu && copy[p].path_mtu < least)
			least = copy[p].path_mtu;
	return least;
}

int fare_pair_paths(const struct fare_pair *cpair, struct fare_paths *out)
{
	struct fare_pair *pair = (struct fare_pair *)cpair; /* resolving is a cache, not a change */
	struct shm_path copy[FARE_MAX_PLANES];
	struct attach_gpu gpu;
	uint64_t word;
	int err = attach_check_pair(pair);

	if (!out)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	err = copy_paths(pair, copy, &word);
	if (err)
		return err;
	out->generation = pair->epoch + word;
	if (!attach_local_gpu(pair->fare, pair->local_gpu, &gpu))
		memset(&gpu, 0, sizeof(gpu));
	if (!pair->shm || word == 0) {
		no_route(&gpu, out);
		return 0;
	}
	out->n_planes = bounded(&pair->shm->n_planes, FARE_MAX_PLANES);
	attach_fill_paths(&gpu, copy, out);
	return 0;
}

/* The local GPU's address in the peer's family. */
static struct in6_addr own_address(const struct fare_pair *pair)
{
	struct in6_addr own = {0};
	struct attach_gpu gpu;

	if (attach_local_gpu(pair->fare, pair->local_gpu, &gpu))
		memcpy(&own, gpu.shm->address[IN6_IS_ADDR_V4MAPPED(&pair->peer) ? 0 : 1],
		       sizeof(own));
	return own;
}

double attach_pair_phase(const struct fare_pair *pair)
{
	struct in6_addr own = own_address(pair);

	return weights_phase(&own, &pair->peer);
}

int64_t attach_pair_turn(const struct fare_pair *pair)
{
	const struct shm_header *map = pair->fare->map;
	uint32_t n = atomic_load_explicit(&map->n_pairs, memory_order_acquire), between = 0;
	struct in6_addr own = own_address(pair);
	bool up = memcmp(&pair->peer, &own, sizeof(own)) > 0;
	const struct in6_addr *low = up ? &own : &pair->peer, *high = up ? &pair->peer : &own;

	for (uint32_t i = 0; i < n && i < FARE_MAX_PAIRS; i++) {
		const struct shm_pair *p = &map->pairs[i];

		between += p->local_gpu == pair->local_gpu &&
			   memcmp(p->peer, low, sizeof(p->peer)) > 0 &&
			   memcmp(p->peer, high, sizeof(p->peer)) < 0;
	}
	return weights_turn(&own, &pair->peer, between);
}

void attach_pair_identity(const struct fare_pair *pair, struct in6_addr *peer, uint32_t *local_gpu)
{
	*peer = pair->peer;
	*local_gpu = pair->local_gpu;
}

struct fare *attach_pair_owner(const struct fare_pair *pair)
{
	return pair->fare;
}

struct spray_shared *attach_spray_shared(struct fare *fare)
{
	return &fare->spray_shared;
}

void attach_watch_add(struct fare_pair *pair, struct attach_watch *watch,
		      struct fare_spray_head *head)
{
	*watch = (struct attach_watch){.head = head};
	LL_PREPEND(pair->watches, watch);
	watch_point(pair, watch);
}

void attach_watch_remove(struct fare_pair *pair, struct attach_watch *watch)
{
	LL_DELETE(pair->watches, watch);
}

void attach_watch_seen(const struct fare_pair *pair, struct attach_watch *watch,
		       uint64_t generation)
{
	watch->head->seen = generation - pair->epoch;
}

struct conn_segment *attach_segment(const struct fare *fare)
{
	return fare->segment;
}
