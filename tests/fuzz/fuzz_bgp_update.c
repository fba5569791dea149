/* links: bgp; parses: bgp/bgp_open.c bgp/bgp_update.c bgp/link_bandwidth.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One UPDATE's body behind a byte of options: whatever comes, the parser keeps inside its bytes,
 * and all that it calls valid can be walked to the end.
 */
#include <stdlib.h>

#include "bgp_open.h"
#include "bgp_update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct bgp_nlri nlri)
{
	struct bgp_nlri_prefix prefix;

	while (nlri.bytes.left > 0) {
		if (!bgp_update_next(&nlri, &prefix))
			abort(); /* it was validated */
		if (prefix.prefix.length > 128 ||
		    (nlri.family == BGP_FAMILY_IPV4 && prefix.prefix.length < 96))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bgp_update_options options = {.own_as = 64513};
	struct octets_error error = {NULL, 0};
	struct bgp_update update;
	struct bgp_open open;
	struct octets o;

	if (size < 1)
		return 0;
	octets_init(&o, data + 1, size - 1);
	if (data[0] & 8) {
		if (bgp_open_parse(o, &open, &error) && !error.reason)
			abort();
		return 0;
	}
	options.four_octet_as = !(data[0] & 1);
	options.add_path[BGP_FAMILY_IPV4] = data[0] & 2;
	options.add_path[BGP_FAMILY_IPV6] = data[0] & 4;
	if (bgp_update_parse(o, &options, &update, &error)) {
		if (!error.reason || error.offset > size)
			abort();
		return 0;
	}
	if (update.treat_as_withdraw && !update.defect.reason)
		abort();
	if (!(update.bandwidth.bytes_per_s >= 0))
		abort();
	for (int i = 0; i < 2; i++) {
		walk(update.withdrawn[i]);
		walk(update.reached[i]);
	}
	return 0;
}
