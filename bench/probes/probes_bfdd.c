/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes_bfdd.c - see probes.h: FRR's BFD daemon, multihop sessions between loopbacks, no zebra
 * needed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "probes.h"

#define BFDD	       "/usr/lib/frr/bfdd"
#define MULTIPLIER     50 /* busy as this machine may be, sessions stay up */
#define UP_TIMEOUT_S   60
#define ASK_TIMEOUT_MS 20000

struct end {
	char dir[64];
	pid_t pid;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void wait_s(double s)
{
	poll(NULL, 0, (int)(s * 1e3));
}

static int configure(const struct end *e, bool far, uint32_t n_sessions, uint32_t interval_ms)
{
	char near[INET_ADDRSTRLEN], peer[INET_ADDRSTRLEN], path[96];
	struct in6_addr a = probes_net_near_address();
	FILE *f;

	snprintf(path, sizeof(path), "%s/bfdd.conf", e->dir);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	inet_ntop(AF_INET, a.s6_addr + 12, near, sizeof(near));
	fputs("bfd\n", f);
	for (uint32_t i = 0; i < n_sessions; i++) {
		a = probes_net_peer(i);
		inet_ntop(AF_INET, a.s6_addr + 12, peer, sizeof(peer));
		fprintf(f,
			" peer %s multihop local-address %s\n  detect-multiplier %d\n  "
			"receive-interval %u\n"
			"  transmit-interval %u\n exit\n",
			far ? near : peer, far ? peer : near, MULTIPLIER, interval_ms, interval_ms);
	}
	return fclose(f) ? -EIO : 0;
}

static int start(struct end *e, const char *netns, bool far, uint32_t n_sessions,
		 uint32_t interval_ms)
{
	const struct passwd *frr = getpwnam("frr");
	char conf[96], pidfile[96], zserv[96], control[96];
	int rc;

	snprintf(e->dir, sizeof(e->dir), "/tmp/fareprobes-%d-%c", (int)getpid(), far ? 'f' : 'n');
	if (mkdir(e->dir, 0755) && errno != EEXIST)
		return -errno;
	rc = configure(e, far, n_sessions, interval_ms);
	if (rc)
		return rc;
	if (frr && chown(e->dir, frr->pw_uid, frr->pw_gid))
		return -errno;
	snprintf(conf, sizeof(conf), "%s/bfdd.conf", e->dir);
	snprintf(pidfile, sizeof(pidfile), "%s/bfdd.pid", e->dir);
	snprintf(zserv, sizeof(zserv), "%s/zserv", e->dir);
	snprintf(control, sizeof(control), "%s/bfdd.sock", e->dir);
	e->pid = fork();
	if (e->pid)
		return e->pid < 0 ? -errno : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	probes_net_pin(far);
	if (!probes_net_enter(netns) && freopen("/dev/null", "w", stdout) &&
	    freopen("/dev/null", "w", stderr))
		execl(BFDD, BFDD, "-f", conf, "-i", pidfile, "-z", zserv, "--vty_socket", e->dir,
		      "--bfdctl", control, "-u", "frr", "-g", "frr", "-P", "0", (char *)NULL);
	_exit(1);
}

static void stop(struct end *e)
{
	const char *argv[] = {"rm", "-rf", e->dir, NULL};

	if (e->pid > 0) {
		kill(e->pid, SIGTERM);
		waitpid(e->pid, NULL, 0);
	}
	if (e->dir[0])
		command_check(argv, ASK_TIMEOUT_MS, NULL);
}

static uint32_t count(const char *text, const char *word)
{
	uint32_t n = 0;

	for (const char *at = text; at && (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

static int ask(const struct end *e, const char *command, char **out)
{
	const char *argv[] = {"vtysh", "--vty_socket", e->dir, "-c", command, NULL};
	struct command_result result;
	int rc = command_run(argv, ASK_TIMEOUT_MS, &result);

	*out = rc ? NULL : result.out;
	return rc;
}

static uint32_t n_up(const struct end *e)
{
	uint32_t n = 0;
	char *text;

	if (!ask(e, "show bfd peers brief json", &text))
		n = count(text, "\"status\":\"up\"");
	free(text);
	return n;
}

static uint64_t n_sent(const struct end *e)
{
	static const char key[] = "\"control-packet-output\":";
	uint64_t n = 0;
	char *text;

	if (!ask(e, "show bfd peers counters json", &text))
		for (const char *at = text; at && (at = strstr(at, key)); at += sizeof(key) - 1)
			n += strtoull(at + sizeof(key) - 1, NULL, 10);
	free(text);
	return n;
}

/* User and system time of a process with all its threads. */
static double cpu_of(pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[64], text[1024] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f) && strrchr(text, ')'))
		sscanf(strrchr(text, ')') + 1,
		       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	fclose(f);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void measure(struct end *e, double window_s, unsigned n, struct probes_bfdd *out)
{
	uint64_t sent = n_sent(e);
	double first = now_s(), at, cpu;

	for (unsigned i = 0; i < n; i++) {
		at = now_s();
		cpu = cpu_of(e->pid);
		wait_s(window_s);
		out->cpu_percent[i] = 100 * (cpu_of(e->pid) - cpu) / (now_s() - at);
	}
	out->packets_per_s = (double)(n_sent(e) - sent) / (now_s() - first);
	out->n_up = n_up(e);
}

int probes_bfdd_run(const struct probes_net *net, uint32_t n_sessions, uint32_t interval_ms,
		    double window_s, unsigned n, struct probes_bfdd *out)
{
	struct end near = {.pid = 0}, far = {.pid = 0};
	double end = now_s() + UP_TIMEOUT_S;
	int rc;

	*out = (struct probes_bfdd){.n_sessions = n_sessions};
	if (access(BFDD, X_OK))
		return -ENOENT;
	rc = start(&near, net->near, false, n_sessions, interval_ms);
	if (!rc)
		rc = start(&far, net->far, true, n_sessions, interval_ms);
	while (!rc && n_up(&near) < n_sessions && now_s() < end)
		wait_s(0.2);
	if (!rc)
		measure(&near, window_s, n, out);
	stop(&near);
	stop(&far);
	return rc;
}
