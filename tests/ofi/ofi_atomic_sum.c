/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic_sum.c - atomic operations of several processes on one number, while planes are lost.
 *
 *   ofi_atomic_sum [SECONDS]
 *
 * Two hosts (bed.h), three planes. One process at host 0 has the number; PEERS at host 1 add 1 to
 * it, WINDOW at a time, and keep each value that they fetch; the process adds to the upper half of
 * it, by its own processor. Meanwhile one plane after the other is lost: it drops all, or its link
 * goes down, and nobody says so. Each operation is done once: every value is fetched once, all of
 * them are there, and the sum is their count. One line of JSON. Exit 77: not root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "base/clock.h"
#include "bed.h"

#define PEERS	 3u
#define WINDOW	 64u
#define MOST	 (1u << 22) /* values of all of them */
#define PLANES	 3u
#define LOST_MS	 400
#define LEFT_MS	 200 /* with all planes, between two losses */
#define LIMIT_S	 60
#define OWN_STEP (UINT64_C(1) << 32)
#define ADDRESS	 64
#define LOW_HALF UINT32_MAX

static struct bed bed;
static struct shared {
	_Alignas(8) uint64_t sum;
	_Atomic uint64_t key, own_adds, done[PEERS], twice, beyond;
	_Atomic int listens, over, ended;
	uint8_t name[ADDRESS];
	_Atomic uint8_t seen[MOST]; /* by value */
} * shared;

struct process {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer;
};

static void ok(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "ofi_atomic_sum: %s\n", what);
	fflush(NULL);
	_exit(1);
}

static void open_process(struct process *p, int host)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD};
	struct fi_info *hints = fi_allocinfo();

	setenv("FARE_RUN_DIR", bed.dir[host], 1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	hints->fabric_attr->prov_name = strdup("fare");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_ATOMIC;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &p->info), "fi_getinfo");
	fi_freeinfo(hints);
	ok(!fi_fabric(p->info->fabric_attr, &p->fabric, NULL) &&
		   !fi_domain(p->fabric, p->info, &p->domain, NULL) &&
		   !fi_av_open(p->domain, &av, &p->av, NULL) &&
		   !fi_cq_open(p->domain, &cq, &p->cq, NULL) &&
		   !fi_endpoint(p->domain, p->info, &p->ep, NULL) &&
		   !fi_ep_bind(p->ep, &p->av->fid, 0) &&
		   !fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV) && !fi_enable(p->ep),
	   "an endpoint cannot be opened");
}

static void close_process(struct process *p)
{
	ok(!fi_close(&p->ep->fid), "fi_close(ep)");
	ok(!fi_close(&p->cq->fid), "fi_close(cq)");
	ok(!fi_close(&p->av->fid), "fi_close(av)");
	ok(!fi_close(&p->domain->fid), "fi_close(domain)");
	ok(!fi_close(&p->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(p->info);
}

/* ---- who has the number ---- */

/* It makes no call of libfabric: operations are the progress thread's. */
static int serve(void *arg)
{
	struct process p;
	struct fid_mr *mr;
	size_t bytes = sizeof(shared->name);

	(void)arg;
	bed_enter_namespace(&bed, 0);
	open_process(&p, 0);
	ok(!fi_mr_reg(p.domain, &shared->sum, sizeof(shared->sum), FI_REMOTE_READ | FI_REMOTE_WRITE,
		      0, 0, 0, &mr, NULL),
	   "fi_mr_reg");
	ok(!fi_getname(&p.ep->fid, shared->name, &bytes), "fi_getname");
	shared->key = fi_mr_key(mr);
	shared->listens = 1;
	while (!shared->ended) {
		__atomic_fetch_add(&shared->sum, OWN_STEP, __ATOMIC_RELAXED);
		shared->own_adds++;
		usleep(10);
	}
	ok(!fi_close(&mr->fid), "fi_close(mr)");
	close_process(&p);
	return 0;
}

/* ---- who adds to it ---- */

static void take_value(uint64_t value)
{
	value &= LOW_HALF;
	if (value >= MOST)
		shared->beyond++;
	else
		shared->twice += atomic_fetch_add(&shared->seen[value], 1) != 0;
}

static void add(struct process *p, unsigned number)
{
	static uint64_t results[WINDOW];
	const uint64_t one = 1;
	unsigned free_slots[WINDOW], n_free = WINDOW;
	uint64_t end = clock_now_ns() + LIMIT_S * UINT64_C(1000000000);

	for (unsigned i = 0; i < WINDOW; i++)
		free_slots[i] = i;
	while (!shared->over || n_free < WINDOW) {
		struct fi_cq_entry entries[WINDOW];
		ssize_t n;

		while (n_free && !shared->over &&
		       !fi_fetch_atomic(p->ep, &one, 1, NULL, &results[free_slots[n_free - 1]],
					NULL, p->peer, (uintptr_t)&shared->sum, shared->key,
					FI_UINT64, FI_SUM, &results[free_slots[n_free - 1]]))
			n_free--;
		n = fi_cq_sread(p->cq, entries, WINDOW, NULL, 5);
		ok(n > 0 || n == -FI_EAGAIN, "an operation fails");
		for (ssize_t i = 0; i < n; i++) {
			uint64_t *result = entries[i].op_context;

			take_value(*result);
			free_slots[n_free++] = (unsigned)(result - results);
			shared->done[number]++;
		}
		ok(clock_now_ns() < end, "operations do not end");
	}
}

static int add_in_process(unsigned number)
{
	struct process p;

	open_process(&p, 1);
	ok(fi_av_insert(p.av, shared->name, 1, &p.peer, 0, NULL) == 1, "fi_av_insert");
	add(&p, number);
	close_process(&p);
	return 0;
}

static int ask(void *arg)
{
	pid_t pids[PEERS];
	int failed = 0;

	(void)arg;
	bed_enter_namespace(&bed, 1);
	while (!shared->listens)
		usleep(1000);
	for (unsigned i = 0; i < PEERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(add_in_process(i));
		}
	}
	for (unsigned i = 0; i < PEERS; i++) {
		int status = 1;

		failed |= pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] || status;
	}
	return failed;
}

/* ---- what is lost ---- */

static uint64_t total(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < PEERS; i++)
		n += shared->done[i];
	return n;
}

/* False: nothing is done for as long as anybody waits. */
static bool goes_on_until(uint64_t n)
{
	uint64_t end = clock_now_ns() + LIMIT_S * UINT64_C(1000000000);

	while (total() < n && clock_now_ns() < end)
		usleep(1000);
	return total() >= n;
}

/* Each is lost and comes back while operations are under way. How many. */
static unsigned lose_planes(unsigned seconds)
{
	uint64_t end = clock_now_ns() + seconds * UINT64_C(1000000000);
	unsigned n = 0;

	for (; clock_now_ns() < end && total() < MOST / 2; n++) {
		unsigned plane = n % PLANES;

		if (n % 2)
			bed_link(&bed, plane, 0, false);
		else
			bed_gray(&bed, plane, true);
		usleep(LOST_MS * 1000); /* so long it is lost: that is the fault */
		if (n % 2)
			bed_link(&bed, plane, 0, true);
		else
			bed_gray(&bed, plane, false);
		usleep(LEFT_MS * 1000);
		if (!goes_on_until(total() + WINDOW))
			break;
	}
	return n;
}

static bool is_right(uint64_t n)
{
	uint64_t sum = shared->sum;

	for (uint64_t i = 0; i < n && i < MOST; i++)
		if (shared->seen[i] != 1)
			return false;
	return n <= MOST && !shared->twice && !shared->beyond && (sum & LOW_HALF) == n &&
	       sum >> 32 == (shared->own_adds & LOW_HALF);
}

int main(int argc, char **argv)
{
	const struct bed_options options = {.provider = "soft", .planes = PLANES, .sub_ports = 1};
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 6, lost = 0;
	bool fine;

	if (!getenv("FI_PROVIDER_PATH")) {
		fputs("FI_PROVIDER_PATH must be set\n", stderr);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || bed_make(&bed, &options))
		return 1;
	fine = !bed_start(&bed, 0, serve, NULL) && !bed_start(&bed, 1, ask, NULL);
	if (fine && goes_on_until(1))
		lost = lose_planes(seconds);
	shared->over = 1;
	fine = fine && !bed_join(&bed, 1);
	shared->ended = 1;
	fine = fine && !bed_join(&bed, 0);
	bed_destroy(&bed);
	fine = fine && lost && is_right(total());
	printf("{\"ofi_atomic_sum\":{\"peers\":%u,\"operations\":%lu,\"sum\":%lu,\"twice\":%lu,"
	       "\"own_adds\":%lu,\"planes_lost\":%u,\"ok\":%s}}\n",
	       PEERS, total(), shared->sum & LOW_HALF, shared->twice, shared->own_adds, lost,
	       fine ? "true" : "false");
	return !fine;
}
