/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ranks.c - one of many processes that all exchange messages, and what that costs each.
 *
 *   ofi_ranks DIRECTORY RANK RANKS COMPUTE_S
 *
 * The processes meet by files in DIRECTORY. First rank 0 computes for COMPUTE_S without a call of
 * libfabric while some of the others (SENDERS) send to it. Then, in ROUNDS rounds, each sends a
 * short and a long message to each in turn, itself too, and checks every byte that it gets. What a
 * process has taken at most (VmHWM) and its open descriptors go to DIRECTORY/RANK.cost when all has
 * been exchanged. Rank 0 prints the largest of both as JSON. Exit status 0: nothing was wrong here.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define PATIENCE_S 120
#define ROUNDS	   2
#define SENDERS	   8u /* to a process that computes: more at once take longer than it computes */
#define SHORT	   64u
#define LONG	   40000u /* read by its receiver */
#define BATCH	   32
#define WAIT_MS	   20
#define ADDRESS	   64
#define RANKS_MAX  1024u

struct rank {
	const char *dir;
	unsigned number, n, compute_s;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t *peers;
	uint8_t *tx, *rx; /* SHORT + LONG for each rank */
	unsigned n_done;
	unsigned long checked, wrong;
	time_t since;
};

struct cost {
	unsigned long kb, descriptors, wrong, checked;
};

static void die(const struct rank *r, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
static void die(const struct rank *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "rank %u: ", r->number);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void ok(const struct rank *r, ssize_t err, const char *call)
{
	if (err < 0)
		die(r, "%s: %s", call, fi_strerror((int)-err));
}

/* ---- meeting ---- */

static void put_file(const struct rank *r, const char *name, const void *data, size_t bytes)
{
	char path[512], hidden[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u.%s", r->dir, r->number, name);
	snprintf(hidden, sizeof(hidden), "%s.new", path);
	f = fopen(hidden, "w");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) || rename(hidden, path))
		die(r, "cannot write %s", path);
}

/* Waits for them: there are more processes than processors. */
static void take_completions(struct rank *r)
{
	struct fi_cq_tagged_entry entries[BATCH];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_sread(r->cq, entries, BATCH, NULL, WAIT_MS);

	if (n == -FI_EAVAIL) {
		fi_cq_readerr(r->cq, &err, 0);
		die(r, "an operation failed: %s", fi_strerror(err.err));
	}
	if (n != -FI_EAGAIN)
		ok(r, n, "fi_cq_read");
	r->n_done += n > 0 ? (unsigned)n : 0;
	r->since = n > 0 ? time(NULL) : r->since;
	if (time(NULL) - r->since > PATIENCE_S)
		die(r, "nothing for %u s: %u operations are done", PATIENCE_S, r->n_done);
}

static void get_file(struct rank *r, unsigned from, const char *name, void *data, size_t bytes)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u.%s", r->dir, from, name);
	while (!(f = fopen(path, "r"))) {
		take_completions(r);
	}
	if (fread(data, 1, bytes, f) != bytes)
		die(r, "%s is too short", path);
	fclose(f);
}

/* All have come here. */
static void meet(struct rank *r, const char *name)
{
	char c = 'x';

	put_file(r, name, &c, 1);
	for (unsigned i = 0; i < r->n; i++)
		get_file(r, i, name, &c, 1);
}

/* ---- opening ---- */

static void choose(struct rank *r)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		die(r, "no memory");
	hints->caps = FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("fare");
	ok(r, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &r->info), "fi_getinfo");
	fi_freeinfo(hints);
}

static void open_all(struct rank *r)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	choose(r);
	ok(r, fi_fabric(r->info->fabric_attr, &r->fabric, NULL), "fi_fabric");
	ok(r, fi_domain(r->fabric, r->info, &r->domain, NULL), "fi_domain");
	ok(r, fi_av_open(r->domain, &av, &r->av, NULL), "fi_av_open");
	ok(r, fi_cq_open(r->domain, &cq, &r->cq, NULL), "fi_cq_open");
	ok(r, fi_endpoint(r->domain, r->info, &r->ep, NULL), "fi_endpoint");
	ok(r, fi_ep_bind(r->ep, &r->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	ok(r, fi_ep_bind(r->ep, &r->av->fid, 0), "fi_ep_bind");
	ok(r, fi_enable(r->ep), "fi_enable");
}

static void introduce(struct rank *r)
{
	uint8_t address[ADDRESS] = {0};
	size_t bytes = sizeof(address);

	ok(r, fi_getname(&r->ep->fid, address, &bytes), "fi_getname");
	put_file(r, "address", address, sizeof(address));
	for (unsigned i = 0; i < r->n; i++) {
		get_file(r, i, "address", address, sizeof(address));
		if (fi_av_insert(r->av, address, 1, &r->peers[i], 0, NULL) != 1)
			die(r, "fi_av_insert: rank %u", i);
	}
}

/* ---- messages ---- */

static uint8_t pattern(unsigned from, unsigned to, unsigned turn, size_t i)
{
	return (uint8_t)(from * 131 + to * 17 + turn * 7 + (i * 2654435761u >> 13));
}

static uint8_t *tx_of(const struct rank *r, unsigned to)
{
	return r->tx + to * (size_t)(SHORT + LONG);
}

static uint8_t *rx_of(const struct rank *r, unsigned from)
{
	return r->rx + from * (size_t)(SHORT + LONG);
}

static void send_to(struct rank *r, unsigned to, unsigned turn)
{
	uint8_t *data = tx_of(r, to);
	ssize_t err;

	for (size_t i = 0; i < SHORT + LONG; i++)
		data[i] = pattern(r->number, to, turn, i);
	for (unsigned part = 0; part < 2; part++)
		while ((err = fi_tsend(r->ep, data + part * SHORT, part ? LONG : SHORT, NULL,
				       r->peers[to], turn << 12 | r->number << 1 | part, NULL))) {
			if (err != -FI_EAGAIN)
				ok(r, err, "fi_tsend");
			take_completions(r);
		}
}

static void post_from(struct rank *r, unsigned from, unsigned turn)
{
	uint8_t *data = rx_of(r, from);

	for (unsigned part = 0; part < 2; part++)
		ok(r,
		   fi_trecv(r->ep, data + part * SHORT, part ? LONG : SHORT, NULL, FI_ADDR_UNSPEC,
			    turn << 12 | from << 1 | part, 0, NULL),
		   "fi_trecv");
}

static void check_from(struct rank *r, unsigned from, unsigned turn)
{
	const uint8_t *data = rx_of(r, from);
	bool is_right = true;

	for (size_t i = 0; i < SHORT + LONG && is_right; i++)
		is_right = data[i] == pattern(from, r->number, turn, i);
	r->checked += SHORT + LONG;
	if (is_right)
		return;
	r->wrong++;
	fprintf(stderr, "rank %u: wrong bytes from rank %u in turn %u\n", r->number, from, turn);
}

/* So many operations are done since the last call. */
static void finish(struct rank *r, unsigned n)
{
	while (r->n_done < n)
		take_completions(r);
	r->n_done -= n;
}

/* Rank 0 makes no call for a while; what is sent to it meanwhile is not lost, nor is it. */
static void compute(struct rank *r)
{
	time_t end = time(NULL) + (time_t)r->compute_s;
	unsigned last = r->n - 1 < SENDERS ? r->n - 1 : SENDERS;

	if (r->number) {
		if (r->number > last)
			return;
		send_to(r, 0, 0);
		finish(r, 2);
		return;
	}
	for (unsigned i = 1; i <= last; i++)
		post_from(r, i, 0);
	while (time(NULL) < end)
		;
	finish(r, 2 * last);
	for (unsigned i = 1; i <= last; i++)
		check_from(r, i, 0);
}

/*
 * One step for each distance, as MPI_Alltoall() of long messages has it: a process talks with two
 * at a time, and groups are not opened by all toward all at once.
 */
static void exchange(struct rank *r, unsigned turn)
{
	for (unsigned i = 0; i < r->n; i++) {
		unsigned to = (r->number + i) % r->n, from = (r->number + r->n - i) % r->n;

		post_from(r, from, turn);
		send_to(r, to, turn);
		finish(r, 4);
		check_from(r, from, turn);
	}
}

/* ---- costs ---- */

static unsigned long open_descriptors(const struct rank *r)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	unsigned long n = 0;

	if (!dir)
		die(r, "cannot read /proc/self/fd");
	while ((e = readdir(dir)))
		n += *e->d_name != '.';
	closedir(dir);
	return n - 1; /* but for the one that reads */
}

static unsigned long most_kb(const struct rank *r)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	if (!kb)
		die(r, "/proc/self/status has no VmHWM");
	return kb;
}

static void report(struct rank *r)
{
	struct cost largest = {0}, c;

	for (unsigned i = 0; i < r->n; i++) {
		get_file(r, i, "cost", &c, sizeof(c));
		largest.kb = c.kb > largest.kb ? c.kb : largest.kb;
		if (c.descriptors > largest.descriptors)
			largest.descriptors = c.descriptors;
		largest.wrong += c.wrong;
		largest.checked += c.checked;
	}
	printf("{\"ofi_ranks\": {\"ranks\": %u, \"computed_s\": %u, \"wrong\": %lu, \"checked\": "
	       "%lu, "
	       "\"rank_kb\": %lu, \"rank_descriptors\": %lu, \"buffers_kb\": %lu}}\n",
	       r->n, r->compute_s, largest.wrong, largest.checked, largest.kb, largest.descriptors,
	       2ul * r->n * (SHORT + LONG) / 1024);
}

static void close_all(struct rank *r)
{
	ok(r, fi_close(&r->ep->fid), "fi_close(ep)");
	ok(r, fi_close(&r->cq->fid), "fi_close(cq)");
	ok(r, fi_close(&r->av->fid), "fi_close(av)");
	ok(r, fi_close(&r->domain->fid), "fi_close(domain)");
	ok(r, fi_close(&r->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(r->info);
	free(r->peers);
	free(r->tx);
	free(r->rx);
}

int main(int argc, char **argv)
{
	struct rank r = {.since = time(NULL)};
	struct cost cost;

	if (argc == 5) {
		r.dir = argv[1];
		r.number = (unsigned)strtoul(argv[2], NULL, 10);
		r.n = (unsigned)strtoul(argv[3], NULL, 10);
		r.compute_s = (unsigned)strtoul(argv[4], NULL, 10);
	}
	if (!r.n || r.n > RANKS_MAX || r.number >= r.n || r.compute_s > PATIENCE_S / 2) {
		fprintf(stderr, "usage: ofi_ranks DIRECTORY RANK RANKS COMPUTE_S\n");
		return 2;
	}
	r.peers = calloc(r.n, sizeof(*r.peers));
	r.tx = calloc(r.n, SHORT + LONG);
	r.rx = calloc(r.n, SHORT + LONG);
	if (!r.peers || !r.tx || !r.rx)
		die(&r, "no memory");
	open_all(&r);
	introduce(&r);
	compute(&r);
	meet(&r, "computed");
	for (unsigned turn = 1; turn <= ROUNDS; turn++)
		exchange(&r, turn);
	cost = (struct cost){most_kb(&r), open_descriptors(&r), r.wrong, r.checked};
	put_file(&r, "cost", &cost, sizeof(cost));
	if (!r.number)
		report(&r);
	meet(&r, "end"); /* nobody goes while another may need it */
	close_all(&r);
	return r.wrong > 0;
}
