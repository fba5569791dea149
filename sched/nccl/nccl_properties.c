/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_properties.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bits */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

uint64_t properties_guid(const struct in6_addr *address)
{
	uint64_t hash = FNV_BASIS;

	for (unsigned i = 0; i < sizeof(address->s6_addr); i++)
		hash = (hash ^ address->s6_addr[i]) * FNV_PRIME;
	return hash ? hash : 1;
}

/* Where the link DIR/NAME leads; NULL: nowhere. To be freed. */
static char *properties_follow(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NULL;
	return realpath(path, NULL);
}

static bool is_pci(const char *device_path)
{
	char *subsystem = properties_follow(device_path, "subsystem");
	const char *name = subsystem ? strrchr(subsystem, '/') : NULL;
	bool is = name && !strcmp(name, "/pci");

	free(subsystem);
	return is;
}

char *properties_pci_path(const char *sys_class_net, const char *device)
{
	char name[FARE_DEV_NAME_MAX + sizeof("/device")], *path;

	/* the name comes from shared memory: it leads to no other directory */
	if (!*device || *device == '.' || strchr(device, '/') ||
	    snprintf(name, sizeof(name), "%s/device", device) >= (int)sizeof(name))
		return NULL;
	path = properties_follow(sys_class_net, name);
	if (path && !is_pci(path)) {
		free(path);
		path = NULL;
	}
	return path;
}

char *properties_gpu_pci_path(const struct attach_gpu *gpu)
{
	char name[FARE_DEV_NAME_MAX], *path = NULL;

	for (unsigned p = 0; p < gpu->n_planes && !path; p++) {
		for (unsigned s = 0; s < gpu->n_sub_ports[p] && !path; s++) {
			memcpy(name, gpu->shm->sub_ports[p][s].dev, sizeof(name));
			name[sizeof(name) - 1] = 0;
			path = properties_pci_path("/sys/class/net", name);
		}
	}
	return path;
}

uint64_t properties_plane_mbps(const struct attach_gpu *gpu, unsigned plane)
{
	uint64_t mbps = 0;

	for (unsigned s = 0; s < gpu->n_sub_ports[plane]; s++)
		mbps += atomic_load_explicit(&gpu->shm->sub_ports[plane][s].speed_bps,
					     memory_order_relaxed) /
			1000000;
	return mbps;
}

int properties_speed_mbps(const struct attach_gpu *gpu)
{
	uint64_t mbps = 0;

	for (unsigned p = 0; p < gpu->n_planes; p++)
		mbps += properties_plane_mbps(gpu, p);
	return mbps < INT_MAX ? (int)mbps : INT_MAX;
}
