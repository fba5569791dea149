/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_msg.c - fi_msg(3). */
#include "base/clock.h"
#include "case.h"

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

/*
 * Messages that came before their receives are kept, in order: short ones, such as fare sends in
 * several records, and more of them than its window has room for.
 */
static void unexpected(void)
{
	const unsigned n = 80, slot = 36000;

	for (unsigned i = 0; i < n && !t.server; i++) {
		fill(t.out + i * slot, i * 450, i);
		RETRY(fi_send(t.ep, t.out + i * slot, i * 450, desc(t.out_mr), t.peer, NULL));
	}
	meet(); /* messages are under way or here */
	for (unsigned i = 0; i < n; i++) {
		struct fi_cq_tagged_entry e;

		if (!t.server) {
			wait_entry(t.tx, NULL);
			continue;
		}
		RETRY(fi_recv(t.ep, t.in, slot, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
		e = wait_entry(t.rx, NULL);
		CHECK(e.len == i * 450 && filled(t.in, e.len, i));
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
	static const size_t lengths[] = {1000, 9000, 100000};

	for (unsigned i = 0; i < 3; i++) {
		size_t n = lengths[i];
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
	for (unsigned i = 0; i < 3 && !t.server; i++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err;
		ssize_t got;
		uint64_t start = clock_now_ms();

		while ((got = fi_cq_read(t.tx, &e, 1)) == -FI_EAGAIN)
			late(start, "completion");
		if (got == -FI_EAVAIL)
			fi_cq_readerr(t.tx, &err, 0);
	}
}

#define MULTI_LEAST 1000

static void set_least(size_t bytes)
{
	size_t again = 0, n = sizeof(again);

	ok(fi_setopt(&t.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, sizeof(bytes)),
	   "fi_setopt");
	ok(fi_getopt(&t.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &again, &n), "fi_getopt");
	CHECK(again == bytes && n == sizeof(again));
}

static void post_multi(size_t bytes, void *context)
{
	struct iovec iov = {t.in, bytes};
	void *d = desc(t.in_mr);
	const struct fi_msg m = {.msg_iov = &iov,
				 .desc = &d,
				 .iov_count = 1,
				 .addr = FI_ADDR_UNSPEC,
				 .context = context};

	RETRY(fi_recvmsg(t.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
}

/*
 * Takes n messages of these lengths, in any order, out of a buffer of so many bytes: each lies
 * within it, no two of them overlap, and the buffer is given back once. Over fare that is after the
 * last of them; others say so when the last has its place, while longer ones are still on the way.
 */
static void take_multi(const size_t *lengths, unsigned n, size_t bytes, const void *context)
{
	unsigned seen = 0, n_back = 0;
	uint8_t *used = calloc(1, bytes);

	CHECK(used);
	while (seen < n || !n_back) {
		struct fi_cq_tagged_entry e = wait_entry(t.rx, NULL);
		size_t at = (size_t)((uint8_t *)e.buf - t.in);
		unsigned i = 0;

		CHECK(e.op_context == context && (!n_back || !t.is_fare));
		n_back += !!(e.flags & FI_MULTI_RECV);
		CHECK(n_back <= 1);
		if (!(e.flags & FI_RECV))
			continue;
		seen++;
		while (i < n && lengths[i] != e.len)
			i++;
		CHECK(i < n && e.flags & FI_MSG && at + e.len <= bytes);
		CHECK(filled(e.buf, e.len, i) && !memchr(used + at, 1, e.len));
		memset(used + at, 1, e.len);
	}
	CHECK(seen == n);
	free(used);
}

/* One buffer takes messages until too little of it is left; what follows is for another. */
static void multi_recv(void)
{
	static const struct {
		size_t bytes, lengths[4];
	} rounds[] = {{10000, {3000, 10, 5000, 1500}},
		      {1000000, {300000, 20, 600000, 99500}},
		      {LONG, {1000000, 2000000, 7, 145000}}};
	const unsigned n = 4;
	int context;

	if (t.server)
		set_least(MULTI_LEAST);
	for (unsigned r = 0; r < 3; r++) {
		const size_t *lengths = rounds[r].lengths;
		size_t at = 0;

		/* the buffer is there first, but for the second round */
		if (t.server && r != 1)
			post_multi(rounds[r].bytes, &context);
		meet();
		for (unsigned i = 0; i < n && !t.server; at += lengths[i++]) {
			fill(t.out + at, lengths[i], i);
			RETRY(fi_send(t.ep, t.out + at, lengths[i], desc(t.out_mr), t.peer, NULL));
		}
		meet();
		if (t.server && r == 1)
			post_multi(rounds[r].bytes, &context);
		for (unsigned i = 0; i < n && !t.server; i++)
			wait_entry(t.tx, NULL);
		if (t.server)
			take_multi(lengths, n, rounds[r].bytes, &context);
		/* what comes now is not for that buffer */
		if (t.server) {
			RETRY(fi_recv(t.ep, t.in, 100, desc(t.in_mr), FI_ADDR_UNSPEC, NULL));
			meet();
			CHECK(wait_entry(t.rx, NULL).op_context == NULL && filled(t.in, 50, 9));
		} else {
			fill(t.out, 50, 9);
			meet();
			RETRY(fi_send(t.ep, t.out, 50, desc(t.out_mr), t.peer, NULL));
			wait_entry(t.tx, NULL);
		}
	}
}

/* A buffer that is cancelled takes nothing any more, and is given back. */
static void multi_cancel(void)
{
	struct fi_context2 context;
	struct fi_cq_err_entry err;

	if (!t.server) {
		meet();
		fill(t.out, 60, 4);
		RETRY(fi_send(t.ep, t.out, 60, desc(t.out_mr), t.peer, NULL));
		wait_entry(t.tx, NULL);
		return;
	}
	post_multi(10000, &context);
	ok(fi_cancel(&t.ep->fid, &context), "fi_cancel");
	err = wait_error(t.rx);
	CHECK(err.err == FI_ECANCELED && err.op_context == &context);
	RETRY(fi_recv(t.ep, t.in + 20000, 100, desc(t.in_mr), FI_ADDR_UNSPEC, &err));
	meet();
	CHECK(wait_entry(t.rx, NULL).op_context == &err && filled(t.in + 20000, 60, 4));
}

const struct ofi_case cases_msg[] = {
	{.name = "msg", .run = msg},
	{.name = "unexpected", .run = unexpected},
	{.name = "vectors", .run = vectors},
	{.name = "inject", .run = inject},
	{.name = "remote-data", .run = remote_data},
	{.name = "truncation",
	 .run = truncation,
	 .not_tcp = "ends the connection, without an error at the receive"},
	{.name = "multi-recv",
	 .run = multi_recv,
	 .not_tcp = "2.1's forgets the least size that was set, and keeps buffers"},
	{.name = "multi-cancel", .run = multi_cancel},
	{.name = NULL},
};
