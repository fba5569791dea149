/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_prov.h - the provider "fare" as libfabric sees it.
 *
 * libfabric's interface has no place for a context: the one struct fi_provider is static, as its
 * logging and parameters are found by it.
 */
#ifndef OFI_PROV_H
#define OFI_PROV_H

#include <errno.h>

#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider ofi_provider;

#define OFI_INFO(subsystem, ...) FI_INFO(&ofi_provider, subsystem, __VA_ARGS__)
#define OFI_WARN(subsystem, ...) FI_WARN(&ofi_provider, subsystem, __VA_ARGS__)

#endif
