/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_env.h"

#include <stdlib.h>

#include "ofi/ofi_wire.h"

#define EAGER_BYTES  32768
#define WINDOW_BYTES (1 << 20)
#define WINDOW_MAX   (1 << 30)
#define LINGER_MS    5000

static void cleanup(void)
{
}

/*
 * The interface of the headers that this was built with: fi_getinfo() leaves a provider out if a
 * program asks for a later one. The entry (ofi_domain.c) adds what is called.
 */
struct fi_provider ofi_provider = {
	.version = FI_VERSION(0, 1),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "fare",
	.cleanup = cleanup,
};

struct param {
	const char *name;
	enum fi_param_type type;
	const char *help;
};

static const struct param params[] = {
	{"run_dir", FI_PARAM_STRING, "run directory of fared (FARE_RUN_DIR, else /run/fared)"},
	{"provider", FI_PARAM_STRING, "soft or verbs (FARE_PROVIDER, else soft)"},
	{"key_file", FI_PARAM_STRING, "key that all processes of the job share (FARE_KEY_FILE)"},
	{"trusted_network", FI_PARAM_BOOL, "run without a key (FARE_TRUSTED_NETWORK)"},
	{"domain", FI_PARAM_STRING,
	 "fare0, fare1 ...: no other domain is offered, for programs that take the first (all)"},
	{"secret", FI_PARAM_SIZE_T, "number of the job, which keeps jobs apart (0: none)"},
	{"eager_bytes", FI_PARAM_SIZE_T,
	 "longest message that is sent at once; a longer one is read by its receiver (32768)"},
	{"window_bytes", FI_PARAM_SIZE_T,
	 "bytes of eager messages that a peer keeps for want of a receive (1048576)"},
	{"deadline_ms", FI_PARAM_SIZE_T,
	 "an operation that is not complete fails after so long (0: never)"},
	{"linger_ms", FI_PARAM_SIZE_T,
	 "closing an endpoint waits so long for what was injected (5000)"},
	{"progress_thread", FI_PARAM_BOOL,
	 "a thread goes on for an application that makes no calls (yes)"},
};
#define N_PARAMS (sizeof(params) / sizeof(params[0]))

void ofi_env_define(void)
{
	for (unsigned i = 0; i < N_PARAMS; i++)
		fi_param_define(&ofi_provider, params[i].name, params[i].type, "%s",
				params[i].help);
}

/* NULL: it is not set */
static const char *env_own(const char *name)
{
	char *value = NULL;

	return fi_param_get_str(&ofi_provider, name, &value) ? NULL : value;
}

/* FI_FARE_NAME, else the variable that libfare's other plugins read. */
static const char *env_text(const char *name, const char *other)
{
	const char *value = env_own(name);

	return value ? value : getenv(other);
}

static uint64_t env_number(const char *name, uint64_t otherwise, uint64_t most)
{
	size_t value;

	if (fi_param_get_size_t(&ofi_provider, name, &value))
		return otherwise;
	return value > most ? most : value;
}

static bool env_boolean(const char *name, bool otherwise)
{
	int value;

	return fi_param_get_bool(&ofi_provider, name, &value) ? otherwise : value != 0;
}

void ofi_env_read(struct ofi_env *out)
{
	out->run_dir = env_text("run_dir", "FARE_RUN_DIR");
	out->provider = env_text("provider", "FARE_PROVIDER");
	out->key_file = env_text("key_file", "FARE_KEY_FILE");
	out->trusted_network =
		env_boolean("trusted_network", getenv("FARE_TRUSTED_NETWORK") != NULL);
	out->domain = env_own("domain");
	out->secret = env_number("secret", 0, UINT64_MAX);
	out->eager_bytes = (uint32_t)env_number("eager_bytes", EAGER_BYTES, OFI_EAGER_MAX);
	out->window_bytes = (uint32_t)env_number("window_bytes", WINDOW_BYTES, WINDOW_MAX);
	out->deadline_ms = (uint32_t)env_number("deadline_ms", 0, UINT32_MAX);
	out->linger_ms = (uint32_t)env_number("linger_ms", LINGER_MS, UINT32_MAX);
	out->progress_thread = env_boolean("progress_thread", true);
}

int ofi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid, (void)bfid, (void)flags;
	return -FI_ENOSYS;
}

int ofi_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return -FI_ENOSYS;
}

int ofi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}
