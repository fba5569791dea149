/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_update.h"

#include <errno.h>
#include <string.h>

enum {
	ATTRIBUTE_ORIGIN = 1,
	ATTRIBUTE_AS_PATH = 2,
	ATTRIBUTE_NEXT_HOP = 3,
	ATTRIBUTE_MP_REACH = 14,
	ATTRIBUTE_MP_UNREACH = 15,
	ATTRIBUTE_EXTENDED_COMMUNITIES = 16,
	ATTRIBUTE_AS4_PATH = 17,
	ATTRIBUTE_IPV6_COMMUNITIES = 25, /* RFC 5701 */
	FLAG_OPTIONAL = 0x80,
	FLAG_TRANSITIVE = 0x40,
	FLAG_EXTENDED_LENGTH = 0x10,
	SEGMENT_SET = 1,
	SEGMENT_SEQUENCE = 2,
	SEGMENT_CONFED_SEQUENCE = 3,
	SEGMENT_CONFED_SET = 4,
	PLAIN = 0, /* index into withdrawn[] and reached[] */
	MULTIPROTOCOL = 1,
};

/* Members of an AS_PATH that are looked at. In a fabric a path has two; one that exceeds this is
 * refused. */
#define BGP_UPDATE_AS_PATH_MAX 128

struct as_path {
	uint32_t as[BGP_UPDATE_AS_PATH_MAX];
	unsigned n;
	unsigned hops; /* a set counts one, a confederation's segments none (RFC 4271 9.1.2.2, RFC
			  5065 5.3) */
};

/* What the walk over the attributes carries along. */
struct walk {
	const struct bgp_update_options *options;
	struct bgp_update *out;
	uint8_t seen[32]; /* one bit per attribute type */
	unsigned n_attributes;
	struct as_path as_path;
	struct as_path as4_path;
	struct link_bandwidth extended; /* of 64 bits, which counts where there is one */
};

static bool walk_saw(const struct walk *w, uint8_t type)
{
	return w->seen[type / 8] & 1u << type % 8;
}

/* Notes the first defect; later ones add nothing. */
static void walk_defect(struct walk *w, const struct octets *at, const char *reason)
{
	if (!w->out->treat_as_withdraw)
		octets_fail(at, &w->out->defect, reason);
	w->out->treat_as_withdraw = true;
}

/* ---- prefixes ---- */

static int nlri_take(struct octets *o, enum bgp_family family, bool add_path,
		     struct bgp_nlri_prefix *out)
{
	unsigned base = family == BGP_FAMILY_IPV4 ? 96 : 0;
	uint8_t *address = out->prefix.address.s6_addr;
	uint8_t bits;

	memset(out, 0, sizeof(*out));
	if (base)
		memset(address + 10, 0xff, 2);
	if (add_path && octets_u32(o, &out->path_id))
		return -EBADMSG;
	if (octets_u8(o, &bits) || bits > 128 - base ||
	    octets_copy(o, address + base / 8, (bits + 7) / 8))
		return -EBADMSG;
	out->prefix.length = (uint8_t)(base + bits);
	if (bits % 8) {
		uint8_t *last = &address[(base + bits) / 8],
			kept = (uint8_t)(0xff << (8 - bits % 8));

		out->has_host_bits = *last & ~kept;
		*last &= kept;
	}
	return 0;
}

/* How well bytes read as prefixes in one of the two forms. */
enum nlri_fit {
	NLRI_UNREADABLE,
	NLRI_ODD, /* readable, but with bits set after a prefix's length: no router sends those */
	NLRI_CLEAN,
};

static enum nlri_fit nlri_fit(struct octets o, enum bgp_family family, bool add_path)
{
	enum nlri_fit fit = NLRI_CLEAN;
	struct bgp_nlri_prefix prefix;

	while (o.left > 0) {
		if (nlri_take(&o, family, add_path, &prefix))
			return NLRI_UNREADABLE;
		if (prefix.has_host_bits)
			fit = NLRI_ODD;
	}
	return fit;
}

/*
 * A router that negotiated add-path with its peer should show path ids to its station as well;
 * FRR's BMP does not, and nothing in the message tells. So both forms are tried, and the one that
 * reads better is taken. Where both read equally well, the first octet decides: path ids are
 * counted from small numbers, so theirs is 0, which in the plain form would be a default route.
 */
static bool has_path_ids(struct octets o, enum bgp_family family)
{
	enum nlri_fit with = nlri_fit(o, family, true), plain = nlri_fit(o, family, false);

	return with == plain ? o.left > 0 && o.p[0] == 0 : with > plain;
}

static int nlri_open(struct octets o, enum bgp_family family,
		     const struct bgp_update_options *options, struct bgp_nlri *out,
		     struct octets_error *error)
{
	bool add_path = options->add_path[family] && has_path_ids(o, family);

	if (nlri_fit(o, family, add_path) == NLRI_UNREADABLE)
		return octets_fail(&o, error, "prefixes cannot be read");
	*out = (struct bgp_nlri){.bytes = o, .family = family, .add_path = add_path};
	return 0;
}

bool bgp_update_next(struct bgp_nlri *nlri, struct bgp_nlri_prefix *out)
{
	return nlri->bytes.left > 0 &&
	       nlri_take(&nlri->bytes, nlri->family, nlri->add_path, out) == 0;
}

/* ---- attributes: each returns a literal that says what is wrong, or NULL ---- */

static const char *as_path_segment(struct octets *o, bool four_octet_as, struct as_path *out)
{
	uint8_t type, count;
	uint16_t as;

	if (octets_u8(o, &type) || octets_u8(o, &count))
		return "AS_PATH segment is cut short";
	if (type < SEGMENT_SET || type > SEGMENT_CONFED_SET)
		return "AS_PATH segment of unknown type";
	if (count == 0)
		return "AS_PATH segment is empty";
	if (out->n + count > BGP_UPDATE_AS_PATH_MAX)
		return "AS_PATH is longer than can be";
	for (unsigned i = 0; i < count; i++) {
		if (four_octet_as ? octets_u32(o, &out->as[out->n]) : octets_u16(o, &as))
			return "AS_PATH segment is cut short";
		if (!four_octet_as)
			out->as[out->n] = as;
		out->n++;
	}
	out->hops += type == SEGMENT_SEQUENCE ? count : type == SEGMENT_SET ? 1 : 0;
	return NULL;
}

static const char *as_path_read(struct octets o, bool four_octet_as, struct as_path *out)
{
	const char *wrong = NULL;

	while (o.left > 0 && !wrong)
		wrong = as_path_segment(&o, four_octet_as, out);
	return wrong;
}

static const char *next_hop_length_wrong(enum bgp_family family, uint8_t length)
{
	bool ok = length == 16 || length == 32 || (family == BGP_FAMILY_IPV4 && length == 4);

	return ok ? NULL : "MP_REACH_NLRI next hop of a wrong length"; /* RFC 2545, RFC 8950 */
}

static int mp_reach_read(struct walk *w, struct octets o, struct octets_error *error)
{
	uint8_t safi, next_hop_bytes, reserved;
	enum bgp_family family;
	const char *wrong;
	uint16_t afi;

	if (octets_u16(&o, &afi) || octets_u8(&o, &safi) || octets_u8(&o, &next_hop_bytes) ||
	    octets_skip(&o, next_hop_bytes) || octets_u8(&o, &reserved))
		return octets_fail(&o, error, "MP_REACH_NLRI is cut short");
	if (!bgp_message_family(afi, safi, &family))
		return 0;
	wrong = next_hop_length_wrong(family, next_hop_bytes);
	if (wrong)
		walk_defect(w, &o, wrong);
	return nlri_open(o, family, w->options, &w->out->reached[MULTIPROTOCOL], error);
}

static int mp_unreach_read(struct walk *w, struct octets o, struct octets_error *error)
{
	enum bgp_family family;
	uint16_t afi;
	uint8_t safi;

	if (octets_u16(&o, &afi) || octets_u8(&o, &safi))
		return octets_fail(&o, error, "MP_UNREACH_NLRI is cut short");
	if (!bgp_message_family(afi, safi, &family))
		return 0;
	w->out->end_of_rib =
		o.left == 0; /* and nothing else beside it: bgp_update_parse() sees to that */
	w->out->end_of_rib_family = family;
	return nlri_open(o, family, w->options, &w->out->withdrawn[MULTIPROTOCOL], error);
}

static const char *communities_read(struct walk *w, struct octets o)
{
	if (o.left % 8 != 0)
		return "EXTENDED COMMUNITIES is no multiple of 8 bytes";
	link_bandwidth_read(o.p, o.left, &w->out->bandwidth);
	return NULL;
}

static const char *ipv6_communities_read(struct walk *w, struct octets o)
{
	if (o.left % 20 != 0)
		return "IPv6 EXTENDED COMMUNITIES is no multiple of 20 bytes";
	link_bandwidth_read_extended(o.p, o.left, &w->extended);
	return NULL;
}

/* RFC 7606 3(c): the optional and transitive bits must be those that the attribute's definition
 * fixes. */
static bool flags_wrong(uint8_t type, uint8_t flags)
{
	uint8_t kind = flags & (FLAG_OPTIONAL | FLAG_TRANSITIVE);

	switch (type) {
	case ATTRIBUTE_ORIGIN:
	case ATTRIBUTE_AS_PATH:
	case ATTRIBUTE_NEXT_HOP:
		return kind != FLAG_TRANSITIVE;
	case ATTRIBUTE_MP_REACH:
	case ATTRIBUTE_MP_UNREACH:
		return kind != FLAG_OPTIONAL;
	case ATTRIBUTE_EXTENDED_COMMUNITIES:
	case ATTRIBUTE_IPV6_COMMUNITIES:
		return kind != (FLAG_OPTIONAL | FLAG_TRANSITIVE);
	default:
		return false;
	}
}

static int attribute_read(struct walk *w, uint8_t type, struct octets value,
			  struct octets_error *error)
{
	const char *wrong = NULL;

	switch (type) {
	case ATTRIBUTE_ORIGIN:
		if (value.left != 1 || value.p[0] > 2)
			wrong = "ORIGIN is malformed";
		break;
	case ATTRIBUTE_AS_PATH:
		wrong = as_path_read(value, w->options->four_octet_as, &w->as_path);
		break;
	case ATTRIBUTE_AS4_PATH:
		/* RFC 6793 6: a malformed AS4_PATH is discarded, and the UPDATE goes on without it
		 */
		if (!w->options->four_octet_as && as_path_read(value, true, &w->as4_path))
			w->as4_path.n = 0;
		break;
	case ATTRIBUTE_NEXT_HOP:
		if (value.left != 4)
			wrong = "NEXT_HOP is malformed";
		break;
	case ATTRIBUTE_MP_REACH:
		return mp_reach_read(w, value, error);
	case ATTRIBUTE_MP_UNREACH:
		return mp_unreach_read(w, value, error);
	case ATTRIBUTE_EXTENDED_COMMUNITIES:
		wrong = communities_read(w, value);
		break;
	case ATTRIBUTE_IPV6_COMMUNITIES:
		wrong = ipv6_communities_read(w, value);
		break;
	default:
		break;
	}
	if (wrong)
		walk_defect(w, &value, wrong);
	return 0;
}

static int attribute_take(struct octets *o, uint8_t *flags, uint8_t *type, struct octets *value)
{
	uint16_t long_length;
	uint8_t length;

	if (octets_u8(o, flags) || octets_u8(o, type))
		return -EBADMSG;
	if (*flags & FLAG_EXTENDED_LENGTH)
		return octets_u16(o, &long_length) || octets_take(o, long_length, value) ? -EBADMSG
											 : 0;
	return octets_u8(o, &length) || octets_take(o, length, value) ? -EBADMSG : 0;
}

static int attributes_walk(struct walk *w, struct octets o, struct octets_error *error)
{
	struct octets value;
	uint8_t flags, type;

	while (o.left > 0) {
		if (attribute_take(&o, &flags, &type, &value)) {
			walk_defect(w, &o, "path attribute exceeds the attributes");
			return 0; /* what follows cannot be found; the prefixes behind the
				     attributes can */
		}
		w->n_attributes++;
		if (walk_saw(w, type)) {
			if (type == ATTRIBUTE_MP_REACH || type == ATTRIBUTE_MP_UNREACH)
				return octets_fail(&value, error, "multiprotocol attribute twice");
			continue; /* RFC 7606 3(g): all but the first are discarded */
		}
		w->seen[type / 8] |= (uint8_t)(1u << type % 8);
		if (flags_wrong(type, flags))
			walk_defect(w, &value, "path attribute flags contradict its type");
		if (attribute_read(w, type, value, error))
			return -EBADMSG;
	}
	return 0;
}

/* Restores what a 2-octet AS_PATH could not say (RFC 6793 4.2.3), as far as a search for one AS
 * needs it. */
static void as_path_merge(struct as_path *path, const struct as_path *as4)
{
	if (as4->n <= path->n)
		memcpy(path->as + (path->n - as4->n), as4->as, as4->n * sizeof(as4->as[0]));
}

static void as_path_judge(struct walk *w)
{
	uint32_t own = w->options->own_as;
	unsigned first = 0;

	if (!w->options->four_octet_as)
		as_path_merge(&w->as_path, &w->as4_path);
	w->out->as_hops = w->as_path.hops;
	if (w->as_path.n > 0 && w->as_path.as[0] == own && w->as_path.hops > 0) {
		first = 1;
		w->out->as_hops--;
	}
	for (unsigned i = first; i < w->as_path.n; i++)
		w->out->as_loop |= w->as_path.as[i] == own;
}

/*
 * NEXT_HOP may be missing: FRR's BMP leaves a next hop out that is IPv6's (RFC 8950; unnumbered
 * sessions), and bgpd has checked the one that came.
 */
static void mandatory_check(struct walk *w, const struct octets *at)
{
	bool any = w->out->reached[PLAIN].bytes.left > 0 ||
		   w->out->reached[MULTIPROTOCOL].bytes.left > 0;

	if (any && (!walk_saw(w, ATTRIBUTE_ORIGIN) || !walk_saw(w, ATTRIBUTE_AS_PATH)))
		walk_defect(w, at, "ORIGIN or AS_PATH is missing");
}

int bgp_update_parse(struct octets o, const struct bgp_update_options *options,
		     struct bgp_update *out, struct octets_error *error)
{
	struct walk w = {
		.options = options, .out = out, .extended = {.kind = BGP_BANDWIDTH_ABSENT}};
	struct octets withdrawn, attributes;
	uint16_t withdrawn_bytes, attribute_bytes;

	memset(out, 0, sizeof(*out));
	out->bandwidth.kind = BGP_BANDWIDTH_ABSENT;
	if (octets_u16(&o, &withdrawn_bytes) || octets_take(&o, withdrawn_bytes, &withdrawn))
		return octets_fail(&o, error, "withdrawn routes exceed the UPDATE");
	if (octets_u16(&o, &attribute_bytes) || octets_take(&o, attribute_bytes, &attributes))
		return octets_fail(&o, error, "path attributes exceed the UPDATE");
	if (nlri_open(withdrawn, BGP_FAMILY_IPV4, options, &out->withdrawn[PLAIN], error) ||
	    nlri_open(o, BGP_FAMILY_IPV4, options, &out->reached[PLAIN], error) ||
	    attributes_walk(&w, attributes, error))
		return -EBADMSG;
	if (w.extended.kind != BGP_BANDWIDTH_ABSENT)
		out->bandwidth = w.extended;
	mandatory_check(&w, &attributes);
	as_path_judge(&w);
	if (withdrawn.left > 0 || o.left > 0 || w.n_attributes > 1 || out->treat_as_withdraw)
		out->end_of_rib = false;
	else if (attributes.left == 0)
		out->end_of_rib =
			true; /* the empty UPDATE: IPv4's, which is what the zeroed family says */
	return 0;
}
