/* SPDX-License-Identifier: BSD-2-Clause */
/* address.c - see address.h */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int address_parse(const char *text, struct in6_addr *out)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(out, 0, 10);
		memset(&out->s6_addr[10], 0xff, 2);
		memcpy(&out->s6_addr[12], &v4, 4);
		return 0;
	}
	return inet_pton(AF_INET6, text, out) == 1 ? 0 : -EINVAL;
}

int address_prefix_parse(const char *text, struct in6_addr *out, uint8_t *length)
{
	char address[ADDRESS_TEXT_MAX], *end;
	const char *slash = strchr(text, '/');
	unsigned long bits, max;

	if (!slash || (size_t)(slash - text) >= sizeof(address) || slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	bits = strtoul(slash + 1, &end, 10);
	max = strchr(address, ':') ? 128 : 32;
	if (*end || bits > max || address_parse(address, out))
		return -EINVAL;
	bits += 128 - max;
	for (unsigned long b = bits; b < 128; b++)
		if (out->s6_addr[b / 8] & (0x80 >> (b % 8)))
			return -EINVAL;
	*length = (uint8_t)bits;
	return 0;
}

const char *address_format(const struct in6_addr *address, char out[ADDRESS_TEXT_MAX])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], out, ADDRESS_TEXT_MAX);
	else
		inet_ntop(AF_INET6, address, out, ADDRESS_TEXT_MAX);
	return out;
}
