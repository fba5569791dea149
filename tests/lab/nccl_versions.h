/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_versions.h - whichever version of NCCL's network interface, behind that of version 10.
 *
 * Owns: which tables are behind it, one for the process.
 */
#ifndef NCCL_VERSIONS_H
#define NCCL_VERSIONS_H

#include "nccl/nccl_net.h"

/*
 * As an NCCL does that knows the versions up to newest: it looks for each by name, the newest
 * first, and uses the first that there is. Returns its number; 0: none that this can drive, or the
 * library says that it has collectives of its own.
 */
int nccl_versions_load(void *library, int newest, ncclNet_v10_t *out);
/* The communicator that init() was for goes; nothing before version 11. */
ncclResult_t nccl_versions_finalize(void);
/* Another communicator comes and goes meanwhile. */
ncclResult_t nccl_versions_another(const ncclNet_v10_t *net, ncclDebugLogger_t log);

#endif
