/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm_pair.h"

struct shm_writer {
	struct shm_header *map;
	char path[PATH_MAX];
};

/* A new segment that takes the place of path. */
struct successor {
	const char *path;
	mode_t mode;
	gid_t gid; /* (gid_t)-1: the process's own */
	const struct shm_local_gpu *gpus;
	uint32_t n_gpus;
	struct shm_header *old;						     /* may be NULL */
	bool (*keep)(void *arg, uint32_t local_gpu, const uint8_t peer[16]); /* NULL: all */
	void *arg;
};

static int gpu_describe(struct shm_local_gpu *out, const struct shm_writer_gpu *in)
{
	memset(out, 0, sizeof(*out));
	if (in->n_planes == 0 || in->n_planes > FARE_MAX_PLANES)
		return -EINVAL;
	memcpy(out->address, in->address, sizeof(out->address));
	out->n_planes = in->n_planes;
	for (uint32_t p = 0; p < in->n_planes; p++) {
		if (in->n_sub_ports[p] > FARE_MAX_SUB_PORTS)
			return -EINVAL;
		out->n_sub_ports[p] = in->n_sub_ports[p];
		for (uint32_t s = 0; s < in->n_sub_ports[p]; s++) {
			if (!memchr(in->dev[p][s], 0, FARE_DEV_NAME_MAX))
				return -EINVAL;
			/*
			 * not what lies behind the name: segments of the same devices are the same,
			 * byte for byte
			 */
			memcpy(out->sub_ports[p][s].dev, in->dev[p][s], strlen(in->dev[p][s]) + 1);
		}
	}
	return 0;
}

/* Same addresses, planes and devices: what a client set up against the old daemon still holds. */
static bool gpu_same(const struct shm_local_gpu *a, const struct shm_local_gpu *b)
{
	if (memcmp(a->address, b->address, sizeof(a->address)) || a->n_planes != b->n_planes)
		return false;
	for (uint32_t p = 0; p < b->n_planes; p++) {
		if (a->n_sub_ports[p] != b->n_sub_ports[p])
			return false;
		for (uint32_t s = 0; s < b->n_sub_ports[p]; s++)
			if (memcmp(a->sub_ports[p][s].dev, b->sub_ports[p][s].dev,
				   FARE_DEV_NAME_MAX))
				return false;
	}
	return true;
}

static struct shm_header *map_file(int fd)
{
	void *map =
		mmap(NULL, sizeof(struct shm_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/*
 * The segment that a former daemon left, or NULL, and why. The caller decides whether to adopt it.
 */
static struct shm_header *map_existing(const char *path, const char **why)
{
	struct shm_header *map = NULL;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	*why = fd < 0 && errno == ENOENT ? "there was none"
					 : "what was there is no segment, or cannot be mapped";
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size == (off_t)sizeof(struct shm_header))
		map = map_file(fd);
	close(fd);
	if (map && map->magic != SHM_MAGIC) {
		munmap(map, sizeof(*map));
		map = NULL;
	}
	return map;
}

/* Why not to adopt it, or NULL. */
static const char *unfit(const struct shm_header *map, const struct shm_local_gpu *gpus,
			 uint32_t n_gpus)
{
	if (map->version != SHM_VERSION || map->size_bytes != sizeof(*map))
		return "another version of fared wrote it";
	if (map->retired)
		return "it was retired, and not yet replaced";
	if (map->n_local_gpus != n_gpus)
		return "it is of another number of local GPUs";
	for (uint32_t g = 0; g < n_gpus; g++)
		if (!gpu_same(&map->local_gpus[g], &gpus[g]))
			return "a local GPU's addresses, planes or devices are others";
	if (map->n_pairs > FARE_MAX_PAIRS)
		return "it is damaged: more pairs than there is room for";
	for (uint32_t i = 0; i < map->n_pairs; i++)
		if (map->pairs[i].local_gpu >= n_gpus ||
		    map->pairs[i].n_planes != gpus[map->pairs[i].local_gpu].n_planes)
			return "it is damaged: a pair of no local GPU";
	return NULL;
}

/* Which of gpus this one of the old segment is; n_gpus: none. */
static uint32_t same_gpu(const struct shm_header *old, uint32_t gpu,
			 const struct shm_local_gpu *gpus, uint32_t n_gpus)
{
	uint32_t g = gpu < FARE_MAX_LOCAL_GPUS && gpu < old->n_local_gpus ? 0 : n_gpus;

	while (g < n_gpus && !gpu_same(&old->local_gpus[gpu], &gpus[g]))
		g++;
	return g;
}

/* What was published of a pair, under another id. */
static void inherit_pair(struct shm_header *map, uint32_t to_id, uint32_t gpu,
			 const struct shm_header *old, uint32_t id)
{
	const struct shm_pair *from = &old->pairs[id];
	struct shm_pair *to = &map->pairs[to_id];

	memcpy(to->peer, from->peer, sizeof(to->peer));
	to->local_gpu = gpu;
	to->n_planes = from->n_planes;
	memcpy(to->copies[0], from->copies[old->words[id] & 1], sizeof(to->copies[0]));
	map->words[to_id] = 1u << 1; /* generation 1, copy 0 */
}

/*
 * What was published of local GPUs that are as they were stays in force: their readers need not
 * notice anything.
 */
static void inherit(struct shm_header *map, const struct successor *s)
{
	const struct shm_header *old = s->old;
	uint32_t n = 0;

	if (old->version != SHM_VERSION || old->size_bytes != sizeof(*old))
		return;
	for (uint32_t i = 0; i < old->n_pairs && i < FARE_MAX_PAIRS; i++) {
		const struct shm_pair *from = &old->pairs[i];
		uint32_t g = same_gpu(old, from->local_gpu, s->gpus, s->n_gpus);

		if (!old->words[i] || g == s->n_gpus || from->n_planes != s->gpus[g].n_planes ||
		    (s->keep && !s->keep(s->arg, g, from->peer)))
			continue;
		inherit_pair(map, n++, g, old, i);
	}
	atomic_store(&map->n_pairs, n);
}

/* Readers of a retired file look for its successor: a nudge on every word they watch. */
static void nudge(struct shm_header *old)
{
	uint32_t n = atomic_load(&old->n_pairs);

	for (uint32_t i = 0; i < n && i < FARE_MAX_PAIRS; i++)
		atomic_fetch_add_explicit(&old->words[i], 2, memory_order_release);
	atomic_fetch_add_explicit(&old->generation, 1, memory_order_release);
}

/*
 * fchmod: the mode asked for, whatever the umask; posix_fallocate: ENOSPC now, not SIGBUS later. On
 * error nothing is left behind.
 */
static int create_file(const char *path, mode_t mode, gid_t gid, struct shm_header **out)
{
	int fd, err = 0;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) || (gid != (gid_t)-1 && fchown(fd, (uid_t)-1, gid)))
		err = errno;
	if (!err)
		err = posix_fallocate(fd, 0, sizeof(struct shm_header));
	*out = err ? NULL : map_file(fd);
	if (!err && !*out)
		err = errno;
	close(fd);
	if (err)
		unlink(path);
	return -err;
}

/*
 * Visible only once whole. The old one is marked first: a daemon killed after that leaves either a
 * retired file, which the next one replaces, or a new one, which its readers look for.
 */
static int create_fresh(struct shm_header **out, const struct successor *s)
{
	char temporary[PATH_MAX];
	struct shm_header *map = NULL;
	int rc;

	if (snprintf(temporary, sizeof(temporary), "%s.%d", s->path, (int)getpid()) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	rc = create_file(temporary, s->mode, s->gid, &map);
	if (rc)
		return rc;
	map->magic = SHM_MAGIC;
	map->version = SHM_VERSION;
	map->size_bytes = sizeof(*map);
	memcpy(map->local_gpus, s->gpus, s->n_gpus * sizeof(*s->gpus));
	atomic_store(&map->n_local_gpus, s->n_gpus);
	if (s->old) {
		inherit(map, s);
		map->incarnation = s->old->incarnation;
		map->heartbeat_ns = s->old->heartbeat_ns;
		atomic_store_explicit(&s->old->retired, 1, memory_order_release);
	}
	if (rename(temporary, s->path)) {
		rc = -errno;
		munmap(map, sizeof(*map));
		unlink(temporary);
		if (s->old)
			atomic_store_explicit(&s->old->retired, 0, memory_order_release);
		return rc;
	}
	if (s->old)
		nudge(s->old);
	*out = map;
	return 0;
}

int shm_writer_open(struct shm_writer **out, const char *run_dir, mode_t mode,
		    const struct shm_writer_gpu *gpus, uint32_t n_gpus, const char **why_new)
{
	struct shm_local_gpu *described;
	struct shm_header *old, *map = NULL;
	struct shm_writer *w;
	char path[PATH_MAX];
	uint64_t incarnation;
	const char *why;
	int err = 0;

	*out = NULL;
	if (n_gpus == 0 || n_gpus > FARE_MAX_LOCAL_GPUS)
		return -EINVAL;
	if (snprintf(path, sizeof(path), "%s/%s", run_dir, SHM_NAME) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (getrandom(&incarnation, sizeof(incarnation), 0) != sizeof(incarnation))
		return -EIO;
	described = calloc(n_gpus, sizeof(*described));
	w = calloc(1, sizeof(*w));
	if (!described || !w)
		err = -ENOMEM;
	for (uint32_t g = 0; !err && g < n_gpus; g++)
		err = gpu_describe(&described[g], &gpus[g]);
	if (err)
		goto out;

	old = map_existing(path, &why);
	if (old)
		why = unfit(old, described, n_gpus);
	if (old && !why) {
		map = old;
		/* an older daemon may have left ports that no one follows any more */
		memset(map->reserved, 0, map->n_pairs * sizeof(map->reserved[0]));
	}
	if (why_new)
		*why_new = why;
	if (!map) {
		const struct successor s = {.path = path,
					    .mode = mode,
					    .gid = (gid_t)-1,
					    .gpus = described,
					    .n_gpus = n_gpus,
					    .old = old};

		err = create_fresh(&map, &s);
		if (old)
			munmap(old, sizeof(*old));
		if (err)
			goto out;
	}
	atomic_store_explicit(&map->incarnation, incarnation, memory_order_release);
	w->map = map;
	memcpy(w->path, path, sizeof(path));
	*out = w;
	w = NULL;
out:
	free(described);
	free(w);
	return err;
}

int shm_writer_renew(struct shm_writer *w,
		     bool (*keep)(void *arg, uint32_t local_gpu, const uint8_t peer[16]), void *arg)
{
	struct successor s = {.path = w->path,
			      .gpus = w->map->local_gpus,
			      .n_gpus = w->map->n_local_gpus,
			      .old = w->map,
			      .keep = keep,
			      .arg = arg};
	struct shm_header *map;
	struct stat st;
	int rc = lstat(w->path, &st) ? -errno : 0;

	if (rc)
		return rc;
	s.mode = st.st_mode & 0777;
	s.gid = st.st_gid;
	rc = create_fresh(&map, &s);
	if (rc)
		return rc;
	munmap(w->map, sizeof(*w->map));
	w->map = map;
	return 0;
}

void shm_writer_close(struct shm_writer *w)
{
	if (!w)
		return;
	munmap(w->map, sizeof(*w->map));
	free(w);
}

int shm_writer_pair(struct shm_writer *w, uint32_t local_gpu, const uint8_t peer[16])
{
	struct shm_header *map = w->map;
	uint32_t n = atomic_load_explicit(&map->n_pairs, memory_order_relaxed);
	struct shm_pair *pair;

	if (local_gpu >= atomic_load(&map->n_local_gpus))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (map->pairs[i].local_gpu == local_gpu && !memcmp(map->pairs[i].peer, peer, 16))
			return (int)i;
	if (n >= FARE_MAX_PAIRS)
		return -ENOSPC;
	pair = &map->pairs[n];
	memcpy(pair->peer, peer, 16);
	pair->local_gpu = local_gpu;
	pair->n_planes = map->local_gpus[local_gpu].n_planes;
	atomic_store_explicit(&map->n_pairs, n + 1, memory_order_release);
	atomic_fetch_add_explicit(&map->generation, 1, memory_order_release);
	return (int)n;
}

uint32_t shm_writer_n_pairs(const struct shm_writer *w)
{
	return atomic_load_explicit(&w->map->n_pairs, memory_order_relaxed);
}

int shm_writer_pair_identity(const struct shm_writer *w, uint32_t pair, uint32_t *local_gpu,
			     uint8_t peer[16])
{
	if (pair >= shm_writer_n_pairs(w))
		return -ENOENT;
	*local_gpu = w->map->pairs[pair].local_gpu;
	memcpy(peer, w->map->pairs[pair].peer, 16);
	return 0;
}

static uint32_t live_mask(const struct shm_local_gpu *gpu, uint32_t plane)
{
	uint32_t mask = 0;

	for (uint32_t s = 0; s < gpu->n_sub_ports[plane]; s++)
		if (atomic_load_explicit(&gpu->sub_ports[plane][s].up, memory_order_relaxed))
			mask |= 1u << s;
	return mask;
}

int shm_writer_publish(struct shm_writer *w, uint32_t pair_id, const struct shm_path *paths,
		       uint32_t n_planes)
{
	struct shm_path next[FARE_MAX_PLANES];
	struct shm_pair *pair;
	uint64_t word;

	if (pair_id >= shm_writer_n_pairs(w))
		return -EINVAL;
	pair = &w->map->pairs[pair_id];
	if (n_planes != pair->n_planes)
		return -EINVAL;
	memcpy(next, paths, n_planes * sizeof(*paths));
	for (uint32_t p = 0; p < n_planes; p++) {
		uint32_t live = live_mask(&w->map->local_gpus[pair->local_gpu], p),
			 out = paths[p].live_sub_ports;

		next[p].live_sub_ports = live & ~out ? live & ~out : live;
	}

	word = atomic_load_explicit(&w->map->words[pair_id], memory_order_relaxed);
	if (word && !memcmp(pair->copies[word & 1], next, n_planes * sizeof(*next)))
		return 0;
	shm_pair_publish(w->map, pair_id, next, n_planes);
	atomic_fetch_add_explicit(&w->map->generation, 1, memory_order_release);
	return 1;
}

int shm_writer_sub_port(struct shm_writer *w, uint32_t gpu, uint32_t plane, uint32_t sub_port,
			bool up, uint64_t speed_bps)
{
	struct shm_sub_port *s;

	if (gpu >= atomic_load(&w->map->n_local_gpus) ||
	    plane >= w->map->local_gpus[gpu].n_planes ||
	    sub_port >= w->map->local_gpus[gpu].n_sub_ports[plane])
		return -EINVAL;
	s = &w->map->local_gpus[gpu].sub_ports[plane][sub_port];
	if (s->up == up && s->speed_bps == speed_bps)
		return 0;
	atomic_store_explicit(&s->speed_bps, speed_bps, memory_order_relaxed);
	atomic_store_explicit(&s->up, up, memory_order_release);
	atomic_fetch_add_explicit(&w->map->generation, 1, memory_order_release);
	return 1;
}

void shm_writer_heartbeat(struct shm_writer *w, uint64_t now_ns)
{
	atomic_store_explicit(&w->map->heartbeat_ns, now_ns, memory_order_relaxed);
}
