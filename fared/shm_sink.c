/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "path_table.h"
#include "shm_writer.h"

#define RENEW_NS UINT64_C(60000000000) /* each time all readers attach anew */

struct shm_sink {
	struct shm_writer *writer;
	struct path_table *table;
	struct publish_stats stats;
	uint64_t now_ns;		      /* of the turn that is under way */
	uint64_t renewed_ns;		      /* 0: not yet */
	bool has_refused;		      /* pairs of this turn, for want of room */
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

static void adopt_pair(struct shm_sink *s, const struct shm_header *segment, uint32_t id,
		       uint64_t now_ns)
{
	struct shm_path paths[FARE_MAX_PLANES];
	struct in6_addr peer;
	uint32_t gpu, n_planes, pair;

	if (shm_writer_pair_identity(s->writer, id, &gpu, peer.s6_addr))
		return;
	n_planes = path_table_n_planes(s->table, gpu);
	if (!n_planes || !last_published(segment, id, n_planes, paths))
		return;
	for (uint32_t plane = 0; plane < n_planes; plane++)
		if (path_table_adopt(s->table, gpu, &peer, plane, paths[plane].verdict,
				     paths[plane].usable_bps, now_ns))
			return;
	if (path_table_find(s->table, gpu, &peer, &pair))
		s->segment_pair[pair] = (int32_t)id;
	s->stats.pairs_adopted++;
}

static int adopt(struct shm_sink *s, const char *run_dir, uint64_t now_ns)
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
			for (uint32_t id = 0; id < shm_writer_n_pairs(s->writer); id++)
				adopt_pair(s, segment, id, now_ns);
			munmap((void *)segment, sizeof(*segment));
		}
	}
	close(fd);
	return rc;
}

/* ---- life ---------------------------------------------------------------- */

int shm_sink_create(struct shm_sink **out, const struct config *config, struct path_table *table,
		    mode_t mode, uint64_t now_ns)
{
	struct shm_sink *s = calloc(1, sizeof(*s));
	struct shm_writer_gpu *gpus = calloc(config->n_gpus, sizeof(*gpus));
	int rc = -ENOMEM;

	*out = NULL;
	if (!s || !gpus)
		goto failed;
	s->table = table;
	memset(s->segment_pair, 0xff, sizeof(s->segment_pair));
	for (uint32_t g = 0; g < config->n_gpus; g++)
		describe_gpu(&config->gpus[g], &gpus[g]);
	rc = shm_writer_open(&s->writer, config->run_dir, mode, gpus, config->n_gpus,
			     &s->stats.why_new);
	if (!rc)
		rc = adopt(s, config->run_dir, now_ns);
	if (rc)
		goto failed;
	free(gpus);
	*out = s;
	return 0;
failed:
	free(gpus);
	shm_sink_destroy(s);
	return rc;
}

void shm_sink_destroy(struct shm_sink *s)
{
	if (!s)
		return;
	shm_writer_close(s->writer);
	free(s);
}

struct shm_writer *shm_sink_writer(struct shm_sink *s)
{
	return s->writer;
}

/* ---- pairs --------------------------------------------------------------- */

/* Peers without a route are published as such by not being there. */
static bool is_kept(void *arg, uint32_t gpu, const uint8_t address[16])
{
	const struct shm_sink *s = arg;
	struct in6_addr peer;
	uint32_t pair;

	memcpy(&peer, address, sizeof(peer));
	return path_table_find(s->table, gpu, &peer, &pair) && path_table_has_route(s->table, pair);
}

/* The segment is full of peers of the past, for its pairs are never removed. */
static int renew(struct shm_sink *s)
{
	int rc;

	if (s->renewed_ns && s->now_ns < s->renewed_ns + RENEW_NS)
		return -EAGAIN;
	s->renewed_ns = s->now_ns;
	rc = shm_writer_renew(s->writer, is_kept, s);
	if (rc) {
		s->stats.renewals_failed++;
		s->stats.renewal_error = rc;
		return rc;
	}
	memset(s->segment_pair, 0xff, sizeof(s->segment_pair));
	s->stats.renewals++;
	s->stats.renewal_error = 0;
	return 0;
}

static int segment_pair(struct shm_sink *s, uint32_t pair)
{
	struct in6_addr peer;
	uint32_t gpu;
	int id;

	if (s->segment_pair[pair] >= 0 || !path_table_pair(s->table, pair, &gpu, &peer))
		return s->segment_pair[pair];
	id = shm_writer_pair(s->writer, gpu, peer.s6_addr);
	if (id == -ENOSPC && !renew(s))
		id = shm_writer_pair(s->writer, gpu, peer.s6_addr);
	s->has_refused |= id == -ENOSPC;
	s->segment_pair[pair] = id;
	return id;
}

void shm_sink_stats(const struct shm_sink *s, struct publish_stats *out)
{
	*out = s->stats;
}

/* ---- the sink ------------------------------------------------------------ */

static void shm_sink_link(void *arg, const struct sink_link *link)
{
	struct shm_sink *s = arg;

	shm_writer_sub_port(s->writer, link->gpu, link->plane, link->sub_port, link->is_up,
			    link->speed_bps);
}

static void shm_sink_begin(void *arg, uint64_t now_ns)
{
	struct shm_sink *s = arg;

	s->now_ns = now_ns;
	s->has_refused = false;
}

static int shm_sink_take(void *arg, const struct sink_pair *pair)
{
	struct shm_sink *s = arg;
	int id = segment_pair(s, pair->id), rc = id;

	if (id >= 0)
		rc = shm_writer_publish(s->writer, (uint32_t)id, pair->paths, pair->n_planes);
	if (rc < 0)
		s->stats.pairs_refused++;
	else
		s->stats.pairs_published += (uint64_t)rc;
	return rc < 0 ? rc : 0;
}

static void shm_sink_forget(void *arg, uint32_t pair)
{
	struct shm_sink *s = arg;

	if (s->segment_pair[pair] < 0)
		s->stats.renewal_error = 0; /* if others wait, the next failure sets it again */
	s->segment_pair[pair] = -1;
}

/* A full segment is renewed once in a while. */
static uint64_t shm_sink_commit(void *arg)
{
	const struct shm_sink *s = arg;

	return s->has_refused ? s->renewed_ns + RENEW_NS : 0;
}

struct sink shm_sink_as_sink(struct shm_sink *s)
{
	return (struct sink){.arg = s,
			     .link = shm_sink_link,
			     .begin = shm_sink_begin,
			     .pair = shm_sink_take,
			     .forget = shm_sink_forget,
			     .commit = shm_sink_commit};
}
