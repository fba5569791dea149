/* SPDX-License-Identifier: BSD-2-Clause */
#include "resilience/stalls.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/realtime.h"

struct stalls {
	unsigned n; /* cores */
	pid_t *pid;
	struct stalls_log *log; /* shared with the processes */
};

void stalls_note(struct stalls_log *log, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t n = atomic_load_explicit(&log->n, memory_order_relaxed);

	if (now_ns < due_ns + STALLS_LEAST_NS)
		return;
	log->stall[n % STALLS_KEPT].from_ns = due_ns;
	log->stall[n % STALLS_KEPT].to_ns = now_ns;
	atomic_store_explicit(&log->n, n + 1, memory_order_release);
}

uint64_t stalls_longest_in(const struct stalls_log *log, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t n = atomic_load_explicit(&log->n, memory_order_acquire), longest = 0;

	/* the oldest may be written over while it is read */
	for (uint64_t i = n < STALLS_KEPT ? 0 : n - STALLS_KEPT + 1; i < n; i++) {
		uint64_t from = log->stall[i % STALLS_KEPT].from_ns,
			 to = log->stall[i % STALLS_KEPT].to_ns;

		from = from > from_ns ? from : from_ns;
		to = to < to_ns ? to : to_ns;
		if (to > from && to - from > longest)
			longest = to - from;
	}
	return longest;
}

uint64_t stalls_longest_ns(const struct stalls *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < s->n; i++) {
		uint64_t one = stalls_longest_in(&s->log[i], from_ns, to_ns);

		longest = one > longest ? one : longest;
	}
	return longest;
}

static _Noreturn void stalls_watch(struct stalls_log *log)
{
	uint64_t due_ns = clock_now_ns();

	for (;;) {
		due_ns += STALLS_PERIOD_NS;
		clock_sleep_until(due_ns);
		stalls_note(log, due_ns, clock_now_ns());
		if (due_ns < clock_now_ns())
			due_ns = clock_now_ns();
	}
}

/*
 * In the child; what it tells the parent over ready is 0 or an errno. Nothing of the parent's is
 * kept open.
 */
static _Noreturn void be_watcher(struct stalls_log *log, unsigned core, pid_t parent, int ready)
{
	cpu_set_t set;
	int err = 0;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || sched_setaffinity(0, sizeof(set), &set))
		err = errno;
	if (!err)
		err = -realtime_take();
	if (write(ready, &err, sizeof(err)) != sizeof(err) || err || getppid() != parent)
		_exit(1);
	close_range(3, ~0u, 0);
	stalls_watch(log);
}

static int stalls_start(struct stalls *s, unsigned i, unsigned core)
{
	pid_t parent = getpid();
	int ready[2], err = EIO;

	if (pipe(ready))
		return -errno;
	s->pid[i] = fork();
	if (!s->pid[i])
		be_watcher(&s->log[i], core, parent, ready[1]);
	close(ready[1]);
	if (s->pid[i] < 0)
		err = errno;
	else if (read(ready[0], &err, sizeof(err)) != sizeof(err))
		err = EIO;
	close(ready[0]);
	return -err;
}

int stalls_create(struct stalls **out)
{
	struct stalls *s = calloc(1, sizeof(*s));
	cpu_set_t cores;
	int err = 0;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	if (sched_getaffinity(0, sizeof(cores), &cores))
		err = -errno;
	if (!err) {
		s->n = (unsigned)CPU_COUNT(&cores);
		s->pid = calloc(s->n, sizeof(*s->pid));
		s->log = mmap(NULL, s->n * sizeof(*s->log), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		s->log = s->log == MAP_FAILED ? NULL : s->log;
		err = s->pid && s->log ? 0 : -ENOMEM;
	}
	for (unsigned core = 0, i = 0; !err && i < s->n; core++)
		if (CPU_ISSET(core, &cores))
			err = stalls_start(s, i++, core);
	if (err)
		stalls_destroy(s);
	else
		*out = s;
	return err;
}

void stalls_destroy(struct stalls *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->pid && i < s->n; i++) {
		if (s->pid[i] <= 0)
			continue;
		kill(s->pid[i], SIGKILL);
		waitpid(s->pid[i], NULL, 0);
	}
	if (s->log)
		munmap(s->log, s->n * sizeof(*s->log));
	free(s->pid);
	free(s);
}
