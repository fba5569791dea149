/* links: test_bed ofi_core */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_ofi_close.c - a libfabric application that closes what operations under way need: its
 * endpoint, or a region.
 *
 *   hostile_ofi_close [CASE]
 *
 * The peer is stopped, so that what was sent has to be sent again. After fi_close() of the endpoint
 * the memory of its operations is the application's, whether the provider registered it or the
 * application did: it is unmapped, or used for something else, of which the peer must see nothing.
 * A region that is closed before its operation has begun fails the operation. Then the peer goes
 * on, and another endpoint's write arrives whole. Exit 77: not root.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/clock.h"
#include "bed.h"

#define BYTES	   (32u << 20)
#define GOOD_BYTES (64u << 10)
#define LIMIT_NS   UINT64_C(20000000000)
#define OLD	   0x11
#define NEW	   0x99
#define NAME_MAX_  64

struct shared {
	_Atomic uint64_t key, addr;
	_Atomic int listens, over;
	uint8_t name[NAME_MAX_];
	size_t name_bytes;
	_Atomic int target;
};

struct test {
	const char *name;
	bool has_desc, is_read, is_reused, closes_region, is_receive;
};

static const struct test tests[] = {
	{.name = "write, unmapped"},
	{.name = "write, used again", .is_reused = true},
	{.name = "write of a region, used again", .has_desc = true, .is_reused = true},
	{.name = "read into a region, used again",
	 .has_desc = true,
	 .is_read = true,
	 .is_reused = true},
	{.name = "read, unmapped", .is_read = true},
	{.name = "region closed before its write begins", .has_desc = true, .closes_region = true},
	{.name = "region of a receive closed",
	 .has_desc = true,
	 .closes_region = true,
	 .is_receive = true},
};

static struct bed bed;
static struct shared *shared;
static uint8_t *target;

/* ---- libfabric ---- */

struct process {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
};

struct endpoint {
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer;
};

static void ok(ssize_t err, const char *call)
{
	if (err >= 0)
		return;
	fprintf(stderr, "hostile_ofi_close: %s: %s\n", call, fi_strerror((int)-err));
	exit(1);
}

static void open_process(struct process *p, int host)
{
	struct fi_info *hints = fi_allocinfo();

	bed_enter_namespace(&bed, host);
	setenv("FARE_RUN_DIR", bed.dir[host], 1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	setenv("FI_FARE_LINGER_MS", "100", 1);
	hints->fabric_attr->prov_name = strdup("fare");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &p->info), "fi_getinfo");
	fi_freeinfo(hints);
	ok(fi_fabric(p->info->fabric_attr, &p->fabric, NULL), "fi_fabric");
	ok(fi_domain(p->fabric, p->info, &p->domain, NULL), "fi_domain");
}

static void close_process(struct process *p)
{
	ok(fi_close(&p->domain->fid), "fi_close(domain)");
	ok(fi_close(&p->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(p->info);
}

static void open_endpoint(struct process *p, struct endpoint *e)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};

	ok(fi_av_open(p->domain, &av, &e->av, NULL), "fi_av_open");
	ok(fi_cq_open(p->domain, &cq, &e->cq, NULL), "fi_cq_open");
	ok(fi_endpoint(p->domain, p->info, &e->ep, NULL), "fi_endpoint");
	ok(fi_ep_bind(e->ep, &e->av->fid, 0), "fi_ep_bind");
	ok(fi_ep_bind(e->ep, &e->cq->fid, FI_SEND | FI_RECV), "fi_ep_bind");
	ok(fi_enable(e->ep), "fi_enable");
}

static void close_rest(struct endpoint *e)
{
	ok(fi_close(&e->cq->fid), "fi_close(cq)");
	ok(fi_close(&e->av->fid), "fi_close(av)");
}

/* The error of the next completion; 0: it succeeded. */
static int completion(struct endpoint *e)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	uint64_t end = clock_now_ns() + LIMIT_NS;
	ssize_t n;

	do
		n = fi_cq_sread(e->cq, &entry, 1, NULL, 20);
	while (n == -FI_EAGAIN && clock_now_ns() < end);
	if (n == -FI_EAVAIL && fi_cq_readerr(e->cq, &err, 0) == 1)
		return err.err;
	return n == 1 ? 0 : FI_ETIMEDOUT;
}

/* ---- the peer ---- */

static int serve(void *arg)
{
	struct fid_mr *mr;
	struct process p;
	struct endpoint e;
	size_t bytes = NAME_MAX_;

	(void)arg;
	open_process(&p, 1);
	open_endpoint(&p, &e);
	ok(fi_mr_reg(p.domain, target, BYTES + GOOD_BYTES, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0,
		     0, &mr, NULL),
	   "fi_mr_reg");
	ok(fi_getname(&e.ep->fid, shared->name, &bytes), "fi_getname");
	shared->name_bytes = bytes;
	shared->addr = (uintptr_t)target;
	shared->key = fi_mr_key(mr);
	shared->listens = 1;
	while (!shared->over) {
		struct fi_cq_tagged_entry entry;

		fi_cq_sread(e.cq, &entry, 1, NULL, 20);
	}
	ok(fi_close(&e.ep->fid), "fi_close(ep)");
	close_rest(&e);
	ok(fi_close(&mr->fid), "fi_close(mr)");
	close_process(&p);
	return 0;
}

/* ---- the application ---- */

struct run {
	const struct test *test;
	struct process *process;
	struct endpoint e;
	uint8_t *memory, *good;
	struct fid_mr *mr;
};

static int fail(const struct run *r, const char *what)
{
	fprintf(stderr, "hostile_ofi_close: %s: %s\n", r->test->name, what);
	return 1;
}

static void connect_to(struct endpoint *e, const void *name)
{
	if (fi_av_insert(e->av, name, 1, &e->peer, 0, NULL) != 1)
		ok(-FI_EINVAL, "fi_av_insert");
}

static int good_write(struct run *r, struct endpoint *e)
{
	memset(r->good, 0x55, GOOD_BYTES);
	memset(target + BYTES, 0, GOOD_BYTES);
	ok(fi_write(e->ep, r->good, GOOD_BYTES, NULL, e->peer, shared->addr + BYTES, shared->key,
		    NULL),
	   "fi_write");
	if (completion(e) || memcmp(r->good, target + BYTES, GOOD_BYTES))
		return fail(r, "a good write does not arrive");
	return 0;
}

static void post(struct run *r)
{
	void *desc = r->mr ? fi_mr_desc(r->mr) : NULL;

	if (r->test->is_read)
		ok(fi_read(r->e.ep, r->memory, BYTES, desc, r->e.peer, shared->addr, shared->key,
			   NULL),
		   "fi_read");
	else
		ok(fi_write(r->e.ep, r->memory, BYTES, desc, r->e.peer, shared->addr, shared->key,
			    NULL),
		   "fi_write");
}

static void take_memory(struct run *r)
{
	r->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->memory == MAP_FAILED)
		ok(-FI_ENOMEM, "mmap");
	memset(r->memory, OLD, BYTES);
	memset(target, 0, BYTES);
	if (r->test->has_desc)
		ok(fi_mr_reg(r->process->domain, r->memory, BYTES,
			     FI_READ | FI_WRITE | FI_SEND | FI_RECV, 0, 0, 0, &r->mr, NULL),
		   "fi_mr_reg");
}

/* The endpoint is closed under the operation. */
static int close_endpoint(struct run *r)
{
	if (good_write(r, &r->e))
		return 1;
	kill(shared->target, SIGSTOP);
	post(r);
	ok(fi_close(&r->e.ep->fid), "fi_close(ep)");
	if (r->test->is_reused)
		memset(r->memory, NEW, BYTES);
	else
		munmap(r->memory, BYTES);
	kill(shared->target, SIGCONT);
	return 0;
}

/* The region is closed while the operation waits for a connection. */
static int close_region(struct run *r)
{
	int err;

	kill(shared->target, SIGSTOP);
	post(r);
	ok(fi_close(&r->mr->fid), "fi_close(mr)");
	r->mr = NULL;
	munmap(r->memory, BYTES);
	kill(shared->target, SIGCONT);
	err = completion(&r->e);
	if (err != FI_EINVAL)
		fprintf(stderr, "%s\n", fi_strerror(err));
	ok(fi_close(&r->e.ep->fid), "fi_close(ep)");
	return err == FI_EINVAL ? 0 : fail(r, "it does not fail as it should");
}

/* A receive whose region is gone when its message is read: the memory is registered anew. */
static int close_region_of_receive(struct run *r)
{
	uint8_t name[NAME_MAX_];
	size_t bytes = sizeof(name);
	fi_addr_t own;
	int err;

	ok(fi_getname(&r->e.ep->fid, name, &bytes), "fi_getname");
	if (fi_av_insert(r->e.av, name, 1, &own, 0, NULL) != 1)
		ok(-FI_EINVAL, "fi_av_insert");
	ok(fi_recv(r->e.ep, r->memory, BYTES, fi_mr_desc(r->mr), FI_ADDR_UNSPEC, NULL), "fi_recv");
	ok(fi_close(&r->mr->fid), "fi_close(mr)");
	r->mr = NULL;
	ok(fi_send(r->e.ep, target, BYTES, NULL, own, NULL), "fi_send");
	err = completion(&r->e);
	err = err ? err : completion(&r->e);
	ok(fi_close(&r->e.ep->fid), "fi_close(ep)");
	munmap(r->memory, BYTES);
	return err ? fail(r, "it does not arrive") : 0;
}

static int check(struct run *r)
{
	struct endpoint e;
	int failed;

	open_endpoint(r->process, &e);
	connect_to(&e, shared->name);
	failed = good_write(r, &e);
	if (!failed && memchr(target, NEW, BYTES))
		failed = fail(r, "the peer has what was put there later");
	if (!failed && r->test->is_read && r->test->is_reused &&
	    (r->memory[0] != NEW || memcmp(r->memory, r->memory + 1, BYTES - 1)))
		failed = fail(r, "written to after the endpoint was closed");
	ok(fi_close(&e.ep->fid), "fi_close(ep)");
	close_rest(&e);
	return failed;
}

static int run(const struct test *test, struct process *process, uint8_t *good)
{
	struct run r = {.test = test, .process = process, .good = good};
	int failed;

	open_endpoint(process, &r.e);
	connect_to(&r.e, shared->name);
	take_memory(&r);
	failed = test->is_receive      ? close_region_of_receive(&r)
		 : test->closes_region ? close_region(&r)
				       : close_endpoint(&r);
	failed = failed || check(&r);
	close_rest(&r.e);
	if (r.mr)
		ok(fi_close(&r.mr->fid), "fi_close(mr)");
	if (!failed)
		printf("hostile_ofi_close: %s: ok\n", test->name);
	return failed;
}

static int application(void *arg)
{
	uint8_t *good = bed_memory(GOOD_BYTES);
	uint64_t end = clock_now_ns() + LIMIT_NS;
	int failed = 0;

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]) && !failed; i++) {
		struct process p;

		if (arg && strcmp(arg, tests[i].name))
			continue;
		open_process(&p, 0);
		while (!shared->listens && clock_now_ns() < end)
			usleep(1000);
		failed = run(&tests[i], &p, good);
		close_process(&p);
	}
	fflush(NULL);
	return failed;
}

int main(int argc, char **argv)
{
	struct bed_options options = {
		.provider = "soft", .planes = 2, .sub_ports = 1, .rate_mbps = 400};
	int failed;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	target = mmap(NULL, BYTES + GOOD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || target == MAP_FAILED)
		return 1;
	if (bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, serve, NULL);
	shared->target = bed.child[1];
	failed = failed || bed_start(&bed, 0, application, argc > 1 ? argv[1] : NULL) ||
		 bed_join(&bed, 0);
	shared->over = 1;
	kill(bed.child[1], SIGCONT);
	failed |= bed_join(&bed, 1);
	bed_destroy(&bed);
	return failed;
}
