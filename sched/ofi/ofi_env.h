/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_env.h - what the environment says: FI_FARE_*, and the FARE_* that all of libfare's plugins
 * read. fi_fare(7) lists them.
 */
#ifndef OFI_ENV_H
#define OFI_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

struct ofi_env {
	const char *run_dir;  /* NULL: the daemon's default */
	const char *provider; /* of libfare: "soft" (NULL) or "verbs" */
	const char *key_file; /* NULL: none */
	bool trusted_network;
	uint64_t secret;
	uint32_t eager_bytes;  /* longer messages are read by the receiver */
	uint32_t window_bytes; /* eager bytes that a peer holds for us at most */
	uint32_t deadline_ms;  /* an operation ends with an error then; 0: never */
	uint32_t linger_ms;    /* closing waits so long for what was injected */
	bool progress_thread;
};

/* Tells libfabric of them: fi_info -g. Once. */
void ofi_env_define(struct fi_provider *provider);
/* Strings are borrowed from the environment. */
void ofi_env_read(struct fi_provider *provider, struct ofi_env *out);

#endif
