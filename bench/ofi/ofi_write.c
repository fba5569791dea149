/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_write.c - measures a libfabric provider by fi_write() between two servers of a lab.
 *
 *   fare-ofi-write PROVIDER SERVICE BYTES LOADERS PROBE BOTH SECONDS NETNS RUN_DIR ADDRESS
 *                  NETNS RUN_DIR ADDRESS
 *
 * A process enters each server's network namespace. The first one writes BYTES at a time into the
 * second one's memory (BOTH 1: each into the other's) for SECONDS: over LOADERS endpoints with
 * WINDOW writes outstanding each, and (PROBE 1) over one more with a single write, which is timed.
 * PROVIDER "uet": the first whose name has that in it. SERVICE: rod, writes in order; rud, in any.
 * A write is complete when the bytes are in the memory, where the provider can say so.
 *
 * It prints JSON: {"provider", "completion", "bytes", "ns", "wrong", "setup_ns": [of each endpoint,
 * from its creation to the end of its first write, of 8 bytes if SECONDS > 0], "first_ns": [the
 * write alone], "latency_ns": []}, or {"missing": why}, if there is no such provider or it cannot
 * do this. ADDRESS "": it knows its own.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/clock.h"

#define VERSION	    FI_VERSION(1, 17)
#define WINDOW	    16u
#define MAX_LOADERS 100000u
#define SETUP_BYTES 8
#define MAX_SAMPLES 65536u
#define ADDRESS	    256u
#define PATIENCE_S  120u /* beyond SECONDS */
#define REMOTE_MR   (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define EXIT_ABSENT 3

/* One of the two processes. All in memory that they and their parent share. */
struct end {
	uint8_t address[ADDRESS];
	uint64_t key, remote;
	_Atomic bool is_there, is_done, has_checked;
	uint64_t bytes, ns, wrong;
	uint32_t n_setup, n_latency;
	char provider[64], completion[16], missing[400];
	uint64_t setup_ns[MAX_SAMPLES], first_ns[MAX_SAMPLES], latency_ns[MAX_SAMPLES];
};

struct endpoint;

struct op {
	struct fi_context2 context; /* the provider's, while it is outstanding */
	struct endpoint *endpoint;
	uint64_t posted_ns;
};

struct endpoint {
	struct fid_ep *ep;
	bool is_probe, is_ready;
	struct op op[WINDOW];
};

struct client {
	const char *provider, *netns, *run_dir, *address;
	bool is_ordered, has_probe, writes;
	size_t bytes;
	unsigned loaders;
	double seconds;
	struct end *self, *other;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *target;
	struct fid_mr *in_mr, *out_mr;
	uint8_t *in, *out, pattern, expected;
	fi_addr_t peer;
	struct endpoint *endpoints; /* the last one probes */
	unsigned outstanding;
	uint64_t end_ns;
	uint64_t latencies, latency_every; /* seen, and which of them are kept */
};

static void ok(const struct client *c, ssize_t err, const char *call)
{
	if (err >= 0)
		return;
	fprintf(stderr, "%s: %s: %s\n", c->provider, call, fi_strerror((int)-err));
	exit(1);
}

/* ---- the provider ---- */

/* No such provider, or none that can do this: an answer, not an error. */
static void absent(const struct client *c)
{
	struct fi_info *all = NULL;
	char *text = c->self->missing, entry[100];
	size_t size = sizeof(c->self->missing), n, none;

	none = n = (size_t)snprintf(text, size, "no %s provider on this machine (fi_info shows",
				    strcasecmp(c->provider, "uet") ? c->provider : "UET");
	fi_getinfo(VERSION, NULL, NULL, 0, NULL, &all);
	for (const struct fi_info *i = all; i && n < size; i = i->next) {
		snprintf(entry, sizeof(entry), " %s,", i->fabric_attr->prov_name);
		if (!strstr(text, entry))
			n += (size_t)snprintf(text + n, size - n, "%s", entry);
	}
	if (n == none)
		snprintf(text + n, size - n, " none)");
	else if (n < size)
		text[n - 1] = ')';
	_exit(EXIT_ABSENT);
}

/* The name to ask for. */
static char *provider_name(const struct client *c)
{
	struct fi_info *all = NULL;
	char *name = NULL;

	if (strcasecmp(c->provider, "uet"))
		return strdup(c->provider);
	if (!fi_getinfo(VERSION, NULL, NULL, 0, NULL, &all))
		for (const struct fi_info *i = all; i && !name; i = i->next)
			if (strcasestr(i->fabric_attr->prov_name, "uet"))
				name = strdup(i->fabric_attr->prov_name);
	fi_freeinfo(all);
	return name;
}

static void ofi_write_choose(struct client *c)
{
	static const struct {
		const char *name;
		uint64_t flag;
	} levels[] = {{"delivery", FI_DELIVERY_COMPLETE},
		      {"transmit", FI_TRANSMIT_COMPLETE},
		      {"local", 0}};
	struct fi_info *hints = fi_allocinfo();
	int rc = -FI_ENODATA;

	hints->caps = FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = REMOTE_MR | FI_MR_LOCAL | FI_MR_ENDPOINT;
	hints->tx_attr->msg_order = c->is_ordered ? FI_ORDER_WAW : 0;
	hints->fabric_attr->prov_name = provider_name(c);
	for (size_t i = 0; hints->fabric_attr->prov_name && rc && i < 3; i++) {
		hints->tx_attr->op_flags = levels[i].flag;
		rc = fi_getinfo(VERSION, *c->address ? c->address : NULL, NULL,
				*c->address ? FI_SOURCE : 0, hints, &c->info);
		snprintf(c->self->completion, sizeof(c->self->completion), "%s", levels[i].name);
	}
	fi_freeinfo(hints);
	if (rc)
		absent(c);
	snprintf(c->self->provider, sizeof(c->self->provider), "%s",
		 c->info->fabric_attr->prov_name);
}

static struct fid_ep *open_endpoint(struct client *c)
{
	struct fid_ep *ep;

	ok(c, fi_endpoint(c->domain, c->info, &ep, NULL), "fi_endpoint");
	ok(c, fi_ep_bind(ep, &c->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	ok(c, fi_ep_bind(ep, &c->av->fid, 0), "fi_ep_bind");
	ok(c, fi_enable(ep), "fi_enable");
	return ep;
}

static struct fid_mr *open_memory(struct client *c, uint8_t **memory, uint64_t access, uint64_t key)
{
	struct fid_mr *mr;

	*memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(c, *memory == MAP_FAILED ? -FI_ENOMEM : 0, "memory");
	ok(c, fi_mr_reg(c->domain, *memory, c->bytes, access, 0, key, 0, &mr, NULL), "fi_mr_reg");
	if (c->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ok(c, fi_mr_bind(mr, &c->target->fid, 0), "fi_mr_bind");
		ok(c, fi_mr_enable(mr), "fi_mr_enable");
	}
	return mr;
}

static void open_all(struct client *c)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	size_t bytes = ADDRESS;

	cq.size = (size_t)(c->loaders + 2) * WINDOW;
	ok(c, fi_fabric(c->info->fabric_attr, &c->fabric, NULL), "fi_fabric");
	ok(c, fi_domain(c->fabric, c->info, &c->domain, NULL), "fi_domain");
	ok(c, fi_av_open(c->domain, &av, &c->av, NULL), "fi_av_open");
	ok(c, fi_cq_open(c->domain, &cq, &c->cq, NULL), "fi_cq_open");
	c->target = open_endpoint(c);
	c->in_mr = open_memory(c, &c->in, FI_REMOTE_WRITE, 1);
	c->out_mr = open_memory(c, &c->out, FI_WRITE, 2);
	memset(c->out, c->pattern, c->bytes);
	ok(c, fi_getname(&c->target->fid, c->self->address, &bytes), "fi_getname");
	c->self->key = fi_mr_key(c->in_mr);
	c->self->remote =
		c->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)c->in : 0;
	c->self->is_there = true;
}

/* ---- writes ---- */

static void post(struct client *c, struct endpoint *e, struct op *op, uint64_t bytes);

static void add_sample(uint64_t *samples, uint32_t *n, uint64_t ns)
{
	if (*n < MAX_SAMPLES)
		samples[(*n)++] = ns;
}

/* Once there is no room every second one stays, so that they are of all the time. */
static void add_latency(struct client *c, uint64_t ns)
{
	struct end *self = c->self;

	if (c->latencies++ % c->latency_every)
		return;
	if (self->n_latency == MAX_SAMPLES) {
		self->n_latency /= 2;
		for (uint32_t i = 0; i < self->n_latency; i++)
			self->latency_ns[i] = self->latency_ns[2 * (size_t)i];
		c->latency_every *= 2;
	}
	self->latency_ns[self->n_latency++] = ns;
}

static void on_complete(struct client *c, struct op *op)
{
	struct endpoint *e = op->endpoint;
	uint64_t now = clock_now_ns();

	c->outstanding--;
	if (!e->is_ready) {
		e->is_ready = true;
		return;
	}
	c->self->bytes += c->bytes;
	if (e->is_probe)
		add_latency(c, now - op->posted_ns);
	if (now < c->end_ns)
		post(c, e, op, c->bytes);
}

static void poll_cq(struct client *c)
{
	struct fi_cq_entry entries[WINDOW];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(c->cq, entries, WINDOW);

	if (n == -FI_EAVAIL) {
		fi_cq_readerr(c->cq, &err, 0);
		ok(c, -err.err, "a write");
	}
	if (n != -FI_EAGAIN)
		ok(c, n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++)
		on_complete(c, (struct op *)entries[i].op_context);
}

static void post(struct client *c, struct endpoint *e, struct op *op, uint64_t bytes)
{
	void *desc = c->info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(c->out_mr) : NULL;
	ssize_t err;

	op->endpoint = e;
	op->posted_ns = clock_now_ns();
	c->outstanding++;
	while ((err = fi_write(e->ep, c->out, bytes, desc, c->peer, c->other->remote, c->other->key,
			       &op->context)) == -FI_EAGAIN)
		poll_cq(c);
	ok(c, err, "fi_write");
}

/*
 * Its first write sets up what the provider needs: a connection, a PDC. Where others follow it is
 * of SETUP_BYTES, as the time of a set-up is not that of a megabyte; where none does it is what is
 * measured, and of the size wanted.
 */
static void ofi_write_set_up(struct client *c, struct endpoint *e)
{
	uint64_t began = clock_now_ns(), posted,
		 bytes = c->seconds > 0 && c->bytes > SETUP_BYTES ? SETUP_BYTES : c->bytes;
	uint32_t n = c->self->n_setup;

	e->ep = open_endpoint(c);
	posted = clock_now_ns();
	post(c, e, &e->op[0], bytes);
	while (!e->is_ready)
		poll_cq(c);
	add_sample(c->self->first_ns, &n, clock_now_ns() - posted);
	add_sample(c->self->setup_ns, &c->self->n_setup, clock_now_ns() - began);
}

static void write_all(struct client *c)
{
	unsigned n = c->loaders + c->has_probe;
	uint64_t began;

	c->endpoints = calloc(n + 1, sizeof(*c->endpoints));
	ok(c, c->endpoints ? 0 : -FI_ENOMEM, "memory");
	for (unsigned i = 0; i < n; i++) {
		c->endpoints[i].is_probe = i == c->loaders;
		ofi_write_set_up(c, &c->endpoints[i]);
	}
	began = clock_now_ns();
	c->end_ns = began + (uint64_t)(c->seconds * 1e9);
	for (unsigned i = 0; c->seconds > 0 && i < n; i++)
		for (unsigned w = 0; w < (c->endpoints[i].is_probe ? 1 : WINDOW); w++)
			post(c, &c->endpoints[i], &c->endpoints[i].op[w], c->bytes);
	while (c->outstanding)
		poll_cq(c);
	c->self->ns = clock_now_ns() - began;
}

static void check(struct client *c)
{
	for (size_t i = 0; i < c->bytes; i++)
		c->self->wrong += c->in[i] != c->expected;
}

/* ---- the processes ---- */

/* Of a build tree: its own provider. The lab is a network that can be trusted. */
static void set_environment(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	setenv("FARE_TRUSTED_NETWORK", "1", 0);
	path[n < 0 ? 0 : n] = '\0';
	if (!strrchr(path, '/'))
		return;
	strcpy(strrchr(path, '/'), "/../sched");
	strcat(path, "/libfare-fi.so");
	if (access(path, R_OK))
		return;
	*strrchr(path, '/') = '\0';
	setenv("FI_PROVIDER_PATH", path, 0);
}

static void ofi_write_enter(const struct client *c)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", c->netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	close(fd);
	if (*c->run_dir)
		setenv("FARE_RUN_DIR", c->run_dir, 1);
}

/* Its side makes progress for the other one until both have ended. */
static void run(struct client *c, bool is_written)
{
	ofi_write_enter(c);
	ofi_write_choose(c);
	open_all(c);
	while (!c->other->is_there)
		poll_cq(c);
	if (fi_av_insert(c->av, c->other->address, 1, &c->peer, 0, NULL) != 1)
		ok(c, -FI_EINVAL, "fi_av_insert");
	if (c->writes)
		write_all(c);
	c->self->is_done = true;
	while (!c->other->is_done)
		poll_cq(c);
	if (is_written)
		check(c);
	c->self->has_checked = true;
	while (!c->other->has_checked)
		poll_cq(c);
	exit(0);
}

static char *missing; /* the process's own, for the handler */

static void on_alarm(int signal_number)
{
	static const char text[] = "not set up, or not done, two minutes after its time";

	(void)signal_number;
	memcpy(missing, text, sizeof(text));
	_exit(EXIT_ABSENT);
}

static pid_t start(struct client *c, bool is_written)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	missing = c->self->missing;
	signal(SIGALRM, on_alarm);
	alarm(PATIENCE_S + (unsigned)c->seconds);
	run(c, is_written);
	return 0;
}

static void print_samples(const char *name, const uint64_t *samples, uint32_t n)
{
	printf(", \"%s\": [", name);
	for (uint32_t i = 0; i < n; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)samples[i]);
	printf("]");
}

static void print(const struct end *a, const struct end *b)
{
	printf("{\"provider\": \"%s\", \"completion\": \"%s\", \"bytes\": %llu, \"ns\": %llu, "
	       "\"wrong\": %llu",
	       a->provider, a->completion, (unsigned long long)(a->bytes + b->bytes),
	       (unsigned long long)(a->ns > b->ns ? a->ns : b->ns),
	       (unsigned long long)(a->wrong + b->wrong));
	print_samples("setup_ns", a->setup_ns, a->n_setup);
	print_samples("first_ns", a->first_ns, a->n_setup);
	print_samples("latency_ns", a->latency_ns, a->n_latency);
	printf("}\n");
}

/* The first that fails, whose place is *failed, ends the other one. */
static int wait_both(const pid_t pid[2], int *failed)
{
	int status, rc = 0;
	pid_t ended;

	for (int i = 0; i < 2; i++) {
		ended = wait(&status);
		if (ended < 0)
			return 1;
		if (!rc && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
			rc = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
			*failed = ended == pid[1];
			if (!i)
				kill(pid[!*failed], SIGKILL);
		}
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct end *ends = mmap(NULL, 2 * sizeof(*ends), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct client c = {0};
	bool both;
	pid_t pid[2];
	int rc, failed = 0;

	if (argc != 14 || ends == MAP_FAILED) {
		fprintf(stderr, "usage: fare-ofi-write PROVIDER rod|rud BYTES LOADERS PROBE BOTH "
				"SECONDS NETNS RUN_DIR ADDRESS NETNS RUN_DIR ADDRESS\n");
		return 2;
	}
	c.provider = argv[1];
	c.latency_every = 1;
	if (strpbrk(c.provider, "\"\\\n")) {
		fprintf(stderr, "fare-ofi-write: %s is no provider's name\n", c.provider);
		return 2;
	}
	c.is_ordered = !strcmp(argv[2], "rod");
	c.bytes = strtoul(argv[3], NULL, 10);
	c.loaders = (unsigned)strtoul(argv[4], NULL, 10);
	c.has_probe = !strcmp(argv[5], "1");
	both = !strcmp(argv[6], "1");
	c.seconds = strtod(argv[7], NULL);
	if (!c.bytes || c.loaders > MAX_LOADERS || !(c.seconds >= 0 && c.seconds < 1e6)) {
		fprintf(stderr, "fare-ofi-write: a number is out of range\n");
		return 2;
	}
	set_environment();
	for (int i = 0; i < 2; i++) {
		c.netns = argv[8 + 3 * i];
		c.run_dir = argv[9 + 3 * i];
		c.address = argv[10 + 3 * i];
		c.self = &ends[i];
		c.other = &ends[!i];
		c.writes = !i || both;
		c.pattern = i ? 0xa5 : 0x5a;
		c.expected = i ? 0x5a : 0xa5;
		pid[i] = start(&c, i || both);
	}
	rc = wait_both(pid, &failed);
	if (rc == EXIT_ABSENT)
		printf("{\"missing\": \"%s\"}\n", ends[failed].missing);
	else if (!rc)
		print(&ends[0], &ends[1]);
	return rc == EXIT_ABSENT ? 0 : rc;
}
