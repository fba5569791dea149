/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "attach.h"
#include "nccl/nccl_properties.h"
#include "nccl/nccl_wire.h"
#include "why.h"

ncclResult_t device_failed(const struct device *device, const char *what, int err)
{
	char why[WHY_BYTES];

	why_memory(err, getenv("FARE_PROVIDER"), why);
	if (device->log)
		device->log(NCCL_LOG_WARN, NCCL_NET, __FILE__, __LINE__, "NET/FARE: %s: %s", what,
			    why);
	return ncclSystemError;
}

void device_info(const struct device *device, const char *what)
{
	if (device->log)
		device->log(NCCL_LOG_INFO, NCCL_NET, __FILE__, __LINE__, "NET/FARE: %s: %s",
			    device->name, what);
}

/* ---- what there is ---- */

static ncclResult_t device_warn(const struct device *device, const char *why)
{
	if (device->log)
		device->log(NCCL_LOG_WARN, NCCL_NET, __FILE__, __LINE__, "NET/FARE: %s", why);
	return ncclSystemError;
}

static ncclResult_t device_attach(const struct device *device, struct fare **out)
{
	const char *run_dir = getenv("FARE_RUN_DIR");
	int err = fare_attach(out, run_dir);
	char why[WHY_BYTES];

	if (!err)
		return ncclSuccess;
	why_attach(err, run_dir, why);
	return device_warn(device, why);
}

/* What the speed is made of, for who looks why NCCL rates the device so. */
static void log_planes(const struct device *d, const struct attach_gpu *gpu)
{
	char text[FARE_MAX_PLANES * 24] = "";
	size_t n = 0;

	for (unsigned p = 0; p < gpu->n_planes; p++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu64, p ? "+" : "",
				      properties_plane_mbps(gpu, p));
	if (d->log)
		d->log(NCCL_LOG_INFO, NCCL_NET, __FILE__, __LINE__,
		       "NET/FARE: %s: rail %u, Mb/s by plane %s", d->name, d->gpu, text);
}

static void device_describe(struct device *d, const struct fare *fare, unsigned gpu)
{
	struct in6_addr address = {0};
	struct attach_gpu published;

	d->gpu = gpu;
	d->family = AF_INET;
	if (fare_local_address(fare, gpu, AF_INET, &address)) {
		d->family = AF_INET6;
		fare_local_address(fare, gpu, AF_INET6, &address);
	}
	d->guid = properties_guid(&address);
	snprintf(d->name, sizeof(d->name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
	if (attach_local_gpu(fare, gpu, &published)) {
		d->pci_path = properties_gpu_pci_path(&published);
		log_planes(d, &published);
	}
	pthread_mutex_init(&d->lock, NULL);
}

ncclResult_t device_list(struct device devices[FARE_MAX_LOCAL_GPUS], int *n, ncclDebugLogger_t log)
{
	ncclResult_t result;
	struct fare *fare;

	for (unsigned i = 0; i < FARE_MAX_LOCAL_GPUS; i++)
		devices[i].log = log;
	result = device_attach(&devices[0], &fare);
	if (result != ncclSuccess)
		return result;
	*n = (int)fare_n_local_gpus(fare);
	for (int i = 0; i < *n; i++)
		device_describe(&devices[i], fare, (unsigned)i);
	fare_detach(fare);
	return ncclSuccess;
}

ncclResult_t device_speed_mbps(const struct device *device, int *mbps)
{
	struct attach_gpu gpu;
	struct fare *fare;
	ncclResult_t result = device_attach(device, &fare);

	if (result != ncclSuccess)
		return result;
	*mbps = attach_local_gpu(fare, device->gpu, &gpu) ? properties_speed_mbps(&gpu) : 0;
	fare_detach(fare);
	return ncclSuccess;
}

/* ---- the domain ---- */

/* For fare_domain_options: refuses a peer that is no plugin of this version. */
static int device_on_request(void *arg, struct fare_request *request)
{
	(void)arg;
	if (!wire_is_greeting(request->data, request->bytes))
		return -EPROTONOSUPPORT;
	memcpy(request->reply, WIRE_GREETING, sizeof(WIRE_GREETING));
	request->reply_bytes = sizeof(WIRE_GREETING);
	return 0;
}

static ncclResult_t open_domain(struct device *d)
{
	struct fare_domain_options options = {
		.provider = getenv("FARE_PROVIDER"),
		.family = d->family,
		.accept = true,
		.on_request = device_on_request,
		.key_file = getenv("FARE_KEY_FILE"),
		.trusted_network = getenv("FARE_TRUSTED_NETWORK") != NULL,
	};
	int err = fare_domain_open(&d->domain, d->fare, d->gpu, &options);
	char why[WHY_BYTES];

	if (!err)
		return ncclSuccess;
	why_domain(err, &options, why);
	return device_warn(d, why);
}

bool device_lock(struct device *device)
{
	bool is_inherited = device->fare && attach_check(device->fare);

	if (is_inherited) {
		/* a thread of the parent may have held it */
		pthread_mutex_init(&device->lock, NULL);
		fare_domain_close(device->domain);
		fare_detach(device->fare);
		device->fare = NULL;
		device->domain = NULL;
	}
	pthread_mutex_lock(&device->lock);
	return is_inherited;
}

void device_unlock(struct device *device)
{
	pthread_mutex_unlock(&device->lock);
}

ncclResult_t device_open(struct device *device)
{
	ncclResult_t result;

	if (device->domain)
		return ncclSuccess;
	result = device_attach(device, &device->fare);
	if (result == ncclSuccess)
		result = open_domain(device);
	if (result != ncclSuccess) {
		fare_detach(device->fare);
		device->fare = NULL;
	}
	return result;
}

bool device_has_listener(const struct device *device, uint64_t id)
{
	const struct listener *l;

	DL_FOREACH (device->listeners, l)
		if (l->id == id)
			return true;
	return false;
}
