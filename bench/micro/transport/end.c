/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/transport/end.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/stats.h"

#define WARM_S	       0.15
#define LIMIT_S	       60 /* of one case, for what hangs */
#define DRAIN_S	       20
#define KILLED	       128 /* and the signal, as a shell tells it */
#define BYTES_UNDERWAY (8u << 20)
#define MAX_SLOTS      1024
#define MAX_SAMPLES    200000
#define WARM_TRIPS     1000
#define POLL_EVERY     64 /* rounds between looks at the clock or at what the other end says */

enum phase { PHASE_WARM, PHASE_MEASURE, PHASE_OVER };

/* What the three processes share. */
struct stage {
	_Atomic int phase;
	double rx_cpu_s;
	struct transport_outcome outcome;
	/* the end that fails first says why: the other end's failure follows from it */
	_Atomic bool failed;
	double samples[MAX_SAMPLES];
};

struct driver {
	const struct transport_case *c;
	struct transport_end end;
	struct stage *stage;
	void *state;
	uint64_t n_awaited;	  /* messages of the other end, where it notifies of them */
	uint64_t last[MAX_SLOTS]; /* the number of each slot's last message; 0: none yet */
};

static double cpu_s(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static _Noreturn void end_fail(const struct driver *d, const char *what, int err)
{
	if (!atomic_exchange(&d->stage->failed, true))
		snprintf(d->stage->outcome.why, sizeof(d->stage->outcome.why), "%s: %s: %s",
			 d->end.who ? "receiver" : "sender", what, strerror(-err));
	_exit(1);
}

/* Enough to keep the wire busy, few enough to bound memory. */
static unsigned slots_of(const struct transport_case *c)
{
	size_t n = BYTES_UNDERWAY / c->bytes;

	if (c->latency)
		return 2;
	if (n > 128u)
		n = 128;
	if (n < 2)
		n = 2;
	if (n < 2 * c->qps)
		n = 2 * c->qps;
	n -= n % c->qps;
	return (unsigned)n;
}

static volatile uint64_t *stamp(const struct driver *d, unsigned slot)
{
	return (volatile uint64_t *)(void *)(d->end.memory + slot * d->end.stride + d->end.bytes -
					     sizeof(uint64_t));
}

/* What a slot's other bytes are: known to both ends. */
static void end_fill(uint8_t *at, size_t bytes, unsigned slot)
{
	uint64_t value = 0x9e3779b97f4a7c15u * (slot + 1);

	for (size_t i = 0; i + 8 <= bytes;
	     i += 8, value = value * 6364136223846793005u + 1442695040888963407u)
		memcpy(at + i, &value, 8);
}

static int progress(struct driver *d, unsigned *done, int max)
{
	const struct transport_method *m = d->c->method;
	int n = m->progress(d->state, done, max);

	if (n < 0)
		end_fail(d, "progress", n);
	return n;
}

static void end_rest(struct driver *d)
{
	struct pollfd p = {.events = POLLIN,
			   .fd = d->c->method->fd ? d->c->method->fd(d->state) : -1};

	if (d->c->block && p.fd >= 0)
		poll(&p, 1, 1);
}

/* False: the method takes no more for now. */
static bool try_post(struct driver *d, unsigned slot, uint64_t number)
{
	int err;

	if (!d->c->method->reads) /* what is read, the other end has stamped */
		*stamp(d, slot) = number;
	err = d->c->method->post(d->state, slot);
	if (err && err != -EAGAIN)
		end_fail(d, "post", err);
	if (!err)
		d->last[slot] = number;
	return !err;
}

static void end_post(struct driver *d, unsigned slot, uint64_t number)
{
	unsigned done[16];

	while (!try_post(d, slot, number))
		progress(d, done, 16);
}

static void send_goodput(struct driver *d)
{
	unsigned vacant[MAX_SLOTS], done[64], n_vacant = d->end.slots, underway = 0, rounds = 0;
	double start = clock_now_s(), t = start, first = 0, latest = 0, cpu = 0;
	uint64_t number = 0, counted = 0;
	bool over = false;

	for (unsigned i = 0; i < n_vacant; i++)
		vacant[i] = n_vacant - 1 - i;
	while (!over || underway) {
		int n, posted = 0;

		for (; !over && n_vacant && posted < 64; posted++) {
			if (!try_post(d, vacant[n_vacant - 1], number + 1))
				break;
			number++;
			n_vacant--;
			underway++;
		}
		n = progress(d, done, 64);
		for (int i = 0; i < n; i++)
			vacant[n_vacant++] = done[i];
		underway -= (unsigned)n;
		if (!n && !posted)
			end_rest(d);
		if (!n && ++rounds % POLL_EVERY)
			continue;
		t = clock_now_s();
		if (first > 0 && n && !over) {
			counted += (unsigned)n;
			latest = t;
		} else if (!first && n && t - start >= WARM_S) {
			first = latest = t;
			cpu = cpu_s();
			d->stage->phase = PHASE_MEASURE;
		}
		if (!over && ((first > 0 && counted && t - first >= d->c->seconds) ||
			      t - start > LIMIT_S / 3.0)) {
			over = true;
			cpu = cpu_s() - cpu;
			d->stage->phase = PHASE_OVER;
		}
	}
	if (!counted)
		end_fail(d, "nothing was sent in time", -ETIMEDOUT);
	d->stage->outcome.n = counted;
	d->stage->outcome.goodput_bps =
		(double)counted * (double)d->c->bytes * 8 / (latest - first);
	d->stage->outcome.cpu_s_per_gb = cpu / ((double)counted * (double)d->c->bytes / 1e9);
}

static void receive_goodput(struct driver *d)
{
	int phase = PHASE_WARM, now;
	unsigned done[64];
	double cpu = 0;

	for (;;) {
		if (!progress(d, done, 64))
			end_rest(d);
		now = atomic_load_explicit(&d->stage->phase, memory_order_relaxed);
		if (now == phase)
			continue;
		if (phase == PHASE_WARM)
			cpu = cpu_s();
		phase = now;
		if (now == PHASE_OVER)
			break;
	}
	d->stage->rx_cpu_s = cpu_s() - cpu;
}

/* A number of 0 stands for a slot that had no message. Waits for what is still on its way. */
static void compare_slots(struct driver *d, const uint64_t want[MAX_SLOTS])
{
	uint8_t *right = malloc(d->end.stride);
	double end = clock_now_s() + DRAIN_S;
	unsigned done[64];

	if (!right)
		end_fail(d, "memory", -ENOMEM);
	for (unsigned slot = 0; slot < d->end.slots; slot++) {
		while (want[slot] && *stamp(d, slot) != want[slot]) {
			progress(d, done, 64);
			if (clock_now_s() > end)
				end_fail(d, "a message did not arrive", -ETIMEDOUT);
		}
		end_fill(right, d->c->bytes, slot);
		if (want[slot] && memcmp(right, d->end.memory + slot * d->end.stride,
					 d->c->bytes - sizeof(uint64_t)))
			end_fail(d, "wrong bytes arrived", -EBADMSG);
	}
	free(right);
}

static void await_verdict(struct driver *d)
{
	double end = clock_now_s() + DRAIN_S;
	unsigned done[64];
	char byte;

	while (recv(d->end.oob, &byte, 1, MSG_DONTWAIT) != 1) {
		progress(d, done, 64);
		if (clock_now_s() > end)
			end_fail(d, "the receiver does not see all", -ETIMEDOUT);
	}
}

static void receive_numbers(struct driver *d, uint64_t want[MAX_SLOTS])
{
	size_t bytes = MAX_SLOTS * sizeof(want[0]);
	unsigned done[64];

	for (size_t got = 0; got < bytes;) {
		ssize_t n = recv(d->end.oob, (char *)want + got, bytes - got, MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		progress(d, done, 64);
		if (n == 0)
			end_fail(d, "the sender has gone", -EPIPE);
	}
}

/* Where a READ's bytes come from, every slot has one number for good. */
static uint64_t standing_number(unsigned slot)
{
	return slot + 1;
}

/*
 * The end that posted sends the last numbers; the end that holds the copies compares everything.
 * Both keep things going.
 */
static void settle(struct driver *d)
{
	bool reads = d->c->method->reads, compares = d->end.who == (reads ? 0 : 1);
	uint64_t want[MAX_SLOTS];
	char byte = 0;

	if (!reads && !compares && write(d->end.oob, d->last, sizeof(d->last)) != sizeof(d->last))
		end_fail(d, "the other end has gone", -EPIPE);
	if (!compares) {
		await_verdict(d);
		return;
	}
	if (!reads)
		receive_numbers(d, want);
	for (unsigned slot = 0; reads && slot < MAX_SLOTS; slot++)
		want[slot] = d->last[slot] ? standing_number(slot) : 0;
	compare_slots(d, want);
	if (write(d->end.oob, &byte, 1) != 1)
		end_fail(d, "the other end has gone", -EPIPE);
}

/* The other end's next message was notified, if the method notifies. */
static bool was_notified(const struct driver *d)
{
	return !d->c->method->notified || d->c->method->notified(d->state) >= d->n_awaited;
}

static void await_number(struct driver *d, unsigned slot, uint64_t number)
{
	unsigned done[16], rounds = 0;

	d->n_awaited++;
	while (*stamp(d, slot) != number || !was_notified(d)) {
		if (!progress(d, done, 16))
			end_rest(d);
		if (++rounds % (1u << 24) == 0)
			end_fail(d, "no answer", -ETIMEDOUT);
	}
}

/* Slot 0 goes there, slot 1 comes back. */
static void ping(struct driver *d)
{
	double *half = d->stage->samples, begin = clock_now_s(), start;
	uint64_t number = 0, n = 0;
	static const double rank[] = {0.5, 0.99, 0.999};

	while (n < MAX_SAMPLES && (n < 100 || clock_now_s() - begin < d->c->seconds)) {
		start = clock_now_s();
		end_post(d, 0, ++number);
		await_number(d, 1, number);
		if (number > WARM_TRIPS)
			half[n++] = (clock_now_s() - start) / 2 * 1e6;
	}
	end_post(d, 0, UINT64_MAX); /* enough */
	await_number(d, 1, UINT64_MAX);
	qsort(half, n, sizeof(*half), stats_ascending);
	for (unsigned i = 0; i < 3; i++)
		d->stage->outcome.half_rtt_us[i] = half[(uint64_t)(rank[i] * (double)(n - 1))];
	d->stage->outcome.half_rtt_us[3] = half[n - 1];
	d->stage->outcome.n = n;
}

static void pong(struct driver *d)
{
	uint64_t number = 0;

	do {
		uint64_t next = number + 1, seen;
		unsigned done[16];

		d->n_awaited++;
		while (((seen = *stamp(d, 0)) != next && seen != UINT64_MAX) || !was_notified(d))
			if (!progress(d, done, 16))
				end_rest(d);
		number = seen;
		end_post(d, 1, number);
	} while (number != UINT64_MAX);
}

static void goodbye(struct driver *d)
{
	unsigned done[16];
	char byte = 0, theirs;
	double end = clock_now_s() + 2;

	/* the other end may still need answers of ours */
	if (write(d->end.oob, &byte, 1) != 1)
		end_fail(d, "the other end has gone", -EPIPE);
	while (recv(d->end.oob, &theirs, 1, MSG_DONTWAIT) != 1 && clock_now_s() < end)
		progress(d, done, 16);
}

static int open_end(struct driver *d)
{
	struct transport_end *end = &d->end;
	bool reads = d->c->method->reads, is_source = end->who == (reads ? 1 : 0);

	end->memory = mmap(NULL, end->memory_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (end->memory == MAP_FAILED)
		return -ENOMEM;
	for (unsigned slot = 0; slot < end->slots; slot++) {
		if (is_source)
			end_fill(end->memory + slot * end->stride, end->bytes, slot);
		*stamp(d, slot) = is_source && reads ? standing_number(slot) : 0;
	}
	return d->c->method->open(end, &d->state);
}

static unsigned core_of(unsigned who)
{
	return who % (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

double transport_handover_ns(void)
{
	return handover_ns(core_of(0), core_of(1));
}

static _Noreturn void end_main(struct driver *d, const struct transport_net *net)
{
	cpu_set_t core;
	char byte = 0;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIMIT_S);
	CPU_ZERO(&core);
	CPU_SET(core_of(d->end.who), &core);
	sched_setaffinity(0, sizeof(core), &core);
	err = transport_net_enter(net, d->end.who);
	if (!err)
		err = open_end(d);
	if (err == -EOPNOTSUPP)
		_exit(77);
	if (err)
		end_fail(d, "open", err);
	if (transport_exchange(&d->end, &byte, &byte, 1))
		end_fail(d, "the other end has gone", -EPIPE);
	if (d->c->latency) {
		d->end.who ? pong(d) : ping(d);
	} else {
		d->end.who ? receive_goodput(d) : send_goodput(d);
		settle(d);
	}
	goodbye(d);
	d->c->method->close(d->state);
	_exit(0);
}

static pid_t start_end(const struct transport_net *net, const struct transport_case *c,
		       struct stage *stage, unsigned who, int fds[2])
{
	struct driver *d;
	pid_t pid = fork();

	if (pid)
		return pid;
	close(fds[!who]);
	d = calloc(1, sizeof(*d));
	if (!d)
		_exit(1);
	*d = (struct driver){
		.c = c,
		.stage = stage,
		.end =
			{
				.method = c->method,
				.who = who,
				.oob = fds[who],
				.local = net->address[who],
				.remote = net->address[!who],
				.run_dir = net->run_dir[who],
				.latency = c->latency,
				.qps = c->qps,
				.slots = slots_of(c),
				.bytes = c->bytes,
				.stride = (c->bytes + 63) & ~(size_t)63,
			},
	};
	d->end.memory_bytes = (d->end.slots * d->end.stride + 4095) & ~(size_t)4095;
	end_main(d, net);
}

/* Waits for both; one that fails takes the other along. 0, or the first status that was not. */
static int await_ends(const pid_t pid[2])
{
	int status, first = 0;

	for (unsigned left = 2; left; left--) {
		pid_t who;

		while ((who = waitpid(-1, &status, 0)) != pid[0] && who != pid[1])
			if (who < 0 && errno != EINTR)
				return 1;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
		if (status && !first) {
			first = status;
			if (left == 2)
				kill(who == pid[0] ? pid[1] : pid[0], SIGKILL);
		}
	}
	return first;
}

static void describe_death(int status, char *why, size_t bytes)
{
	if (status == KILLED + SIGALRM)
		snprintf(why, bytes, "not done within %u s", LIMIT_S);
	else if (status > KILLED)
		snprintf(why, bytes, "ended by signal %d", status - KILLED);
	else
		snprintf(why, bytes, "ended with status %d", status);
}

int transport_run(const struct transport_net *net, const struct transport_case *c,
		  struct transport_outcome *out)
{
	struct stage *stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fds[2], status;
	pid_t pid[2];

	if (stage == MAP_FAILED)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		munmap(stage, sizeof(*stage));
		return -errno;
	}
	fflush(NULL);
	for (unsigned who = 0; who < 2; who++)
		pid[who] = start_end(net, c, stage, who, fds);
	close(fds[0]);
	close(fds[1]);
	status = await_ends(pid);
	*out = stage->outcome;
	if (out->goodput_bps > 0)
		out->cpu_s_per_gb += stage->rx_cpu_s / ((double)out->n * (double)c->bytes / 1e9);
	munmap(stage, sizeof(*stage));
	if (status == 77)
		return -EOPNOTSUPP;
	if (!status)
		return 0;
	if (!out->why[0])
		describe_death(status, out->why, sizeof(out->why));
	fprintf(stderr, "farebench: transport: %s, %zu bytes, did not run: %s\n", c->method->name,
		c->bytes, out->why);
	return -EREMOTEIO;
}
