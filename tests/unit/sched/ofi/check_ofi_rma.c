/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations of an endpoint of the provider: its own toward itself, by libfabric's calls;
 * and those of a peer that speaks to it through libfare alone, and sends any record.
 */
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi.h"

#include "../qp/domain_pair.h"

#define NUMBERS	 1024
#define BOTH	 7 /* keys of the application's choice: all rights, and one of them */
#define READABLE 8
#define WRITABLE 9

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *fid;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_cntr *reads, *writes;
static struct fid_ep *ep;
static struct fid_mr *mr[3];
static fi_addr_t self;
static struct ofi_domain *victim;
/* the middle third is registered */
static uint64_t memory[3 * NUMBERS];
static uint64_t *const target = memory + NUMBERS;

static void open_endpoint(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP};
	uint8_t address[OFI_ADDRESS_BYTES];
	size_t n = sizeof(address);

	hints->caps = FI_ATOMIC;
	ck_assert_int_eq(ofi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	ck_assert_int_eq(ofi_fabric_open(info->fabric_attr, &fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(fabric, info, &fid, NULL), 0);
	ck_assert_int_eq(fi_av_open(fid, &av_attr, &av, NULL), 0);
	ck_assert_int_eq(fi_cq_open(fid, &cq_attr, &cq, NULL), 0);
	ck_assert_int_eq(fi_cntr_open(fid, &cntr_attr, &reads, NULL), 0);
	ck_assert_int_eq(fi_cntr_open(fid, &cntr_attr, &writes, NULL), 0);
	ck_assert_int_eq(fi_endpoint(fid, info, &ep, NULL), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &reads->fid, FI_READ), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &writes->fid, FI_WRITE), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &av->fid, 0), 0);
	ck_assert_int_eq(fi_enable(ep), 0);
	ck_assert_int_eq(fi_getname(&ep->fid, address, &n), 0);
	ck_assert_int_eq(fi_av_insert(av, address, 1, &self, 0, NULL), 1);
	victim = ofi_domain_of(fid);
}

static void setup_endpoint(void)
{
	static const uint64_t access[] = {FI_REMOTE_READ | FI_REMOTE_WRITE, FI_REMOTE_READ,
					  FI_REMOTE_WRITE};

	setup();
	setenv("FARE_RUN_DIR", dir[1], 1);
	setenv("FARE_TRUSTED_NETWORK", "1", 1);
	open_endpoint();
	memset(memory, 0, sizeof(memory));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(fi_mr_reg(fid, target, NUMBERS * sizeof(*target), access[i], 0,
					   BOTH + i, 0, &mr[i], NULL),
				 0);
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
}

static void teardown_endpoint(void)
{
	for (int i = 0; i < NUMBERS; i++)
		ck_assert(!memory[i] && !memory[2 * NUMBERS + i]);
	fare_domain_close(domain[0]);
	domain[0] = NULL;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(fi_close(&mr[i]->fid), 0);
	ck_assert_int_eq(fi_close(&ep->fid), 0);
	ck_assert_int_eq(fi_close(&cq->fid), 0);
	ck_assert_int_eq(fi_close(&reads->fid), 0);
	ck_assert_int_eq(fi_close(&writes->fid), 0);
	ck_assert_int_eq(fi_close(&av->fid), 0);
	ck_assert_int_eq(fi_close(&fid->fid), 0);
	ck_assert_int_eq(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	teardown();
}

static void turn_both(void)
{
	look(0);
	ofi_lock(victim);
	ofi_progress_turn(victim);
	ofi_unlock(victim);
}

#define BOTH_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (time_t patience = time(NULL) + PATIENCE_S; !(condition);) {                   \
			ck_assert_msg(time(NULL) < patience, "never came true: " #condition);      \
			turn_both();                                                               \
		}                                                                                  \
	} while (0)

static unsigned n_due(void)
{
	struct ofi_peer *peer, *next;
	unsigned n = 0;

	ofi_lock(victim);
	HASH_ITER (hh, victim->peers.by_address, peer, next)
		n += peer->limits.due + (unsigned)peer->limits.bytes + (unsigned)peer->out_bytes;
	ofi_unlock(victim);
	return n;
}

/* ---- by libfabric's calls ---- */

static struct fi_cq_tagged_entry wait_entry(void)
{
	struct fi_cq_tagged_entry e;
	ssize_t n;

	for (time_t patience = time(NULL) + PATIENCE_S; (n = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN;)
		ck_assert(time(NULL) < patience);
	ck_assert_int_eq(n, 1);
	return e;
}

static int wait_error(void)
{
	struct fi_cq_err_entry e = {0};
	struct fi_cq_tagged_entry entry;

	for (time_t patience = time(NULL) + PATIENCE_S; fi_cq_read(cq, &entry, 1) != -FI_EAVAIL;)
		ck_assert(time(NULL) < patience);
	ck_assert_int_eq(fi_cq_readerr(cq, &e, 0), 1);
	ck_assert(e.flags & FI_ATOMIC);
	return e.err;
}

START_TEST(each_call)
{
	uint64_t one = 1, five = 5, old = 99, contexts[4];
	struct fi_ioc ioc = {&one, 1}, result = {&old, 1}, compare = {&five, 1};
	struct fi_rma_ioc place = {.addr = 8, .count = 1, .key = BOTH};
	const struct fi_msg_atomic msg = {.msg_iov = &ioc,
					  .iov_count = 1,
					  .addr = self,
					  .rma_iov = &place,
					  .rma_iov_count = 1,
					  .datatype = FI_UINT64,
					  .op = FI_SUM,
					  .context = &contexts[3]},
				   swap = {.msg_iov = &ioc,
					   .iov_count = 1,
					   .addr = self,
					   .rma_iov = &place,
					   .rma_iov_count = 1,
					   .datatype = FI_UINT64,
					   .op = FI_CSWAP};
	struct fi_cq_tagged_entry e;

	ck_assert_int_eq(fi_atomic(ep, &five, 1, NULL, self, 8, BOTH, FI_UINT64, FI_ATOMIC_WRITE,
				   &contexts[0]),
			 0);
	e = wait_entry();
	ck_assert_ptr_eq(e.op_context, &contexts[0]);
	ck_assert_uint_eq(e.flags, FI_ATOMIC | FI_WRITE);
	ck_assert_uint_eq(target[1], 5);
	ck_assert_int_eq(fi_atomicv(ep, &ioc, NULL, 1, self, 8, BOTH, FI_UINT64, FI_SUM, NULL), 0);
	wait_entry();
	ck_assert_int_eq(fi_atomicmsg(ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION), 0);
	ck_assert_ptr_eq(wait_entry().op_context, &contexts[3]);
	ck_assert_int_eq(fi_inject_atomic(ep, &one, 1, self, 8, BOTH, FI_UINT64, FI_SUM), 0);
	BOTH_UNTIL(fi_cntr_read(writes) == 4);
	ck_assert_uint_eq(target[1], 8);

	ck_assert_int_eq(fi_fetch_atomic(ep, NULL, 1, NULL, &old, NULL, self, 8, BOTH, FI_UINT64,
					 FI_ATOMIC_READ, &contexts[1]),
			 0);
	e = wait_entry();
	ck_assert_ptr_eq(e.op_context, &contexts[1]);
	ck_assert_uint_eq(e.flags, FI_ATOMIC | FI_READ);
	ck_assert_uint_eq(old, 8);
	ck_assert_int_eq(fi_fetch_atomicv(ep, &ioc, NULL, 1, &result, NULL, 1, self, 8, BOTH,
					  FI_UINT64, FI_ATOMIC_WRITE, NULL),
			 0);
	wait_entry();
	ck_assert(old == 8 && target[1] == 1);
	ck_assert_int_eq(fi_fetch_atomicmsg(ep, &msg, &result, NULL, 1, 0), 0);
	wait_entry();
	ck_assert(old == 1 && target[1] == 2);

	five = 2;
	ck_assert_int_eq(fi_compare_atomic(ep, &one, 1, NULL, &five, NULL, &old, NULL, self, 8,
					   BOTH, FI_UINT64, FI_CSWAP, &contexts[2]),
			 0);
	e = wait_entry();
	ck_assert_uint_eq(e.flags, FI_ATOMIC | FI_READ);
	ck_assert(old == 2 && target[1] == 1);
	ck_assert_int_eq(fi_compare_atomicv(ep, &ioc, NULL, 1, &compare, NULL, 1, &result, NULL, 1,
					    self, 8, BOTH, FI_UINT64, FI_CSWAP_GT, NULL),
			 0);
	wait_entry();
	ck_assert(old == 1 && target[1] == 1);
	ck_assert_int_eq(fi_compare_atomicmsg(ep, &swap, &compare, NULL, 1, &result, NULL, 1, 0),
			 0);
	wait_entry();
	ck_assert(old == 1 && target[1] == 1);
	ck_assert_uint_eq(fi_cntr_read(reads), 6);
	ck_assert_uint_eq(n_due(), 0);
	ck_assert_ptr_null(victim->ops);
}
END_TEST

/* Pieces of other lengths on each side. */
START_TEST(vectors)
{
	uint32_t a[] = {1, 2, 3}, b[] = {4, 5}, out[5] = {0}, *at = (uint32_t *)target;
	struct fi_ioc operands[] = {{a, 3}, {NULL, 0}, {b, 2}},
		      results[] = {{out, 1}, {out + 1, 4}};

	for (uint32_t i = 0; i < 5; i++)
		at[i] = 100 * i;
	ck_assert_int_eq(fi_fetch_atomicv(ep, operands, NULL, 3, results, NULL, 2, self, 0, BOTH,
					  FI_UINT32, FI_SUM, NULL),
			 0);
	wait_entry();
	ck_assert_mem_eq(at, ((uint32_t[]){1, 102, 203, 304, 405}), sizeof(out));
	ck_assert_mem_eq(out, ((uint32_t[]){0, 100, 200, 300, 400}), sizeof(out));
	results[1].count = 3;
	ck_assert_int_eq(fi_fetch_atomicv(ep, operands, NULL, 3, results, NULL, 2, self, 0, BOTH,
					  FI_UINT32, FI_SUM, NULL),
			 -FI_EINVAL);
	ck_assert_int_eq(fi_fetch_atomicv(ep, operands, NULL, 9, results, NULL, 2, self, 0, BOTH,
					  FI_UINT32, FI_SUM, NULL),
			 -FI_EINVAL);
}
END_TEST

/* What fi_atomicvalid() says of the count is the most, for each form. */
START_TEST(the_most)
{
	static uint64_t in[NUMBERS], out[NUMBERS];
	struct fi_atomic_attr attr;
	size_t most;

	ck_assert_int_eq(fi_atomicvalid(ep, FI_UINT64, FI_SUM, &most), 0);
	ck_assert_int_eq(fi_atomic(ep, in, most, NULL, self, 0, BOTH, FI_UINT64, FI_SUM, NULL), 0);
	wait_entry();
	ck_assert_int_eq(fi_inject_atomic(ep, in, most, self, 0, BOTH, FI_UINT64, FI_SUM), 0);
	ck_assert_int_eq(fi_atomic(ep, in, most + 1, NULL, self, 0, BOTH, FI_UINT64, FI_SUM, NULL),
			 -FI_EMSGSIZE);
	ck_assert_int_eq(fi_atomic(ep, in, SIZE_MAX, NULL, self, 0, BOTH, FI_UINT64, FI_SUM, NULL),
			 -FI_EMSGSIZE);
	ck_assert_int_eq(fi_atomic(ep, in, 0, NULL, self, 0, BOTH, FI_UINT64, FI_SUM, NULL),
			 -FI_EINVAL);
	ck_assert_int_eq(fi_fetch_atomicvalid(ep, FI_UINT64, FI_ATOMIC_READ, &most), 0);
	ck_assert_int_eq(fi_fetch_atomic(ep, NULL, most, NULL, out, NULL, self, 0, BOTH, FI_UINT64,
					 FI_ATOMIC_READ, NULL),
			 0);
	wait_entry();
	ck_assert_int_eq(fi_compare_atomicvalid(ep, FI_UINT64, FI_MSWAP, &most), 0);
	ck_assert_int_eq(fi_compare_atomic(ep, in, most, NULL, in, NULL, out, NULL, self, 0, BOTH,
					   FI_UINT64, FI_MSWAP, NULL),
			 0);
	wait_entry();
	ck_assert_int_eq(fi_query_atomic(fid, FI_UINT64, FI_MSWAP, &attr, FI_COMPARE_ATOMIC), 0);
	ck_assert(attr.count == most && attr.size == 8);
	ck_assert_int_eq(fi_query_atomic(fid, FI_UINT64, FI_MSWAP, &attr, 0), -FI_EOPNOTSUPP);
	ck_assert_int_eq(fi_query_atomic(fid, FI_UINT64, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
	ck_assert_int_eq(
		fi_query_atomic(fid, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
		-FI_EBADFLAGS);
	ck_assert_int_eq(fi_atomicvalid(ep, FI_LONG_DOUBLE, FI_SUM, &most), -FI_EOPNOTSUPP);
	ck_assert_int_eq(fi_atomic(ep, in, 1, NULL, self, 0, BOTH, FI_DOUBLE, FI_BOR, NULL),
			 -FI_EOPNOTSUPP);
	ck_assert_int_eq(fi_atomic(ep, in, 1, NULL, self, 0, BOTH, FI_UINT64, FI_CSWAP, NULL),
			 -FI_EOPNOTSUPP);
}
END_TEST

static int fetch(uint64_t addr, uint64_t region, enum fi_op op)
{
	uint64_t one = 1, old;

	ck_assert_int_eq(fi_fetch_atomic(ep, &one, 1, NULL, &old, NULL, self, addr, region,
					 FI_UINT64, op, NULL),
			 0);
	return wait_error();
}

/* What cannot be done is an error, also of an inject call; nothing is changed. */
START_TEST(refusals)
{
	uint64_t one = 1, old;

	ck_assert_int_eq(fetch(0, 12345, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(0, READABLE, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(0, WRITABLE, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(0, WRITABLE, FI_ATOMIC_READ), FI_EACCES);
	ck_assert_int_eq(fetch(NUMBERS * 8, BOTH, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(NUMBERS * 8 - 4, BOTH, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(UINT64_MAX - 7, BOTH, FI_SUM), FI_EACCES);
	ck_assert_int_eq(fetch(4, BOTH, FI_SUM), FI_EINVAL);
	ck_assert_int_eq(fi_inject_atomic(ep, &one, 1, self, 4, BOTH, FI_UINT64, FI_SUM), 0);
	ck_assert_int_eq(wait_error(), FI_EINVAL);
	for (int i = 0; i < NUMBERS; i++)
		ck_assert_uint_eq(target[i], 0);
	/* the right alone that is needed */
	ck_assert_int_eq(fi_fetch_atomic(ep, NULL, 1, NULL, &old, NULL, self, 0, READABLE,
					 FI_UINT64, FI_ATOMIC_READ, NULL),
			 0);
	wait_entry();
	ck_assert_int_eq(fi_atomic(ep, &one, 1, NULL, self, 0, WRITABLE, FI_UINT64, FI_SUM, NULL),
			 0);
	wait_entry();
	ck_assert_uint_eq(target[0], 1);
	ck_assert_uint_eq(n_due(), 0);
}
END_TEST

/* ---- a peer that sends any record ---- */

static struct ofi_wire answer;
static const uint8_t *answer_body;
static size_t answer_bytes;

static void connect_client(void)
{
	const struct ofi_greeting g = {.version = OFI_WIRE_VERSION, .window_bytes = 1u << 20};
	uint8_t greeting[OFI_GREETING_BYTES];
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = sizeof(greeting)};

	ofi_greeting_encode(&g, greeting);
	n_connected = n_closed = n_completed = 0;
	ck_assert_int_eq(fare_group_open_to(&group, domain[0], &victim->address, &options), 0);
	BOTH_UNTIL(n_connected);
}

static void send_bytes(const uint8_t *record, uint32_t bytes)
{
	const struct fare_send send = {.data = record, .length = bytes};

	n_completed = 0;
	ck_assert_int_eq(fare_group_send(group, &send), 0);
	BOTH_UNTIL(n_completed);
}

/* Sends it with so many bytes behind it, and waits for the answer: what that says. */
static uint32_t ask(const struct ofi_atomic *a, uint32_t values, uint32_t result_bytes)
{
	const struct ofi_wire w = {.kind = OFI_ATOMIC, .cookie = 0x1234, .status = result_bytes};
	uint8_t record[OFI_RECORD_BYTES] = {0};
	size_t payload;

	ofi_wire_encode(&w, record);
	ofi_atomic_encode(a, record + OFI_WIRE_BYTES);
	memset(record + OFI_WIRE_BYTES + OFI_ATOMIC_BYTES, 1, values);
	n_messages = 0;
	n_arrived = 0;
	send_bytes(record, OFI_WIRE_BYTES + OFI_ATOMIC_BYTES + values);
	BOTH_UNTIL(n_messages);
	ck_assert_int_eq(ofi_wire_decode(arrived, n_arrived, &answer, &payload), 0);
	ck_assert_uint_eq(answer.kind, OFI_RESULT);
	ck_assert_uint_eq(answer.cookie, 0x1234);
	answer_body = arrived + payload;
	answer_bytes = n_arrived - payload;
	ck_assert(!answer.status || !answer_bytes);
	return answer.status;
}

START_TEST(a_peer_is_answered)
{
	struct ofi_atomic a = {.address = 16,
			       .key = BOTH,
			       .count = 2,
			       .form = OFI_ATOMIC_FETCH,
			       .datatype = FI_UINT64,
			       .op = FI_ATOMIC_WRITE};

	connect_client();
	target[3] = 77;
	ck_assert_uint_eq(ask(&a, 16, 16), 0);
	ck_assert_mem_eq(answer_body, ((uint64_t[]){0, 77}), 16);
	ck_assert(target[2] == UINT64_C(0x0101010101010101) && target[3] == target[2]);
	a.op = FI_ATOMIC_READ;
	ck_assert_uint_eq(ask(&a, 0, 16), 0);
	ck_assert_mem_eq(answer_body, target + 2, 16);
	ck_assert_uint_eq(n_due(), 0);
}
END_TEST

/* Each is refused with an answer, and changes nothing. */
START_TEST(what_a_peer_makes_up_is_refused)
{
	const struct ofi_atomic good = {.key = BOTH,
					.count = 1,
					.form = OFI_ATOMIC_FETCH,
					.datatype = FI_UINT64,
					.op = FI_SUM};
	struct ofi_atomic bad[] = {good, good, good, good, good, good, good, good, good};
	unsigned n = 0;

	connect_client();
	bad[n++].key = 0;
	bad[n++].key = READABLE;
	bad[n++].key = WRITABLE;
	bad[n++].address = NUMBERS * 8;
	bad[n++].address = UINT64_MAX - 7;
	bad[n++].address = (uintptr_t)target;
	bad[n++].address = 1;
	bad[n++].op = FI_CSWAP;
	bad[n++].datatype = FI_LONG_DOUBLE;
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(ask(&bad[i], 8, 8), i < 6 ? EACCES : i < 7 ? EINVAL : EBADMSG);
	ck_assert_uint_eq(ask(&good, 7, 8), EBADMSG);
	ck_assert_uint_eq(ask(&good, 16, 8), EBADMSG);
	ck_assert_uint_eq(ask(&good, 8, 16), EBADMSG);
	ck_assert_uint_eq(ask(&good, 8, 0), EBADMSG);
	for (int i = 0; i < NUMBERS; i++)
		ck_assert_uint_eq(target[i], 0);
	ck_assert_uint_eq(n_due(), 0);
	ck_assert_uint_eq(n_closed, 0);
}
END_TEST

/* Answers for what was never asked, at any cookie; and too short to be any. */
START_TEST(answers_that_nobody_waits_for_are_ignored)
{
	struct ofi_wire w = {.kind = OFI_RESULT};
	uint8_t record[OFI_RECORD_BYTES] = {0};

	connect_client();
	for (w.cookie = 0; w.cookie < 64; w.cookie++) {
		ofi_wire_encode(&w, record);
		send_bytes(record, OFI_WIRE_BYTES + 8);
	}
	record[0] = OFI_ATOMIC;
	send_bytes(record, OFI_WIRE_BYTES - 1);
	send_bytes(record, OFI_WIRE_BYTES);
	/* the last one is no operation, and is answered */
	BOTH_UNTIL(n_messages && !victim->ops);
	ck_assert_uint_eq(n_closed, 0);
	ck_assert_uint_eq(n_due(), 0);
}
END_TEST

/* What a write with data says is not acknowledged, even if the peer asks for it. */
START_TEST(only_a_short_message_is_acknowledged)
{
	const struct ofi_atomic a = {.key = BOTH,
				     .count = 1,
				     .form = OFI_ATOMIC_FETCH,
				     .datatype = FI_UINT64,
				     .op = FI_SUM};
	struct ofi_wire w = {.kind = OFI_WRITTEN, .flags = OFI_WIRE_ACK, .dst_ep = 9999};
	uint8_t record[OFI_RECORD_BYTES] = {0};

	size_t payload;

	connect_client();
	n_messages = 0;
	n_arrived = 0;
	ofi_wire_encode(&w, record);
	send_bytes(record, OFI_WIRE_RTS_BYTES);
	w = (struct ofi_wire){.kind = OFI_ATOMIC, .status = 8};
	ofi_wire_encode(&w, record);
	ofi_atomic_encode(&a, record + OFI_WIRE_BYTES);
	send_bytes(record, OFI_WIRE_BYTES + OFI_ATOMIC_BYTES + 8);
	BOTH_UNTIL(n_messages);
	ck_assert_int_eq(ofi_wire_decode(arrived, n_arrived, &answer, &payload), 0);
	ck_assert_uint_eq(answer.kind, OFI_RESULT); /* the first answer */
	ck_assert_uint_eq(n_due(), 0);
}
END_TEST

/* ---- toward a peer that answers as it likes ---- */

static uint32_t wait_for_question(void)
{
	struct ofi_wire w;
	size_t payload;

	BOTH_UNTIL(n_messages);
	ck_assert_int_eq(ofi_wire_decode(arrived, n_arrived, &w, &payload), 0);
	ck_assert_uint_eq(w.kind, OFI_ATOMIC);
	n_messages = 0;
	n_arrived = 0;
	return w.cookie;
}

/* Only one of the right length is the result; a FIN is none. */
START_TEST(a_result_has_the_right_length)
{
	uint8_t address[OFI_ADDRESS_BYTES], record[OFI_RECORD_BYTES];
	struct ofi_address client = {.ep = 0};
	uint64_t one = 1, old[2] = {11, 22};
	fi_addr_t peer;

	fare_domain_address(domain[0], &client.process);
	ofi_address_encode(&client, address);
	ck_assert_int_eq(fi_av_insert(av, address, 1, &peer, 0, NULL), 1);
	connect_client();
	for (uint32_t bytes = 0; bytes <= 16; bytes += 4) {
		struct ofi_wire w = {.kind = OFI_FIN};

		old[0] = 11;
		ck_assert_int_eq(fi_fetch_atomic(ep, &one, 1, NULL, old, NULL, peer, 0, BOTH,
						 FI_UINT64, FI_SUM, NULL),
				 0);
		w.cookie = wait_for_question();
		ofi_wire_encode(&w, record);
		send_bytes(record, OFI_WIRE_BYTES);
		w.kind = OFI_RESULT;
		memset(record, 0x33, sizeof(record));
		ofi_wire_encode(&w, record);
		send_bytes(record, OFI_WIRE_BYTES + bytes);
		if (bytes == 8)
			wait_entry();
		else
			ck_assert_int_eq(wait_error(), EREMOTEIO);
		ck_assert_uint_eq(old[0], bytes == 8 ? UINT64_C(0x3333333333333333) : 11);
		ck_assert_uint_eq(old[1], 22);
		send_bytes(record, OFI_WIRE_BYTES + bytes); /* once more */
	}
	BOTH_UNTIL(!victim->ops);
	ck_assert_uint_eq(n_due(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_rma");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup_endpoint, teardown_endpoint);
	tcase_add_test(tc, each_call);
	tcase_add_test(tc, vectors);
	tcase_add_test(tc, the_most);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, a_peer_is_answered);
	tcase_add_test(tc, what_a_peer_makes_up_is_refused);
	tcase_add_test(tc, answers_that_nobody_waits_for_are_ignored);
	tcase_add_test(tc, only_a_short_message_is_acknowledged);
	tcase_add_test(tc, a_result_has_the_right_length);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
