/* failover_watch.c - see failover_watch.h */
#include "failover_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"

#define PAUSE_NS 100000
#define START_NS UINT64_C(5000000000)

struct failover_watch {
	struct failover_record *record;
	pid_t pid;
};

static void nap(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static int look(struct failover_record *r, const struct fare_pair *pair, uint64_t *generation)
{
	struct failover_sample *s = &r->sample[r->n];
	int rc = fare_pair_paths(pair, &s->paths);

	if (rc == -EAGAIN)
		return 0;
	if (rc)
		return rc;
	s->t_ns = cluster_now_ns();
	*generation = s->paths.generation;
	r->n++;
	return 0;
}

static int watch(struct failover_record *r, const char *run_dir, unsigned local_gpu,
		 const struct in6_addr *peer)
{
	uint64_t generation = UINT64_MAX;
	struct fare_pair *pair;
	struct fare *fare;
	int rc = fare_attach(&fare, run_dir);

	if (rc)
		return rc;
	rc = fare_pair_open(&pair, fare, local_gpu, peer);
	while (!rc && !r->stop && r->n < FAILOVER_MAX_SAMPLES) {
		if (fare_pair_generation(pair) != generation)
			rc = look(r, pair, &generation);
		nap();
	}
	return rc ? rc : r->stop ? 0 : -E2BIG;
}

int failover_watch_start(struct failover_watch **out, const char *run_dir, unsigned local_gpu,
			 const struct in6_addr *peer)
{
	struct failover_watch *w = calloc(1, sizeof(*w));
	uint64_t end = cluster_now_ns() + START_NS;
	int rc;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->record = mmap(NULL, sizeof(*w->record), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->record == MAP_FAILED) {
		free(w);
		return -errno;
	}
	w->pid = fork();
	if (w->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_TIMERSLACK, 1000);
		w->record->rc = watch(w->record, run_dir, local_gpu, peer);
		_exit(0);
	}
	while (w->pid > 0 && !w->record->n && !w->record->rc && cluster_now_ns() < end)
		nap();
	rc = w->pid < 0 ? -errno : w->record->rc ? w->record->rc : w->record->n ? 0 : -ETIMEDOUT;
	if (rc)
		failover_watch_stop(w);
	else
		*out = w;
	return rc;
}

const struct failover_record *failover_watch_record(const struct failover_watch *w)
{
	return w->record;
}

void failover_watch_stop(struct failover_watch *w)
{
	if (!w)
		return;
	w->record->stop = 1;
	if (w->pid > 0)
		waitpid(w->pid, NULL, 0);
	munmap(w->record, sizeof(*w->record));
	free(w);
}
