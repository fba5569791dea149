/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_mtu.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "roce_wire.h"

#define LEAST	   256u
#define MOST	   4096u
#define IPV4_BYTES 20u
#define IPV6_BYTES 40u
#define UDP_BYTES  8u

uint32_t soft_mtu_fitting(uint32_t device_mtu, bool ipv6)
{
	uint32_t headers =
		(ipv6 ? IPV6_BYTES : IPV4_BYTES) + UDP_BYTES + ROCE_HEADER_MAX + ROCE_ICRC_BYTES;
	uint32_t mtu = MOST;

	while (mtu >= LEAST && mtu + headers > device_mtu)
		mtu /= 2;
	return mtu >= LEAST ? mtu : 0;
}

/* What packets by that device may hold; QP_MTU_UNKNOWN: there is no such device now. */
static uint32_t payload_of(int fd, const char *dev, bool ipv6)
{
	struct ifreq request;

	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, dev, FARE_DEV_NAME_MAX - 1);
	if (ioctl(fd, SIOCGIFMTU, &request))
		return QP_MTU_UNKNOWN;
	return soft_mtu_fitting((uint32_t)request.ifr_mtu, ipv6);
}

bool soft_mtu_read(struct qp_mtus *mtus, const struct qp_endpoint_attr *attr, int fd)
{
	bool ipv6 = !IN6_IS_ADDR_V4MAPPED(&attr->address), changed = false;

	for (unsigned p = 0; p < attr->n_planes; p++) {
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++) {
			uint32_t now = payload_of(fd, attr->dev[p][s], ipv6);

			changed |= now != mtus->payload[p][s];
			mtus->payload[p][s] = now;
		}
	}
	mtus->changes += changed;
	return changed;
}

uint32_t soft_mtu_least(const struct qp_mtus *mtus, const struct qp_endpoint_attr *attr,
			const char **dev)
{
	uint32_t least = QP_MTU_UNKNOWN;

	*dev = "";
	for (unsigned p = 0; p < attr->n_planes; p++) {
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++) {
			if (mtus->payload[p][s] >= least)
				continue;
			least = mtus->payload[p][s];
			*dev = attr->dev[p][s];
		}
	}
	return least;
}
