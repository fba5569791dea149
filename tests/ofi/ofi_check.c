/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_check.c - libfabric's public semantics as its manual pages state them, checked at a provider.
 *
 *   ofi_check PROVIDER serve|ask DIRECTORY [CASE]
 *
 * Two processes, on one server or two, meet by files in DIRECTORY: their endpoints' addresses, and
 * what a case hands over. Each case runs at both; "client" does what is under test, "server" is the
 * other end. It runs over any provider of FI_EP_RDM: one that is known to be right checks the test.
 * Exit status 0: all cases passed. One line for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define PATIENCE_S 60
#define LONG	   (3u << 20)
#define ADDRESS	   256

static struct {
	bool server, is_fare;
	const char *dir, *what; /* where both meet; the case that runs */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx, *rx;
	struct fid_cntr *sent;
	struct fid_ep *ep;
	fi_addr_t peer, self;
	uint8_t *out, *in;
	struct fid_mr *out_mr, *in_mr;
	unsigned turn; /* of meetings */
} t;

/* ---- what goes wrong ---- */

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: %s: ", t.server ? "server" : "client", t.what ? t.what : "start");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			die("line %d: %s", __LINE__, #condition);                                  \
	} while (0)

static void ok(ssize_t err, const char *call)
{
	if (err < 0)
		die("%s: %s", call, fi_strerror((int)-err));
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void late(uint64_t since_ms, const char *what)
{
	if (now_ms() - since_ms > PATIENCE_S * 1000)
		die("no %s for %u s", what, PATIENCE_S);
}

/* ---- meeting ---- */

static void put_file(const char *name, const void *data, size_t bytes)
{
	char path[512], hidden[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%c", t.dir, name, t.server ? 's' : 'c');
	snprintf(hidden, sizeof(hidden), "%s.new", path);
	f = fopen(hidden, "w");
	CHECK(f && fwrite(data, 1, bytes, f) == bytes && !fclose(f) && !rename(hidden, path));
}

/* What the other end has put; endpoints go on meanwhile. */
static size_t get_file(const char *name, void *data, size_t most)
{
	uint64_t start = now_ms();
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%c", t.dir, name, t.server ? 'c' : 's');
	while (!(f = fopen(path, "r"))) {
		if (t.tx) {
			fi_cq_read(t.tx, NULL, 0);
			fi_cq_read(t.rx, NULL, 0);
		}
		usleep(200);
		late(start, name);
	}
	n = fread(data, 1, most, f);
	fclose(f);
	return n;
}

static void meet(void)
{
	char name[32];

	snprintf(name, sizeof(name), "meet%u", t.turn++);
	put_file(name, "x", 1);
	get_file(name, name, 1);
}

/* ---- completions ---- */

static struct fi_cq_tagged_entry wait_entry(struct fid_cq *cq, fi_addr_t *source)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e = {0};
	uint64_t start = now_ms();
	fi_addr_t from = FI_ADDR_NOTAVAIL;
	ssize_t n;

	while ((n = fi_cq_readfrom(cq, &e, 1, &from)) == -FI_EAGAIN) {
		/* the other queue's operations go on, too */
		fi_cq_read(cq == t.tx ? t.rx : t.tx, NULL, 0);
		late(start, "completion");
	}
	if (n == -FI_EAVAIL) {
		fi_cq_readerr(cq, &err, 0);
		die("an error: %s", fi_strerror(err.err));
	}
	ok(n, "fi_cq_readfrom");
	if (source)
		*source = from;
	return e;
}

static struct fi_cq_err_entry wait_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e;
	uint64_t start = now_ms();
	ssize_t n;

	while ((n = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
		late(start, "error");
	CHECK(n == -FI_EAVAIL);
	CHECK(fi_cq_readerr(cq, &err, 0) == 1);
	return err;
}

static void no_entry(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;

	CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
}

/* Until the call does not say -FI_EAGAIN. */
#define RETRY(call)                                                                                \
	do {                                                                                       \
		ssize_t err_;                                                                      \
		while ((err_ = (call)) == -FI_EAGAIN) {                                            \
			fi_cq_read(t.tx, NULL, 0);                                                 \
			fi_cq_read(t.rx, NULL, 0);                                                 \
		}                                                                                  \
		ok(err_, #call);                                                                   \
	} while (0)

static void fill(uint8_t *data, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(seed * 37 + i * 11 + (i >> 8));
}

static bool filled(const uint8_t *data, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != (uint8_t)(seed * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

static const size_t sizes[] = {0, 1, 64, 4000, 4060, 4061, 9000, 65536, 300000, LONG};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void *desc(struct fid_mr *mr)
{
	return t.info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(mr) : NULL;
}

/* ---- cases: messages ---- */

static void msg(void)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t source;
	int context;

	for (unsigned i = 0; i < N_SIZES; i++) {
		if (t.server) {
			memset(t.in, 0, sizes[i]);
			RETRY(fi_recv(t.ep, t.in, LONG, desc(t.in_mr), FI_ADDR_UNSPEC, &context));
			e = wait_entry(t.rx, &source);
			CHECK(e.op_context == &context && e.len == sizes[i]);
			CHECK(e.flags & FI_RECV && e.flags & FI_MSG && !(e.flags & FI_TAGGED));
			CHECK(source == t.peer && filled(t.in, sizes[i], i));
		} else {
			fill(t.out, sizes[i], i);
			RETRY(fi_send(t.ep, t.out, sizes[i], desc(t.out_mr), t.peer, &context));
			e = wait_entry(t.tx, NULL);
			CHECK(e.op_context == &context && e.flags & FI_SEND && e.flags & FI_MSG);
		}
	}
}

/* Messages that came before their receives are kept, in order. */
static void unexpected(void)
{
	unsigned n = 200;

	for (unsigned i = 0; i < n && !t.server; i++) {
		fill(t.out + i * 5000, i * 25, i);
		RETRY(fi_send(t.ep, t.out + i * 5000, i * 25, desc(t.out_mr), t.peer, NULL));
	}
	meet(); /* messages are under way or here */
	for (unsigned i = 0; i < n; i++) {
		struct fi_cq_tagged_entry e;

		if (!t.server) {
			wait_entry(t.tx, NULL);
			continue;
		}
		RETRY(fi_recv(t.ep, t.in, 5000, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
		e = wait_entry(t.rx, NULL);
		CHECK(e.len == i * 25 && filled(t.in, e.len, i));
	}
}

static void vectors(void)
{
	struct iovec iov[3];
	void *descs[3] = {desc(t.out_mr), desc(t.out_mr), desc(t.out_mr)};
	size_t parts[3] = {10, 20000, 777}, at = 0;

	if (t.server)
		descs[0] = descs[1] = descs[2] = desc(t.in_mr);
	for (unsigned i = 0; i < 3; i++) {
		iov[i].iov_base = (t.server ? t.in : t.out) + 30000 * i;
		iov[i].iov_len = parts[t.server ? 2 - i : i];
	}
	for (unsigned i = 0; i < 3 && !t.server; i++)
		for (size_t k = 0; k < parts[i]; k++)
			t.out[30000 * i + k] = (uint8_t)(at++ * 7);
	if (t.server) {
		RETRY(fi_recvv(t.ep, iov, descs, 3, FI_ADDR_UNSPEC, NULL));
		CHECK(wait_entry(t.rx, NULL).len == 20787);
		for (unsigned i = 0; i < 3; i++)
			for (size_t k = 0; k < parts[2 - i]; k++)
				CHECK(t.in[30000 * i + k] == (uint8_t)(at++ * 7));
	} else {
		RETRY(fi_sendv(t.ep, iov, descs, 3, t.peer, NULL));
		wait_entry(t.tx, NULL);
	}
}

/* An injected buffer may be used again at once; there is no completion. */
static void inject(void)
{
	size_t size = t.info->tx_attr->inject_size < 64 ? t.info->tx_attr->inject_size : 64;

	for (unsigned i = 0; i < 100; i++) {
		if (!t.server) {
			fill(t.out, size, i);
			RETRY(fi_inject(t.ep, t.out, size, t.peer));
			memset(t.out, 0xff, size);
			continue;
		}
		RETRY(fi_recv(t.ep, t.in, 64, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
		wait_entry(t.rx, NULL);
		CHECK(filled(t.in, size, i));
	}
	if (!t.server)
		no_entry(t.tx);
}

static void remote_data(void)
{
	uint64_t most = t.info->domain_attr->cq_data_size < 8 ? UINT32_MAX : UINT64_MAX;
	struct fi_cq_tagged_entry e;

	for (unsigned i = 0; i < 2; i++) {
		size_t n = i ? 100000 : 10;

		if (t.server) {
			RETRY(fi_recv(t.ep, t.in, n, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
			e = wait_entry(t.rx, NULL);
			CHECK(e.flags & FI_REMOTE_CQ_DATA && e.data == most - i);
		} else {
			RETRY(fi_senddata(t.ep, t.out, n, desc(t.out_mr), most - i, t.peer, NULL));
			wait_entry(t.tx, NULL);
		}
	}
}

/* A message that is too long for its receive is an error there; what follows is not. */
static void truncation(void)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t n = i ? 100000 : 1000;
		struct fi_cq_err_entry err;
		int context;

		if (t.server) {
			memset(t.in, 0, n);
			RETRY(fi_trecv(t.ep, t.in, 300, desc(t.in_mr), FI_ADDR_UNSPEC, 1, 0,
				       &context));
			meet();
			err = wait_error(t.rx);
			CHECK(err.err == FI_ETRUNC && err.op_context == &context);
			CHECK(!t.in[300]);
		} else {
			fill(t.out, n, i);
			meet();
			RETRY(fi_tsend(t.ep, t.out, n, desc(t.out_mr), t.peer, 1, NULL));
		}
		meet();
	}
	/* what the sender was told is not stated anywhere: its queue is emptied */
	for (unsigned i = 0; i < 2 && !t.server; i++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err;
		ssize_t got;
		uint64_t start = now_ms();

		while ((got = fi_cq_read(t.tx, &e, 1)) == -FI_EAGAIN)
			late(start, "completion");
		if (got == -FI_EAVAIL)
			fi_cq_readerr(t.tx, &err, 0);
	}
}

/* ---- cases: tags ---- */

/* Three messages; the receive of the last one comes first. */
static void tags(void)
{
	struct fi_cq_tagged_entry e;
	int context[3];

	if (!t.server) {
		for (unsigned i = 0; i < 3; i++) {
			fill(t.out + i * 10000, 10000, i);
			RETRY(fi_tsend(t.ep, t.out + i * 10000, i == 1 ? 10000 : 50, desc(t.out_mr),
				       t.peer, 0x100 + i, NULL));
		}
		for (unsigned i = 0; i < 3; i++)
			wait_entry(t.tx, NULL);
		return;
	}
	RETRY(fi_trecv(t.ep, t.in, 10000, desc(t.in_mr), FI_ADDR_UNSPEC, 0x102, 0, &context[2]));
	e = wait_entry(t.rx, NULL);
	CHECK(e.op_context == &context[2] && e.tag == 0x102 && e.flags & FI_TAGGED);
	CHECK(e.len == 50 && filled(t.in, 50, 2));
	/* the last byte is ignored: the first that came is the first that matches */
	RETRY(fi_trecv(t.ep, t.in, 10000, desc(t.in_mr), FI_ADDR_UNSPEC, 0x1ff, 0xff, &context[0]));
	e = wait_entry(t.rx, NULL);
	CHECK(e.op_context == &context[0] && e.tag == 0x100 && filled(t.in, 50, 0));
	RETRY(fi_trecv(t.ep, t.in, 10000, desc(t.in_mr), FI_ADDR_UNSPEC, 0, UINT64_MAX,
		       &context[1]));
	e = wait_entry(t.rx, NULL);
	CHECK(e.tag == 0x101 && e.len == 10000 && filled(t.in, 10000, 1));
}

/* Tagged and untagged messages do not meet. */
static void apart(void)
{
	struct fi_cq_tagged_entry e;
	int tagged, untagged;

	if (!t.server) {
		RETRY(fi_send(t.ep, t.out, 11, desc(t.out_mr), t.peer, NULL));
		RETRY(fi_tsend(t.ep, t.out, 22, desc(t.out_mr), t.peer, 0, NULL));
		wait_entry(t.tx, NULL);
		wait_entry(t.tx, NULL);
		return;
	}
	RETRY(fi_trecv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, 0, UINT64_MAX, &tagged));
	e = wait_entry(t.rx, NULL);
	CHECK(e.op_context == &tagged && e.len == 22);
	RETRY(fi_recv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, &untagged));
	e = wait_entry(t.rx, NULL);
	CHECK(e.op_context == &untagged && e.len == 11);
}

/* A receive from one source does not take what another has sent. */
static void directed(void)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t source;
	int own, other;

	if (!t.server) {
		RETRY(fi_tsend(t.ep, t.out, 33, desc(t.out_mr), t.peer, 5, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	RETRY(fi_trecv(t.ep, t.in, 100, desc(t.in_mr), t.self, 5, 0, &own));
	RETRY(fi_trecv(t.ep, t.in + 100, 100, desc(t.in_mr), t.peer, 5, 0, &other));
	e = wait_entry(t.rx, &source);
	CHECK(e.op_context == &other && source == t.peer && e.len == 33);
	RETRY(fi_tsend(t.ep, t.out, 44, desc(t.out_mr), t.self, 5, NULL));
	e = wait_entry(t.rx, &source);
	CHECK(e.op_context == &own && source == t.self && e.len == 44);
	wait_entry(t.tx, NULL);
}

static ssize_t peek(uint64_t tag, uint64_t flags, void *context)
{
	const struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};

	return fi_trecvmsg(t.ep, &m, FI_PEEK | flags);
}

/* Looks until the message is there, and gives what the look has said of it. */
static struct fi_cq_tagged_entry look(uint64_t tag, uint64_t flags, void *context)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err;
	uint64_t start = now_ms();
	ssize_t n;

	for (;;) {
		n = peek(tag, flags, context);
		if (n == -FI_ENOMSG)
			continue;
		ok(n, "fi_trecvmsg(FI_PEEK)");
		while ((n = fi_cq_read(t.rx, &e, 1)) == -FI_EAGAIN)
			late(start, "answer to FI_PEEK");
		if (n == 1)
			return e;
		CHECK(fi_cq_readerr(t.rx, &err, 0) == 1 && err.err == FI_ENOMSG);
		late(start, "message");
	}
}

static void peeking(void)
{
	struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = 9};
	struct fi_context2 context;
	struct fi_cq_tagged_entry e;
	struct iovec iov = {t.in, 5000};
	void *d = desc(t.in_mr);

	if (!t.server) {
		fill(t.out, 5000, 3);
		RETRY(fi_tsend(t.ep, t.out, 5000, desc(t.out_mr), t.peer, 9, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	e = look(9, 0, &context);
	CHECK(e.op_context == &context && e.tag == 9 && e.len == 5000);
	e = look(9, FI_CLAIM, &context);
	CHECK(e.len == 5000);
	m.msg_iov = &iov;
	m.desc = &d;
	m.iov_count = 1;
	m.context = &context;
	RETRY(fi_trecvmsg(t.ep, &m, FI_CLAIM));
	e = wait_entry(t.rx, NULL);
	CHECK(e.op_context == &context && e.len == 5000 && filled(t.in, 5000, 3));
}

static void cancelling(void)
{
	struct fi_cq_err_entry err;
	struct fi_context2 context;

	if (!t.server) {
		RETRY(fi_trecv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, 77, 0, &context));
		ok(fi_cancel(&t.ep->fid, &context), "fi_cancel");
		err = wait_error(t.rx);
		CHECK(err.err == FI_ECANCELED && err.op_context == &context);
	}
	meet();
	if (t.server) {
		RETRY(fi_tsend(t.ep, t.out, 10, desc(t.out_mr), t.peer, 78, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	RETRY(fi_trecv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, 78, 0, NULL));
	CHECK(wait_entry(t.rx, NULL).tag == 78);
}

/* Messages of one sender with one tag come in order, short and long ones mixed. */
static void order(void)
{
	enum { N = 100 };
	static int contexts[N];
	const size_t step = 20000;

	for (unsigned i = 0; i < N; i++) {
		size_t n = i % 3 ? 8 : step;

		if (t.server) {
			RETRY(fi_trecv(t.ep, t.in + i * step, step, desc(t.in_mr), FI_ADDR_UNSPEC,
				       4, 0, &contexts[i]));
			continue;
		}
		fill(t.out + i * step, n, i);
		RETRY(fi_tsend(t.ep, t.out + i * step, n, desc(t.out_mr), t.peer, 4, NULL));
	}
	for (unsigned i = 0; i < N; i++)
		wait_entry(t.server ? t.rx : t.tx, NULL);
	for (unsigned i = 0; i < N && t.server; i++)
		CHECK(filled(t.in + i * step, i % 3 ? 8 : step, i));
}

/* A sender is told to wait when the receiver does not take its messages; none is lost. */
static void back_pressure(void)
{
	unsigned n = 20000, done = 0, posted = 0, refused = 0;
	struct fi_cq_tagged_entry e[16];
	bool met = false;
	ssize_t got;

	if (t.server) {
		meet();
		for (unsigned i = 0; i < n; i++) {
			RETRY(fi_trecv(t.ep, t.in, 512, desc(t.in_mr), FI_ADDR_UNSPEC, 6, 0, NULL));
			wait_entry(t.rx, NULL);
			CHECK(*(unsigned *)(void *)t.in == i);
		}
		return;
	}
	while (done < n) {
		unsigned *slot = (unsigned *)(void *)(t.out + posted % 4096 * 512);

		if (posted < n && posted - done < 4096) {
			*slot = posted;
			got = fi_tsend(t.ep, slot, 512, desc(t.out_mr), t.peer, 6, NULL);
			refused += got == -FI_EAGAIN;
			if (got && got != -FI_EAGAIN)
				ok(got, "fi_tsend");
			posted += !got;
		}
		got = fi_cq_read(t.tx, e, 16);
		done += got > 0 ? (unsigned)got : 0;
		if (!met && (refused || posted - done == 4096 || posted == n)) {
			met = true;
			meet(); /* the receiver begins */
		}
	}
	CHECK(refused || !t.is_fare);
}

/* ---- cases: memory ---- */

struct place {
	uint64_t addr, key;
};

/* The server's memory, as the client names it. */
static struct place exchange_place(void)
{
	struct place p = {.addr = t.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)t.in
										 : 0,
			  .key = fi_mr_key(t.in_mr)};
	char name[32];

	snprintf(name, sizeof(name), "place%u", t.turn++);
	put_file(name, &p, sizeof(p));
	CHECK(get_file(name, &p, sizeof(p)) == sizeof(p));
	return p;
}

static void rma(void)
{
	struct place p;
	struct fi_cq_tagged_entry e;

	memset(t.in, 0, LONG);
	p = exchange_place();
	for (unsigned i = 1; i < N_SIZES && !t.server; i++) {
		fill(t.out, sizes[i], i);
		RETRY(fi_write(t.ep, t.out, sizes[i], desc(t.out_mr), t.peer, p.addr, p.key, &e));
		e = wait_entry(t.tx, NULL);
		CHECK(e.op_context == &e && e.flags & FI_RMA && e.flags & FI_WRITE);
		memset(t.in, 0, sizes[i]);
		RETRY(fi_read(t.ep, t.in, sizes[i], desc(t.in_mr), t.peer, p.addr, p.key, NULL));
		e = wait_entry(t.tx, NULL);
		CHECK(e.flags & FI_RMA && e.flags & FI_READ && filled(t.in, sizes[i], i));
	}
	meet();
	if (t.server)
		CHECK(filled(t.in, LONG, N_SIZES - 1));
}

/* A write tells its target when it carries data, after its bytes are there. */
static void write_data(void)
{
	struct place p = exchange_place();
	struct fi_cq_tagged_entry e;

	for (unsigned i = 0; i < 20; i++) {
		size_t n = i % 2 ? 50000 : 100;

		if (t.server) {
			e = wait_entry(t.rx, NULL);
			CHECK(e.flags & FI_REMOTE_CQ_DATA && e.flags & FI_REMOTE_WRITE);
			CHECK(e.data == 1000 + i && filled(t.in, n, i));
			meet();
			continue;
		}
		fill(t.out, n, i);
		RETRY(fi_writedata(t.ep, t.out, n, desc(t.out_mr), 1000 + i, t.peer, p.addr, p.key,
				   NULL));
		wait_entry(t.tx, NULL);
		meet();
	}
}

/* A key that opens nothing is an error of that operation alone. */
static void wrong_key(void)
{
	struct place p = exchange_place();
	struct fi_cq_err_entry err;

	if (!t.server) {
		RETRY(fi_write(t.ep, t.out, 100, desc(t.out_mr), t.peer, p.addr, p.key ^ 0x55, &p));
		err = wait_error(t.tx);
		CHECK(err.op_context == &p && err.err);
		RETRY(fi_write(t.ep, t.out, 100, desc(t.out_mr), t.peer, p.addr, p.key, NULL));
		wait_entry(t.tx, NULL);
	}
	meet();
}

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

/* ---- cases: the rest ---- */

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

/* The descriptor of a queue is readable when a message has come, without a call before. */
static void waiting(void)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid = &t.rx->fid;
	struct pollfd p = {.events = POLLIN};
	uint64_t start = now_ms();
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
		uint64_t start = now_ms();
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
		uint64_t start = now_ms();

		ok(fi_domain(t.fabric, t.info, &domain, NULL), "fi_domain");
		ok(fi_cq_open(domain, &attr, &cq, NULL), "fi_cq_open");
		while (now_ms() - start < i)
			CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
		CHECK(fi_cq_sread(cq, &e, 1, NULL, 0) == -FI_EAGAIN);
		CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
		ok(fi_close(&cq->fid), "fi_close(cq)");
		ok(fi_close(&domain->fid), "fi_close(domain)");
	}
}

/*
 * A third process floods the server meanwhile; these two notice nothing. It is over when somebody
 * makes the file "cut".
 */
static void flooded(void)
{
	uint64_t start = now_ms();
	char path[512];

	snprintf(path, sizeof(path), "%s/cut", t.dir);
	for (unsigned i = 0, last = 0; !last; i++) {
		size_t n = sizes[i % N_SIZES];

		last = !t.server && i > 4 * N_SIZES && !access(path, F_OK);
		if (t.server) {
			RETRY(fi_trecv(t.ep, t.in, LONG, desc(t.in_mr), t.peer, 5, 1, NULL));
			struct fi_cq_tagged_entry e = wait_entry(t.rx, NULL);

			CHECK(e.len == n && filled(t.in, n, i));
			last = e.tag == 4;
		} else {
			fill(t.out, n, i);
			RETRY(fi_tsend(t.ep, t.out, n, desc(t.out_mr), t.peer, last ? 4 : 5, NULL));
			wait_entry(t.tx, NULL);
		}
		late(start, "end of the flood");
	}
}

/*
 * The other end is killed. With a deadline (FI_FARE_DEADLINE_MS) what is sent to it fails, and
 * everything can be closed. Runs alone: nobody meets afterwards.
 */
static void lost(void)
{
	struct fi_cq_err_entry err;

	meet();
	if (t.server)
		raise(SIGKILL);
	RETRY(fi_tsend(t.ep, t.out, 100000, desc(t.out_mr), t.peer, 1, &err));
	err = wait_error(t.tx);
	CHECK(err.err == FI_ETIMEDOUT || err.err == FI_ECONNABORTED || err.err == FI_ECANCELED);
	RETRY(fi_inject(t.ep, t.out, 8, t.peer));
	err = wait_error(t.tx);
	CHECK(err.err && !err.op_context);
}

/* ---- running ---- */

static const struct {
	const char *name;
	void (*run)(void);
	const char *not_tcp; /* what libfabric 1.17's "tcp;ofi_rxm" does instead */
} cases[] = {
	{"msg", msg, NULL},
	{"unexpected", unexpected, NULL},
	{"vectors", vectors, NULL},
	{"inject", inject, NULL},
	{"remote-data", remote_data, NULL},
	{"tags", tags, NULL},
	{"apart", apart, NULL},
	{"directed", directed, NULL},
	{"peeking", peeking, NULL},
	{"cancelling", cancelling, NULL},
	{"order", order, NULL},
	{"truncation", truncation, "ends the connection, without an error at the receive"},
	{"back-pressure", back_pressure, NULL},
	{"rma", rma, NULL},
	{"write-data", write_data, NULL},
	{"delivery", delivery, "completes before the message is received"},
	{"counters", counters, NULL},
	{"waiting", waiting, NULL},
	{"blocking", blocking, NULL},
	{"self", self, NULL},
	{"reopening", reopening, NULL},
	{"address-vector", address_vector, NULL},
	{"formats", formats, NULL},
	{"wrong-key", wrong_key, "reports success"},
	{"lost", lost, "has no deadline"},
	{"flooded", flooded, "has no window"},
};

/* Cases that run only by their name: they need a third. */
static bool is_apart(void (*run)(void))
{
	return run == lost || run == flooded;
}

static struct fi_info *choose(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	CHECK(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->cq_data_size = 4;
	hints->fabric_attr->prov_name = strdup(provider);
	ok(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
	return info;
}

static void open_all(void)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
	struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	ok(fi_fabric(t.info->fabric_attr, &t.fabric, NULL), "fi_fabric");
	ok(fi_domain(t.fabric, t.info, &t.domain, NULL), "fi_domain");
	ok(fi_av_open(t.domain, &av, &t.av, NULL), "fi_av_open");
	ok(fi_cq_open(t.domain, &cq, &t.tx, NULL), "fi_cq_open");
	ok(fi_cq_open(t.domain, &cq, &t.rx, NULL), "fi_cq_open");
	ok(fi_cntr_open(t.domain, &cntr, &t.sent, NULL), "fi_cntr_open");
	ok(fi_endpoint(t.domain, t.info, &t.ep, NULL), "fi_endpoint");
	ok(fi_ep_bind(t.ep, &t.tx->fid, FI_TRANSMIT), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.rx->fid, FI_RECV), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.sent->fid, FI_SEND), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.av->fid, 0), "fi_ep_bind");
	ok(fi_enable(t.ep), "fi_enable");
}

static void register_all(void)
{
	t.out = calloc(1, LONG);
	t.in = calloc(1, LONG);
	CHECK(t.out && t.in);
	ok(fi_mr_reg(t.domain, t.out, LONG, FI_SEND | FI_WRITE, 0, 1, 0, &t.out_mr, NULL),
	   "fi_mr_reg");
	ok(fi_mr_reg(t.domain, t.in, LONG, FI_RECV | FI_READ | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		     2, 0, &t.in_mr, NULL),
	   "fi_mr_reg");
}

static void introduce(void)
{
	uint8_t address[ADDRESS];
	size_t n = sizeof(address);

	ok(fi_getname(&t.ep->fid, address, &n), "fi_getname");
	put_file("address", address, n);
	CHECK(fi_av_insert(t.av, address, 1, &t.self, 0, NULL) == 1);
	CHECK(get_file("address", address, sizeof(address)) == n);
	CHECK(fi_av_insert(t.av, address, 1, &t.peer, 0, NULL) == 1);
}

static void close_all(void)
{
	ok(fi_close(&t.out_mr->fid), "fi_close(mr)");
	ok(fi_close(&t.in_mr->fid), "fi_close(mr)");
	/* others crash here when they are asked too early */
	CHECK(!t.is_fare || fi_close(&t.domain->fid) == -FI_EBUSY);
	ok(fi_close(&t.ep->fid), "fi_close(ep)");
	ok(fi_close(&t.tx->fid), "fi_close(cq)");
	ok(fi_close(&t.rx->fid), "fi_close(cq)");
	ok(fi_close(&t.sent->fid), "fi_close(cntr)");
	ok(fi_close(&t.av->fid), "fi_close(av)");
	ok(fi_close(&t.domain->fid), "fi_close(domain)");
	ok(fi_close(&t.fabric->fid), "fi_close(fabric)");
	fi_freeinfo(t.info);
}

int main(int argc, char **argv)
{
	const char *only = argc > 4 ? argv[4] : NULL;

	if (argc < 4) {
		fprintf(stderr, "usage: ofi_check PROVIDER serve|ask DIRECTORY [CASE]\n");
		return 2;
	}
	t.server = !strcmp(argv[2], "serve");
	t.is_fare = !strcmp(argv[1], "fare");
	t.dir = argv[3];
	t.info = choose(argv[1]);
	open_all();
	register_all();
	introduce();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (only ? strcmp(only, cases[i].name) != 0 : is_apart(cases[i].run))
			continue;
		if (cases[i].not_tcp && !t.is_fare) {
			if (!t.server)
				printf("%-15s not run: %s\n", cases[i].name, cases[i].not_tcp);
			continue;
		}
		t.what = cases[i].name;
		meet();
		cases[i].run();
		if (cases[i].run != lost)
			meet();
		if (!t.server)
			printf("%-15s passed\n", t.what);
		fflush(stdout);
	}
	t.what = "closing";
	close_all();
	free(t.out);
	free(t.in);
	return 0;
}
