/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_rma.c - fi_rma(3) and fi_atomic(3): reads and writes of a peer's registered memory, and
 * operations on it that the peer's CPU does.
 *
 * A write that carries remote CQ data is a write and a message behind it, which starts when the
 * write has completed; the operation is over with the second. An atomic operation is a record for
 * the target, and is complete with its answer.
 */
#include "ofi/ofi.h"

#include <string.h>
#include <stdlib.h>

#include "ofi/ofi_atomic_op.h"

/* ==== reads and writes ==== */

#define RMA_FLAGS                                                                                  \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

struct rma {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t peer;
	uint64_t addr, key, data;
	void *context;
	uint64_t flags; /* FI_REMOTE_CQ_DATA: data counts */
	bool is_read, silent;
};

#define RMA(...) ((struct rma){__VA_ARGS__})

/* ---- one operation ---- */

static struct ofi_op *rma_begin(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r,
				enum ofi_op_kind kind)
{
	struct ofi_op *op = ofi_op_create(ep->domain, ep, peer, kind);

	if (!op)
		return NULL;
	op->context = r->context;
	op->flags = FI_RMA | (r->is_read ? FI_READ : FI_WRITE);
	op->length = ofi_iov_bytes(r->iov, r->count);
	op->wants_entry = !r->silent && ofi_complete_wants_entry(ep, true, r->flags);
	return op;
}

static int rma_memory(struct ofi_op *op, const struct rma *r)
{
	int err = r->flags & FI_INJECT
			  ? ofi_op_copy_memory(op, r->iov, r->count, op->length, 0)
			  : ofi_op_take_memory(op, r->iov, r->desc, r->count, op->length, 0);

	op->key = r->key;
	op->address = r->addr;
	op->by_key = op->domain->is_scalable;
	op->remote_addr = r->addr;
	op->rkey = (uint32_t)r->key;
	return err == -ENOSPC ? -FI_EAGAIN : err;
}

/* The message behind a write with data. */
static int rma_follow(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r,
		      uint16_t dst_ep, struct ofi_op **out)
{
	const struct ofi_wire w = {.kind = OFI_WRITTEN,
				   .flags = OFI_WIRE_DATA,
				   .src_ep = ep->number,
				   .dst_ep = dst_ep,
				   .data = r->data,
				   .length = ofi_iov_bytes(r->iov, r->count)};
	struct ofi_op *op = rma_begin(ep, peer, r, OFI_OP_MESSAGE);

	if (!op)
		return -FI_ENOMEM;
	if (!ofi_peer_charge(op, OFI_WRITTEN, 0)) {
		ofi_op_destroy(op);
		return -FI_EAGAIN; /* the peer's application has not read what came before */
	}
	ofi_op_set_message(op, &w);
	*out = op;
	return 0;
}

static int rma_prepare(struct ofi_op *op, const struct rma *r, uint16_t dst_ep)
{
	int err = rma_memory(op, r);

	if (!err && r->flags & FI_REMOTE_CQ_DATA && !r->is_read)
		err = rma_follow(op->ep, op->peer, r, dst_ep, &op->announces);
	return err;
}

static int rma_submit(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r,
		      uint16_t dst_ep)
{
	struct ofi_op *op = rma_begin(ep, peer, r, r->is_read ? OFI_OP_READ : OFI_OP_WRITE);
	int err = op ? rma_prepare(op, r, dst_ep) : -FI_ENOMEM;

	if (err) {
		if (op)
			ofi_op_destroy(op);
		return err;
	}
	if (op->n_pieces)
		ofi_op_submit(op);
	else
		ofi_op_settle(op, 0, 0);
	return 0;
}

static ssize_t rma(struct fid_ep *fid, const struct rma *r)
{
	struct ofi_ep *ep = ofi_ep_of(fid);
	struct ofi_peer *peer;
	uint16_t dst_ep;
	int err;

	ofi_lock(ep->domain);
	err = ofi_op_has_room(ep, true);
	peer = err ? NULL : ofi_av_peer(ep->av, r->peer, &dst_ep);
	if (!err &&
	    (!peer || r->count > OFI_IOV_MAX || (r->key > UINT32_MAX && !ep->domain->is_scalable)))
		err = -FI_EINVAL;
	if (!err && r->flags & FI_INJECT && ofi_iov_bytes(r->iov, r->count) > OFI_RECORD_MAX)
		err = -FI_EMSGSIZE;
	if (!err)
		err = rma_submit(ep, peer, r, dst_ep);
	ofi_leave(ep->domain);
	return err;
}

/* ---- libfabric's calls ---- */

static ssize_t rma_vector(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  struct rma r)
{
	r.iov = iov;
	r.desc = desc;
	r.count = count;
	r.flags |= r.silent ? FI_INJECT : ofi_ep_of(fid)->tx_flags;
	if (r.is_read) /* what is read cannot be injected */
		r.flags &= ~FI_INJECT;
	return rma(fid, &r);
}

static ssize_t rma_buffer(struct fid_ep *fid, const void *buf, size_t len, void *desc, struct rma r)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return rma_vector(fid, &iov, &desc, 1, r);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(
		fid, iov, desc, count,
		RMA(.peer = peer, .addr = addr, .key = key, .context = context, .is_read = true));
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t peer,
			uint64_t addr, uint64_t key, void *context)
{
	return rma_buffer(
		fid, buf, len, desc,
		RMA(.peer = peer, .addr = addr, .key = key, .context = context, .is_read = true));
}

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
		       bool is_read)
{
	const struct rma r = {.iov = msg->msg_iov,
			      .desc = msg->desc,
			      .count = msg->iov_count,
			      .peer = msg->addr,
			      .addr = msg->rma_iov[0].addr,
			      .key = msg->rma_iov[0].key,
			      .data = msg->data,
			      .context = msg->context,
			      .flags = flags,
			      .is_read = is_read};

	if (flags & ~(uint64_t)RMA_FLAGS || (is_read && flags & FI_INJECT))
		return -FI_EBADFLAGS;
	return msg->rma_iov_count == 1 ? rma(fid, &r) : -FI_EINVAL;
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, true);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(fid, iov, desc, count,
			  RMA(.peer = peer, .addr = addr, .key = key, .context = context));
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_buffer(fid, buf, len, desc,
			  RMA(.peer = peer, .addr = addr, .key = key, .context = context));
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, false);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t peer,
			  uint64_t addr, uint64_t key)
{
	return rma_buffer(fid, buf, len, NULL,
			  RMA(.peer = peer, .addr = addr, .key = key, .silent = true));
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key,
			     void *context)
{
	return rma_buffer(fid, buf, len, desc,
			  RMA(.peer = peer, .addr = addr, .key = key, .data = data,
			      .context = context, .flags = FI_REMOTE_CQ_DATA));
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t peer, uint64_t addr, uint64_t key)
{
	return rma_buffer(fid, buf, len, NULL,
			  RMA(.peer = peer, .addr = addr, .key = key, .data = data,
			      .flags = FI_REMOTE_CQ_DATA, .silent = true));
}

struct fi_ops_rma ofi_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};

/* ==== atomic operations ==== */

#define ATOMIC_FLAGS                                                                               \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |         \
	 FI_DELIVERY_COMPLETE)

struct values {
	const struct fi_ioc *ioc;
	size_t n;
};

struct atomic_call {
	struct values operands, compares, results;
	fi_addr_t peer;
	uint64_t addr, key;
	unsigned form, datatype, op;
	void *context;
	uint64_t flags; /* FI_COMPLETION */
	bool silent;	/* an inject call: no entry in a CQ, whatever flags say */
};

#define ATOMIC(...) ((struct atomic_call){__VA_ARGS__})

/* ---- one operation ---- */

/* Elements of all pieces; more than most: how many more does not count. */
static uint64_t elements_of(const struct values *v, uint64_t most)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->n && n <= most; i++)
		n += v->ioc[i].count <= most ? v->ioc[i].count : most + 1;
	return n;
}

/* 0: what is to be done is known. */
static int atomic_check(const struct atomic_call *r, struct ofi_atomic *out)
{
	bool reads = r->op == FI_ATOMIC_READ; /* its operands are ignored */
	uint64_t most, n;

	if (!ofi_atomic_is_offered(r->form, r->datatype, r->op))
		return -FI_EOPNOTSUPP;
	if (r->operands.n > OFI_IOV_MAX || r->compares.n > OFI_IOV_MAX ||
	    r->results.n > OFI_IOV_MAX)
		return -FI_EINVAL;
	most = ofi_atomic_most(r->form, r->datatype);
	n = elements_of(reads ? &r->results : &r->operands, most);
	if (n > most)
		return -FI_EMSGSIZE;
	if (!n || (r->form != OFI_ATOMIC_BASE && elements_of(&r->results, most) != n) ||
	    (r->form == OFI_ATOMIC_COMPARE && elements_of(&r->compares, most) != n))
		return -FI_EINVAL;
	*out = (struct ofi_atomic){.address = r->addr,
				   .key = r->key,
				   .count = (uint32_t)n,
				   .form = (uint8_t)r->form,
				   .datatype = (uint8_t)r->datatype,
				   .op = (uint8_t)r->op};
	return 0;
}

static uint8_t *gather_values(uint8_t *to, const struct values *v, size_t size)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->ioc[i].count)
			memcpy(to, v->ioc[i].addr, v->ioc[i].count * size);
		to += v->ioc[i].count * size;
	}
	return to;
}

static int take_results(struct ofi_op *op, const struct values *v, size_t size)
{
	op->results = calloc(v->n, sizeof(*op->results));
	if (!op->results)
		return -FI_ENOMEM;
	for (; op->n_results < v->n; op->n_results++)
		op->results[op->n_results] =
			(struct iovec){.iov_base = v->ioc[op->n_results].addr,
				       .iov_len = v->ioc[op->n_results].count * size};
	return 0;
}

/* The record, with a copy of all that the application gives. */
static int atomic_fill(struct ofi_op *op, const struct atomic_call *r, const struct ofi_atomic *a,
		       uint16_t dst_ep)
{
	uint64_t operand_bytes = ofi_atomic_operand_bytes(a);
	const struct ofi_wire w = {.kind = OFI_ATOMIC,
				   .src_ep = op->ep->number,
				   .dst_ep = dst_ep,
				   .cookie = op->cookie,
				   .status = (uint32_t)ofi_atomic_result_bytes(a)};
	size_t size = ofi_atomic_size(a->datatype);
	uint8_t *body;
	int err = ofi_op_set_record(
		op, &w, OFI_ATOMIC_BYTES + operand_bytes + ofi_atomic_compare_bytes(a), &body);

	if (err)
		return err;
	body = ofi_atomic_encode(a, body);
	if (operand_bytes)
		body = gather_values(body, &r->operands, size);
	if (a->form == OFI_ATOMIC_COMPARE)
		gather_values(body, &r->compares, size);
	return a->form == OFI_ATOMIC_BASE ? 0 : take_results(op, &r->results, size);
}

static int atomic_prepare(struct ofi_op *op, const struct atomic_call *r,
			  const struct ofi_atomic *a, uint16_t dst_ep)
{
	int err;

	op->is_atomic = true;
	op->context = r->context;
	op->flags = FI_ATOMIC | (a->form == OFI_ATOMIC_BASE ? FI_WRITE : FI_READ);
	op->length = (uint64_t)a->count * ofi_atomic_size(a->datatype);
	op->wants_entry = !r->silent && ofi_complete_wants_entry(op->ep, true, r->flags);
	if (!ofi_peer_charge(op, OFI_ATOMIC, ofi_atomic_result_bytes(a)))
		return -FI_EAGAIN; /* the peer has not answered what came before */
	err = ofi_op_await_fin(op);
	return err ? err : atomic_fill(op, r, a, dst_ep);
}

static int atomic_submit(struct ofi_ep *ep, const struct atomic_call *r)
{
	int err = ofi_op_has_room(ep, true);
	struct ofi_peer *peer;
	struct ofi_atomic a;
	struct ofi_op *op;
	uint16_t dst_ep;

	if (!err)
		err = atomic_check(r, &a);
	if (err)
		return err;
	peer = ofi_av_peer(ep->av, r->peer, &dst_ep);
	if (!peer)
		return -FI_EINVAL;
	op = ofi_op_create(ep->domain, ep, peer, OFI_OP_MESSAGE);
	if (!op)
		return -FI_ENOMEM;
	err = atomic_prepare(op, r, &a, dst_ep);
	if (err) {
		ofi_op_destroy(op);
		return err;
	}
	ofi_op_submit(op);
	return 0;
}

static ssize_t atomic(struct fid_ep *fid, const struct atomic_call *r)
{
	struct ofi_ep *ep = ofi_ep_of(fid);
	int err;

	ofi_lock(ep->domain);
	err = atomic_submit(ep, r);
	ofi_leave(ep->domain);
	return err;
}

/* ---- libfabric's calls: pieces ---- */

static ssize_t base_pieces(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			   fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			   enum fi_op op, void *context)
{
	(void)desc;
	return atomic(fid, &ATOMIC(.operands = {iov, count}, .peer = peer, .addr = addr, .key = key,
				   .form = OFI_ATOMIC_BASE, .datatype = datatype, .op = op,
				   .context = context, .flags = ofi_ep_of(fid)->tx_flags));
}

static ssize_t fetch_pieces(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			    struct fi_ioc *results, void **result_desc, size_t n_results,
			    fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			    enum fi_op op, void *context)
{
	(void)desc, (void)result_desc;
	return atomic(fid, &ATOMIC(.operands = {iov, count}, .results = {results, n_results},
				   .peer = peer, .addr = addr, .key = key, .form = OFI_ATOMIC_FETCH,
				   .datatype = datatype, .op = op, .context = context,
				   .flags = ofi_ep_of(fid)->tx_flags));
}

static ssize_t compare_pieces(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
			      size_t count, const struct fi_ioc *compares, void **compare_desc,
			      size_t n_compares, struct fi_ioc *results, void **result_desc,
			      size_t n_results, fi_addr_t peer, uint64_t addr, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	(void)desc, (void)compare_desc, (void)result_desc;
	return atomic(fid,
		      &ATOMIC(.operands = {iov, count}, .compares = {compares, n_compares},
			      .results = {results, n_results}, .peer = peer, .addr = addr,
			      .key = key, .form = OFI_ATOMIC_COMPARE, .datatype = datatype,
			      .op = op, .context = context, .flags = ofi_ep_of(fid)->tx_flags));
}

/* ---- one buffer ---- */

static struct fi_ioc values_piece(const void *buf, size_t count)
{
	return (struct fi_ioc){.addr = (void *)(uintptr_t)buf, .count = count};
}

static ssize_t base_buffer(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			   fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			   enum fi_op op, void *context)
{
	const struct fi_ioc iov = values_piece(buf, count);

	return base_pieces(fid, &iov, &desc, 1, peer, addr, key, datatype, op, context);
}

static ssize_t inject_buffer(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t peer,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	const struct fi_ioc iov = values_piece(buf, count);

	return atomic(fid, &ATOMIC(.operands = {&iov, 1}, .peer = peer, .addr = addr, .key = key,
				   .form = OFI_ATOMIC_BASE, .datatype = datatype, .op = op,
				   .silent = true));
}

static ssize_t fetch_buffer(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t peer, uint64_t addr,
			    uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = values_piece(buf, count);
	struct fi_ioc results = values_piece(result, count);

	return fetch_pieces(fid, &iov, &desc, 1, &results, &result_desc, 1, peer, addr, key,
			    datatype, op, context);
}

static ssize_t compare_buffer(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			      const void *compare, void *compare_desc, void *result,
			      void *result_desc, fi_addr_t peer, uint64_t addr, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = values_piece(buf, count), compares = values_piece(compare, count);
	struct fi_ioc results = values_piece(result, count);

	return compare_pieces(fid, &iov, &desc, 1, &compares, &compare_desc, 1, &results,
			      &result_desc, 1, peer, addr, key, datatype, op, context);
}

/* ---- with flags ---- */

/* The rest of r is the message's. */
static ssize_t atomic_message(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			      struct atomic_call r)
{
	if (r.flags & ~ATOMIC_FLAGS)
		return -FI_EBADFLAGS;
	if (msg->rma_iov_count != 1)
		return -FI_EINVAL;
	r.operands = (struct values){msg->msg_iov, msg->iov_count};
	if (msg->rma_iov->count !=
	    elements_of(msg->op == FI_ATOMIC_READ ? &r.results : &r.operands, UINT32_MAX))
		return -FI_EINVAL;
	r.peer = msg->addr;
	r.addr = msg->rma_iov->addr;
	r.key = msg->rma_iov->key;
	r.datatype = msg->datatype;
	r.op = msg->op;
	r.context = msg->context;
	return atomic(fid, &r);
}

static ssize_t base_message(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return atomic_message(fid, msg, ATOMIC(.form = OFI_ATOMIC_BASE, .flags = flags));
}

static ssize_t fetch_message(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			     struct fi_ioc *results, void **result_desc, size_t n_results,
			     uint64_t flags)
{
	(void)result_desc;
	return atomic_message(
		fid, msg,
		ATOMIC(.form = OFI_ATOMIC_FETCH, .results = {results, n_results}, .flags = flags));
}

static ssize_t compare_message(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			       const struct fi_ioc *compares, void **compare_desc,
			       size_t n_compares, struct fi_ioc *results, void **result_desc,
			       size_t n_results, uint64_t flags)
{
	(void)compare_desc, (void)result_desc;
	return atomic_message(fid, msg,
			      ATOMIC(.form = OFI_ATOMIC_COMPARE, .compares = {compares, n_compares},
				     .results = {results, n_results}, .flags = flags));
}

/* ---- what there is ---- */

static int atomic_is_valid(unsigned form, unsigned datatype, unsigned op, size_t *count)
{
	if (!ofi_atomic_is_offered(form, datatype, op))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = ofi_atomic_most(form, datatype);
	return 0;
}

static int base_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	(void)fid;
	return atomic_is_valid(OFI_ATOMIC_BASE, datatype, op, count);
}

static int fetch_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	(void)fid;
	return atomic_is_valid(OFI_ATOMIC_FETCH, datatype, op, count);
}

static int compare_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			 size_t *count)
{
	(void)fid;
	return atomic_is_valid(OFI_ATOMIC_COMPARE, datatype, op, count);
}

int ofi_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	unsigned form = flags & FI_COMPARE_ATOMIC ? OFI_ATOMIC_COMPARE
			: flags & FI_FETCH_ATOMIC ? OFI_ATOMIC_FETCH
						  : OFI_ATOMIC_BASE;
	int err;

	(void)domain;
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED) ||
	    (flags & FI_FETCH_ATOMIC && flags & FI_COMPARE_ATOMIC))
		return -FI_EBADFLAGS;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	err = atomic_is_valid(form, datatype, op, &attr->count);
	if (!err)
		attr->size = ofi_atomic_size(datatype);
	return err;
}

struct fi_ops_atomic ofi_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = base_buffer,
	.writev = base_pieces,
	.writemsg = base_message,
	.inject = inject_buffer,
	.readwrite = fetch_buffer,
	.readwritev = fetch_pieces,
	.readwritemsg = fetch_message,
	.compwrite = compare_buffer,
	.compwritev = compare_pieces,
	.compwritemsg = compare_message,
	.writevalid = base_valid,
	.readwritevalid = fetch_valid,
	.compwritevalid = compare_valid,
};
