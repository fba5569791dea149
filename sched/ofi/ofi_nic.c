/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_nic.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "attach.h"
#include "nccl/nccl_properties.h"
#include "ofi/ofi_fabric.h"
#include "ofi/ofi_no.h"

/* One block of memory: the structures, and the strings that they name. */
struct ofi_nic {
	struct fid_nic fid;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
	char name[16], address[INET6_ADDRSTRLEN];
};

static int nic_close(struct fid *fid)
{
	free(container_of(fid, struct ofi_nic, fid.fid));
	return 0;
}

static void point_inside(struct ofi_nic *nic)
{
	nic->fid.device_attr = &nic->device;
	nic->fid.bus_attr = &nic->bus;
	nic->fid.link_attr = &nic->link;
	nic->device.name = nic->name;
	nic->device.driver = (char *)"fare";
	nic->link.address = nic->address;
	nic->link.network_type = (char *)"RoCEv2";
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct ofi_nic *copy;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -FI_ENOMEM;
	*copy = *container_of(fid, struct ofi_nic, fid.fid);
	point_inside(copy);
	*(struct fid **)arg = &copy->fid.fid;
	return 0;
}

/* Behind what buf holds: the attributes of the rest of a struct fi_info. */
static int nic_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct ofi_nic *nic = (const struct ofi_nic *)(const void *)fid;
	size_t used = strnlen(buf, len);

	snprintf(buf + used, len - used,
		 "    nic:\n        fi_device_attr:\n            name: %s\n            driver: %s\n"
		 "        fi_link_attr:\n            address: %s\n            speed: %zu\n"
		 "            state: %s\n            network_type: %s\n",
		 nic->name, nic->device.driver, nic->address, nic->link.speed,
		 nic->link.state == FI_LINK_UP ? "FI_LINK_UP" : "FI_LINK_DOWN",
		 nic->link.network_type);
	return 0;
}

static struct fi_ops nic_ops = {
	.size = sizeof(struct fi_ops),
	.close = nic_close,
	.bind = ofi_no_bind,
	.control = nic_control,
	.tostr = nic_tostr,
	.ops_open = ofi_no_ops_open,
};

static void set_address(struct ofi_nic *nic, const struct fare *fare, unsigned gpu)
{
	struct in6_addr a;

	if (!fare_local_address(fare, gpu, AF_INET, &a) ||
	    !fare_local_address(fare, gpu, AF_INET6, &a))
		address_format(&a, nic->address);
}

/* A GPU may have a card for each plane: the first that is a PCI function stands for all. */
static void set_bus(struct ofi_nic *nic, const struct attach_gpu *gpu)
{
	char name[FARE_DEV_NAME_MAX], *path = NULL, *slash;
	unsigned domain, bus, device, function;

	for (unsigned p = 0; p < gpu->n_planes && !path; p++) {
		memcpy(name, gpu->shm->sub_ports[p][0].dev, sizeof(name));
		name[sizeof(name) - 1] = 0;
		path = properties_pci_path("/sys/class/net", name);
	}
	slash = path ? strrchr(path, '/') : NULL;
	if (slash && sscanf(slash, "/%x:%x:%x.%x", &domain, &bus, &device, &function) == 4) {
		nic->bus.bus_type = FI_BUS_PCI;
		nic->bus.attr.pci.domain_id = (uint16_t)domain;
		nic->bus.attr.pci.bus_id = (uint8_t)bus;
		nic->bus.attr.pci.device_id = (uint8_t)device;
		nic->bus.attr.pci.function_id = (uint8_t)function;
	}
	free(path);
}

struct fid_nic *ofi_nic_create(const struct fare *fare, unsigned gpu)
{
	struct ofi_nic *nic = calloc(1, sizeof(*nic));
	struct attach_gpu shown;

	if (!nic || !attach_local_gpu(fare, gpu, &shown)) {
		free(nic);
		return NULL;
	}
	nic->fid.fid.fclass = FI_CLASS_NIC;
	nic->fid.fid.ops = &nic_ops;
	point_inside(nic);
	snprintf(nic->name, sizeof(nic->name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
	set_address(nic, fare, gpu);
	set_bus(nic, &shown);
	nic->link.speed = (size_t)properties_speed_mbps(&shown) * 1000000;
	nic->link.state = nic->link.speed ? FI_LINK_UP : FI_LINK_DOWN;
	return &nic->fid;
}
