/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_source.h"

#include <stdio.h>

#include "base/address.h"

const char *bgp_neighbor_format(const struct bgp_neighbor *n, char out[BGP_NEIGHBOR_TEXT_MAX])
{
	char text[ADDRESS_TEXT_MAX];

	address_format(&n->address, text);
	if (!IN6_IS_ADDR_LINKLOCAL(&n->address))
		snprintf(out, BGP_NEIGHBOR_TEXT_MAX, "%s", text);
	else if (IN6_ARE_ADDR_EQUAL(&n->address, &BGP_NEIGHBOR_UNNUMBERED))
		snprintf(out, BGP_NEIGHBOR_TEXT_MAX, "%s", n->dev);
	else
		snprintf(out, BGP_NEIGHBOR_TEXT_MAX, "%s%%%s", text, n->dev);
	return out;
}
