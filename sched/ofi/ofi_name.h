/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_name.h - an endpoint's address as applications write it: opaque bytes (FI_FORMAT_UNSPEC), a
 * struct sockaddr_in or sockaddr_in6, a node and a service.
 *
 * An address of struct ofi_address names one process and one of its endpoints. A name is an address
 * without incarnation: a GPU's address and the UDP port at which a process receives. It stands for
 * the process that has this port, and for its first endpoint. Nodes with services and socket
 * addresses are names; opaque bytes are one or the other. Owns nothing.
 */
#ifndef OFI_NAME_H
#define OFI_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "ofi/ofi_wire.h"
#include "qp/peer_address.h"

#define OFI_NAME_BYTES_MAX OFI_ADDRESS_BYTES

void ofi_name_make(const struct peer_address *at, struct ofi_address *out);
bool ofi_name_is(const struct ofi_address *address);
/* The name of the process that this is the address of. */
void ofi_name_of(const struct fare_address *process, struct fare_address *out);
/* Where it receives. */
int ofi_name_place(const struct ofi_address *address, struct peer_address *out);

/* Bytes of an address; 0: no such format here. */
size_t ofi_name_bytes(uint32_t format);
/* The same, of FI_SOCKADDR too: the format of a GPU with such an address. */
uint32_t ofi_name_format(uint32_t wanted, const struct in6_addr *own);
/* Writes ofi_name_bytes(format) bytes. A socket address leaves out which endpoint it is. */
void ofi_name_encode(uint32_t format, const struct ofi_address *address, void *out);
/* FI_SOCKADDR: as its family says. 0, or -EINVAL: no such address. */
int ofi_name_decode(uint32_t format, const void *in, size_t bytes, struct ofi_address *out);
/* As fi_av_straddr(): at most size bytes with the 0 at the end. Bytes that all of it takes. */
size_t ofi_name_print(uint32_t format, const struct ofi_address *address, char *out, size_t size);

/* A GPU has one address of each family; a node may have several of each. */
#define OFI_NAME_PLACES 8u
/*
 * The addresses of a node (a number, or a name unless is_numeric; NULL: the unspecified address)
 * with the port of a service (a number, or a name; NULL: 0). How many, up to OFI_NAME_PLACES; or
 * -EINVAL with *why (static).
 */
int ofi_name_resolve(const char *node, const char *service, bool is_numeric,
		     struct peer_address out[OFI_NAME_PLACES], const char **why);
/*
 * Changes node to the i-th behind it: a number counts up, and so does the number at the end of a
 * name. 0, or -EINVAL: it has none, or there is no room.
 */
int ofi_name_count_up(const char *node, unsigned i, char *out, size_t size);

#endif
