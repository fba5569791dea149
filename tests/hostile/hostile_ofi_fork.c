/* links: test_bed ofi_core */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_ofi_fork.c - a libfabric application that forks while its progress thread runs.
 *
 *   hostile_ofi_fork
 *
 * A child calls and closes what it inherited: operations fail, nothing waits for a lock or a thread
 * that the child does not have, and closing succeeds. Then it opens a domain of its own. The
 * parent's connection goes on: its writes arrive before, meanwhile and after. Exit 77: not root.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/clock.h"
#include "bed.h"

#define BYTES	 65536u
#define CHILDREN 4
#define PATIENCE 20 /* seconds, of a child */
#define LIMIT_NS UINT64_C(20000000000)

static struct bed bed;
static uint8_t *target;
static struct shared {
	_Atomic uint64_t key, addr;
	_Atomic int listens, over;
	uint8_t name[64];
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
	fprintf(stderr, "hostile_ofi_fork: %s\n", what);
	fflush(NULL);
	_exit(1);
}

static void open_process(struct process *p, int host)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
	struct fi_info *hints = fi_allocinfo();

	setenv("FARE_RUN_DIR", bed.dir[host], 1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	hints->fabric_attr->prov_name = strdup("fare");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &p->info), "fi_getinfo");
	fi_freeinfo(hints);
	ok(!fi_fabric(p->info->fabric_attr, &p->fabric, NULL) &&
		   !fi_domain(p->fabric, p->info, &p->domain, NULL) &&
		   !fi_av_open(p->domain, &av, &p->av, NULL) &&
		   !fi_cq_open(p->domain, &cq, &p->cq, NULL) &&
		   !fi_endpoint(p->domain, p->info, &p->ep, NULL) &&
		   !fi_ep_bind(p->ep, &p->av->fid, 0) &&
		   !fi_ep_bind(p->ep, &p->cq->fid, FI_SEND | FI_RECV) && !fi_enable(p->ep),
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

static void write_and_check(struct process *p, uint8_t *data, uint8_t content)
{
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fi_cq_tagged_entry entry;
	ssize_t n;

	memset(data, content, BYTES);
	ok(!fi_write(p->ep, data, BYTES, NULL, p->peer, shared->addr, shared->key, NULL),
	   "fi_write");
	do
		n = fi_cq_sread(p->cq, &entry, 1, NULL, 20);
	while (n == -FI_EAGAIN && clock_now_ns() < end);
	ok(n == 1 && !memcmp(data, target, BYTES), "a write does not arrive");
}

static int serve(void *arg)
{
	struct fi_cq_tagged_entry entry;
	struct process p;
	struct fid_mr *mr;
	size_t bytes = sizeof(shared->name);

	(void)arg;
	bed_enter_namespace(&bed, 1);
	open_process(&p, 1);
	ok(!fi_mr_reg(p.domain, target, BYTES, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	ok(!fi_getname(&p.ep->fid, shared->name, &bytes), "fi_getname");
	shared->addr = (uintptr_t)target;
	shared->key = fi_mr_key(mr);
	shared->listens = 1;
	while (!shared->over)
		fi_cq_sread(p.cq, &entry, 1, NULL, 20);
	ok(!fi_close(&mr->fid), "fi_close(mr)");
	close_process(&p);
	return 0;
}

static void live(struct process *p, struct fid_mr *mr, uint8_t *data)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *other;

	alarm(PATIENCE);
	ok(fi_write(p->ep, data, 8, NULL, p->peer, shared->addr, shared->key, NULL) == -ECHILD,
	   "a child writes");
	ok(fi_send(p->ep, data, 8, NULL, p->peer, NULL) == -ECHILD, "a child sends");
	ok(fi_recv(p->ep, data, 8, NULL, FI_ADDR_UNSPEC, NULL) == -ECHILD, "a child receives");
	ok(fi_cq_sread(p->cq, &entry, 1, NULL, 1000) == -ECHILD, "a child reads a CQ");
	ok(fi_mr_reg(p->domain, data, 8, FI_SEND, 0, 0, 0, &other, NULL) == -ECHILD,
	   "a child registers");
	fi_cq_signal(p->cq);
	ok(!fi_close(&mr->fid), "fi_close(mr)");
	close_process(p);
	open_process(p, 0);
	close_process(p);
	fflush(NULL);
	_exit(0);
}

static int application(void *arg)
{
	uint8_t *data = bed_memory(BYTES);
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct process p;
	struct fid_mr *mr;

	(void)arg;
	bed_enter_namespace(&bed, 0);
	while (!shared->listens && clock_now_ns() < end)
		usleep(1000);
	open_process(&p, 0);
	ok(!fi_mr_reg(p.domain, data, BYTES, FI_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	ok(fi_av_insert(p.av, shared->name, 1, &p.peer, 0, NULL) == 1, "fi_av_insert");
	write_and_check(&p, data, 1);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		int status;

		if (!child)
			live(&p, mr, data);
		write_and_check(&p, data, (uint8_t)(2 * i + 2));
		ok(waitpid(child, &status, 0) == child && !status, "a child failed");
		write_and_check(&p, data, (uint8_t)(2 * i + 3));
	}
	ok(!fi_close(&mr->fid), "fi_close(mr)");
	close_process(&p);
	return 0;
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	int failed;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	target = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || target == MAP_FAILED || bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, serve, NULL) || bed_start(&bed, 0, application, NULL) ||
		 bed_join(&bed, 0);
	shared->over = 1;
	failed |= bed_join(&bed, 1);
	bed_destroy(&bed);
	if (!failed)
		puts("hostile_ofi_fork: ok");
	return failed;
}
