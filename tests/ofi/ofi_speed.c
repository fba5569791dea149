/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_speed.c - one of two processes that measure a libfabric provider by tagged messages.
 *
 *   ofi_speed DIRECTORY RANK PROVIDER ADDRESS OPERATION BYTES COUNT
 *
 * The processes, RANK 0 and 1, meet by files in DIRECTORY. Both poll without waiting, as OpenMPI
 * does. OPERATION: latency, half a round trip; bandwidth, WINDOW messages in one direction, then a
 * short one back. ADDRESS: this process's, "" if the provider knows it by itself. After a tenth as
 * many that are not counted there are COUNT rounds; rank 0 prints the median and, by getrusage(),
 * what a round cost this process, as JSON.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "base/clock.h"

#define PATIENCE_S 60
#define WINDOW	   64u
#define ADDRESS	   256u
#define TAG	   7u

struct speed {
	const char *dir, *provider, *address;
	unsigned rank;
	bool is_latency;
	size_t bytes;
	unsigned count;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_ep *ep;
	fi_addr_t peer;
	uint8_t *tx, *rx;
	uint64_t *took_ns;
};

static void die(const struct speed *s, const char *what, ssize_t err)
{
	fprintf(stderr, "%s, rank %u: %s: %s\n", s->provider, s->rank, what,
		fi_strerror((int)-err));
	exit(1);
}

static void ok(const struct speed *s, ssize_t err, const char *call)
{
	if (err < 0)
		die(s, call, err);
}

/* ---- opening ---- */

static void choose(struct speed *s)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		die(s, "fi_allocinfo", -FI_ENOMEM);
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(s->provider);
	ok(s,
	   fi_getinfo(FI_VERSION(1, 17), *s->address ? s->address : NULL, NULL,
		      *s->address ? FI_SOURCE : 0, hints, &s->info),
	   "fi_getinfo");
	fi_freeinfo(hints);
}

static void open_all(struct speed *s)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	choose(s);
	ok(s, fi_fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
	ok(s, fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
	ok(s, fi_av_open(s->domain, &av, &s->av, NULL), "fi_av_open");
	ok(s, fi_cq_open(s->domain, &cq, &s->tx_cq, NULL), "fi_cq_open");
	ok(s, fi_cq_open(s->domain, &cq, &s->rx_cq, NULL), "fi_cq_open");
	ok(s, fi_endpoint(s->domain, s->info, &s->ep, NULL), "fi_endpoint");
	ok(s, fi_ep_bind(s->ep, &s->tx_cq->fid, FI_TRANSMIT), "fi_ep_bind");
	ok(s, fi_ep_bind(s->ep, &s->rx_cq->fid, FI_RECV), "fi_ep_bind");
	ok(s, fi_ep_bind(s->ep, &s->av->fid, 0), "fi_ep_bind");
	ok(s, fi_enable(s->ep), "fi_enable");
}

/* ---- meeting ---- */

static void put_address(const struct speed *s, const uint8_t *address)
{
	char path[512], hidden[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", s->dir, s->rank);
	snprintf(hidden, sizeof(hidden), "%s.new", path);
	f = fopen(hidden, "w");
	if (!f || fwrite(address, 1, ADDRESS, f) != ADDRESS || fclose(f) || rename(hidden, path))
		die(s, path, -FI_EIO);
}

static void get_address(const struct speed *s, uint8_t *address)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", s->dir, !s->rank);
	while (!(f = fopen(path, "r")))
		usleep(1000);
	if (fread(address, 1, ADDRESS, f) != ADDRESS)
		die(s, path, -FI_EIO);
	fclose(f);
}

static void introduce(struct speed *s)
{
	uint8_t address[ADDRESS] = {0};
	size_t bytes = sizeof(address);

	ok(s, fi_getname(&s->ep->fid, address, &bytes), "fi_getname");
	put_address(s, address);
	get_address(s, address);
	if (fi_av_insert(s->av, address, 1, &s->peer, 0, NULL) != 1)
		die(s, "fi_av_insert", -FI_EINVAL);
}

/* ---- messages ---- */

static unsigned poll_cq(const struct speed *s, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entries[WINDOW];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(cq, entries, WINDOW);

	if (n == -FI_EAVAIL) {
		fi_cq_readerr(cq, &err, 0);
		die(s, "an operation failed", -err.err);
	}
	if (n != -FI_EAGAIN)
		ok(s, n, "fi_cq_read");
	return n > 0 ? (unsigned)n : 0;
}

static void finish(const struct speed *s, struct fid_cq *cq, unsigned n)
{
	for (unsigned done = 0; done < n;)
		done += poll_cq(s, cq);
}

static unsigned send_one(const struct speed *s, size_t bytes)
{
	unsigned done = 0;
	ssize_t err;

	while ((err = fi_tsend(s->ep, s->tx, bytes, NULL, s->peer, TAG, NULL))) {
		if (err != -FI_EAGAIN)
			die(s, "fi_tsend", err);
		done += poll_cq(s, s->tx_cq);
		poll_cq(s, s->rx_cq);
	}
	return done;
}

static void receive_one(const struct speed *s, size_t bytes)
{
	ok(s, fi_trecv(s->ep, s->rx, bytes, NULL, FI_ADDR_UNSPEC, TAG, 0, NULL), "fi_trecv");
}

static void ping(const struct speed *s)
{
	unsigned done;

	if (s->rank) {
		finish(s, s->rx_cq, 1);
		receive_one(s, s->bytes);
	}
	done = send_one(s, s->bytes);
	if (!s->rank) {
		finish(s, s->rx_cq, 1);
		receive_one(s, s->bytes);
	}
	finish(s, s->tx_cq, 1 - done);
}

static void push(const struct speed *s)
{
	unsigned done = 0;

	if (s->rank) {
		finish(s, s->rx_cq, WINDOW);
		for (unsigned i = 0; i < WINDOW; i++)
			receive_one(s, s->bytes);
		finish(s, s->tx_cq, 1 - send_one(s, 4));
		return;
	}
	for (unsigned i = 0; i < WINDOW; i++)
		done += send_one(s, s->bytes);
	finish(s, s->tx_cq, WINDOW - done);
	finish(s, s->rx_cq, 1);
	receive_one(s, 4);
}

/* ---- measuring ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double cpu_us(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static void report(struct speed *s, const struct rusage *before, const struct rusage *after)
{
	double ns;

	qsort(s->took_ns, s->count, sizeof(*s->took_ns), by_value);
	ns = (double)s->took_ns[s->count / 2];
	printf("{\"provider\": \"%s\", \"operation\": \"%s\", \"bytes\": %zu, \"value\": %.3f, "
	       "\"cpu_us\": %.2f, \"switches\": %.3f}\n",
	       s->provider, s->is_latency ? "latency" : "bandwidth", s->bytes,
	       s->is_latency ? ns / 2e3 : (double)s->bytes * WINDOW * 8 / ns,
	       (cpu_us(after) - cpu_us(before)) / s->count,
	       (double)(after->ru_nvcsw + after->ru_nivcsw - before->ru_nvcsw - before->ru_nivcsw) /
		       s->count);
}

static void measure(struct speed *s)
{
	unsigned warm_up = s->count / 10 + 1, posted = s->is_latency || !s->rank ? 1 : WINDOW;
	struct rusage before, after;

	for (unsigned i = 0; i < posted; i++)
		receive_one(s, s->bytes);
	for (unsigned i = 0; i < warm_up + s->count; i++) {
		uint64_t start = clock_now_ns();

		if (i == warm_up)
			getrusage(RUSAGE_SELF, &before);
		if (s->is_latency)
			ping(s);
		else
			push(s);
		if (i >= warm_up)
			s->took_ns[i - warm_up] = clock_now_ns() - start;
	}
	getrusage(RUSAGE_SELF, &after);
	if (!s->rank)
		report(s, &before, &after);
}

static void close_all(struct speed *s)
{
	ok(s, fi_close(&s->ep->fid), "fi_close(ep)");
	ok(s, fi_close(&s->tx_cq->fid), "fi_close(cq)");
	ok(s, fi_close(&s->rx_cq->fid), "fi_close(cq)");
	ok(s, fi_close(&s->av->fid), "fi_close(av)");
	ok(s, fi_close(&s->domain->fid), "fi_close(domain)");
	ok(s, fi_close(&s->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(s->info);
	free(s->tx);
	free(s->rx);
	free(s->took_ns);
}

int main(int argc, char **argv)
{
	struct speed s = {0};

	if (argc == 8) {
		s.dir = argv[1];
		s.rank = (unsigned)strtoul(argv[2], NULL, 10);
		s.provider = argv[3];
		s.address = argv[4];
		s.is_latency = !strcmp(argv[5], "latency");
		s.bytes = strtoul(argv[6], NULL, 10);
		s.count = (unsigned)strtoul(argv[7], NULL, 10);
	}
	if (!s.count || s.rank > 1 || (!s.is_latency && strcmp(argv[5], "bandwidth"))) {
		fprintf(stderr, "usage: ofi_speed DIRECTORY RANK PROVIDER ADDRESS "
				"latency|bandwidth BYTES COUNT\n");
		return 2;
	}
	alarm(PATIENCE_S);
	s.tx = aligned_alloc(4096, (s.bytes + 4096) / 4096 * 4096);
	s.rx = aligned_alloc(4096, (s.bytes + 4096) / 4096 * 4096);
	s.took_ns = calloc(s.count, sizeof(*s.took_ns));
	if (!s.tx || !s.rx || !s.took_ns)
		die(&s, "memory", -FI_ENOMEM);
	memset(s.tx, 1, s.bytes);
	memset(s.rx, 2, s.bytes);
	open_all(&s);
	introduce(&s);
	measure(&s);
	close_all(&s);
	return 0;
}
