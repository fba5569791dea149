/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.h - addresses as text; IPv4 is ::ffff:a.b.c.d inside a program and a.b.c.d outside.
 *
 * Owns nothing. Pure. Thread: any.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <netinet/in.h>
#include <stdint.h>

#define ADDRESS_TEXT_MAX INET6_ADDRSTRLEN

/* 0 or -EINVAL. Takes IPv4 and IPv6, nothing else (no length, zone or name). */
int address_parse(const char *text, struct in6_addr *out);
/* "198.19.0.0/16": length counts from the mapped form's first bit (so 112 here). 0 or -EINVAL (host
 * bits set, too). */
int address_prefix_parse(const char *text, struct in6_addr *out, uint8_t *length);
/* Writes the address into out and returns out. */
const char *address_format(const struct in6_addr *address, char out[ADDRESS_TEXT_MAX]);

#endif
