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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "core/cpu.h"
#include "frr_install.h"
#include "micro/probes/probes.h"

#define MULTIPLIER     50 /* busy as this machine may be, sessions stay up */
#define UP_TIMEOUT_S   60
#define ASK_TIMEOUT_MS 20000

/*
 * A daemon, and a process that keeps it: to become another user, as bfdd does, clears the wish to
 * die with a parent, so one that stays root kills bfdd when the benchmark ends, however it does.
 */
struct end {
	const char *program; /* borrowed */
	char dir[64];
	pid_t keeper, pid; /* pid: of bfdd */
	int keeper_fd;	   /* the keeper has the other end */
};

struct probes_bfdd {
	struct probes_net net;
	char program[PATH_MAX];
	struct end near, far;
};

static void wait_s(double s)
{
	poll(NULL, 0, (int)(s * 1e3));
}

static int configure(const struct end *e, bool far, uint32_t n_sessions)
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
			far ? near : peer, far ? peer : near, MULTIPLIER, PROBES_INTERVAL_MS,
			PROBES_INTERVAL_MS);
	}
	return fclose(f) ? -EIO : 0;
}

static _Noreturn void be_bfdd(const struct end *e, const char *netns, bool far)
{
	char conf[96], pidfile[96], zserv[96], control[96];

	snprintf(conf, sizeof(conf), "%s/bfdd.conf", e->dir);
	snprintf(pidfile, sizeof(pidfile), "%s/bfdd.pid", e->dir);
	snprintf(zserv, sizeof(zserv), "%s/zserv", e->dir);
	snprintf(control, sizeof(control), "%s/bfdd.sock", e->dir);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	probes_net_pin(far);
	if (!probes_net_enter(netns) && freopen("/dev/null", "w", stdout) &&
	    freopen("/dev/null", "w", stderr))
		execl(e->program, e->program, "-f", conf, "-i", pidfile, "-z", zserv,
		      "--vty_socket", e->dir, "--bfdctl", control, "-u", "frr", "-g", "frr", "-P",
		      "0", (char *)NULL);
	_exit(1);
}

static _Noreturn void be_keeper(const struct end *e, int keeper_fd, const char *netns, bool far)
{
	pid_t pid = fork();
	char byte;

	if (!pid)
		be_bfdd(e, netns, far);
	if (pid > 0 && send(keeper_fd, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid))
		while (read(keeper_fd, &byte, 1) < 0 && errno == EINTR)
			;
	if (pid > 0) {
		kill(pid, SIGKILL); /* it inherits that SIGTERM is held (interrupt.h) */
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

static int probes_bfdd_keep(struct end *e, const char *netns, bool far)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	e->keeper = fork();
	if (!e->keeper) {
		close(ends[0]);
		be_keeper(e, ends[1], netns, far);
	}
	close(ends[1]);
	e->keeper_fd = ends[0];
	if (e->keeper < 0)
		return -EAGAIN;
	return read(e->keeper_fd, &e->pid, sizeof(e->pid)) == sizeof(e->pid) ? 0 : -EREMOTEIO;
}

static int probes_bfdd_start(struct end *e, const char *netns, bool far, uint32_t n_sessions)
{
	const struct passwd *frr = getpwnam("frr");
	int rc;

	/* not a name that another user could have taken before */
	snprintf(e->dir, sizeof(e->dir), "/tmp/fareprobes.XXXXXX");
	if (!mkdtemp(e->dir)) {
		e->dir[0] = '\0';
		return -errno;
	}
	if (chmod(e->dir, 0755))
		return -errno;
	rc = configure(e, far, n_sessions);
	if (rc)
		return rc;
	if (frr && chown(e->dir, frr->pw_uid, frr->pw_gid))
		return -errno;
	return probes_bfdd_keep(e, netns, far);
}

static void probes_bfdd_stop(struct end *e)
{
	const char *argv[] = {"rm", "-rf", e->dir, NULL};

	if (e->keeper > 0) {
		shutdown(e->keeper_fd, SHUT_RDWR); /* the other keeper may hold a copy */
		close(e->keeper_fd);
		waitpid(e->keeper, NULL, 0);
	}
	if (e->dir[0])
		command_check(argv, ASK_TIMEOUT_MS, NULL);
}

static uint32_t probes_bfdd_count(const char *text, const char *name)
{
	uint32_t n = 0;

	for (const char *at = text; at && (at = strstr(at, name)); at += strlen(name))
		n++;
	return n;
}

static int probes_bfdd_ask(const struct end *e, const char *command, char **out)
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

	if (!probes_bfdd_ask(e, "show bfd peers brief json", &text))
		n = probes_bfdd_count(text, "\"status\":\"up\"");
	free(text);
	return n;
}

static uint64_t n_sent(const struct end *e)
{
	static const char key[] = "\"control-packet-output\":";
	uint64_t n = 0;
	char *text;

	if (!probes_bfdd_ask(e, "show bfd peers counters json", &text))
		for (const char *at = text; at && (at = strstr(at, key)); at += sizeof(key) - 1)
			n += strtoull(at + sizeof(key) - 1, NULL, 10);
	free(text);
	return n;
}

void probes_bfdd_measure(const struct probes_bfdd *bfdd, double window_s,
			 struct probes_bfdd_sample *out)
{
	uint64_t sent = n_sent(&bfdd->near);
	double first = clock_now_s(), cpu = cpu_of_process(bfdd->near.pid), at = clock_now_s();

	wait_s(window_s);
	out->cpu_percent = 100 * (cpu_of_process(bfdd->near.pid) - cpu) / (clock_now_s() - at);
	out->packets_per_s = (double)(n_sent(&bfdd->near) - sent) / (clock_now_s() - first);
	out->n_up = n_up(&bfdd->near);
}

static bool find_bfdd(char program[PATH_MAX])
{
	char error[FRR_INSTALL_ERROR_MAX];
	struct frr_install frr;

	return !frr_install_find(getenv("FARELAB_FRR"), &frr, error) &&
	       frr_install_path(&frr, "bfdd", program);
}

int probes_bfdd_open(struct probes_bfdd **out, uint32_t n_sessions)
{
	struct probes_bfdd *b = calloc(1, sizeof(*b));
	double end;
	int rc;

	if (!b)
		return -ENOMEM;
	if (!find_bfdd(b->program)) {
		free(b);
		return -ENOENT;
	}
	b->near.program = b->far.program = b->program;
	rc = probes_net_up(&b->net, n_sessions);
	if (!rc)
		rc = probes_bfdd_start(&b->near, b->net.near, false, n_sessions);
	if (!rc)
		rc = probes_bfdd_start(&b->far, b->net.far, true, n_sessions);
	if (rc) {
		fprintf(stderr, "farebench: bfdd cannot be started: %s\n", strerror(-rc));
		probes_bfdd_close(b);
		return rc;
	}
	end = clock_now_s() + UP_TIMEOUT_S;
	while (n_up(&b->near) < n_sessions && clock_now_s() < end)
		wait_s(0.2);
	*out = b;
	return 0;
}

void probes_bfdd_close(struct probes_bfdd *b)
{
	if (!b)
		return;
	probes_bfdd_stop(&b->near);
	probes_bfdd_stop(&b->far);
	probes_net_down(&b->net);
	free(b);
}
