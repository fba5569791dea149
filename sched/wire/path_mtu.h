/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_mtu.h - path MTUs of RoCEv2: payload bytes of a packet, one of the five of InfiniBand, and
 * what a device has to carry for each (IBTA A17: IP and UDP, then BTH, RETH and immediate data,
 * payload, ICRC).
 *
 * Owns nothing. Thread: any. Pure. The daemon probes with packets of the size that the library
 * sends, so both take it from here.
 */
#ifndef PATH_MTU_H
#define PATH_MTU_H

#include <stdbool.h>
#include <stdint.h>

#define PATH_MTU_LEAST	   256u
#define PATH_MTU_SIZES	   5u
#define PATH_MTU_UDP_EXTRA (32u + 4u) /* in a UDP datagram: the headers above UDP; ICRC */

/* Path MTUs by number: 1 is 256 bytes, 5 is 4,096; 0: none of them. */
static inline uint32_t path_mtu_bytes(unsigned number)
{
	return number ? PATH_MTU_LEAST << (number - 1) : 0;
}

static inline uint32_t path_mtu_datagram_bytes(unsigned number)
{
	return path_mtu_bytes(number) + PATH_MTU_UDP_EXTRA;
}

/* The largest whose packets a device of device_mtu bytes carries. */
static inline unsigned path_mtu_fitting(uint32_t device_mtu, bool ipv6)
{
	uint32_t headers = (ipv6 ? 40u : 20u) + 8u;
	unsigned number = PATH_MTU_SIZES;

	while (number && path_mtu_datagram_bytes(number) + headers > device_mtu)
		number--;
	return number;
}

/*
 * What a server uses whose devices differ: the largest that at least half of them carry, for one
 * device that is set up wrongly must not shrink the packets of all others. n_fitting[i]: so many
 * devices for which path_mtu_fitting() is i. 0: there is no device, or most carry none.
 */
static inline unsigned path_mtu_of_most(const uint32_t n_fitting[PATH_MTU_SIZES + 1])
{
	uint32_t n = 0, all = 0;
	unsigned number;

	for (number = 0; number <= PATH_MTU_SIZES; number++)
		all += n_fitting[number];
	for (number = PATH_MTU_SIZES; number; number--) {
		n += n_fitting[number];
		if (n && 2 * n >= all)
			return number;
	}
	return 0;
}

#endif
