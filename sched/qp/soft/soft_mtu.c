/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_mtu.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "path_mtu.h"
#include "roce_wire.h"

_Static_assert(PATH_MTU_UDP_EXTRA == ROCE_HEADER_MAX + ROCE_ICRC_BYTES, "what surrounds payload");

static int device_mtu(int fd, const char *dev, uint32_t *out)
{
	struct ifreq request;

	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, dev, FARE_DEV_NAME_MAX - 1);
	if (ioctl(fd, SIOCGIFMTU, &request))
		return -errno;
	*out = (uint32_t)request.ifr_mtu;
	return 0;
}

int soft_mtu_of_devices(const struct qp_endpoint_attr *attr, uint32_t *out)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = -ENODEV;
	bool ipv6 = !IN6_IS_ADDR_V4MAPPED(&attr->address);
	uint32_t mtu = 0, n_fitting[PATH_MTU_SIZES + 1] = {0};

	if (fd < 0)
		return -errno;
	for (unsigned p = 0; p < attr->n_planes; p++) {
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++) {
			if (device_mtu(fd, attr->dev[p][s], &mtu))
				continue;
			n_fitting[path_mtu_fitting(mtu, ipv6)]++;
			err = 0;
		}
	}
	close(fd);
	*out = path_mtu_bytes(path_mtu_of_most(n_fitting));
	return err;
}
