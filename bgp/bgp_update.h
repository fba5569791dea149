/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_update.h - BGP UPDATE (RFC 4271 4.3, RFC 4760) of IPv4 and IPv6 unicast, and what FARE reads
 * from it.
 *
 * Owns nothing; pure. In: the body of one UPDATE and what its session negotiated. Out: struct
 * bgp_update, whose prefix lists borrow the bytes. Any thread.
 *
 * Errors follow RFC 7606 in spirit. If attributes are malformed but the prefixes can be read, the
 * prefixes are withdrawn (treat_as_withdraw) and the rest of the table stands. If the prefixes
 * themselves cannot be read the whole UPDATE is refused, before anything of it was applied.
 */
#ifndef BGP_UPDATE_H
#define BGP_UPDATE_H

#include "bgp_message.h"
#include "bgp_source.h"
#include "link_bandwidth.h"

struct bgp_update_options {
	uint32_t own_as;		 /* of the local speaker */
	bool four_octet_as;		 /* AS_PATH holds 4-octet numbers */
	bool add_path[BGP_FAMILY_COUNT]; /* negotiated; prefixes without path ids are then taken
					    too, see .c */
};

/* Prefixes of one family, already validated: walk them with bgp_update_next(). */
struct bgp_nlri {
	struct octets bytes;
	enum bgp_family family;
	bool add_path;
};

struct bgp_nlri_prefix {
	struct bgp_prefix prefix; /* host bits cleared */
	bool has_host_bits;	  /* they were set */
	uint32_t path_id;	  /* 0 without add-path */
};

struct bgp_update {
	struct bgp_nlri withdrawn[2]; /* the plain field, then MP_UNREACH_NLRI */
	struct bgp_nlri reached[2];   /* the plain field, then MP_REACH_NLRI */
	bool treat_as_withdraw; /* attributes are malformed: reached is to be withdrawn; defect says
				   why */
	struct octets_error defect;
	bool end_of_rib; /* RFC 4724 2 */
	enum bgp_family end_of_rib_family;
	unsigned as_hops; /* length of AS_PATH, without one leading own AS (which BMP of FRR 8.4
			     prepends) */
	bool as_loop;	  /* own AS elsewhere in AS_PATH */
	struct link_bandwidth bandwidth;
};

/* body: an UPDATE without its header. 0 or -EBADMSG. */
int bgp_update_parse(struct octets body, const struct bgp_update_options *options,
		     struct bgp_update *out, struct octets_error *error);

/* Takes the next prefix from nlri; false at the end. */
bool bgp_update_next(struct bgp_nlri *nlri, struct bgp_nlri_prefix *out);

#endif
