/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_message.h - what is common to BGP messages (RFC 4271 4.1): the header, and the two families
 * fared knows.
 *
 * Owns nothing; pure. In: bytes. Out: one message's type and body. Any thread.
 */
#ifndef BGP_MESSAGE_H
#define BGP_MESSAGE_H

#include <stdbool.h>

#include "base/octets.h"

enum bgp_family { BGP_FAMILY_IPV4, BGP_FAMILY_IPV6, BGP_FAMILY_COUNT };

enum bgp_message_type {
	BGP_MESSAGE_OPEN = 1,
	BGP_MESSAGE_UPDATE = 2,
	BGP_MESSAGE_NOTIFICATION = 3
};

#define BGP_MESSAGE_HEADER_BYTES 19

/*
 * Takes one BGP message from the front of in: its type, and body without the header. Up to 65,535
 * bytes are taken (RFC 8654): what the session negotiated is the speakers' affair. 0 or -EBADMSG.
 */
int bgp_message_take(struct octets *in, uint8_t *type, struct octets *body,
		     struct octets_error *error);

/* Whether (afi, safi) is unicast of a family fared knows, and then which. */
bool bgp_message_family(uint16_t afi, uint8_t safi, enum bgp_family *out);

#endif
