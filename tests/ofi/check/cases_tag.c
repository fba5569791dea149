/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_tag.c - fi_tagged(3): matching, order, and looking at messages that wait. */
#include "base/clock.h"
#include "case.h"

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
	uint64_t start = clock_now_ms();
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

const struct ofi_case cases_tag[] = {
	{.name = "tags", .run = tags},
	{.name = "apart", .run = apart},
	{.name = "directed", .run = directed},
	{.name = "peeking", .run = peeking},
	{.name = "cancelling", .run = cancelling},
	{.name = "order", .run = order},
	{.name = "back-pressure", .run = back_pressure},
	{.name = NULL},
};
