/* links: PkgConfig::LIBFABRIC */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_victim.c - an application of libfabric that hostile_ofi attacks, and two that talk with it.
 *
 *   ofi_victim STAGE_FILE victim|partner|third
 *
 * victim and partner send each other messages of three lengths for ever and check each byte. victim
 * also has untagged receives posted, for all who send, a region that peers may write and
 * beside which nothing may change, and an endpoint with a buffer for several messages whose CQ it
 * never reads. third does nothing until the check of identities
 * (ofi_victim.h). All end when the stage says so, and close only when none reads its CQ any more:
 * what is under way toward a process that closes fails, as it must.
 */
#include "ofi_victim.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define TAG_HONEST 100u
#define LONGEST	   60000u
#define OPEN	   4 /* untagged receives */
#define OPEN_BYTES 4096u
#define IDLE_BYTES (1u << 20)

static const uint32_t lengths[] = {64, 9000, LONGEST}; /* one record, several, announced */

/* What an operation is, by its context. */
enum what {
	SENT,
	GOT,
	DIRECTED,
	PRIVATE_SENT,
	PRIVATE_GOT,
	DIRECTED_SENT,
	ANYBODY,
	WHATS = ANYBODY + OPEN
};

struct app {
	struct victim_stage *stage;
	enum victim_role role;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq, *idle_cq;
	struct fid_ep *ep, *idle;
	struct fid_mr *mr;
	uint64_t region[3 * VICTIM_NUMBERS]; /* the middle third is registered */
	fi_addr_t peers[VICTIM_ROLES];
	uint8_t tx[LONGEST], rx[LONGEST], *idle_memory;
	uint8_t open[OPEN][OPEN_BYTES];
	char directed[VICTIM_TEXT_BYTES], private[VICTIM_TEXT_BYTES];
	bool done[WHATS];
	uint64_t turn;
	int posted_step;
	struct fi_context contexts[WHATS];
};

static void ok(ssize_t err, const char *call)
{
	if (err >= 0)
		return;
	fprintf(stderr, "ofi_victim: %s: %s\n", call, fi_strerror((int)-err));
	exit(1);
}

/* ---- opening ---- */

static void choose(struct app *a)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV |
		      FI_MULTI_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("fare");
	ok(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &a->info), "fi_getinfo");
	fi_freeinfo(hints);
}

static void open_endpoint(struct app *a, struct fid_ep **ep, struct fid_cq **cq, uint8_t *address)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
	size_t bytes = VICTIM_ADDRESS_BYTES;

	ok(fi_cq_open(a->domain, &attr, cq, NULL), "fi_cq_open");
	ok(fi_endpoint(a->domain, a->info, ep, NULL), "fi_endpoint");
	ok(fi_ep_bind(*ep, &(*cq)->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	ok(fi_ep_bind(*ep, &a->av->fid, 0), "fi_ep_bind");
	ok(fi_enable(*ep), "fi_enable");
	ok(fi_getname(&(*ep)->fid, address, &bytes), "fi_getname");
}

static void register_region(struct app *a)
{
	uint64_t *first = a->region + VICTIM_NUMBERS;

	ok(fi_mr_reg(a->domain, first, VICTIM_NUMBERS * sizeof(*first), FI_REMOTE_WRITE, 0, 0, 0,
		     &a->mr, NULL),
	   "fi_mr_reg");
	a->stage->region_address = (uintptr_t)first;
	a->stage->region_key = fi_mr_key(a->mr);
}

static void open_all(struct app *a)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	choose(a);
	ok(fi_fabric(a->info->fabric_attr, &a->fabric, NULL), "fi_fabric");
	ok(fi_domain(a->fabric, a->info, &a->domain, NULL), "fi_domain");
	ok(fi_av_open(a->domain, &av, &a->av, NULL), "fi_av_open");
	open_endpoint(a, &a->ep, &a->cq, a->stage->address[a->role]);
	if (a->role == VICTIM) {
		open_endpoint(a, &a->idle, &a->idle_cq, a->stage->idle);
		register_region(a);
	}
	a->stage->is_ready[a->role] = 1;
	for (int i = 0; i < VICTIM_ROLES; i++) {
		while (!a->stage->is_ready[i] && !a->stage->over)
			usleep(1000);
		if (fi_av_insert(a->av, a->stage->address[i], 1, &a->peers[i], 0, NULL) != 1)
			ok(-FI_EINVAL, "fi_av_insert");
	}
}

/* ---- what is posted ---- */

static void receive(struct app *a, enum what what, void *data, size_t bytes, fi_addr_t from,
		    uint64_t tag)
{
	a->done[what] = false;
	ok(fi_trecv(a->ep, data, bytes, NULL, from, tag, 0, &a->contexts[what]), "fi_trecv");
}

static bool try_send(struct app *a, enum what what, const void *data, size_t bytes,
		     enum victim_role to, uint64_t tag)
{
	ssize_t err = fi_tsend(a->ep, data, bytes, NULL, a->peers[to], tag, &a->contexts[what]);

	a->done[what] = false;
	if (err != -FI_EAGAIN)
		ok(err, "fi_tsend");
	return !err;
}

static void receive_from_anybody(struct app *a, unsigned i)
{
	a->done[ANYBODY + i] = false;
	ok(fi_recv(a->ep, a->open[i], OPEN_BYTES, NULL, FI_ADDR_UNSPEC, &a->contexts[ANYBODY + i]),
	   "fi_recv");
}

static void receive_several(struct app *a)
{
	struct iovec iov = {.iov_base = a->idle_memory, .iov_len = IDLE_BYTES};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};

	ok(fi_recvmsg(a->idle, &msg, FI_MULTI_RECV), "fi_recvmsg");
}

/* ---- completions ---- */

static enum what what_of(const struct app *a, const void *context)
{
	return (enum what)((const struct fi_context *)context - a->contexts);
}

/* An untagged receive may fail: what its sender announced need not be there. Others may not. */
static void on_error(struct app *a)
{
	struct fi_cq_err_entry e = {0};

	ok(fi_cq_readerr(a->cq, &e, 0), "fi_cq_readerr");
	if (what_of(a, e.op_context) < ANYBODY) {
		fprintf(stderr, "ofi_victim: role %d: operation %d: ", a->role,
			what_of(a, e.op_context));
		ok(-e.err, "failed");
	}
	a->done[what_of(a, e.op_context)] = true;
}

static void progress(struct app *a)
{
	struct fi_cq_tagged_entry entries[16];
	ssize_t n = fi_cq_sread(a->cq, entries, 16, NULL, 5);

	if (n == -FI_EAVAIL)
		on_error(a);
	else if (n != -FI_EAGAIN)
		ok(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++)
		if (entries[i].op_context) /* not so of remote CQ data */
			a->done[what_of(a, entries[i].op_context)] = true;
	for (unsigned i = 0; i < OPEN && a->role == VICTIM; i++)
		if (a->done[ANYBODY + i])
			receive_from_anybody(a, i);
}

/* Once, when the test asks for it. */
static void read_idle(struct app *a)
{
	struct fi_cq_tagged_entry entries[16];
	struct fi_cq_err_entry error = {0};
	ssize_t n;

	while ((n = fi_cq_read(a->idle_cq, entries, 16)) != -FI_EAGAIN) {
		if (n == -FI_EAVAIL)
			fi_cq_readerr(a->idle_cq, &error, 0);
		else
			ok(n, "fi_cq_read");
		for (ssize_t i = 0; i < n; i++)
			if (entries[i].flags & FI_MULTI_RECV)
				receive_several(a);
	}
	a->stage->reads_idle = 0;
}

/* ---- honest messages ---- */

static uint8_t pattern(enum victim_role from, uint64_t turn, uint32_t i)
{
	return (uint8_t)(from * 101 + turn * 31 + (i * 2654435761u >> 11));
}

static uint32_t length_of(uint64_t turn)
{
	return lengths[turn % (sizeof(lengths) / sizeof(lengths[0]))];
}

static enum victim_role other(const struct app *a)
{
	return a->role == VICTIM ? PARTNER : VICTIM;
}

static bool begin_turn(struct app *a)
{
	uint32_t length = length_of(a->turn);

	receive(a, GOT, a->rx, length, a->peers[other(a)], TAG_HONEST);
	for (uint32_t i = 0; i < length; i++)
		a->tx[i] = pattern(a->role, a->turn, i);
	while (!try_send(a, SENT, a->tx, length, other(a), TAG_HONEST))
		if (a->stage->over)
			return false;
		else
			progress(a);
	return true;
}

static void end_turn(struct app *a)
{
	for (uint32_t i = 0; i < length_of(a->turn); i++)
		if (a->rx[i] != pattern(other(a), a->turn, i)) {
			a->stage->wrong++;
			break;
		}
	a->stage->exchanged++;
	a->turn++;
}

/* What is beside the region is as it was. */
static void check_region(struct app *a)
{
	for (unsigned i = 0; i < VICTIM_NUMBERS; i++)
		a->stage->wrong += a->region[i] || a->region[2 * VICTIM_NUMBERS + i];
}

/* ---- identities ---- */

static void post_directed(struct app *a)
{
	receive(a, DIRECTED, a->directed, sizeof(a->directed), a->peers[THIRD],
		VICTIM_TAG_DIRECTED);
	a->posted_step = STEP_POSTED;
	a->stage->step = STEP_POSTED;
}

static void victim_step(struct app *a)
{
	int step = a->stage->step;

	if (step == STEP_ASKED)
		post_directed(a);
	if (step == STEP_ATTACKED && a->posted_step == STEP_POSTED &&
	    try_send(a, PRIVATE_SENT, VICTIM_PRIVATE_TEXT, sizeof(VICTIM_PRIVATE_TEXT), THIRD,
		     VICTIM_TAG_PRIVATE))
		a->posted_step = STEP_ATTACKED;
	if (step == STEP_DELIVERED && a->done[DIRECTED]) {
		a->stage->wrong += strcmp(a->directed, VICTIM_DIRECTED_TEXT) != 0;
		a->stage->step = STEP_RECEIVED;
	}
}

static void third_step(struct app *a)
{
	int step = a->stage->step;

	if (step != STEP_ATTACKED)
		return;
	if (a->posted_step == STEP_NONE) {
		receive(a, PRIVATE_GOT, a->private, sizeof(a->private), a->peers[VICTIM],
			VICTIM_TAG_PRIVATE);
		a->posted_step = STEP_ASKED;
	}
	if (a->posted_step == STEP_ASKED &&
	    try_send(a, DIRECTED_SENT, VICTIM_DIRECTED_TEXT, sizeof(VICTIM_DIRECTED_TEXT), VICTIM,
		     VICTIM_TAG_DIRECTED))
		a->posted_step = STEP_POSTED;
	if (a->posted_step == STEP_POSTED && a->done[PRIVATE_GOT] && a->done[DIRECTED_SENT]) {
		a->stage->wrong += strcmp(a->private, VICTIM_PRIVATE_TEXT) != 0;
		a->stage->step = STEP_DELIVERED;
	}
}

static void measure(struct app *a)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages, resident;

	if (f && fscanf(f, "%lu %lu", &pages, &resident) == 2)
		a->stage->rss_kb = resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
	if (f)
		fclose(f);
}

/* ---- ---- */

static void run(struct app *a)
{
	bool talks = a->role != THIRD, under_way = false;

	for (unsigned i = 0; i < OPEN && a->role == VICTIM; i++)
		receive_from_anybody(a, i);
	if (a->role == VICTIM)
		receive_several(a);
	while (!a->stage->over) {
		if (talks && !under_way)
			under_way = begin_turn(a);
		progress(a);
		if (under_way && a->done[SENT] && a->done[GOT]) {
			end_turn(a);
			under_way = false;
		}
		if (a->role == VICTIM) {
			victim_step(a);
			if (a->stage->reads_idle)
				read_idle(a);
			check_region(a);
			measure(a);
		} else if (a->role == THIRD) {
			third_step(a);
		}
	}
}

static struct victim_stage *map_stage(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct victim_stage *stage =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (stage == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return stage;
}

static void close_all(struct app *a)
{
	ok(fi_close(&a->ep->fid), "fi_close(ep)");
	ok(fi_close(&a->cq->fid), "fi_close(cq)");
	if (a->role == VICTIM) {
		ok(fi_close(&a->mr->fid), "fi_close(mr)");
		ok(fi_close(&a->idle->fid), "fi_close(idle)");
		ok(fi_close(&a->idle_cq->fid), "fi_close(idle_cq)");
	}
	ok(fi_close(&a->av->fid), "fi_close(av)");
	ok(fi_close(&a->domain->fid), "fi_close(domain)");
	ok(fi_close(&a->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(a->info);
	free(a->idle_memory);
}

int main(int argc, char **argv)
{
	static const char *const names[VICTIM_ROLES] = {"victim", "partner", "third"};
	static struct app a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (argc == 3 && a.role < VICTIM_ROLES && strcmp(argv[2], names[a.role]))
		a.role++;
	if (argc != 3 || a.role == VICTIM_ROLES) {
		fputs("usage: ofi_victim STAGE_FILE victim|partner|third\n", stderr);
		return 2;
	}
	a.stage = map_stage(argv[1]);
	a.idle_memory = calloc(1, IDLE_BYTES);
	open_all(&a);
	run(&a);
	a.stage->is_ready[a.role] = 0;
	while (!a.stage->may_close)
		usleep(1000);
	close_all(&a);
	return 0;
}
