/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_job.h - a run of fare-ofi-write between the first two servers of a lab, and what it answered.
 *
 * Owns: nothing; the answer is the caller's. Thread: the coordinator's (it waits).
 */
#ifndef OFI_JOB_H
#define OFI_JOB_H

#include <jansson.h>

#include "suite/trial.h"

struct ofi_job {
	const char *provider, *service; /* as fare-ofi-write has them, but "tcp": tcp;ofi_rxm */
	uint64_t bytes;
	unsigned loaders;
	bool has_probe, both;
	double seconds;
};

/*
 * 0 with the answer (json_decref()), or NULL: this machine or this lab cannot, and *why says so (of
 * size 400). -errno, after saying what.
 */
int ofi_job_run(const struct trial *t, const struct ofi_job *job, json_t **out, char why[400]);

/* How long each endpoint of an answer took to be set up, less its first write, in ns. Pure. */
void ofi_job_setup(const json_t *answer, struct hist *out);

#endif
