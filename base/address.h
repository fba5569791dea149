/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.h - addresses as text; IPv4 is ::ffff:a.b.c.d inside a program and a.b.c.d outside.
 *
 * Owns nothing. Pure. Thread: any.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_MAX INET6_ADDRSTRLEN

/* The four octets of an IPv4 address, as ::ffff:a.b.c.d. */
struct in6_addr address_of_v4(const void *octets);

/* (address, port) as a socket address; ::ffff:a.b.c.d becomes AF_INET. Returns its length. */
socklen_t address_to_socket(const struct in6_addr *address, uint16_t port,
			    struct sockaddr_storage *out);
/* The reverse; family is AF_INET or AF_INET6. */
void address_of_socket(const struct sockaddr_storage *from, struct in6_addr *address,
		       uint16_t *port);

/* 0 or -EINVAL. Takes IPv4 and IPv6, nothing else (no length, zone or name). */
int address_parse(const char *text, struct in6_addr *out);
/* "198.19.0.0/16": length counts from the mapped form's first bit (so 112 here). 0 or -EINVAL (host
 * bits set, too). */
int address_prefix_parse(const char *text, struct in6_addr *out, uint8_t *length);
/* Whether the first bits of both, as many as length, are the same. */
bool address_in_prefix(const struct in6_addr *address, const struct in6_addr *prefix,
		       unsigned length);
/* Writes the address into out and returns out. */
const char *address_format(const struct in6_addr *address, char out[ADDRESS_TEXT_MAX]);

#endif
