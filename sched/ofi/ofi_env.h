/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_env.h - the provider "fare" as libfabric finds it: the one struct, under which its log and
 * parameters stand, and what the environment says.
 *
 * libfabric's interface has no place for a context: the struct fi_provider is static. Parameters
 * are FI_FARE_*, and the FARE_* that all of libfare's plugins read; fi_fare(7) lists them.
 */
#ifndef OFI_ENV_H
#define OFI_ENV_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider ofi_provider;

#define OFI_INFO(subsystem, ...) FI_INFO(&ofi_provider, subsystem, __VA_ARGS__)
#define OFI_WARN(subsystem, ...) FI_WARN(&ofi_provider, subsystem, __VA_ARGS__)

struct ofi_env {
	const char *run_dir;  /* NULL: the daemon's default */
	const char *provider; /* of libfare: "soft" (NULL) or "verbs" */
	const char *key_file; /* NULL: none */
	bool trusted_network;
	const char *domain; /* the one that is offered; NULL: all */
	uint64_t secret;
	uint32_t eager_bytes;  /* longer messages are read by the receiver */
	uint32_t window_bytes; /* eager bytes that a peer holds for us at most */
	uint32_t deadline_ms;  /* an operation ends with an error then; 0: never */
	uint32_t linger_ms;    /* closing waits so long for what was injected */
	bool progress_thread;
};

/* Defines the parameters for fi_info -g. Once. */
void ofi_env_define(void);
/* Strings are borrowed from the environment. */
void ofi_env_read(struct ofi_env *out);

/* libfabric's tables must be full: a call of them that is not offered. */
#define OFI_NOT_OFFERED(type, name, ...)                                                           \
	_Pragma("GCC diagnostic push");                                                            \
	_Pragma("GCC diagnostic ignored \"-Wunused-parameter\"");                                  \
	static type name(__VA_ARGS__)                                                              \
	{                                                                                          \
		return -FI_ENOSYS;                                                                 \
	}                                                                                          \
	_Pragma("GCC diagnostic pop")

int ofi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int ofi_no_control(struct fid *fid, int command, void *arg);
int ofi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* What every object has. */
#define OFI_FI_OPS(close_, bind_, control_)                                                        \
	{                                                                                          \
		.size = sizeof(struct fi_ops), .close = close_, .bind = bind_,                     \
		.control = control_, .ops_open = ofi_no_ops_open,                                  \
	}

#endif
