/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/worker.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

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

/* ---- start
 * ---------------------------------------------------------------------------------------------- */

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
	const char *rendezvous, *run_dir, *netns;
	unsigned threads; /* that fill and compare blocks */
	struct fare_domain_options domain;
};

static int worker_parse(struct worker *w, struct worker_options *o, int argc, char **argv)
{
	static const struct option table[] = {{"rendezvous", required_argument, NULL, 'r'},
					      {"gpu", required_argument, NULL, 'g'},
					      {"local-gpu", required_argument, NULL, 'l'},
					      {"netns", required_argument, NULL, 'n'},
					      {"run-dir", required_argument, NULL, 'd'},
					      {"path-mtu", required_argument, NULL, 'm'},
					      {"secret", required_argument, NULL, 's'},
					      {"ipv6", no_argument, NULL, '6'},
					      {"verbs", no_argument, NULL, 'v'},
					      {"key", required_argument, NULL, 'k'},
					      {"range", required_argument, NULL, 'a'},
					      {"max-bps", required_argument, NULL, 'b'},
					      {"max-run-ns", required_argument, NULL, 't'},
					      {"store", required_argument, NULL, 'o'},
					      {"threads", required_argument, NULL, 'c'},
					      {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 'r':
			o->rendezvous = optarg;
			break;
		case 'g':
			w->gpu = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			w->local_gpu = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			o->netns = optarg;
			break;
		case 'd':
			o->run_dir = optarg;
			break;
		case 'm':
			o->domain.path_mtu = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 's':
			o->domain.secret = strtoull(optarg, NULL, 10);
			break;
		case '6':
			o->domain.family = AF_INET6;
			break;
		case 'v':
			o->domain.provider = "verbs";
			break;
		case 'k':
			o->domain.key_file = optarg;
			o->domain.trusted_network = false;
			break;
		case 'a':
			if (limits_add_range(&w->limits, optarg))
				return -EINVAL;
			break;
		case 'b':
			w->limits.max_bps = strtoull(optarg, NULL, 10);
			break;
		case 't':
			w->limits.max_run_ns = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			w->store = optarg;
			break;
		case 'c':
			o->threads = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			return -EINVAL;
		}
	}
	return o->rendezvous && o->threads >= 1 && o->threads <= CREW_MAX ? 0 : -EINVAL;
}

int worker_main(int argc, char **argv)
{
	struct worker_options options = {
		.threads = 1,
		.domain = {.family = AF_INET, .accept = true, .trusted_network = true}};
	struct worker worker = {0}, *w = &worker;
	int fd, err;

	if (worker_parse(w, &options, argc, argv))
		return 2;
	/* a worker without its coordinator must not load the fabric */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1000UL); /* messages are due to the microsecond */
	/* before the namespace is entered: the address is the coordinator's */
	fd = rendezvous_connect(options.rendezvous);
	if (fd < 0 || rendezvous_create(&w->coordinator, fd)) {
		fprintf(stderr, "farebench worker %u: %s: %s\n", w->gpu, options.rendezvous,
			strerror(fd < 0 ? -fd : ENOMEM));
		return 1;
	}
	if (options.netns)
		worker_enter_netns(w, options.netns);
	worker_open_domain(w, options.run_dir, &options.domain);
	err = crew_create(&w->crew, options.threads);
	if (err)
		worker_fail(w, "%u threads: %s", options.threads, strerror(-err));
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
