/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_rest.c - fi_cq(3), fi_cntr(3), fi_av(3), and how endpoints and peers end. */
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "case.h"

/* Delivery complete: the receiver has it when the sender hears of it. */
static void delivery(void)
{
	struct iovec iov = {t.out, 1000};
	void *d = desc(t.out_mr);
	struct fi_msg m = {.msg_iov = &iov, .desc = &d, .iov_count = 1, .addr = t.peer};

	if (!t.server) {
		RETRY(fi_sendmsg(t.ep, &m, FI_DELIVERY_COMPLETE | FI_COMPLETION));
		fi_cq_read(t.tx, NULL, 0);
		meet();
		no_entry(t.tx); /* nobody has received it */
		put_file("posted", "x", 1);
		wait_entry(t.tx, NULL);
		return;
	}
	meet();
	get_file("posted", t.in, 1);
	RETRY(fi_recv(t.ep, t.in, 1000, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
	wait_entry(t.rx, NULL);
}

static void counters(void)
{
	uint64_t before = fi_cntr_read(t.sent);

	for (unsigned i = 0; i < 10; i++) {
		if (t.server) {
			RETRY(fi_recv(t.ep, t.in, 64, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
			wait_entry(t.rx, NULL);
		} else {
			RETRY(fi_inject(t.ep, t.out, 8, t.peer));
		}
	}
	if (!t.server) {
		ok(fi_cntr_wait(t.sent, before + 10, PATIENCE_S * 1000), "fi_cntr_wait");
		CHECK(fi_cntr_read(t.sent) == before + 10 && !fi_cntr_readerr(t.sent));
		CHECK(fi_cntr_wait(t.sent, before + 11, 10) == -FI_ETIMEDOUT);
	}
}

/* Reads and writes have counters of their own. */
static void rma_counters(void)
{
	uint64_t before = fi_cntr_read(t.moved), sent = fi_cntr_read(t.sent);
	const uint64_t addr = t.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)t.in : 0;

	for (unsigned i = 0; i < 5; i++) {
		RETRY(fi_write(t.ep, t.out, 100, desc(t.out_mr), t.self, addr, fi_mr_key(t.in_mr),
			       NULL));
		RETRY(fi_read(t.ep, t.out, 100, desc(t.out_mr), t.self, addr, fi_mr_key(t.in_mr),
			      NULL));
	}
	ok(fi_cntr_wait(t.moved, before + 10, PATIENCE_S * 1000), "fi_cntr_wait");
	CHECK(fi_cntr_read(t.moved) == before + 10 && fi_cntr_read(t.sent) == sent);
	for (unsigned i = 0; i < 10; i++)
		wait_entry(t.tx, NULL);
}

/* The descriptor of a queue is readable when a message has come, without a call before. */
static void waiting(void)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid = &t.rx->fid;
	struct pollfd p = {.events = POLLIN};
	uint64_t start = clock_now_ms();
	ssize_t n;

	if (!t.server) {
		meet();
		usleep(100000); /* the other end waits by then; if not, less is proven */
		RETRY(fi_send(t.ep, t.out, 200000, desc(t.out_mr), t.peer, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	ok(fi_control(fid, FI_GETWAIT, &p.fd), "FI_GETWAIT");
	RETRY(fi_recv(t.ep, t.in, 200000, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
	meet();
	while ((n = fi_cq_read(t.rx, &e, 1)) == -FI_EAGAIN) {
		if (fi_trywait(t.fabric, &fid, 1) == 0)
			CHECK(poll(&p, 1, PATIENCE_S * 1000) == 1);
		late(start, "message");
	}
	CHECK(n == 1 && e.len == 200000);
}

static void blocking(void)
{
	struct fi_cq_tagged_entry e;

	if (!t.server) {
		CHECK(fi_cq_sread(t.rx, &e, 1, NULL, 20) == -FI_EAGAIN);
		meet();
		RETRY(fi_send(t.ep, t.out, 10, desc(t.out_mr), t.peer, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	RETRY(fi_recv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
	meet();
	CHECK(fi_cq_sread(t.rx, &e, 1, NULL, PATIENCE_S * 1000) == 1 && e.len == 10);
}

static void self(void)
{
	for (unsigned i = 0; i < N_SIZES; i++) {
		fi_addr_t source;

		fill(t.out, sizes[i], i);
		RETRY(fi_trecv(t.ep, t.in, LONG, desc(t.in_mr), FI_ADDR_UNSPEC, 3, 0, NULL));
		RETRY(fi_tsend(t.ep, t.out, sizes[i], desc(t.out_mr), t.self, 3, NULL));
		CHECK(wait_entry(t.rx, &source).len == sizes[i] && source == t.self);
		wait_entry(t.tx, NULL);
		CHECK(filled(t.in, sizes[i], i));
	}
}

static void address_vector(void)
{
	uint8_t address[ADDRESS], again[ADDRESS];
	size_t n = sizeof(address), m = sizeof(again), text_len;
	fi_addr_t other;
	char text[256];

	ok(fi_getname(&t.ep->fid, address, &n), "fi_getname");
	ok(fi_av_lookup(t.av, t.self, again, &m), "fi_av_lookup");
	CHECK(n == m && !memcmp(address, again, n));
	m = 1;
	CHECK(fi_getname(&t.ep->fid, again, &m) == -FI_ETOOSMALL && m == n);
	CHECK(fi_av_insert(t.av, address, 1, &other, 0, NULL) == 1);
	text_len = sizeof(text);
	CHECK(fi_av_straddr(t.av, address, text, &text_len) == text && text_len > 1);
	if (other != t.self)
		ok(fi_av_remove(t.av, &other, 1, 0), "fi_av_remove");
}

/* A vector of type FI_AV_MAP: its addresses are those of its own. */
static void address_map(void)
{
	struct fi_av_attr attr = {.type = FI_AV_MAP};
	uint8_t address[ADDRESS], again[ADDRESS];
	size_t n = sizeof(address), m = sizeof(again);
	fi_addr_t first, second;
	struct fid_av *av;

	ok(fi_getname(&t.ep->fid, address, &n), "fi_getname");
	ok(fi_av_open(t.domain, &attr, &av, NULL), "fi_av_open");
	CHECK(fi_av_insert(av, address, 1, &first, 0, NULL) == 1);
	CHECK(fi_av_lookup(av, first, again, &m) == 0 && m == n && !memcmp(address, again, n));
	ok(fi_av_remove(av, &first, 1, 0), "fi_av_remove");
	CHECK(fi_av_insert(av, address, 1, &second, 0, NULL) == 1);
	m = sizeof(again);
	CHECK(fi_av_lookup(av, second, again, &m) == 0 && !memcmp(address, again, n));
	ok(fi_close(&av->fid), "fi_close(av)");
}

/* Formats other than the longest are its beginning. */
static void formats(void)
{
	static const struct {
		enum fi_cq_format format;
		size_t bytes;
	} f[] = {{FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry)},
		 {FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry)},
		 {FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry)}};

	for (unsigned i = 0; i < 3; i++) {
		struct fi_cq_attr attr = {.format = f[i].format, .wait_obj = FI_WAIT_NONE};
		uint8_t guarded[sizeof(struct fi_cq_tagged_entry) + 1];
		uint64_t start = clock_now_ms();
		struct fid_ep *ep;
		struct fid_cq *cq;
		int context;
		ssize_t n;

		ok(fi_cq_open(t.domain, &attr, &cq, NULL), "fi_cq_open");
		ok(fi_endpoint(t.domain, t.info, &ep, NULL), "fi_endpoint");
		ok(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
		ok(fi_ep_bind(ep, &t.av->fid, 0), "fi_ep_bind");
		ok(fi_enable(ep), "fi_enable");
		RETRY(fi_trecv(ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, 1, 0, &context));
		ok(fi_cancel(&ep->fid, &context), "fi_cancel");
		memset(guarded, 0xa5, sizeof(guarded));
		while ((n = fi_cq_read(cq, guarded, 1)) == -FI_EAGAIN)
			late(start, "error");
		CHECK(n == -FI_EAVAIL && guarded[0] == 0xa5);
		CHECK(fi_cq_readerr(cq, &(struct fi_cq_err_entry){0}, 0) == 1);
		ok(fi_close(&ep->fid), "fi_close");
		ok(fi_close(&cq->fid), "fi_close");
	}
}

/*
 * A domain closes at once while its progress thread waits for a pause of the application's calls.
 */
static void reopening(void)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};

	for (unsigned i = 0; i < 60 && !t.server; i++) {
		struct fid_domain *domain;
		struct fi_cq_tagged_entry e;
		struct fid_cq *cq;
		uint64_t start = clock_now_ms();

		ok(fi_domain(t.fabric, t.info, &domain, NULL), "fi_domain");
		ok(fi_cq_open(domain, &attr, &cq, NULL), "fi_cq_open");
		while (clock_now_ms() - start < i)
			CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
		CHECK(fi_cq_sread(cq, &e, 1, NULL, 0) == -FI_EAGAIN);
		CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
		ok(fi_close(&cq->fid), "fi_close(cq)");
		ok(fi_close(&domain->fid), "fi_close(domain)");
	}
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

/* Nothing completes for so long; the endpoint closes after FI_FARE_LINGER_MS. The process ends. */
static void waits_for_ever(unsigned ms)
{
	uint64_t start = clock_now_ms();

	while (clock_now_ms() - start < ms) {
		no_entry(t.tx);
		usleep(1000);
	}
	start = clock_now_ms();
	ok(fi_close(&t.ep->fid), "fi_close(ep)");
	CHECK(clock_now_ms() - start >= environment("FI_FARE_LINGER_MS", 5000));
	exit(printf("%-15s passed\n", t.what) < 0);
}

/*
 * The other end is killed. With FI_FARE_DEADLINE_MS what is sent to it fails, and everything can be
 * closed; without a deadline it waits. Runs alone: nobody meets afterwards.
 */
static void lost(void)
{
	struct fi_cq_err_entry err;

	meet();
	if (t.server)
		raise(SIGKILL);
	RETRY(fi_tsend(t.ep, t.out, 100000, desc(t.out_mr), t.peer, 1, &err));
	RETRY(fi_tsend(t.ep, t.out, 10000, desc(t.out_mr), t.peer, 1, &err));
	if (!environment("FI_FARE_DEADLINE_MS", 0))
		waits_for_ever(4000);
	err = wait_error(t.tx);
	err = wait_error(t.tx);
	CHECK(err.err == FI_ETIMEDOUT || err.err == FI_ECONNABORTED || err.err == FI_ECANCELED);
	RETRY(fi_inject(t.ep, t.out, 8, t.peer));
	err = wait_error(t.tx);
	CHECK(err.err && !err.op_context);
}

/*
 * The other end is gone before anybody has reached it. With FI_FARE_DEADLINE_MS what is sent to it
 * fails then and not before. Without a deadline it waits, longer than libfare's own attempt to open
 * a group lasts; an endpoint that closes then waits for FI_FARE_LINGER_MS.
 */
static void unreachable(void)
{
	uint64_t deadline_ms = environment("FI_FARE_DEADLINE_MS", 0), start;
	struct fi_cq_tagged_entry e;

	if (t.server)
		raise(SIGKILL);
	start = clock_now_ms();
	RETRY(fi_tsend(t.ep, t.out, 100, desc(t.out_mr), t.peer, 1, &e));
	if (deadline_ms) {
		CHECK(wait_error(t.tx).err == FI_ETIMEDOUT);
		CHECK(clock_now_ms() - start >= deadline_ms);
		return;
	}
	waits_for_ever(12000);
}

const struct ofi_case cases_rest[] = {
	{.name = "delivery",
	 .run = delivery,
	 .not_tcp = "completes before the message is received"},
	{.name = "counters", .run = counters},
	{.name = "rma-counters", .run = rma_counters},
	{.name = "waiting", .run = waiting},
	{.name = "blocking", .run = blocking},
	{.name = "self", .run = self},
	{.name = "reopening", .run = reopening},
	{.name = "address-vector", .run = address_vector},
	{.name = "address-map", .run = address_map},
	{.name = "formats", .run = formats},
	{.name = "unreachable", .run = unreachable, .not_tcp = "has no deadline", .is_alone = true},
	{.name = "lost", .run = lost, .not_tcp = "has no deadline", .is_alone = true},
	{.name = NULL},
};
