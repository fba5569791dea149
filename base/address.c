/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct in6_addr address_of_v4(const void *octets)
{
	struct in6_addr out = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(&out.s6_addr[12], octets, 4);
	return out;
}

socklen_t address_to_socket(const struct in6_addr *address, uint16_t port,
			    struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (IN6_IS_ADDR_V4MAPPED(address)) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, &address->s6_addr[12], 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	v6->sin6_addr = *address;
	return sizeof(*v6);
}

void address_of_socket(const struct sockaddr_storage *from, struct in6_addr *address,
		       uint16_t *port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	if (from->ss_family == AF_INET) {
		*address = address_of_v4(&v4->sin_addr);
		*port = ntohs(v4->sin_port);
	} else {
		*address = v6->sin6_addr;
		*port = ntohs(v6->sin6_port);
	}
}

int address_parse(const char *text, struct in6_addr *out)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*out = address_of_v4(&v4);
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

bool address_in_prefix(const struct in6_addr *address, const struct in6_addr *prefix,
		       unsigned length)
{
	unsigned whole = length / 8, rest = length % 8;

	return !memcmp(address, prefix, whole) &&
	       (!rest || !((address->s6_addr[whole] ^ prefix->s6_addr[whole]) >> (8 - rest)));
}
