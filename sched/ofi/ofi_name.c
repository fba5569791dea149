/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_name.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

/* ---- names and addresses ---- */

void ofi_name_make(const struct peer_address *at, struct ofi_address *out)
{
	out->ep = 0;
	peer_address_encode(at, 0, &out->process);
}

int ofi_name_place(const struct ofi_address *address, struct peer_address *out)
{
	uint64_t incarnation;

	return peer_address_decode(&address->process, out, &incarnation);
}

bool ofi_name_is(const struct ofi_address *address)
{
	struct peer_address at;
	uint64_t incarnation;

	return !peer_address_decode(&address->process, &at, &incarnation) && !incarnation;
}

void ofi_name_of(const struct fare_address *process, struct fare_address *out)
{
	struct peer_address at = {0};
	uint64_t incarnation;

	peer_address_decode(process, &at, &incarnation);
	peer_address_encode(&at, 0, out);
}

/* ---- formats ---- */

size_t ofi_name_bytes(uint32_t format)
{
	switch (format) {
	case FI_FORMAT_UNSPEC:
		return OFI_ADDRESS_BYTES;
	case FI_SOCKADDR_IN:
		return sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IN6:
		return sizeof(struct sockaddr_in6);
	}
	return 0;
}

uint32_t ofi_name_format(uint32_t wanted, const struct in6_addr *own)
{
	if (wanted != FI_SOCKADDR)
		return wanted;
	return IN6_IS_ADDR_V4MAPPED(own) ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

void ofi_name_encode(uint32_t format, const struct ofi_address *address, void *out)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct peer_address at = {0};

	ofi_name_place(address, &at);
	if (format == FI_SOCKADDR_IN) {
		memcpy(&in.sin_addr, &at.address.s6_addr[12], sizeof(in.sin_addr));
		in.sin_port = htons(at.port);
		memcpy(out, &in, sizeof(in));
	} else if (format == FI_SOCKADDR_IN6) {
		in6.sin6_addr = at.address;
		in6.sin6_port = htons(at.port);
		memcpy(out, &in6, sizeof(in6));
	} else {
		ofi_address_encode(address, out);
	}
}

static int place_of(const void *socket_address, size_t bytes, struct peer_address *out)
{
	struct sockaddr_storage from = {0};

	memset(out, 0, sizeof(*out));
	if (bytes < sizeof(struct sockaddr_in) || bytes > sizeof(from))
		return -EINVAL;
	memcpy(&from, socket_address, bytes);
	if (from.ss_family != AF_INET &&
	    (from.ss_family != AF_INET6 || bytes < sizeof(struct sockaddr_in6)))
		return -EINVAL;
	address_of_socket(&from, &out->address, &out->port);
	return 0;
}

int ofi_name_decode(uint32_t format, const void *in, size_t bytes, struct ofi_address *out)
{
	struct peer_address at;
	int err;

	if (format == FI_FORMAT_UNSPEC) {
		err = bytes == OFI_ADDRESS_BYTES ? ofi_address_decode(in, out) : -EINVAL;
		return err ? err : ofi_name_place(out, &at);
	}
	err = format == FI_SOCKADDR || bytes == ofi_name_bytes(format) ? place_of(in, bytes, &at)
								       : -EINVAL;
	if (err)
		return err;
	ofi_name_make(&at, out);
	return 0;
}

static size_t print_bytes(const struct ofi_address *address, char *out, size_t size)
{
	uint8_t bytes[OFI_ADDRESS_BYTES];
	char text[2 * OFI_ADDRESS_BYTES + 1];

	ofi_address_encode(address, bytes);
	for (unsigned i = 0; i < OFI_ADDRESS_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return (size_t)snprintf(out, size, "fi_fare://%s", text) + 1;
}

size_t ofi_name_print(uint32_t format, const struct ofi_address *address, char *out, size_t size)
{
	char text[ADDRESS_TEXT_MAX];
	struct peer_address at = {0};
	int n;

	if (format == FI_FORMAT_UNSPEC)
		return print_bytes(address, out, size);
	ofi_name_place(address, &at);
	address_format(&at.address, text);
	if (format == FI_SOCKADDR_IN)
		n = snprintf(out, size, "fi_sockaddr_in://%s:%u", text, at.port);
	else
		n = snprintf(out, size, "fi_sockaddr_in6://[%s]:%u", text, at.port);
	return (size_t)n + 1;
}

/* ---- nodes and services ---- */

/* getaddrinfo(3) cuts a number to 16 bits. */
static bool is_too_large(const char *service)
{
	char *end;

	return isdigit((unsigned char)*service) && strtoul(service, &end, 10) > UINT16_MAX && !*end;
}

int ofi_name_resolve(const char *node, const char *service, bool is_numeric,
		     struct peer_address out[OFI_NAME_PLACES], const char **why)
{
	const struct addrinfo hints = {.ai_flags = (is_numeric ? AI_NUMERICHOST : 0) | AI_PASSIVE,
				       .ai_socktype = SOCK_DGRAM};
	struct addrinfo *list, *a;
	int n = 0, err;

	*why = "no such port";
	if (service && is_too_large(service))
		return -EINVAL;
	err = getaddrinfo(node, service ? service : "0", &hints, &list);
	if (err) {
		*why = gai_strerror(err);
		return -EINVAL;
	}
	for (a = list; a && n < (int)OFI_NAME_PLACES; a = a->ai_next)
		n += !place_of(a->ai_addr, a->ai_addrlen, &out[n]);
	freeaddrinfo(list);
	return n;
}

static bool add_to(struct in6_addr *address, unsigned n)
{
	uint64_t low;

	memcpy(&low, &address->s6_addr[8], sizeof(low));
	low = be64toh(low);
	/* an IPv4 address stays one */
	if (IN6_IS_ADDR_V4MAPPED(address) && (uint32_t)low + (uint64_t)n > UINT32_MAX)
		return false;
	if (low + n < low)
		return false;
	low = htobe64(low + n);
	memcpy(&address->s6_addr[8], &low, sizeof(low));
	return true;
}

int ofi_name_count_up(const char *node, unsigned i, char *out, size_t size)
{
	size_t length = strlen(node), digits = 0;
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr address;
	int n;

	if (!address_parse(node, &address)) {
		n = add_to(&address, i) ? snprintf(out, size, "%s", address_format(&address, text))
					: -1;
		return n >= 0 && (size_t)n < size ? 0 : -EINVAL;
	}
	while (digits < length && digits < 9 && isdigit((unsigned char)node[length - digits - 1]))
		digits++;
	if (i && !digits)
		return -EINVAL;
	if (!digits)
		n = snprintf(out, size, "%s", node);
	else
		n = snprintf(out, size, "%.*s%0*lu", (int)(length - digits), node, (int)digits,
			     strtoul(node + length - digits, NULL, 10) + i);
	return n >= 0 && (size_t)n < size ? 0 : -EINVAL;
}
