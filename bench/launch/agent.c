/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/agent.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "core/interrupt.h"
#include "launch/agent_internal.h"
#include "launch/handshake.h"
#include "launch/host_counters.h"
#include "core/machine.h"
#include "core/options.h"

#define AGENT_TURN_MS	  200
#define AGENT_WAIT_S	  60
#define AGENT_COMMAND_MS  10000
#define AGENT_MAX_DEVICES (FARE_MAX_LOCAL_GPUS * FARE_MAX_PLANES * FARE_MAX_SUB_PORTS)

/* ---- answers ---- */

static unsigned agent_devices(const struct agent *a, const char **dev)
{
	const struct topo *topo = a->inventory->topo;
	unsigned n = 0;

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		for (unsigned p = 0; topo->gpus[gpu].server == a->host && p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++)
				dev[n++] = topo->gpus[gpu].plane[p].sub_port[s].dev;
	return n;
}

/* Of each GPU the device that has its address; null: none but a loopback device has. */
static json_t *agent_gpu_devices(const struct agent *a)
{
	const struct topo *topo = a->inventory->topo;
	json_t *devices = json_array();

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		char dev[IFNAMSIZ];

		if (topo->gpus[gpu].server == a->host)
			json_array_append_new(devices, host_device_of(topo->gpus[gpu].ipv4, dev)
							       ? json_string(dev)
							       : json_null());
	}
	return devices;
}

static json_t *agent_hello(const struct agent *a)
{
	json_t *devices = json_object();
	const char *dev[AGENT_MAX_DEVICES];
	unsigned n = agent_devices(a, dev);
	struct machine machine;

	machine_read(&machine);
	for (unsigned i = 0; i < n; i++) {
		char text[128];

		host_device_describe(dev[i], text, sizeof(text));
		json_object_set_new(devices, dev[i], json_string(text));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o}", "event", "agent", "host",
			 a->name, "inventory", a->inventory->digest, "kernel", machine.kernel,
			 "processor", machine.processor, "cores", machine.cores, "devices", devices,
			 "gpu_devices", agent_gpu_devices(a));
}

static json_t *agent_clock(uint64_t taken_ns)
{
	return json_pack("{s:s, s:I, s:I}", "event", "clock", "taken_ns", (json_int_t)taken_ns,
			 "given_ns", (json_int_t)clock_now_ns());
}

static json_t *agent_counters(const struct agent *a)
{
	const char *dev[AGENT_MAX_DEVICES];
	unsigned n = agent_devices(a, dev);

	return json_pack("{s:s, s:o}", "event", "counters", "counters",
			 host_counters_read("/sys", dev, n));
}

static json_t *agent_routes(const struct agent *a, char *why, size_t why_size)
{
	bool ipv6 = !a->inventory->topo->gpus[0].ipv4[0];
	const char *const argv[] = {"ip", ipv6 ? "-6" : "-4", "-j", "route", "show", NULL};
	struct command_result result;
	int err = command_run(argv, AGENT_COMMAND_MS, &result);
	json_t *answer;

	if (err || result.status) {
		snprintf(why, why_size, "ip route show: %.400s", err ? strerror(-err) : result.err);
		if (!err)
			free(result.out);
		return NULL;
	}
	answer = json_pack("{s:s, s:s}", "event", "routes", "text", result.out);
	free(result.out);
	return answer;
}

static json_t *agent_time(const char *event, uint64_t from_ns)
{
	return json_pack("{s:s, s:I}", "event", event, "from_ns", (json_int_t)from_ns);
}

/* The answer (NULL with a reason: it failed; NULL without: there is none). */
static json_t *agent_do(struct agent *a, const struct agent_request *request, uint64_t taken_ns,
			char *why, size_t why_size)
{
	const struct inventory_host *host = agent_host(a);
	uint64_t from_ns;

	switch (request->op) {
	case AGENT_WORKERS:
		agent_start_workers(a, request->secret, why, why_size);
		return NULL;
	case AGENT_CLOCK:
		return agent_clock(taken_ns);
	case AGENT_COUNTERS:
		return agent_counters(a);
	case AGENT_FAULT:
		return agent_fault(a, request->fault, &from_ns, why, why_size)
			       ? NULL
			       : agent_time("fault", from_ns);
	case AGENT_HEAL:
		return agent_heal(a, &from_ns, why, why_size) ? NULL
							      : agent_time("healed", from_ns);
	case AGENT_WEIGHTS:
		return agent_shell(request->equal ? host->equal : host->bgp, why, why_size)
			       ? NULL
			       : json_pack("{s:s}", "event", "weights");
	case AGENT_ROUTES:
		return agent_routes(a, why, why_size);
	case AGENT_REFUSE:
	case AGENT_QUIT:
		break;
	}
	return NULL;
}

/* 0; 1: it was the last; -errno: the coordinator is gone, or sent us away. */
static int agent_answer(struct agent *a, const json_t *message, uint64_t taken_ns)
{
	struct agent_request request;
	char why[512] = "";
	const char *wrong;
	json_t *answer;
	int err = agent_request_read(message, agent_host(a), &request, &wrong);

	if (!err && request.op == AGENT_QUIT)
		return 1;
	if (!err && request.op == AGENT_REFUSE) {
		fprintf(stderr, "farebench agent %s: the coordinator refused this agent: %s\n",
			a->name, request.text);
		return -EACCES;
	}
	if (err)
		snprintf(why, sizeof(why), "request: %s", wrong);
	answer = err ? NULL : agent_do(a, &request, taken_ns, why, sizeof(why));
	if (why[0]) {
		fprintf(stderr, "farebench agent %s: %s\n", a->name, why);
		answer = json_pack("{s:s, s:s}", "event", "error", "text", why);
	}
	err = answer ? rendezvous_send(a->link, answer) : 0;
	json_decref(answer);
	return err;
}

/* ---- life ---- */

/* Nobody reads stderr any more: what started this agent has ended, ssh for example. */
static bool agent_is_abandoned(void)
{
	struct pollfd poller = {.fd = STDERR_FILENO};

	return poll(&poller, 1, 0) > 0 && poller.revents & (POLLERR | POLLHUP);
}

/*
 * The coordinator may start later than its agents. One that has ended before this agent came ends
 * its launcher as well: without that an agent does not wait, or it would join the next run.
 */
static int agent_join(struct agent *a, unsigned wait_s)
{
	uint64_t until = clock_now_ns() + wait_s * UINT64_C(1000000000);
	json_t *hello;
	int err;

	while ((err = agent_connect(a, &a->link)) == -ECONNREFUSED || err == -EHOSTUNREACH ||
	       err == -ENETUNREACH || err == -EADDRNOTAVAIL) {
		if (clock_now_ns() > until || interrupt_pending() || agent_is_abandoned())
			break;
		clock_pause_ns(AGENT_TURN_MS * 1000000);
	}
	if (err) {
		if (!a->link && err != -EACCES)
			fprintf(stderr, "farebench agent %s: --connect %s: %s\n", a->name,
				a->connect, strerror(-err));
		return err;
	}
	hello = agent_hello(a);
	err = hello ? rendezvous_send(a->link, hello) : -ENOMEM;
	json_decref(hello);
	return err;
}

/* Says why this agent ends by itself: here, and to the coordinator if it still listens. */
static int agent_leave(const struct agent *a, int err, const char *why)
{
	json_t *last = json_pack("{s:s, s:s}", "event", "end", "text", why);

	fprintf(stderr, "farebench agent %s: %s\n", a->name, why);
	if (last)
		rendezvous_send(a->link, last);
	json_decref(last);
	return err;
}

/* What an agent ends by itself, without a request. 0, or -errno after saying so. */
static int agent_check_time(struct agent *a)
{
	uint64_t now = clock_now_ns(), unused;
	char why[512];
	int stop = interrupt_pending();

	if (stop) {
		snprintf(why, sizeof(why), "stopped by signal %d (%s)", stop, strsignal(stop));
		return agent_leave(a, -EINTR, why);
	}
	if (a->faults && now > a->heal_ns) {
		if (agent_heal(a, &unused, why, sizeof(why)))
			fprintf(stderr, "farebench agent %s: %s\n", a->name, why);
		return agent_leave(a, -ETIME, "a fault was in force for max_run_s: healed");
	}
	return now <= a->end_ns ? 0 : agent_leave(a, -ETIME, "max_total_s have passed");
}

static int agent_loop(struct agent *a)
{
	for (;;) {
		struct pollfd poller = {.fd = rendezvous_fd(a->link), .events = POLLIN};
		int got, gone = 0, err = agent_check_time(a);
		uint64_t taken_ns;
		json_t *message;

		if (err)
			return err;
		if (poll(&poller, 1, AGENT_TURN_MS) > 0)
			gone = rendezvous_fill(a->link);
		taken_ns = clock_now_ns();
		while ((got = rendezvous_next(a->link, &message)) == 1) {
			err = agent_answer(a, message, taken_ns);
			json_decref(message);
			if (err)
				return err;
		}
		if (got < 0 || gone) {
			fprintf(stderr, "farebench agent %s: the coordinator is gone%s\n", a->name,
				got < 0 ? " astray: it sent what is no request" : "");
			return -EPIPE;
		}
	}
}

static int agent_run(struct agent *a, unsigned wait_s)
{
	int err = agent_faults_open(a); /* before a socket is open that the guard would hold */

	if (!err)
		err = agent_join(a, wait_s);
	a->end_ns = clock_now_ns() + a->inventory->max_total_s * UINT64_C(1000000000);
	if (!err)
		err = agent_loop(a);
	rendezvous_destroy(a->link);
	agent_faults_close(a);
	agent_end_workers(a);
	return err;
}

/* ---- start ---- */

struct agent_options {
	struct agent agent;
	const char *inventory;
	char name[INVENTORY_HOST_MAX];
	uint64_t wait_s;
};

static const struct options_entry agent_table[] = {
	{"connect", "HOST:PORT", "where the coordinator listens (farebench run --listen)",
	 OPTIONS_TEXT(struct agent_options, agent.connect)},
	{"key", "FILE", "the key that coordinator and agents share",
	 OPTIONS_TEXT(struct agent_options, agent.key_path)},
	{"hosts", "FILE", "the inventory; the same as the coordinator's",
	 OPTIONS_TEXT(struct agent_options, inventory)},
	{"name", "HOST", "which of its hosts this is (the host's name up to the first dot)",
	 OPTIONS_TEXT(struct agent_options, agent.name)},
	{"wait", "SECONDS", "wait so long for the coordinator (60)",
	 OPTIONS_NUMBER(struct agent_options, wait_s, 0, 86400)},
	{.name = NULL},
};

/* 1: nothing is to be done. */
static int agent_parse(struct agent_options *o, int argc, char **argv)
{
	struct agent *a = &o->agent;
	int err = options_read("farebench agent", agent_table, argc, argv, o, NULL);

	if (!err && (optind < argc || !a->connect || !a->key_path || !o->inventory)) {
		fprintf(stderr, "farebench agent: --connect, --key and --hosts are needed, and "
				"nothing else: see farebench agent --help\n");
		err = -EINVAL;
	}
	if (!err && !a->name && gethostname(o->name, sizeof(o->name) - 1) == 0) {
		o->name[strcspn(o->name, ".")] = '\0';
		a->name = o->name;
	}
	return err;
}

static int agent_load(struct agent_options *o)
{
	struct agent *a = &o->agent;
	char error[INVENTORY_ERROR_MAX];
	int host, err = handshake_key(&a->key, a->key_path);

	if (err)
		return err;
	err = inventory_load(&a->inventory, o->inventory, error);
	if (err) {
		fprintf(stderr, "farebench agent: %s\n", error);
		return err;
	}
	host = inventory_find_host(a->inventory, a->name);
	if (host < 0)
		fprintf(stderr, "farebench agent: %s has no host %s: give --name\n", o->inventory,
			a->name);
	a->host = host < 0 ? 0 : (unsigned)host;
	return host < 0 ? host : 0;
}

int agent_main(int argc, char **argv)
{
	struct agent_options o = {.wait_s = AGENT_WAIT_S};
	int err = agent_parse(&o, argc, argv);

	if (err)
		return err > 0 ? 0 : 2;
	interrupt_hold();
	err = agent_load(&o);
	if (!err)
		err = agent_run(&o.agent, (unsigned)o.wait_s);
	inventory_destroy(o.agent.inventory);
	return err == 1 ? 0 : err == -EINTR ? 128 + interrupt_pending() : 1;
}
