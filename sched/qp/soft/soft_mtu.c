/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_mtu.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "path_mtu.h"
#include "roce_wire.h"
#include "soft_endpoint.h"

_Static_assert(PATH_MTU_UDP_EXTRA == ROCE_HEADER_MAX + ROCE_ICRC_BYTES, "what surrounds payload");

/* What packets by that device may hold; QP_MTU_UNKNOWN: there is no such device now. */
static uint32_t payload_of(int fd, const char *dev, bool ipv6)
{
	struct ifreq request;

	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, dev, FARE_DEV_NAME_MAX - 1);
	if (ioctl(fd, SIOCGIFMTU, &request))
		return QP_MTU_UNKNOWN;
	return path_mtu_bytes(path_mtu_fitting((uint32_t)request.ifr_mtu, ipv6));
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

/* The number of a path MTU (path_mtu.h). */
static unsigned soft_mtu_number_of(uint32_t payload)
{
	unsigned number = 0;

	while (number < PATH_MTU_SIZES && path_mtu_bytes(number + 1) <= payload)
		number++;
	return number;
}

static const char *first_within(const struct qp_mtus *mtus, const struct qp_endpoint_attr *attr,
				uint32_t payload)
{
	for (unsigned p = 0; p < attr->n_planes; p++)
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++)
			if (mtus->payload[p][s] <= payload)
				return attr->dev[p][s];
	return "";
}

uint32_t soft_mtu_of_most(const struct qp_mtus *mtus, const struct qp_endpoint_attr *attr,
			  const char **dev)
{
	uint32_t n_fitting[PATH_MTU_SIZES + 1] = {0}, n = 0, most;

	*dev = "";
	for (unsigned p = 0; p < attr->n_planes; p++) {
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++) {
			if (mtus->payload[p][s] == QP_MTU_UNKNOWN)
				continue;
			n_fitting[soft_mtu_number_of(mtus->payload[p][s])]++;
			n++;
		}
	}
	if (!n)
		return QP_MTU_UNKNOWN;
	most = path_mtu_bytes(path_mtu_of_most(n_fitting));
	*dev = first_within(mtus, attr, most);
	return most;
}

void soft_mtu_refresh(struct qp_endpoint *ep, uint64_t now_ns, uint64_t interval_ns)
{
	if (now_ns - ep->mtus_read_ns < interval_ns)
		return;
	ep->mtus_read_ns = now_ns;
	if (soft_mtu_read(&ep->mtus, &ep->attr, ep->rx_fd))
		soft_alarm_wake(&ep->alarm);
}
