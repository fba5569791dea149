/* SPDX-License-Identifier: BSD-2-Clause */
/* publish.c - see publish.h */
#include "publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "shm_writer.h"

#define RENEW_NS UINT64_C(60000000000) /* each time all readers attach anew */

struct publish {
	struct shm_writer *writer;
	struct path_table *table;
	void (*on_change)(void *arg, const struct path_change *change);
	void *arg;
	struct publish_stats stats;
	uint64_t now_ns;		      /* of the run that is under way */
	uint64_t renewed_ns;		      /* 0: not yet */
	bool has_refused;		      /* pairs, for want of room: they are tried again */
	int32_t segment_pair[FARE_MAX_PAIRS]; /* by pair of the table; -1: none yet */
};

static void describe_gpu(const struct config_gpu *from, struct shm_writer_gpu *to)
{
	*to = (struct shm_writer_gpu){.n_planes = from->n_planes};
	memcpy(to->address, from->address, sizeof(to->address));
	for (uint32_t p = 0; p < from->n_planes; p++) {
		to->n_sub_ports[p] = from->planes[p].n_sub_ports;
		for (uint32_t s = 0; s < from->planes[p].n_sub_ports; s++)
			memcpy(to->dev[p][s], from->planes[p].sub_ports[s].dev, FARE_DEV_NAME_MAX);
	}
}

/* ---- adoption ------------------------------------------------------------ */

/* Reads the copy in force. Nobody else writes the segment, so one look is enough; its bytes are
 * still not trusted. */
static bool last_published(const struct shm_header *segment, uint32_t id, uint32_t n_planes,
			   struct shm_path *out)
{
	const struct shm_pair *pair = &segment->pairs[id];
	uint64_t word =
		atomic_load_explicit((_Atomic uint64_t *)&segment->words[id], memory_order_acquire);

	if (!word || pair->n_planes != n_planes)
		return false;
	memcpy(out, pair->copies[word & 1], n_planes * sizeof(*out));
	return true;
}

static void adopt_pair(struct publish *p, const struct shm_header *segment, uint32_t id,
		       uint64_t now_ns)
{
	struct shm_path paths[FARE_MAX_PLANES];
	struct in6_addr peer;
	uint32_t gpu, n_planes, pair;

	if (shm_writer_pair_identity(p->writer, id, &gpu, peer.s6_addr))
		return;
	n_planes = path_table_n_planes(p->table, gpu);
	if (!n_planes || !last_published(segment, id, n_planes, paths))
		return;
	for (uint32_t plane = 0; plane < n_planes; plane++)
		if (path_table_adopt(p->table, gpu, &peer, plane, paths[plane].verdict,
				     paths[plane].usable_bps, now_ns))
			return;
	if (path_table_find(p->table, gpu, &peer, &pair))
		p->segment_pair[pair] = (int32_t)id;
	p->stats.pairs_adopted++;
}

static int adopt(struct publish *p, const char *run_dir, uint64_t now_ns)
{
	const struct shm_header *segment;
	char path[512];
	struct stat st;
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/%s", run_dir, SHM_NAME);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || (uint64_t)st.st_size < sizeof(*segment)) {
		rc = -EBADMSG;
	} else {
		segment = mmap(NULL, sizeof(*segment), PROT_READ, MAP_SHARED, fd, 0);
		if (segment == MAP_FAILED) {
			rc = -errno;
		} else {
			for (uint32_t id = 0; id < shm_writer_n_pairs(p->writer); id++)
				adopt_pair(p, segment, id, now_ns);
			munmap((void *)segment, sizeof(*segment));
		}
	}
	close(fd);
	return rc;
}

/* ---- life ---------------------------------------------------------------- */

int publish_create(struct publish **out, const struct config *config, struct path_table *table,
		   mode_t mode, uint64_t now_ns)
{
	struct publish *p = calloc(1, sizeof(*p));
	struct shm_writer_gpu *gpus = calloc(config->n_gpus, sizeof(*gpus));
	int rc = -ENOMEM;

	*out = NULL;
	if (!p || !gpus)
		goto failed;
	p->table = table;
	memset(p->segment_pair, 0xff, sizeof(p->segment_pair));
	for (uint32_t g = 0; g < config->n_gpus; g++)
		describe_gpu(&config->gpus[g], &gpus[g]);
	rc = shm_writer_open(&p->writer, config->run_dir, mode, gpus, config->n_gpus,
			     &p->stats.why_new);
	if (!rc)
		rc = adopt(p, config->run_dir, now_ns);
	if (rc)
		goto failed;
	free(gpus);
	*out = p;
	return 0;
failed:
	free(gpus);
	publish_destroy(p);
	return rc;
}

void publish_destroy(struct publish *p)
{
	if (!p)
		return;
	shm_writer_close(p->writer);
	free(p);
}

void publish_link(struct publish *p, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		  enum links_state state, uint64_t speed_bps)
{
	shm_writer_sub_port(p->writer, gpu, plane, sub_port, state == LINKS_UP, speed_bps);
}

/* Peers without a route are published as such by not being there. */
static bool is_kept(void *arg, uint32_t gpu, const uint8_t address[16])
{
	const struct publish *p = arg;
	struct in6_addr peer;
	uint32_t pair;

	memcpy(&peer, address, sizeof(peer));
	return path_table_find(p->table, gpu, &peer, &pair) && path_table_has_route(p->table, pair);
}

/* The segment is full of peers of the past, for its pairs are never removed. */
static int renew(struct publish *p)
{
	int rc;

	if (p->renewed_ns && p->now_ns < p->renewed_ns + RENEW_NS)
		return -EAGAIN;
	p->renewed_ns = p->now_ns;
	rc = shm_writer_renew(p->writer, is_kept, p);
	if (rc) {
		p->stats.renewals_failed++;
		p->stats.renewal_error = rc;
		return rc;
	}
	memset(p->segment_pair, 0xff, sizeof(p->segment_pair));
	p->stats.renewals++;
	return 0;
}

static int segment_pair(struct publish *p, uint32_t pair)
{
	struct in6_addr peer;
	uint32_t gpu;
	int id;

	if (p->segment_pair[pair] >= 0 || !path_table_pair(p->table, pair, &gpu, &peer))
		return p->segment_pair[pair];
	id = shm_writer_pair(p->writer, gpu, peer.s6_addr);
	if (id == -ENOSPC && !renew(p))
		id = shm_writer_pair(p->writer, gpu, peer.s6_addr);
	p->has_refused |= id == -ENOSPC;
	p->segment_pair[pair] = id;
	return id;
}

void publish_forget(struct publish *p, uint32_t pair)
{
	p->segment_pair[pair] = -1;
}

int publish_ports(struct publish *p, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		  const uint32_t *entries, uint32_t n)
{
	uint32_t pair;
	int id;

	if (!path_table_find(p->table, gpu, peer, &pair))
		return -ENOENT;
	id = segment_pair(p, pair);
	if (id < 0)
		return id;
	return shm_writer_ports(p->writer, (uint32_t)id, plane, entries, n) < 0 ? -EINVAL : 0;
}

static void on_pair(void *arg, uint32_t pair, uint32_t n_planes)
{
	struct shm_path paths[FARE_MAX_PLANES] = {0};
	struct publish *p = arg;
	int id = segment_pair(p, pair), rc = -ENOSPC;
	struct path_view view;

	for (uint32_t plane = 0; plane < n_planes; plane++) {
		path_table_view(p->table, pair, plane, &view);
		paths[plane].usable_bps = view.usable_bps;
		paths[plane].verdict = (uint32_t)view.verdict;
		paths[plane].live_sub_ports = (uint16_t)view.unused_sub_ports;
		paths[plane].path_mtu =
			view.probe.mtu_carried < view.probe.mtu_wanted ? view.probe.mtu_carried : 0;
	}
	if (id >= 0)
		rc = shm_writer_publish(p->writer, (uint32_t)id, paths, n_planes);
	if (rc < 0)
		p->stats.pairs_refused++;
	else
		p->stats.pairs_published += (uint64_t)rc;
}

static void on_change(void *arg, const struct path_change *change)
{
	struct publish *p = arg;

	if (p->on_change)
		p->on_change(p->arg, change);
}

uint64_t publish_run(struct publish *p, uint64_t now_ns,
		     void (*callback)(void *arg, const struct path_change *change), void *arg)
{
	static const struct path_table_handlers handlers = {.on_change = on_change,
							    .on_pair = on_pair};
	uint64_t next_ns;

	p->now_ns = now_ns;
	p->on_change = callback;
	p->arg = arg;
	if (p->has_refused && now_ns >= p->renewed_ns + RENEW_NS) {
		p->has_refused = false;
		path_table_mark_all(p->table);
	}
	next_ns = path_table_evaluate(p->table, now_ns, &handlers, p);
	if (p->has_refused && (!next_ns || next_ns > p->renewed_ns + RENEW_NS))
		next_ns = p->renewed_ns + RENEW_NS;
	return next_ns;
}

void publish_heartbeat(struct publish *p, uint64_t now_ns)
{
	shm_writer_heartbeat(p->writer, now_ns);
}

void publish_stats(const struct publish *p, struct publish_stats *out)
{
	*out = p->stats;
}
