/* SPDX-License-Identifier: BSD-2-Clause */
#include "why.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/key_file.h"
#include "shm_layout.h"

#define DEVICES "/dev/infiniband"

static bool is_verbs(const char *provider)
{
	return provider && !strcmp(provider, "verbs");
}

/* "group NAME", which the process needs, or its number */
static void group_of(const char *path, char *out, size_t size)
{
	char buf[1024];
	struct group entry, *found = NULL;
	struct stat st;

	*out = '\0';
	if (stat(path, &st))
		return;
	if (!getgrgid_r(st.st_gid, &entry, buf, sizeof(buf), &found) && found)
		snprintf(out, size, ": it needs the group %s", entry.gr_name);
	else
		snprintf(out, size, ": it needs the group %u", (unsigned)st.st_gid);
}

void why_attach(int err, const char *run_dir, char out[WHY_BYTES])
{
	const char *dir = run_dir ? run_dir : "/run/fared";
	char group[80], segment[PATH_MAX];

	if (err == -EACCES) {
		snprintf(segment, sizeof(segment), "%s/%s", dir, SHM_NAME);
		group_of(access(dir, X_OK) ? dir : segment, group, sizeof(group));
		snprintf(out, WHY_BYTES, "no access to fared's %.100s%s", dir, group);
	} else if (err == -EPROTO) {
		snprintf(out, WHY_BYTES, "fared's %.100s is of another release", dir);
	} else {
		snprintf(out, WHY_BYTES, "no fared to attach to in %.100s: %s", dir,
			 strerror(-err));
	}
}

/* True: it is the key file. */
static bool is_key_file(const struct fare_domain_options *options, char out[WHY_BYTES])
{
	uint8_t key[KEY_FILE_MAX];
	char why[WHY_BYTES - 20];
	size_t length;
	bool is_it = options->key_file &&
		     key_file_read(options->key_file, S_IRWXO, key, &length, why, sizeof(why));

	explicit_bzero(key, sizeof(key));
	if (is_it)
		snprintf(out, WHY_BYTES, "key file %s", why);
	return is_it;
}

static const char *of_devices(int err)
{
	switch (err) {
	case -ENOSYS:
		return "this kernel has no RDMA: ib_uverbs is not loaded";
	case -ENODEV:
		return "a sub-port has no RDMA device";
	case -ENXIO:
		return "there are RDMA devices, but not their files in " DEVICES;
	}
	return NULL;
}

void why_memory(int err, const char *provider, char out[WHY_BYTES])
{
	struct rlimit limit = {0};

	if (err == -ENOMEM && is_verbs(provider) && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY)
		snprintf(out, WHY_BYTES,
			 "devices lock memory, and RLIMIT_MEMLOCK (ulimit -l) is %llu KiB: %s",
			 (unsigned long long)limit.rlim_cur / 1024, strerror(-err));
	else
		snprintf(out, WHY_BYTES, "%s", strerror(-err));
}

void why_domain(int err, const struct fare_domain_options *options, char out[WHY_BYTES])
{
	const char *text = is_verbs(options->provider) ? of_devices(err) : NULL;
	char group[80];

	if (err == -ENOKEY) {
		snprintf(out, WHY_BYTES,
			 "FARE_KEY_FILE names no key, and FARE_TRUSTED_NETWORK is not set");
	} else if (text) {
		snprintf(out, WHY_BYTES, "%s", text);
	} else if (is_key_file(options, out)) {
		return;
	} else if (err == -EACCES && is_verbs(options->provider)) {
		group_of(DEVICES "/uverbs0", group, sizeof(group));
		snprintf(out, WHY_BYTES, "no access to the devices in " DEVICES "%s", group);
	} else if (err == -EADDRINUSE && options->port) {
		snprintf(out, WHY_BYTES, "UDP port %u of the GPU's address is in use",
			 options->port);
	} else if (err == -EADDRNOTAVAIL) {
		snprintf(out, WHY_BYTES, "the GPU's address is not on this host%s",
			 is_verbs(options->provider) ? ", or no sub-port has a RoCEv2 GID of it"
						     : "");
	} else {
		why_memory(err, options->provider, out);
	}
}
