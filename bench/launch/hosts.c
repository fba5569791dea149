/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/hosts.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/interrupt.h"
#include "launch/admission.h"
#include "launch/handshake.h"
#include "launch/hosts_internal.h"

#define HOSTS_LAUNCHED_S 60  /* for agents that were started here */
#define HOSTS_PRINTED_S	 600 /* for those that somebody else starts */
#define HOSTS_LOG_S	 5   /* who is missing is said then, and after twice that, and so on */
#define HOSTS_TURN_MS	 200
#define HOSTS_HELLO_MS	 5000
#define HOSTS_ANSWER_MS	 60000 /* a command of an inventory may take half of that */

const struct inventory *hosts_inventory(const struct hosts *hosts)
{
	return hosts->inventory;
}

const json_t *hosts_about(const struct hosts *hosts, unsigned host)
{
	return hosts->member[host].about;
}

const struct launch_options *hosts_options(const struct hosts *hosts)
{
	return &hosts->options;
}

const char *hosts_gpu_device(const struct hosts *hosts, unsigned gpu)
{
	const struct topo_gpu *g = &hosts->inventory->topo->gpus[gpu];
	const json_t *about = hosts->member[g->server].about;
	const char *dev =
		json_string_value(json_array_get(json_object_get(about, "gpu_devices"), g->index));

	/* what no device is called is not handed on to other hosts */
	return dev && dev[0] && strlen(dev) < IFNAMSIZ && !strpbrk(dev, " \t\n,=") ? dev : NULL;
}

const char *hosts_name(const struct hosts *hosts, unsigned host)
{
	return hosts->inventory->topo->servers[host].name;
}

/* ---- talking to agents ---- */

/* An agent is gone: says so once for each, with the reason that it gave, if any. */
static void hosts_log_gone(struct hosts *hosts, unsigned host, const json_t *last)
{
	const char *text = json_string_value(json_object_get(last, "text"));

	if (!hosts->member[host].gone)
		fprintf(stderr, "farebench: host %s: its agent has ended%s%s\n",
			hosts_name(hosts, host), text ? ": " : "", text ? text : "");
	hosts->member[host].gone = true;
}

static bool hosts_is_end(const json_t *message)
{
	const char *event = json_string_value(json_object_get(message, "event"));

	return event && strcmp(event, "end") == 0;
}

/* The same of one whose last message was not read yet. err: what sending to it gave. */
static void hosts_read_gone(struct hosts *hosts, unsigned host, int err)
{
	json_t *last = NULL;
	int received = rendezvous_receive(hosts->member[host].link, 0, &last);

	/* another message is an answer that came too late */
	if (err == -EPIPE || received == -EPIPE || hosts_is_end(last))
		hosts_log_gone(hosts, host, last);
	json_decref(last);
}

static int hosts_send(struct hosts *hosts, unsigned host, json_t *request) /* takes request */
{
	int err = request ? rendezvous_send(hosts->member[host].link, request) : -ENOMEM;

	json_decref(request);
	if (err == -EPIPE)
		hosts_read_gone(hosts, host, err);
	else if (err)
		fprintf(stderr, "farebench: host %s: %s\n", hosts_name(hosts, host),
			strerror(-err));
	return err;
}

static int hosts_is(const struct hosts *hosts, unsigned host, const json_t *message,
		    const char *event)
{
	const char *is = json_string_value(json_object_get(message, "event"));
	const char *text = json_string_value(json_object_get(message, "text"));

	if (is && event && strcmp(is, event) == 0)
		return 0;
	fprintf(stderr, "farebench: host %s: %s\n", hosts_name(hosts, host),
		text ? text : "its agent gave an answer out of turn");
	return -EBADE;
}

/* event NULL: any is wrong. */
static int hosts_await(struct hosts *hosts, unsigned host, const char *event, int timeout_ms,
		       json_t **out)
{
	json_t *message = NULL;
	int err = rendezvous_receive(hosts->member[host].link, timeout_ms, &message);

	if (!err && hosts_is_end(message))
		err = -EPIPE;
	if (err == -EPIPE)
		hosts_log_gone(hosts, host, message);
	else if (err)
		fprintf(stderr, "farebench: host %s: waiting for \"%s\": %s\n",
			hosts_name(hosts, host), event, strerror(-err));
	else
		err = hosts_is(hosts, host, message, event);
	if (err)
		json_decref(message);
	else
		*out = message;
	return err;
}

int hosts_ask(struct hosts *hosts, unsigned host, json_t *request, const char *event, json_t **out)
{
	int err = hosts_send(hosts, host, request);

	return err ? err : hosts_await(hosts, host, event, HOSTS_ANSWER_MS, out);
}

/* ---- who comes in ---- */

/* An agent that speaks although nobody asked has failed, or ended. */
static int hosts_check_agents(struct hosts *hosts, const struct pollfd *poller)
{
	for (unsigned i = 0; i < hosts->n; i++) {
		json_t *message = NULL;
		int err;

		if (!poller[i].revents)
			continue;
		err = hosts_await(hosts, i, NULL, 0, &message);
		json_decref(message);
		return err ? err : -EBADE;
	}
	return 0;
}

/* A process that was started for a host has ended before its time; Ctrl-C ends all of them. */
static int hosts_check_launch(struct hosts *hosts)
{
	int status, host = launch_ended(hosts->launch, &status);

	if (host < 0)
		return 0;
	if (interrupt_pending())
		return -EINTR;
	fprintf(stderr, "farebench: host %s: what --launch started has ended with %s %d\n",
		hosts_name(hosts, (unsigned)host), WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return -ECHILD;
}

/*
 * The next connection whose other end has the key. Others are refused, and do not end the wait.
 * -EAGAIN: none came in a turn.
 */
static int hosts_admit(struct hosts *hosts, struct rendezvous **link)
{
	struct pollfd poller[TOPO_MAX_GPUS + ADMISSION_POLLED];
	unsigned n;
	int err;

	for (unsigned i = 0; i < hosts->n; i++)
		poller[i] = (struct pollfd){
			.fd = hosts->member[i].link ? rendezvous_fd(hosts->member[i].link) : -1,
			.events = POLLIN};
	n = hosts->n + admission_polled(hosts->admission, poller + hosts->n);
	if (interrupt_pending())
		return -EINTR;
	if (poll(poller, n, HOSTS_TURN_MS) < 0)
		return -EAGAIN;
	err = hosts_check_agents(hosts, poller);
	return err ? err : admission_next(hosts->admission, link);
}

static int hosts_accept(void *arg, int timeout_ms, struct rendezvous **link)
{
	uint64_t until = clock_now_ns() + (uint64_t)timeout_ms * 1000000u;
	struct hosts *hosts = arg;
	int err;

	while ((err = hosts_admit(hosts, link)) == -EAGAIN)
		if (clock_now_ns() > until) {
			fprintf(stderr, "farebench: not all workers came in %d s\n",
				timeout_ms / 1000);
			return -ETIMEDOUT;
		}
	return err;
}

/* Which host the agent is of; below 0, with the reason: it must go. */
static int hosts_which(const struct hosts *hosts, const json_t *hello, const char **reason)
{
	const char *event = json_string_value(json_object_get(hello, "event"));
	const char *name = json_string_value(json_object_get(hello, "host"));
	const char *digest = json_string_value(json_object_get(hello, "inventory"));
	int host = name ? inventory_find_host(hosts->inventory, name) : -ENOENT;

	*reason = NULL;
	if (!event || strcmp(event, "agent") != 0)
		*reason = "it is no agent";
	else if (host < 0)
		*reason = "the inventory has no such host: give the agent another --name";
	else if (!digest || strcmp(digest, hosts->inventory->digest) != 0)
		*reason = "its inventory is another: both ends need the same --hosts file";
	else if (hosts->member[host].link)
		*reason = "this host has an agent already";
	return *reason ? -EACCES : host;
}

/* Takes link. */
static int hosts_join(struct hosts *hosts, struct rendezvous *link)
{
	json_t *hello = NULL, *refusal;
	const char *reason;
	int host, err = rendezvous_receive(link, HOSTS_HELLO_MS, &hello);

	if (err) {
		fprintf(stderr, "farebench: an agent connected, and then: %s\n", strerror(-err));
		rendezvous_destroy(link);
		return 0;
	}
	host = hosts_which(hosts, hello, &reason);
	if (host >= 0) {
		hosts->member[host].link = link;
		hosts->member[host].about = hello;
		return 1;
	}
	fprintf(stderr, "farebench: an agent was refused: %s\n", reason);
	refusal = json_pack("{s:s, s:s}", "op", "refuse", "text", reason);
	if (refusal)
		rendezvous_send(link, refusal);
	json_decref(refusal);
	json_decref(hello);
	rendezvous_destroy(link);
	return 0;
}

static void hosts_log_missing(const struct hosts *hosts, unsigned seconds, const char *yet)
{
	fprintf(stderr, "farebench: after %u s there is no agent%s of:", seconds, yet);
	for (unsigned i = 0; i < hosts->n; i++)
		if (!hosts->member[i].link)
			fprintf(stderr, " %s", hosts_name(hosts, i));
	fputc('\n', stderr);
}

static int hosts_await_agents(struct hosts *hosts)
{
	unsigned here = 0, wait_s = hosts->options.how ? HOSTS_LAUNCHED_S : HOSTS_PRINTED_S;
	uint64_t start = clock_now_ns();
	unsigned log_s = HOSTS_LOG_S;

	while (here < hosts->n) {
		struct rendezvous *link;
		int err = hosts_admit(hosts, &link);
		uint64_t passed_s = (clock_now_ns() - start) / 1000000000u;

		if (!err)
			here += (unsigned)hosts_join(hosts, link);
		else if (err != -EAGAIN)
			return err;
		err = hosts_check_launch(hosts);
		if (err)
			return err;
		if (here < hosts->n && passed_s >= wait_s) {
			hosts_log_missing(hosts, wait_s, "");
			return -ETIMEDOUT;
		}
		if (here < hosts->n && passed_s >= log_s) {
			hosts_log_missing(hosts, log_s, " yet");
			log_s *= 2;
		}
	}
	return 0;
}

/* ---- workers ---- */

static int hosts_start(void *arg)
{
	struct hosts *hosts = arg;
	uint32_t secret;
	int err = 0;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	for (unsigned i = 0; !err && i < hosts->n; i++)
		err = hosts_send(
			hosts, i,
			json_pack("{s:s, s:I}", "op", "workers", "secret", (json_int_t)secret));
	return err;
}

/* Workers end with their connections; the agents wait for them. */
static void hosts_end(void *arg, bool whole)
{
	(void)arg;
	(void)whole;
}

int hosts_cluster(struct hosts *hosts, struct cluster **out, uint64_t arena_bytes)
{
	const struct cluster_source source = {
		.start = hosts_start, .accept = hosts_accept, .end = hosts_end, .arg = hosts};

	return cluster_create_from(out, hosts->inventory->topo, arena_bytes, &source);
}

/* ---- open and close ---- */

static int hosts_load(struct hosts *hosts)
{
	char error[INVENTORY_ERROR_MAX];
	int err = handshake_key(&hosts->key, hosts->options.key);

	if (err)
		return err;
	err = inventory_load(&hosts->inventory, hosts->options.inventory, error);
	if (err) {
		fprintf(stderr, "farebench: %s\n", error);
		return err;
	}
	hosts->n = hosts->inventory->topo->n_servers;
	hosts->member = calloc(hosts->n, sizeof(*hosts->member));
	hosts->counters = calloc(hosts->n + hosts->inventory->n_switches, sizeof(*hosts->counters));
	return hosts->member && hosts->counters ? 0 : -ENOMEM;
}

static int hosts_listen(struct hosts *hosts)
{
	hosts->listener = rendezvous_listen(hosts->options.listen);
	if (hosts->listener >= 0)
		return 0;
	fprintf(stderr, "farebench: --listen %s: %s\n", hosts->options.listen,
		hosts->listener == -EINVAL ? "HOST:PORT is expected" : strerror(-hosts->listener));
	return hosts->listener;
}

int hosts_open(struct hosts **out, const struct launch_options *options)
{
	struct hosts *hosts = calloc(1, sizeof(*hosts));
	int err;

	if (!hosts)
		return -ENOMEM;
	hosts->options = *options;
	hosts->listener = -1;
	err = hosts_load(hosts);
	if (!err)
		err = hosts_listen(hosts);
	if (!err)
		err = admission_create(&hosts->admission, hosts->listener, &hosts->key);
	if (!err)
		err = launch_start(&hosts->launch, options, hosts->inventory);
	if (!err)
		err = hosts_await_agents(hosts);
	if (err)
		hosts_close(hosts);
	else
		*out = hosts;
	return err;
}

/* An agent that nobody has asked is silent, unless it has ended. */
static bool hosts_has_spoken(const struct hosts_member *member)
{
	struct pollfd poller = {.events = POLLIN};

	poller.fd = member->link ? rendezvous_fd(member->link) : -1;
	return poll(&poller, 1, 0) > 0;
}

void hosts_close(struct hosts *hosts)
{
	if (!hosts)
		return;
	for (unsigned i = 0; hosts->member && i < hosts->n; i++) {
		struct hosts_member *member = &hosts->member[i];
		json_t *quit = json_pack("{s:s}", "op", "quit");

		if (hosts_has_spoken(member))
			hosts_read_gone(hosts, i, 0);
		if (member->link && quit)
			rendezvous_send(member->link, quit);
		json_decref(quit);
		rendezvous_destroy(member->link);
		json_decref(member->about);
	}
	for (unsigned i = 0; hosts->counters && i < hosts->n + hosts->inventory->n_switches; i++) {
		json_decref(hosts->counters[i].first);
		json_decref(hosts->counters[i].before);
		json_decref(hosts->counters[i].after);
	}
	free(hosts->counters);
	admission_destroy(hosts->admission);
	if (hosts->listener >= 0)
		close(hosts->listener);
	launch_end(hosts->launch);
	free(hosts->member);
	inventory_destroy(hosts->inventory);
	free(hosts);
}
