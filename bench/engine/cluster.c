/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/cluster.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "optimum.h"
#include "engine/rendezvous.h"

#define CLUSTER_START_MS 30000

struct cluster_member {
	pid_t pid;
	struct rendezvous *link;
	json_t *unasked; /* an array: what it said that nobody waited for yet */
	uint64_t arena_address;
	uint32_t rkey;
	char label[2 * TOPO_NAME_MAX];
};

struct cluster {
	unsigned n;
	int listener;
	char dir[64], address[96];
	struct cluster_member *member;
};

uint64_t cluster_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned cluster_size(const struct cluster *cluster)
{
	return cluster->n;
}

uint64_t cluster_arena_address(const struct cluster *cluster, unsigned gpu)
{
	return cluster->member[gpu].arena_address;
}

int cluster_pid(const struct cluster *cluster, unsigned gpu)
{
	return (int)cluster->member[gpu].pid;
}

uint32_t cluster_rkey(const struct cluster *cluster, unsigned gpu)
{
	return cluster->member[gpu].rkey;
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
	uint64_t deadline = cluster_now_ns() + (uint64_t)timeout_ms * 1000000u;

	while (!message) {
		uint64_t now = cluster_now_ns();
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
	uint64_t now = cluster_now_ns(), left = at_ns > now ? at_ns - now : 0;
	struct timespec until = {.tv_sec = (time_t)(left / 1000000000u),
				 .tv_nsec = (long)(left % 1000000000u)};

	for (unsigned i = 0; i < cluster->n; i++)
		poller[i] = (struct pollfd){.fd = rendezvous_fd(cluster->member[i].link),
					    .events = POLLIN};
	if (interrupt_pending())
		return -EINTR;
	if (left == 0)
		return 0;
	return ppoll(poller, cluster->n, &until, NULL) > 0;
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
		if (err == 0 && cluster_now_ns() >= until_ns)
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

int cluster_all(struct cluster *cluster, const char *op, const char *event, int timeout_ms)
{
	int err = 0;

	for (unsigned i = 0; !err && i < cluster->n; i++)
		err = cluster_send(cluster, i, json_pack("{s:s}", "op", op));
	for (unsigned i = 0; !err && event && i < cluster->n; i++)
		err = cluster_await(cluster, i, event, timeout_ms, NULL);
	return err;
}

int cluster_sleep_until(struct cluster *cluster, uint64_t at_ns)
{
	int err = 0;

	while (!err && (err = cluster_poll(cluster, at_ns)) >= 0) {
		if (err == 0 && cluster_now_ns() >= at_ns)
			break;
		/* nobody speaks unasked but to report an error, or what cluster_keep() keeps */
		err = cluster_fill(cluster);
	}
	return err;
}

/* ---- start and end
 * -------------------------------------------------------------------------------------- */

static _Noreturn void cluster_exec(const struct cluster *cluster, const struct topo *topo,
				   unsigned gpu, const char *secret)
{
	const struct topo_gpu *g = &topo->gpus[gpu];
	const struct topo_server *server = &topo->servers[g->server];
	bool ipv6 = !g->ipv4[0];
	char number[16], local[16], mtu[16];

	snprintf(number, sizeof(number), "%u", gpu);
	snprintf(local, sizeof(local), "%u", g->index);
	snprintf(mtu, sizeof(mtu), "%u", topo_path_mtu(topo->mtu_bytes, ipv6));
	execl("/proc/self/exe", "farebench", "worker", "--rendezvous", cluster->address, "--gpu",
	      number, "--local-gpu", local, "--netns", server->netns, "--run-dir",
	      server->fared_run_dir, "--path-mtu", mtu, "--secret", secret, ipv6 ? "--ipv6" : NULL,
	      NULL);
	fprintf(stderr, "farebench: starting a worker: %s\n", strerror(errno));
	_exit(127);
}

static int cluster_spawn(struct cluster *cluster, const struct topo *topo)
{
	char secret[24];
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(secret, sizeof(secret), "%u", random);
	fflush(NULL);
	for (unsigned i = 0; i < cluster->n; i++) {
		topo_gpu_label(topo, i, cluster->member[i].label, sizeof(cluster->member[i].label));
		cluster->member[i].unasked = json_array();
		cluster->member[i].pid = fork();
		if (cluster->member[i].pid == 0)
			cluster_exec(cluster, topo, i, secret);
		if (cluster->member[i].pid < 0)
			return -errno;
	}
	return 0;
}

/* One worker comes in and says which GPU it is. */
static int cluster_welcome(struct cluster *cluster)
{
	struct pollfd poller = {.fd = cluster->listener, .events = POLLIN};
	struct rendezvous *link;
	json_t *hello = NULL;
	json_int_t gpu;
	int fd, err;

	if (poll(&poller, 1, CLUSTER_START_MS) <= 0) {
		fprintf(stderr, "farebench: not all workers came in %d s\n",
			CLUSTER_START_MS / 1000);
		return -ETIMEDOUT;
	}
	fd = accept4(cluster->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = rendezvous_create(&link, fd);
	if (!err)
		err = rendezvous_receive(link, CLUSTER_START_MS, &hello);
	if (err)
		return err;
	gpu = json_integer_value(json_object_get(hello, "gpu"));
	if (json_object_get(hello, "text")) {
		fprintf(stderr, "farebench: GPU %lld: %s\n", (long long)gpu,
			json_string_value(json_object_get(hello, "text")));
		err = -ENOTCONN;
	} else if (!json_is_integer(json_object_get(hello, "gpu")) || gpu < 0 ||
		   gpu >= cluster->n || cluster->member[gpu].link) {
		err = -EPROTO;
	}
	json_decref(hello);
	if (err)
		rendezvous_destroy(link);
	else
		cluster->member[gpu].link = link;
	return err;
}

static int cluster_arenas(struct cluster *cluster, uint64_t bytes)
{
	int err = 0;

	for (unsigned i = 0; !err && i < cluster->n; i++)
		err = cluster_send(
			cluster, i,
			json_pack("{s:s, s:I}", "op", "arena", "bytes", (json_int_t)bytes));
	for (unsigned i = 0; !err && i < cluster->n; i++) {
		json_t *answer;

		err = cluster_await(cluster, i, "arena", CLUSTER_START_MS, &answer);
		if (err)
			break;
		cluster->member[i].arena_address =
			(uint64_t)json_integer_value(json_object_get(answer, "address"));
		cluster->member[i].rkey =
			(uint32_t)json_integer_value(json_object_get(answer, "rkey"));
		json_decref(answer);
	}
	return err;
}

int cluster_create(struct cluster **out, const struct topo *topo, uint64_t arena_bytes)
{
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	int err = 0;

	if (!cluster)
		return -ENOMEM;
	cluster->listener = -1;
	cluster->member = calloc(topo->n_gpus, sizeof(*cluster->member));
	strcpy(cluster->dir, "/tmp/farebench.XXXXXX");
	if (!cluster->member || !mkdtemp(cluster->dir)) {
		cluster->dir[0] = '\0';
		err = -ENOMEM;
	}
	cluster->n = topo->n_gpus;
	snprintf(cluster->address, sizeof(cluster->address), "%s/rendezvous", cluster->dir);
	if (!err) {
		cluster->listener = rendezvous_listen(cluster->address);
		err = cluster->listener < 0 ? cluster->listener : cluster_spawn(cluster, topo);
	}
	for (unsigned i = 0; !err && i < cluster->n; i++)
		err = cluster_welcome(cluster);
	if (!err)
		err = cluster_arenas(cluster, arena_bytes);
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
	if (!cluster)
		return;
	for (unsigned i = 0; cluster->member && i < cluster->n; i++) {
		struct cluster_member *member = &cluster->member[i];

		if (member->link)
			cluster_send(cluster, i, json_pack("{s:s}", "op", "quit"));
		else if (member->pid > 0)
			kill(member->pid, SIGKILL);
		rendezvous_destroy(member->link);
		json_decref(member->unasked);
	}
	for (unsigned i = 0; cluster->member && i < cluster->n; i++)
		while (cluster->member[i].pid > 0 && waitpid(cluster->member[i].pid, NULL, 0) < 0 &&
		       errno == EINTR)
			;
	if (cluster->listener >= 0)
		close(cluster->listener);
	if (cluster->dir[0]) {
		unlink(cluster->address);
		rmdir(cluster->dir);
	}
	free(cluster->member);
	free(cluster);
}

/* ---- paths
 * ---------------------------------------------------------------------------------------------- */

/* 0: as the topology says; -EAGAIN: not (yet), reason says what. */
static int cluster_check_paths(struct cluster *cluster, const struct topo *topo, unsigned src,
			       unsigned dst, char *reason, size_t size)
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
	if (json_array_size(json_object_get(answer, "path")) != topo->n_planes)
		err = -EAGAIN;
	json_array_foreach (json_object_get(answer, "path"), plane, path) {
		double have = json_number_value(json_object_get(path, "usable_bps"));
		double want = (double)optimum_usable_bps(topo, src, dst, (unsigned)plane);

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

int cluster_await_paths(struct cluster *cluster, const struct topo *topo, int timeout_ms)
{
	uint64_t deadline = cluster_now_ns() + (uint64_t)timeout_ms * 1000000u;
	char reason[512] = "no answer";
	int err;

	for (unsigned pair = 0; pair < cluster->n * cluster->n;) {
		unsigned src = pair / cluster->n, dst = pair % cluster->n;

		/* a path inside a server crosses no fabric, and the daemon teaches none */
		if (topo->gpus[src].server == topo->gpus[dst].server) {
			pair++;
			continue;
		}
		err = cluster_check_paths(cluster, topo, src, dst, reason, sizeof(reason));
		if (err && err != -EAGAIN)
			return err;
		if (!err) {
			pair++;
			continue;
		}
		if (cluster_now_ns() > deadline) {
			fprintf(stderr, "farebench: after %d s still: %s\n", timeout_ms / 1000,
				reason);
			return -ETIMEDOUT;
		}
		err = cluster_sleep_until(cluster, cluster_now_ns() + 20000000);
		if (err)
			return err;
	}
	return 0;
}
