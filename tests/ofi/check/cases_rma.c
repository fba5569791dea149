/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_rma.c - fi_rma(3) and fi_mr(3). */
#include "base/clock.h"
#include "case.h"

#define UNREAD	 20000u /* more than have room at a peer */
#define STUCK_MS 300

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

/* Until the server reads its CQ; before, it keeps no more than has room there. */
static void write_unread(struct place p)
{
	unsigned posted = 0, done = 0;
	uint64_t since = clock_now_ms();
	bool was_stuck = false;

	while (done < UNREAD) {
		struct fi_cq_tagged_entry e;
		ssize_t err = posted == UNREAD ? -FI_EAGAIN
					       : fi_writedata(t.ep, t.out, 8, desc(t.out_mr),
							      posted, t.peer, p.addr, p.key, NULL);

		if (err != -FI_EAGAIN)
			ok(err, "fi_writedata");
		if (!err)
			posted++;
		else if (fi_cq_read(t.tx, &e, 1) == 1)
			done++;
		else if (!was_stuck && done == posted && clock_now_ms() - since > STUCK_MS)
			put_file("full", &posted, sizeof(posted)), was_stuck = true;
		if (!err || done < posted)
			since = clock_now_ms();
		late(since, "room at the peer");
	}
	CHECK(was_stuck && posted == UNREAD);
}

/* Remote CQ data for a CQ that is not read: the writer waits, and nothing is lost. */
static void data_unread(void)
{
	struct place p = exchange_place();
	uint64_t sum = 0;
	unsigned n;

	if (!t.server) {
		write_unread(p);
		meet();
		return;
	}
	get_file("full", &n, sizeof(n));
	for (n = 0; n < UNREAD; n++) {
		struct fi_cq_tagged_entry e = wait_entry(t.rx, NULL);

		CHECK(e.flags & FI_REMOTE_CQ_DATA);
		sum += e.data;
	}
	CHECK(sum == (uint64_t)UNREAD * (UNREAD - 1) / 2);
	meet();
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

/* With FI_ORDER_SAW a message that was posted after a write comes after its bytes. */
static void send_after_write(void)
{
	struct place p = exchange_place();
	const size_t n = 400000;

	for (unsigned i = 0; i < 20; i++) {
		if (t.server) {
			RETRY(fi_trecv(t.ep, t.in + n, 8, desc(t.in_mr), FI_ADDR_UNSPEC, 8, 0,
				       NULL));
			wait_entry(t.rx, NULL);
			CHECK(filled(t.in, n, i));
			meet();
			continue;
		}
		fill(t.out, n, i);
		RETRY(fi_write(t.ep, t.out, n, desc(t.out_mr), t.peer, p.addr, p.key, NULL));
		RETRY(fi_tsend(t.ep, t.out, 8, desc(t.out_mr), t.peer, 8, NULL));
		wait_entry(t.tx, NULL);
		wait_entry(t.tx, NULL);
		meet();
	}
}

/* ---- keys of the application's choice ---- */

#define FAR_KEY (UINT64_C(1) << 40 | 77)
#define ALL_KEY 9

static int reg(struct fid_mr **out, void *data, size_t n, uint64_t key)
{
	return fi_mr_reg(t.domain, data, n, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, out, NULL);
}

/* Writes n bytes of out there, and reads them back. */
static void put_and_get(fi_addr_t peer, size_t n, uint64_t offset, uint64_t key, unsigned seed)
{
	uint8_t *back = t.out + 2 * n;

	fill(t.out, n, seed);
	memset(back, 0, n);
	RETRY(fi_write(t.ep, t.out, n, desc(t.out_mr), peer, offset, key, NULL));
	CHECK(wait_entry(t.tx, NULL).flags & FI_WRITE);
	RETRY(fi_read(t.ep, back, n, desc(t.out_mr), peer, offset, key, NULL));
	CHECK(wait_entry(t.tx, NULL).flags & FI_READ && filled(back, n, seed));
}

/* The application chooses keys; offsets count from 0; a closed key serves another region. */
static void own_keys(void)
{
	struct fid_mr *a, *b, *again;

	if (!t.server) {
		meet();
		put_and_get(t.peer, 500, 300, 0, 1);
		put_and_get(t.peer, 500, 500, FAR_KEY, 2);
		meet();
		meet(); /* key 0 is another region's */
		put_and_get(t.peer, 70000, 0, 0, 3);
		put_and_get(t.peer, 500, 0, FAR_KEY, 4);
		meet();
		meet();
		return;
	}
	memset(t.in, 0, LONG);
	ok(reg(&a, t.in, 1000, 0), "fi_mr_reg");
	ok(reg(&b, t.in + 1000, 1000, FAR_KEY), "fi_mr_reg");
	CHECK(fi_mr_key(a) == 0 && fi_mr_key(b) == FAR_KEY);
	CHECK(reg(&again, t.in, 1000, FAR_KEY) == -FI_ENOKEY);
	meet();
	meet();
	CHECK(filled(t.in + 300, 500, 1) && filled(t.in + 1500, 500, 2));
	ok(fi_close(&a->fid), "fi_close(mr)");
	ok(reg(&a, t.in + 100000, 100000, 0), "fi_mr_reg");
	meet();
	meet();
	CHECK(filled(t.in + 100000, 70000, 3) && filled(t.in + 1000, 500, 4));
	CHECK(filled(t.in + 300, 500, 1));
	ok(fi_close(&a->fid), "fi_close(mr)");
	ok(fi_close(&b->fid), "fi_close(mr)");
	meet();
}

/* A region of all memory: an offset is a virtual address. And a process and itself. */
static void all_memory(void)
{
	uint64_t addr = (uintptr_t)t.in;
	struct fid_mr *all;

	ok(reg(&all, NULL, SIZE_MAX, ALL_KEY), "fi_mr_reg");
	put_file("all", &addr, sizeof(addr));
	CHECK(get_file("all", &addr, sizeof(addr)) == sizeof(addr));
	meet();
	if (!t.server)
		put_and_get(t.peer, 100000, addr + 64, ALL_KEY, 5);
	meet();
	if (t.server)
		CHECK(filled(t.in + 64, 100000, 5));
	put_and_get(t.self, 3000, 17, IN_KEY, 6);
	CHECK(filled(t.in + 17, 3000, 6));
	meet();
	ok(fi_close(&all->fid), "fi_close(mr)");
}

static void is_refused(fi_addr_t peer, size_t n, uint64_t offset, uint64_t key)
{
	RETRY(fi_write(t.ep, t.out, n, desc(t.out_mr), peer, offset, key, NULL));
	CHECK(wait_error(t.tx).err == FI_EACCES);
}

/* Beyond a region's end, in one that is closed, or without the right: an error of that alone. */
static void out_of_reach(void)
{
	struct fid_mr *a, *shown;

	if (t.server) {
		ok(reg(&a, t.in, 1000, 0), "fi_mr_reg");
		ok(fi_mr_reg(t.domain, t.in, 1000, FI_REMOTE_READ, 0, FAR_KEY, 0, &shown, NULL),
		   "fi_mr_reg");
		memset(t.in, 0x11, 1001);
		meet();
		meet();
		ok(fi_close(&a->fid), "fi_close(mr)");
		meet();
		meet();
		CHECK(t.in[1000] == 0x11);
		ok(fi_close(&shown->fid), "fi_close(mr)");
		return;
	}
	meet();
	put_and_get(t.peer, 10, 0, 0, 1);
	is_refused(t.peer, 2, 999, 0);
	is_refused(t.peer, 2, UINT64_MAX, 0);
	is_refused(t.peer, 2, 0, FAR_KEY);
	put_and_get(t.peer, 10, 990, 0, 1);
	meet();
	meet(); /* it is closed */
	is_refused(t.peer, 2, 0, 0);
	is_refused(t.self, 2, 0, 0);
	meet();
}

const struct ofi_case cases_rma[] = {
	{.name = "rma", .run = rma},
	{.name = "write-data", .run = write_data},
	{.name = "data-unread", .run = data_unread, .not_tcp = "has no bound"},
	{.name = "wrong-key", .run = wrong_key, .not_tcp = "reports success"},
	{.name = "after-write", .run = send_after_write, .not_tcp = "does not offer FI_ORDER_SAW"},
	{.name = "own-keys", .run = own_keys, .mode = CASE_SCALABLE},
	{.name = "all-memory", .run = all_memory, .mode = CASE_SCALABLE},
	{.name = "out-of-reach",
	 .run = out_of_reach,
	 .not_tcp = "reports success",
	 .mode = CASE_SCALABLE},
	{.name = NULL},
};
