/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_perf.c - two processes in two network namespaces that write to each other through the soft
 * provider.
 *
 * Modes: "bw" (messages from A to B for some seconds), "lat" (ping-pong of small writes), "check"
 * (messages of awkward sizes, each verified). All modes compare every byte that arrived with what
 * was sent. The caller has made the namespaces, the devices s0 and s1 in each, and the routes
 * (tests/lab/soft_net.sh).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/provider.h"

#define P	 (&qp_soft_provider)
#define MAX_QPS	 64
#define LAT_WARM 1000

struct options {
	const char *netns[2], *address[2], *mode;
	unsigned depth; /* messages under way per QP, each with a place of its own */
	unsigned qps, seconds, window, path_mtu, timeout, retry, sub_ports, move_after_s;
	uint32_t bytes;
	bool block, any_plane, unprivileged;
};

struct side {
	const struct options *o;
	struct qp_endpoint *ep;
	struct qp *qp[MAX_QPS];
	uint8_t *memory;
	size_t memory_bytes;
	struct qp_mr mr;
	int peer_fd; /* socket pair to the other process */
	struct in6_addr remote;
	uint64_t remote_base;
	uint32_t remote_rkey;
	unsigned n_control; /* control datagrams that arrived */
	double move_at;	    /* when all QPs change their sub-port; 0: never (again) */
};

struct hello {
	uint32_t qpn[MAX_QPS], psn[MAX_QPS], rkey;
	uint64_t base;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "soft_perf: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void enter(const char *netns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path, errno);
	close(fd);
}

static void parse_address(const char *text, struct in6_addr *out)
{
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') ? "" : "::ffff:", text);
	if (inet_pton(AF_INET6, mapped, out) != 1)
		die(text, EINVAL);
}

/* What a message's bytes are: known to both ends without being told. */
static void fill(uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)((i * 2654435761u) >> 13);
}

static void on_control(void *arg, const struct qp_control *control)
{
	struct side *s = arg;

	if (control->length == 5 && !memcmp(control->data, "hello", 5))
		s->n_control++;
}

static bool reads(const struct options *o)
{
	return !strcmp(o->mode, "read");
}

static void open_side(struct side *s, const struct options *o, unsigned who, int peer_fd)
{
	struct qp_endpoint_attr attr = {.n_planes = 1,
					.path_mtu = o->path_mtu,
					.control_dscp = FARE_DSCP,
					.on_control = on_control,
					.arg = s};
	int err;

	memset(s, 0, sizeof(*s));
	s->o = o;
	s->peer_fd = peer_fd;
	attr.n_sub_ports[0] = 2;
	strcpy(attr.dev[0][0], "s0");
	strcpy(attr.dev[0][1], "s1");
	enter(o->netns[who]);
	if (o->unprivileged && setresuid(65534, 65534, 65534))
		die("setresuid", errno);
	parse_address(o->address[who], &attr.address);
	parse_address(o->address[!who], &s->remote);
	err = P->endpoint_create(&s->ep, &attr);
	if (err)
		die("endpoint", err);
	s->memory_bytes = (size_t)o->bytes * o->qps * o->depth + 8;
	s->memory = calloc(1, s->memory_bytes);
	if (!s->memory)
		die("memory", ENOMEM);
	if (who == reads(o)) /* where the bytes come from */
		fill(s->memory, s->memory_bytes);
	err = P->mr_register(s->ep, s->memory, s->memory_bytes,
			     reads(o) ? QP_ACCESS_REMOTE_READ : QP_ACCESS_REMOTE_WRITE, &s->mr);
	if (err)
		die("region", err);
}

static void make_qps(struct side *s, struct hello *mine)
{
	for (unsigned i = 0; i < s->o->qps; i++) {
		struct qp_attr attr = {.plane = s->o->any_plane ? QP_ANY_PLANE : 0,
				       .sub_port = (uint16_t)(i % s->o->sub_ports),
				       .timeout = (uint8_t)s->o->timeout,
				       .retry_cnt = (uint8_t)s->o->retry,
				       .dscp = FARE_DSCP,
				       .window_bytes = s->o->window};
		int err = P->qp_create(s->ep, &attr, &s->qp[i]);

		if (err)
			die("QP", err);
		mine->qpn[i] = P->qp_num(s->qp[i]);
		mine->psn[i] = P->qp_psn(s->qp[i]);
	}
	mine->rkey = s->mr.rkey;
	mine->base = (uintptr_t)s->memory;
}

static void exchange(struct side *s)
{
	struct hello mine, theirs;
	char ready = 1;

	memset(&mine, 0, sizeof(mine));
	make_qps(s, &mine);
	if (write(s->peer_fd, &mine, sizeof(mine)) != sizeof(mine) ||
	    recv(s->peer_fd, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		die("exchange", EPIPE);
	for (unsigned i = 0; i < s->o->qps; i++) {
		struct qp_remote r = {
			.address = s->remote, .qpn = theirs.qpn[i], .psn = theirs.psn[i]};
		int err = P->qp_connect(s->qp[i], &r);

		if (err)
			die("connect", err);
	}
	s->remote_rkey = theirs.rkey;
	s->remote_base = theirs.base;
	if (write(s->peer_fd, &ready, 1) != 1 || recv(s->peer_fd, &ready, 1, MSG_WAITALL) != 1)
		die("exchange", EPIPE);
	if (s->o->move_after_s)
		s->move_at = clock_now_s() + s->o->move_after_s;
}

static void move_all(struct side *s)
{
	s->move_at = 0;
	for (unsigned i = 0; i < s->o->qps; i++) {
		int err = P->qp_move(s->qp[i], (uint16_t)((i % s->o->sub_ports + 1) % 2), 0);

		if (err)
			die("move", err);
	}
}

static void progress(struct side *s)
{
	struct pollfd fd = {P->endpoint_info(s->ep)->fd, POLLIN, 0};
	int err;

	if (s->move_at > 0 && clock_now_s() >= s->move_at)
		move_all(s);
	if (s->o->block)
		poll(&fd, 1, 100);
	err = P->endpoint_progress(s->ep);
	if (err < 0)
		die("progress", err);
}

static void post(struct side *s, unsigned qp, uint64_t slot, uint32_t bytes, unsigned flags)
{
	uint64_t offset = ((uint64_t)qp * s->o->depth + slot) * s->o->bytes;
	bool is_read = reads(s->o);
	struct qp_work w = {.op = is_read ? QP_OP_READ : QP_OP_WRITE,
			    .wr_id = qp,
			    .data = s->memory + offset,
			    .lkey = s->mr.lkey,
			    .length = bytes,
			    .remote_addr = s->remote_base + offset,
			    .rkey = s->remote_rkey,
			    .imm = bytes,
			    .flags = is_read ? 0 : flags};
	int err = P->post(s->qp[qp], &w);

	if (err)
		die("post", err);
}

/* Takes completions; returns how many writes succeeded (per QP in done, if given). */
static unsigned reap(struct side *s, uint64_t *done, unsigned *notified)
{
	struct qp_wc wc[64];
	int n = P->poll(s->ep, wc, 64);
	unsigned writes = 0;

	for (int i = 0; i < n; i++) {
		if (wc[i].status) {
			fprintf(stderr, "soft_perf: a write ended with status %d\n", wc[i].status);
			exit(1);
		}
		if (wc[i].is_receive) {
			if (notified)
				(*notified)++;
			if (wc[i].imm != wc[i].byte_len) {
				fprintf(stderr, "soft_perf: a message of %u arrived as %u bytes\n",
					wc[i].imm, wc[i].byte_len);
				exit(1);
			}
			continue;
		}
		if (done)
			done[wc[i].wr_id]++;
		writes++;
	}
	return writes;
}

static void report(struct side *s, const char *who, double seconds)
{
	struct qp_stats t;
	struct rusage u;

	t = *P->endpoint_info(s->ep)->stats;
	getrusage(RUSAGE_SELF, &u);
	printf("%s: cpu %.2f s user, %.2f s system of %.2f s; tx %lu packets (%lu again), rx %lu "
	       "packets; %lu timeouts, naks %lu sent %lu received, cnps %lu sent %lu received, "
	       "icrc errors %lu, dropped %lu\n",
	       who, (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6,
	       (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6, seconds, t.tx_packets,
	       t.retransmitted_packets, t.rx_packets, t.timeouts, t.naks_sent, t.naks_received,
	       t.cnps_sent, t.cnps_received, t.icrc_errors, t.rx_dropped);
	fflush(stdout);
}

/* A: keeps the depth's messages under way on every QP until the time is up. */
static void send_bandwidth(struct side *s)
{
	uint64_t done[MAX_QPS] = {0}, posted[MAX_QPS] = {0}, total = 0;
	double start = clock_now_s(), end = start + s->o->seconds, t;
	bool busy = true;

	while (busy) {
		bool late = clock_now_s() >= end;

		busy = false;
		for (unsigned i = 0; i < s->o->qps; i++) {
			while (!late && posted[i] - done[i] < s->o->depth)
				post(s, i, posted[i]++ % s->o->depth, s->o->bytes, 0);
			busy |= posted[i] != done[i];
		}
		if (busy)
			progress(s);
		total += reap(s, done, NULL);
	}
	t = clock_now_s() - start;
	printf("%s: %u QPs, %u-byte %s, path MTU %u: %.2f Gb/s (%lu writes in %.2f s)\n",
	       s->o->mode, s->o->qps, s->o->bytes, reads(s->o) ? "reads" : "writes", s->o->path_mtu,
	       (double)total * s->o->bytes * 8 / t / 1e9, total, t);
	report(s, "A", t);
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void send_latency(struct side *s)
{
	unsigned n = s->o->seconds * 10000, notified = 0;
	double *half = calloc(n, sizeof(*half));

	for (unsigned i = 0; i < n + LAT_WARM; i++) {
		double start = clock_now_s();

		post(s, 0, 0, s->o->bytes, QP_WR_IMM);
		for (notified = 0; !notified;) {
			progress(s);
			reap(s, NULL, &notified);
		}
		if (i >= LAT_WARM)
			half[i - LAT_WARM] = (clock_now_s() - start) / 2 * 1e6;
	}
	qsort(half, n, sizeof(*half), by_value);
	printf("lat: %u-byte write with immediate, half round trip in us: p50 %.2f p99 %.2f max "
	       "%.2f (n = %u)\n",
	       s->o->bytes, half[n / 2], half[n * 99 / 100], half[n - 1], n);
	free(half);
	report(s, "A", 0);
}

static const uint32_t check_sizes[] = {0,     1,     3,	     4,	     255,    256,  257,
				       4093,  4095,  4096,   4097,   8191,   8192, 12289,
				       61440, 61441, 100000, 262144, 1000000};
#define N_CHECK_SIZES (sizeof(check_sizes) / sizeof(check_sizes[0]))

static void send_check(struct side *s)
{
	struct qp_control hello = {.remote = s->remote, .data = "hello", .length = 5};
	unsigned done = 0;
	int err = P->control_send(s->ep, &hello);

	if (err)
		die("control", err);
	for (unsigned i = 0; i < N_CHECK_SIZES; i++) {
		if (check_sizes[i] > s->o->bytes)
			die("check needs larger --bytes", EINVAL);
		post(s, i % s->o->qps, 0, check_sizes[i], i % 3 ? QP_WR_IMM : 0);
		while (done < i + 1) {
			progress(s);
			done += reap(s, NULL, NULL);
		}
	}
	printf("check: %u writes\n", done);
	report(s, "A", 0);
}

/* B: works until A says that it has finished; in "lat" it answers each message. */
static void receive(struct side *s)
{
	bool echo = !strcmp(s->o->mode, "lat");
	struct pollfd stop = {s->peer_fd, POLLIN, 0};
	unsigned rounds = 0, notified;

	for (;;) {
		progress(s);
		notified = 0;
		reap(s, NULL, &notified);
		if (echo && notified)
			post(s, 0, 0, s->o->bytes, QP_WR_IMM);
		if (++rounds % 1024 == 0 || s->o->block)
			if (poll(&stop, 1, 0) > 0)
				break;
	}
}

/* What was written is right; what was not is still zero. */
static void verify(struct side *s, size_t *same)
{
	uint8_t *want = malloc(s->memory_bytes);

	fill(want, s->memory_bytes);
	*same = 0;
	for (size_t i = 0; i < s->memory_bytes; i++) {
		if (s->memory[i] == want[i]) {
			(*same)++;
		} else if (s->memory[i]) {
			fprintf(stderr, "soft_perf: wrong byte at %zu\n", i);
			exit(1);
		}
	}
	free(want);
}

static int run_b(const struct options *o, int fd)
{
	struct side s;
	size_t same;
	char byte;

	open_side(&s, o, 1, fd);
	exchange(&s);
	receive(&s);
	if (strcmp(o->mode, "lat")) {
		verify(&s, &same);
		printf("B: %zu of %zu bytes are those sent, no byte is wrong\n", same,
		       s.memory_bytes);
		if (!strcmp(o->mode, "bw") && same + 8 < s.memory_bytes)
			die("not every message arrived", EIO);
		if (!strcmp(o->mode, "check") && s.n_control != 1)
			die("the control datagram did not arrive", EIO);
	}
	report(&s, "B", 0);
	if (recv(fd, &byte, 1, MSG_WAITALL) != 1 || write(fd, &byte, 1) != 1)
		die("end", EPIPE);
	P->endpoint_destroy(s.ep);
	free(s.memory);
	return 0;
}

static void run_a(const struct options *o, int fd)
{
	struct side s;
	char byte = 0;

	open_side(&s, o, 0, fd);
	exchange(&s);
	if (!strcmp(o->mode, "bw") || reads(o))
		send_bandwidth(&s);
	else if (!strcmp(o->mode, "lat"))
		send_latency(&s);
	else
		send_check(&s);
	if (reads(o)) {
		size_t same;

		verify(&s, &same);
		if (same + 8 < s.memory_bytes)
			die("not every byte was read", EIO);
	}
	if (write(fd, &byte, 1) != 1 || recv(fd, &byte, 1, MSG_WAITALL) != 1)
		die("end", EPIPE);
	P->endpoint_destroy(s.ep);
	free(s.memory);
}

static void pin(unsigned core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: soft_perf [-m bw|read|lat|check] [-q QPS] [-d DEPTH] [-s BYTES] [-t "
		"SECONDS] "
		"[-w WINDOW] "
		"[-p PATH_MTU] [-o ACK_TIMEOUT] [-r RETRIES] [-u SUB_PORTS] [-M SECONDS] [-B] [-k] "
		"[-n] "
		"NETNS_A NETNS_B ADDRESS_A ADDRESS_B\n"
		"  -M  move every QP to the other sub-port then   -B  block instead of spinning   "
		"-k  let the kernel route (no device)\n  -n  give up root first\n");
	return 2;
}

static int parse_options(struct options *o, int argc, char **argv)
{
	int c;

	*o = (struct options){.mode = "bw",
			      .depth = 4,
			      .qps = 1,
			      .seconds = 3,
			      .path_mtu = 4096,
			      .timeout = 14,
			      .retry = 7,
			      .sub_ports = 1,
			      .bytes = 1 << 20};
	while ((c = getopt(argc, argv, "m:q:d:s:t:w:p:o:r:u:M:Bkn")) != -1) {
		switch (c) {
		case 'm':
			o->mode = optarg;
			break;
		case 'q':
			o->qps = (unsigned)atoi(optarg);
			break;
		case 'd':
			o->depth = (unsigned)atoi(optarg);
			break;
		case 's':
			o->bytes = (uint32_t)atoi(optarg);
			break;
		case 't':
			o->seconds = (unsigned)atoi(optarg);
			break;
		case 'w':
			o->window = (unsigned)atoi(optarg);
			break;
		case 'p':
			o->path_mtu = (unsigned)atoi(optarg);
			break;
		case 'o':
			o->timeout = (unsigned)atoi(optarg);
			break;
		case 'r':
			o->retry = (unsigned)atoi(optarg);
			break;
		case 'u':
			o->sub_ports = (unsigned)atoi(optarg);
			break;
		case 'M':
			o->move_after_s = (unsigned)atoi(optarg);
			break;
		case 'B':
			o->block = true;
			break;
		case 'n':
			o->unprivileged = true;
			break;
		case 'k':
			o->any_plane = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 4 || !o->qps || o->qps > MAX_QPS || !o->sub_ports || !o->bytes ||
	    !o->depth || o->depth > 128)
		return usage();
	o->netns[0] = argv[optind];
	o->netns[1] = argv[optind + 1];
	o->address[0] = argv[optind + 2];
	o->address[1] = argv[optind + 3];
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int fds[2], status = 1;
	pid_t pid;

	if (parse_options(&o, argc, argv))
		return 2;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		die("socketpair", errno);
	pid = fork();
	if (pid < 0)
		die("fork", errno);
	if (!pid) {
		close(fds[0]);
		pin(1);
		return run_b(&o, fds[1]);
	}
	close(fds[1]);
	pin(0);
	run_a(&o, fds[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
