/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_mtu.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
	uint32_t mtu = 0;

	if (fd < 0)
		return -errno;
	*out = MOST;
	for (unsigned p = 0; p < attr->n_planes; p++) {
		for (unsigned s = 0; s < attr->n_sub_ports[p]; s++) {
			if (device_mtu(fd, attr->dev[p][s], &mtu))
				continue;
			mtu = soft_mtu_fitting(mtu, ipv6);
			*out = mtu < *out ? mtu : *out;
			err = 0;
		}
	}
	close(fd);
	return err;
}
