/* SPDX-License-Identifier: BSD-2-Clause */
#include "drill.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "drill_plan.h"
#include "print_error.h"
#include "status.h"
#include "base/text_file.h"

#define PLAN_BYTES_MAX 1000000
#define MAX_ARGS       12
#define CONVERGE_S     120

extern char **environ;

/*
 * Signals that would end a drill (a reader of its lines that went away, too) wait until a step is
 * done: what is broken has to be healed first. stops: those that end it then.
 */
static void hold_stops(sigset_t *stops, sigset_t *old)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction now;
	sigset_t held;

	sigemptyset(stops);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!sigaction(all[i], NULL, &now) && now.sa_handler != SIG_IGN) /* nohup */
			sigaddset(stops, all[i]);
	held = *stops;
	sigaddset(&held, SIGPIPE);
	sigprocmask(SIG_BLOCK, &held, old);
}

/* 0 when it is time; the signal's number if one came before. */
static int sleep_until(double at_s, const sigset_t *stops)
{
	for (;;) {
		double left_s = at_s - clock_now_s();
		struct timespec left = {0};
		int stop;

		if (left_s > 0)
			left = (struct timespec){(time_t)left_s,
						 (long)((left_s - (double)(time_t)left_s) * 1e9)};
		stop = sigtimedwait(stops, NULL, &left);
		if (stop > 0)
			return stop;
		if (errno == EAGAIN && left_s <= 0)
			return 0;
	}
}

/*
 * farelab with the signals as we found them, but out of reach of Ctrl-C: half a step is harder to
 * heal than a whole.
 */
static int spawn(pid_t *pid, const char *const argv[], const sigset_t *mask)
{
	posix_spawnattr_t attributes;
	int rc = posix_spawnattr_init(&attributes);

	if (rc)
		return -rc;
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, mask);
	rc = posix_spawn(pid, "/proc/self/exe", NULL, &attributes, (char *const *)(uintptr_t)argv,
			 environ);
	posix_spawnattr_destroy(&attributes);
	return -rc;
}

/* "fail subport s1 1 0" -> farelab fail NAME subport s1 1 0. 0 or -errno. */
static int run_step(const struct lab *lab, const char *text, const sigset_t *mask)
{
	char copy[DRILL_PLAN_TEXT_MAX], *save = NULL;
	const char *argv[MAX_ARGS + 3] = {"farelab"};
	int n = 1, status, rc;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *token = strtok_r(copy, " ", &save); token; token = strtok_r(NULL, " ", &save)) {
		if (n == MAX_ARGS)
			return -E2BIG;
		argv[n++] = token;
		if (n == 2)
			argv[n++] = lab->name;
	}
	rc = spawn(&pid, argv, mask);
	if (rc)
		return rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EREMOTEIO;
}

static int read_plan(const struct lab *lab, const char *path, uint64_t seed, uint32_t faults,
		     struct drill_plan *plan)
{
	char error[DRILL_PLAN_ERROR_MAX], *text;
	size_t size;
	int rc = text_file_read(path, PLAN_BYTES_MAX, &text, &size);

	if (rc) {
		print_error("%s: %s", path, strerror(-rc));
		return rc;
	}
	rc = drill_plan_parse(path, text, size, &lab->topology, seed, faults, plan, error);
	if (rc)
		print_error("%s", error);
	free(text);
	return rc;
}

static void drill_print(bool json, const struct drill_step *step, double start_s, double began_s,
			double took_s, int rc)
{
	json_t *o;

	if (!json) {
		printf("%9.3f s  %-48s %7.1f ms  %s\n", began_s, step->text, took_s * 1e3,
		       rc ? strerror(-rc) : "done");
		fflush(stdout);
		return;
	}
	o = json_pack("{s:f, s:f, s:f, s:s, s:f, s:b}", "at_s", step->at_s, "began_s", began_s,
		      "monotonic_s", start_s + began_s, "do", step->text, "took_ms", took_s * 1e3,
		      "ok", !rc);
	if (o)
		json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

/* Healing what is well is no error: so all of it is healed, whatever has been healed already. */
static int heal_all(const struct lab *lab, const struct drill_plan *plan, unsigned n_done,
		    const sigset_t *mask)
{
	char undo[DRILL_PLAN_TEXT_MAX];
	int rc = 0;

	for (unsigned i = 0; i < n_done; i++) {
		bool again = false;

		for (unsigned j = i + 1; j < n_done && !again; j++)
			again = !strcmp(plan->steps[i].text, plan->steps[j].text);
		if (!again && drill_plan_undo(plan->steps[i].text, &lab->topology, undo) &&
		    run_step(lab, undo, mask))
			rc = -EREMOTEIO;
	}
	return rc;
}

static int drill_await(const struct lab *lab, bool json, unsigned n)
{
	struct status status = {.converged = false};
	double from_s = clock_now_s();
	int rc = status_wait(lab, CONVERGE_S, &status);

	if (json)
		printf("{\"steps\":%u,\"converged\":%s,\"converged_after_s\":%.3f}\n", n,
		       rc ? "false" : "true", clock_now_s() - from_s);
	else
		printf("%u steps; %s %.1f s after the last of them was healed%s%s\n", n,
		       rc ? "not converged" : "converged", clock_now_s() - from_s, rc ? ": " : "",
		       rc ? status.why : "");
	status_fini(&status);
	return rc;
}

/* Does the steps, *n of them, until one fails (-errno) or a signal comes (its number). */
static int do_steps(const struct lab *lab, const struct drill_plan *plan, bool json,
		    const sigset_t *stops, const sigset_t *mask, unsigned *n)
{
	double start_s = clock_now_s();
	int rc = 0;

	for (*n = 0; !rc && *n < plan->n_steps; ++*n) {
		const struct drill_step *step = &plan->steps[*n];
		double began_s;

		rc = sleep_until(start_s + step->at_s, stops);
		if (rc)
			return rc;
		began_s = clock_now_s();
		rc = run_step(lab, step->text, mask);
		drill_print(json, step, start_s, began_s - start_s, clock_now_s() - began_s, rc);
	}
	return rc;
}

int drill_run(const struct lab *lab, const char *plan_path, uint64_t seed, uint32_t faults,
	      bool json)
{
	sigset_t stops, mask;
	struct drill_plan plan;
	unsigned n = 0;
	int rc = read_plan(lab, plan_path, seed, faults, &plan), healed;

	if (rc)
		return rc;
	print_error("drill %s, %u steps, seed %llu", plan.name, plan.n_steps,
		    (unsigned long long)seed);
	hold_stops(&stops, &mask);
	rc = do_steps(lab, &plan, json, &stops, &mask, &n);
	healed = heal_all(lab, &plan, n, &mask);
	if (rc > 0)
		print_error("drill %s: stopped by SIG%s after %u steps, %s", plan.name,
			    sigabbrev_np(rc), n,
			    healed ? "and not all could be healed; see above" : "and healed");
	drill_plan_fini(&plan);
	/* to wait may be interrupted: nothing is broken any more */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (rc)
		return rc > 0 ? -EINTR : rc;
	return healed ? healed : drill_await(lab, json, n);
}
