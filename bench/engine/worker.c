/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "core/options.h"
#include "fabric/lab.h"
#include "engine/crew.h"
#include "engine/planted.h"
#include "engine/worker_internal.h"

/*
 * How long this process stalled: it woke so long after it wanted to, or a turn took as long.
 * A fabric that brings nothing does not count.
 */
static void worker_stall(struct worker *w, uint64_t wanted_ns, uint64_t woke_ns, bool timed_out)
{
	uint64_t late = timed_out && woke_ns > wanted_ns ? woke_ns - wanted_ns : 0,
		 turn = worker_now_ns(w) - woke_ns, longest = late > turn ? late : turn;

	if (w->running && worker_in_window(w, woke_ns) && longest > w->stall_ns)
		w->stall_ns = longest;
}

static void worker_plant(struct worker *w)
{
	static bool stood;

	if (PLANTED(shifted_clock) && w->gpu == 1)
		w->planted_ns = 20000000;
	if (PLANTED(stalled_gpu) && w->gpu == 1 && w->running && !stood &&
	    worker_in_window(w, worker_now_ns(w))) {
		stood = true;
		usleep(300000);
	}
	if (!w->running)
		stood = false;
}

/* When a message is due, or a tenth of a second has passed. */
static uint64_t worker_wakes_ns(const struct worker *w)
{
	uint64_t now = worker_now_ns(w), latest = now + 100000000;

	return w->wake_ns < now ? now : w->wake_ns < latest ? w->wake_ns : latest;
}

/* Until something comes, or then. */
static int worker_wait(const struct worker *w, uint64_t until_ns, struct pollfd poller[2])
{
	uint64_t now = worker_now_ns(w);
	struct timespec until = {.tv_nsec = until_ns > now ? (long)(until_ns - now) : 0};

	return ppoll(poller, 2, &until, NULL);
}

static void worker_loop(struct worker *w)
{
	struct pollfd poller[2] = {{.fd = rendezvous_fd(w->coordinator), .events = POLLIN},
				   {.fd = fare_domain_fd(w->domain), .events = POLLIN}};

	for (;;) {
		uint64_t wanted = worker_wakes_ns(w), woke;
		int ready = worker_wait(w, wanted, poller), got;
		json_t *request;

		if (ready < 0 && errno != EINTR)
			worker_fail(w, "poll: %s", strerror(errno));
		woke = worker_now_ns(w);
		worker_plant(w);
		if (poller[0].revents && rendezvous_fill(w->coordinator))
			return; /* the coordinator went away: so do we */
		while ((got = rendezvous_next(w->coordinator, &request)) == 1) {
			bool go_on = worker_request(w, request);

			json_decref(request);
			if (!go_on)
				return;
		}
		if (got < 0)
			worker_fail(w, "request: %s", strerror(-got));
		worker_turn(w);
		worker_stall(w, wanted, woke, ready == 0);
	}
}

/* ---- start ---- */

static void worker_enter_netns(struct worker *w, const char *name)
{
	int err = lab_enter(name);

	if (err)
		worker_fail(w, "entering network namespace %s: %s", name, strerror(-err));
}

static void worker_open_domain(struct worker *w, const char *run_dir,
			       struct fare_domain_options *options)
{
	char dev[FARE_DEV_NAME_MAX] = "";
	int err = fare_attach(&w->fare, run_dir);

	options->max_path_mtu_dev = dev;
	if (err == -ENOENT)
		worker_fail(w,
			    "no fared has published anything in %s: bring the lab up with --fared "
			    "PATH (farelab up, farelab run)",
			    run_dir);
	if (err)
		worker_fail(w, "attaching to the daemon in %s: %s", run_dir, strerror(-err));
	err = fare_domain_open(&w->domain, w->fare, w->local_gpu, options);
	if (err)
		worker_fail(w, "opening local GPU %u: %s%s%s", w->local_gpu, strerror(-err),
			    err == -EMSGSIZE ? ": device " : "", err == -EMSGSIZE ? dev : "");
}

struct worker_options {
	const char *rendezvous, *run_dir, *netns, *key, *store;
	uint32_t gpu, local_gpu, path_mtu;
	unsigned threads; /* that fill and compare blocks */
	uint64_t secret;
	bool ipv6, verbs;
	struct limits limits;
};

static int worker_range(void *into, char *text)
{
	struct worker_options *o = into;

	return limits_add_range(&o->limits, text);
}

static const struct options_entry worker_table[] = {
	{"rendezvous", "ADDRESS", "", OPTIONS_TEXT(struct worker_options, rendezvous)},
	{"gpu", "N", "", OPTIONS_NUMBER(struct worker_options, gpu, 0, UINT32_MAX)},
	{"local-gpu", "N", "", OPTIONS_NUMBER(struct worker_options, local_gpu, 0, UINT32_MAX)},
	{"netns", "NAME", "", OPTIONS_TEXT(struct worker_options, netns)},
	{"run-dir", "DIR", "of fared", OPTIONS_TEXT(struct worker_options, run_dir)},
	{"path-mtu", "BYTES", "", OPTIONS_NUMBER(struct worker_options, path_mtu, 0, UINT32_MAX)},
	{"secret", "N", "", OPTIONS_NUMBER(struct worker_options, secret, 0, UINT64_MAX)},
	{"ipv6", NULL, "", OPTIONS_FLAG(struct worker_options, ipv6)},
	{"verbs", NULL, "", OPTIONS_FLAG(struct worker_options, verbs)},
	{"key", "FILE", "", OPTIONS_TEXT(struct worker_options, key)},
	{"range", "PREFIX", "", OPTIONS_CALL(worker_range)},
	{"max-bps", "N", "", OPTIONS_NUMBER(struct worker_options, limits.max_bps, 0, UINT64_MAX)},
	{"max-run-ns", "N", "",
	 OPTIONS_NUMBER(struct worker_options, limits.max_run_ns, 0, UINT64_MAX)},
	{"store", "DIR", "", OPTIONS_TEXT(struct worker_options, store)},
	{"threads", "N", "", OPTIONS_NUMBER(struct worker_options, threads, 1, CREW_MAX)},
	{.name = NULL},
};

void worker_args_add(struct worker_args *args, const char *option, const char *format, ...)
{
	char *at = args->bytes + args->used;
	size_t room = sizeof(args->bytes) - args->used;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(at, room, format, ap);
	va_end(ap);
	/* an inventory bounds all of them: this is for who changes that */
	if (n < 0 || (size_t)n >= room || args->n + 2 > WORKER_MAX_ARGS)
		abort();
	args->argv[args->n++] = option;
	args->argv[args->n++] = at;
	args->used += (size_t)n + 1;
}

void worker_args_init(struct worker_args *args, const struct topo *topo, unsigned gpu,
		      uint32_t secret)
{
	const struct topo_gpu *g = &topo->gpus[gpu];
	bool ipv6 = !g->ipv4[0];

	*args = (struct worker_args){.argv = {"farebench", "worker"}, .n = 2};
	worker_args_add(args, "--gpu", "%u", gpu);
	worker_args_add(args, "--local-gpu", "%u", g->index);
	worker_args_add(args, "--run-dir", "%s", topo->servers[g->server].fared_run_dir);
	worker_args_add(args, "--path-mtu", "%u", topo_path_mtu(topo->mtu_bytes, ipv6));
	worker_args_add(args, "--secret", "%u", secret);
	if (ipv6)
		args->argv[args->n++] = "--ipv6";
}

int worker_main(int argc, char **argv)
{
	struct worker_options o = {.threads = 1};
	struct fare_domain_options domain = {.accept = true};
	struct worker worker = {0}, *w = &worker;
	int fd, err;

	if (options_read("farebench worker", worker_table, argc, argv, &o, NULL) || !o.rendezvous)
		return 2;
	domain.family = o.ipv6 ? AF_INET6 : AF_INET;
	domain.provider = o.verbs ? "verbs" : NULL;
	domain.path_mtu = o.path_mtu;
	domain.secret = o.secret;
	domain.key_file = o.key;
	domain.trusted_network = !o.key;
	w->gpu = o.gpu;
	w->local_gpu = o.local_gpu;
	w->limits = o.limits;
	w->store = o.store;
	/* a worker without its coordinator must not load the fabric */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1000UL); /* messages are due to the microsecond */
	/* before the namespace is entered: the address is the coordinator's */
	fd = rendezvous_connect(o.rendezvous);
	if (fd < 0 || rendezvous_create(&w->coordinator, fd)) {
		fprintf(stderr, "farebench worker %u: %s: %s\n", w->gpu, o.rendezvous,
			strerror(fd < 0 ? -fd : ENOMEM));
		return 1;
	}
	if (o.netns)
		worker_enter_netns(w, o.netns);
	worker_open_domain(w, o.run_dir, &domain);
	err = crew_create(&w->crew, o.threads);
	if (err)
		worker_fail(w, "%u threads: %s", o.threads, strerror(-err));
	worker_send(w, json_pack("{s:s, s:i}", "event", "hello", "gpu", (int)w->gpu));
	worker_loop(w);
	worker_close_tx(w);
	worker_close_rx(w);
	worker_free_loads(w);
	worker_free_memory(w);
	crew_destroy(w->crew);
	fare_domain_close(w->domain);
	fare_detach(w->fare);
	rendezvous_destroy(w->coordinator);
	free(w->bins);
	json_decref(w->counters_from);
	json_decref(w->counters_to);
	return 0;
}
