/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_cntr.h"

#include <poll.h>
#include <stdlib.h>

#include "ofi/ofi_domain.h"
#include "base/clock.h"
#include "ofi/ofi_no.h"

#define LOOK_MS 1 /* another thread may have counted meanwhile */

struct ofi_cntr {
	struct fid_cntr fid;
	struct ofi_domain *domain;
	unsigned n_bound;
	uint64_t value, errors;
};

static struct ofi_cntr *of(struct fid_cntr *fid)
{
	return container_of(fid, struct ofi_cntr, fid);
}

struct ofi_cntr *ofi_cntr_of(struct fid *fid)
{
	return container_of(fid, struct ofi_cntr, fid.fid);
}

void ofi_cntr_bound(struct ofi_cntr *cntr, int by)
{
	cntr->n_bound += (unsigned)by;
}

void ofi_cntr_count(struct ofi_cntr *cntr, bool failed)
{
	*(failed ? &cntr->errors : &cntr->value) += 1;
}

static uint64_t look(struct ofi_cntr *cntr, const uint64_t *what)
{
	uint64_t value;

	ofi_lock(cntr->domain);
	ofi_progress_by_application(cntr->domain);
	value = *what;
	ofi_unlock(cntr->domain);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	return look(of(fid), &of(fid)->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return look(of(fid), &of(fid)->errors);
}

static int change(struct ofi_cntr *cntr, uint64_t *what, uint64_t value, bool add)
{
	ofi_lock(cntr->domain);
	*what = add ? *what + value : value;
	ofi_unlock(cntr->domain);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	return change(of(fid), &of(fid)->value, value, true);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return change(of(fid), &of(fid)->value, value, false);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	return change(of(fid), &of(fid)->errors, value, true);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	return change(of(fid), &of(fid)->errors, value, false);
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct ofi_cntr *cntr = of(fid);
	struct pollfd p = {.fd = fare_domain_fd(cntr->domain->fare_domain), .events = POLLIN};
	uint64_t end_ns = clock_now_ns() + (timeout > 0 ? (uint64_t)timeout * 1000000 : 0);
	uint64_t errors = look(cntr, &cntr->errors);

	while (look(cntr, &cntr->value) < threshold) {
		if (look(cntr, &cntr->errors) != errors)
			return -FI_EAVAIL;
		if (timeout >= 0 && clock_now_ns() >= end_ns)
			return -FI_ETIMEDOUT;
		ofi_progress_begin_wait(cntr->domain);
		poll(&p, 1, LOOK_MS);
		ofi_progress_end_wait(cntr->domain);
	}
	return 0;
}

static int cntr_close(struct fid *fid)
{
	struct ofi_cntr *cntr = ofi_cntr_of(fid);
	bool busy;

	ofi_lock(cntr->domain);
	busy = cntr->n_bound;
	cntr->domain->n_users -= !busy;
	ofi_unlock(cntr->domain);
	if (busy)
		return -FI_EBUSY;
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = ofi_no_bind,
	.control = ofi_no_control,
	.ops_open = ofi_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out,
		  void *context)
{
	struct ofi_cntr *cntr;

	if (attr->events != FI_CNTR_EVENTS_COMP ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC))
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = ofi_domain_of(domain);
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	ofi_lock(cntr->domain);
	cntr->domain->n_users++;
	ofi_unlock(cntr->domain);
	*out = &cntr->fid;
	return 0;
}
