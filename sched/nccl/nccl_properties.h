/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_properties.h - the properties of a GPU's network devices, as NCCL asks for them.
 *
 * Owns nothing. In: an address, a network device's name, /sys. Out: numbers and a path.
 */
#ifndef NCCL_PROPERTIES_H
#define NCCL_PROPERTIES_H

#include <netinet/in.h>
#include <stdint.h>

#include "attach.h"

/* Differs from one address to the next; never 0. NCCL takes devices of one guid for one card. */
uint64_t properties_guid(const struct in6_addr *address);
/*
 * The PCI function of a network device, as its path below /sys/devices, to be freed; NULL if it has
 * none (veth, rxe over it, bonds, virtio), as NCCL places the device by the path's last part.
 * sys_class_net: "/sys/class/net".
 */
char *properties_pci_path(const char *sys_class_net, const char *device);
/* The same of a GPU, which may have a card for each plane: the first that is a PCI function. */
char *properties_gpu_pci_path(const struct attach_gpu *gpu);
/* Of a plane's sub-ports that are up; a plane of the GPU's. */
uint64_t properties_plane_mbps(const struct attach_gpu *gpu, unsigned plane);
/* Of all planes, at the time of the call. */
int properties_speed_mbps(const struct attach_gpu *gpu);

#endif
