/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/cluster.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "core/interrupt.h"
#include "fabric/optimum.h"
#include "engine/rendezvous.h"

#define CLUSTER_START_MS       30000
#define CLUSTER_PATHS_PAUSE_NS UINT64_C(5000000) /* between two questions for one path */

struct cluster_member {
	struct rendezvous *link;
	json_t *unasked; /* an array: what it said that nobody waited for yet */
	struct cluster_arena target, source;
	char label[2 * TOPO_NAME_MAX];
};

struct cluster {
	unsigned n;
	struct cluster_source source;
	struct cluster_member *member;
};

unsigned cluster_size(const struct cluster *cluster)
{
	return cluster->n;
}

const struct cluster_arena *cluster_arena(const struct cluster *cluster, unsigned gpu, bool source)
{
	return source ? &cluster->member[gpu].source : &cluster->member[gpu].target;
}

int cluster_pid(const struct cluster *cluster, unsigned gpu)
{
	return cluster->source.pid ? cluster->source.pid(cluster->source.arg, gpu) : 0;
}

int cluster_send(struct cluster *cluster, unsigned gpu, json_t *request)
{
	int err = request ? rendezvous_send(cluster->member[gpu].link, request) : -ENOMEM;

	json_decref(request);
	/* it said why before it went: cluster_await() reads that */
	return err == -EPIPE ? 0 : err;
}

static bool cluster_is(const json_t *message, const char *event)
{
	const char *name = json_string_value(json_object_get(message, "event"));

	return name && strcmp(name, event) == 0;
}

/* Takes message, which nobody waits for: kept, if it is of the kind that comes unasked. */
static int cluster_keep(struct cluster_member *member, json_t *message)
{
	const char *text = json_string_value(json_object_get(message, "text"));

	if (cluster_is(message, "delivered") || cluster_is(message, "round") ||
	    cluster_is(message, "done"))
		return json_array_append_new(member->unasked, message) ? -ENOMEM : 0;
	fprintf(stderr, "farebench: GPU %s: %s\n", member->label,
		text ? text : "an answer out of turn");
	json_decref(message);
	return -EBADE;
}

/* What was kept: the first of that kind; NULL: none. The caller's. */
static json_t *cluster_kept(struct cluster_member *member, const char *event)
{
	json_t *message;
	size_t i;

	json_array_foreach (member->unasked, i, message) {
		if (!cluster_is(message, event))
			continue;
		json_incref(message);
		json_array_remove(member->unasked, i);
		return message;
	}
	return NULL;
}

int cluster_await(struct cluster *cluster, unsigned gpu, const char *event, int timeout_ms,
		  json_t **out)
{
	struct cluster_member *member = &cluster->member[gpu];
	json_t *message = cluster_kept(member, event);
	uint64_t deadline = clock_now_ns() + (uint64_t)timeout_ms * 1000000u;

	while (!message) {
		uint64_t now = clock_now_ns();
		int err = rendezvous_receive(
			member->link, now < deadline ? (int)((deadline - now) / 1000000u) : 0,
			&message);

		if (err) {
			fprintf(stderr, "farebench: GPU %s: waiting for \"%s\": %s\n",
				member->label, event,
				err == -EPIPE ? "the worker has ended" : strerror(-err));
			return err;
		}
		if (cluster_is(message, event))
			break;
		err = cluster_keep(member, message);
		if (err)
			return err;
		message = NULL;
	}
	if (out)
		*out = message;
	else
		json_decref(message);
	return 0;
}

/* Reads what there is, without waiting. */
static int cluster_fill(struct cluster *cluster)
{
	int err = 0;

	for (unsigned i = 0; !err && i < cluster->n; i++) {
		struct cluster_member *member = &cluster->member[i];
		json_t *message;
		int got, gone = rendezvous_fill(member->link);

		while (!err && (got = rendezvous_next(member->link, &message)) == 1)
			err = cluster_keep(member, message);
		if (!err && (got < 0 || gone)) {
			fprintf(stderr, "farebench: GPU %s: the worker has ended\n", member->label);
			err = -EPIPE;
		}
	}
	return err;
}

/* Waits for a message of any worker, until at_ns at most. 0: none came; 1: there is one. */
static int cluster_poll(struct cluster *cluster, uint64_t at_ns)
{
	struct pollfd poller[TOPO_MAX_GPUS];
	uint64_t now = clock_now_ns(), left = at_ns > now ? at_ns - now : 0;
	struct timespec until = {.tv_sec = (time_t)(left / 1000000000u),
				 .tv_nsec = (long)(left % 1000000000u)};
	bool came = false;

	for (unsigned i = 0; i < cluster->n; i++)
		poller[i] = (struct pollfd){.fd = rendezvous_fd(cluster->member[i].link),
					    .events = POLLIN};
	if (left && !interrupt_pending())
		came = ppoll(poller, cluster->n, &until, NULL) > 0;
	/* also one that came meanwhile, and that the wait has outlasted */
	return interrupt_pending() ? -EINTR : came;
}

int cluster_next(struct cluster *cluster, uint64_t until_ns, unsigned *gpu, json_t **event)
{
	int err;

	*event = NULL;
	for (;;) {
		for (*gpu = 0; *gpu < cluster->n; (*gpu)++) {
			*event = cluster_kept(&cluster->member[*gpu], "delivered");
			if (!*event)
				*event = cluster_kept(&cluster->member[*gpu], "round");
			if (*event)
				return 0;
		}
		err = cluster_poll(cluster, until_ns);
		if (err < 0)
			return err;
		if (err == 0 && clock_now_ns() >= until_ns)
			return 0;
		err = cluster_fill(cluster);
		if (err)
			return err;
	}
}

void cluster_forget(struct cluster *cluster)
{
	for (unsigned i = 0; i < cluster->n; i++)
		json_array_clear(cluster->member[i].unasked);
}

int cluster_all(struct cluster *cluster, json_t *request, const char *event, int timeout_ms)
{
	int err = request ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < cluster->n; i++)
		err = cluster_send(cluster, i, json_incref(request));
	json_decref(request);
	for (unsigned i = 0; !err && event && i < cluster->n; i++)
		err = cluster_await(cluster, i, event, timeout_ms, NULL);
	return err;
}

int cluster_sleep_until(struct cluster *cluster, uint64_t at_ns)
{
	int err = 0;

	while (!err && (err = cluster_poll(cluster, at_ns)) >= 0) {
		if (err == 0 && clock_now_ns() >= at_ns)
			break;
		/* nobody speaks unasked but to report an error, or what cluster_keep() keeps */
		err = cluster_fill(cluster);
	}
	return err;
}

/* ---- start and end ---- */

/* One worker comes in and says which GPU it is. */
static int cluster_welcome(struct cluster *cluster)
{
	struct rendezvous *link;
	json_t *hello = NULL;
	json_int_t gpu;
	int err = cluster->source.accept(cluster->source.arg, CLUSTER_START_MS, &link);

	if (err)
		return err;
	err = rendezvous_receive(link, CLUSTER_START_MS, &hello);
	gpu = json_integer_value(json_object_get(hello, "gpu"));
	if (!err && json_object_get(hello, "text")) {
		fprintf(stderr, "farebench: GPU %lld: %s\n", (long long)gpu,
			json_string_value(json_object_get(hello, "text")));
		err = -ENOTCONN;
	} else if (!err && (!json_is_integer(json_object_get(hello, "gpu")) || gpu < 0 ||
			    gpu >= cluster->n || cluster->member[gpu].link)) {
		err = -EPROTO;
	}
	json_decref(hello);
	if (err)
		rendezvous_destroy(link);
	else
		cluster->member[gpu].link = link;
	return err;
}

static void cluster_describe_memory(const struct cluster_member *member, const json_t *answer,
				    bool *lacks, char *text)
{
	const char *why = json_string_value(json_object_get(answer, "lacks")),
		   *what = json_string_value(json_object_get(answer, "memory"));

	char where[sizeof(member->label) + 4];

	snprintf(where, sizeof(where), "GPU %s", member->label);
	if (why && !*lacks)
		snprintf(text, CLUSTER_MEMORY_MAX, "%s: %s", where, why);
	else if (!*lacks && what)
		memory_text_add(text, CLUSTER_MEMORY_MAX, where, what);
	*lacks |= why != NULL;
}

static struct cluster_arena cluster_arena_of(const json_t *answer, const char *address,
					     const char *rkey)
{
	return (struct cluster_arena){
		(uint64_t)json_integer_value(json_object_get(answer, address)),
		(uint32_t)json_integer_value(json_object_get(answer, rkey))};
}

/* One kind for all, or the hosts' for all. */
static int cluster_arenas(struct cluster *cluster, uint64_t bytes, const struct memory_pair *kinds,
			  char *text)
{
	bool lacks = false;
	int err = cluster_all(cluster,
			      json_pack("{s:s, s:I, s:i, s:i}", "op", "arena", "bytes",
					(json_int_t)bytes, "source", (int)kinds->source, "target",
					(int)kinds->target),
			      NULL, 0);

	*text = '\0';
	for (unsigned i = 0; !err && i < cluster->n; i++) {
		json_t *answer;

		err = cluster_await(cluster, i, "arena", CLUSTER_START_MS, &answer);
		if (err)
			break;
		cluster->member[i].target = cluster_arena_of(answer, "address", "rkey");
		cluster->member[i].source =
			cluster_arena_of(answer, "source_address", "source_rkey");
		cluster_describe_memory(&cluster->member[i], answer, &lacks, text);
		json_decref(answer);
	}
	return err ? err : lacks ? -EOPNOTSUPP : 0;
}

int cluster_memory(struct cluster *cluster, uint64_t arena_bytes, const struct memory_pair *kinds,
		   char *text)
{
	const struct memory_pair host = {0};
	char unused[CLUSTER_MEMORY_MAX];
	int err = cluster_arenas(cluster, arena_bytes, kinds, text), again = 0;

	if (err == -EOPNOTSUPP)
		again = cluster_arenas(cluster, arena_bytes, &host, unused);
	return again ? again : err;
}

int cluster_create_from(struct cluster **out, const struct topo *topo, uint64_t arena_bytes,
			const struct cluster_source *source)
{
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	const struct memory_pair host = {0};
	char memory[CLUSTER_MEMORY_MAX];
	int err = 0;

	if (!cluster) {
		source->end(source->arg, false);
		return -ENOMEM;
	}
	cluster->source = *source;
	cluster->member = calloc(topo->n_gpus, sizeof(*cluster->member));
	err = cluster->member ? source->start(source->arg) : -ENOMEM;
	for (unsigned i = 0; cluster->member && i < topo->n_gpus; i++) {
		topo_gpu_label(topo, i, cluster->member[i].label, sizeof(cluster->member[i].label));
		cluster->member[i].unasked = json_array();
		cluster->n++;
	}
	for (unsigned i = 0; !err && i < cluster->n; i++)
		err = cluster_welcome(cluster);
	if (!err)
		err = cluster_memory(cluster, arena_bytes, &host, memory);
	if (err) {
		fprintf(stderr, "farebench: starting workers: %s\n",
			err == -ENOTCONN ? "one of them could not begin, and said why"
					 : strerror(-err));
		cluster_destroy(cluster);
		return err;
	}
	*out = cluster;
	return 0;
}

void cluster_destroy(struct cluster *cluster)
{
	bool whole = true;

	if (!cluster)
		return;
	for (unsigned i = 0; i < cluster->n; i++) {
		whole = whole && cluster->member[i].link;
		if (cluster->member[i].link)
			cluster_send(cluster, i, json_pack("{s:s}", "op", "quit"));
		rendezvous_destroy(cluster->member[i].link);
		json_decref(cluster->member[i].unasked);
	}
	cluster->source.end(cluster->source.arg, whole);
	free(cluster->member);
	free(cluster);
}

/* ---- paths ---- */

/* 0: as the topology says; -EAGAIN: not (yet), reason says what. */
static int cluster_check_paths(struct cluster *cluster, const struct topo *topo, bool reached,
			       unsigned src, unsigned dst, char *reason, size_t size)
{
	json_t *answer, *path;
	size_t plane;
	int err = cluster_send(
		cluster, src,
		json_pack("{s:s, s:s}", "op", "paths", "address", topo_gpu_address(topo, dst)));

	if (!err)
		err = cluster_await(cluster, src, "paths", CLUSTER_START_MS, &answer);
	if (err)
		return err;
	if (reached && json_array_size(json_object_get(answer, "path")) != topo->n_planes)
		err = -EAGAIN;
	json_array_foreach (json_object_get(answer, "path"), plane, path) {
		double have = json_number_value(json_object_get(path, "usable_bps"));
		double want =
			reached ? (double)optimum_usable_bps(topo, src, dst, (unsigned)plane) : 0;

		if (have >= want * 0.98 && have <= want * 1.02)
			continue;
		snprintf(reason, size,
			 "from %s to %s over plane %zu: usable are %.0f Mb/s (%s), not %.0f",
			 cluster->member[src].label, cluster->member[dst].label, plane, have / 1e6,
			 json_string_value(json_object_get(path, "verdict")), want / 1e6);
		err = -EAGAIN;
	}
	json_decref(answer);
	return err;
}

int cluster_await_paths(struct cluster *cluster, const struct topo *topo, const bool *absent,
			int timeout_ms)
{
	uint64_t deadline = clock_now_ns() + (uint64_t)timeout_ms * 1000000u;
	char reason[512] = "no answer";
	int err;

	for (unsigned pair = 0; pair < cluster->n * cluster->n;) {
		unsigned src = pair / cluster->n, dst = pair % cluster->n;
		bool reached = !absent || (!absent[src] && !absent[dst]);

		/* a path inside a server crosses no fabric, and the daemon has no route */
		if (topo->gpus[src].server == topo->gpus[dst].server) {
			pair++;
			continue;
		}
		err = cluster_check_paths(cluster, topo, reached, src, dst, reason, sizeof(reason));
		if (err && err != -EAGAIN)
			return err;
		if (!err) {
			pair++;
			continue;
		}
		if (clock_now_ns() > deadline) {
			fprintf(stderr, "farebench: after %d s still: %s\n", timeout_ms / 1000,
				reason);
			return -ETIMEDOUT;
		}
		err = cluster_sleep_until(cluster, clock_now_ns() + CLUSTER_PATHS_PAUSE_NS);
		if (err)
			return err;
	}
	return 0;
}
