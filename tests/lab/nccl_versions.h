/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_versions.h - whichever version of NCCL's network interface, behind that of version 10.
 *
 * Owns: which tables are behind it, one for the process.
 */
#ifndef NCCL_VERSIONS_H
#define NCCL_VERSIONS_H

#include <stdbool.h>

#include "nccl/nccl_net.h"

/* version: 8 to 12. false: the library has not all of them; dlerror() says which. */
bool nccl_versions_load(void *library, int version, ncclNet_v10_t *out);

#endif
