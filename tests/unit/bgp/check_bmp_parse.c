/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_parse.h"

#include "bgp_test.h"

/* Walks a capture of FRR 8.4.4; returns how many messages of each type there were. */
static void count(const uint8_t *data, size_t size, unsigned types[8], unsigned *n_global)
{
	struct octets_error error;
	struct bmp_message m;
	size_t bytes;

	while (size > 0) {
		ck_assert_int_eq(bmp_parse_length(data, size, &bytes, &error), 0);
		ck_assert_uint_le(bytes, size);
		ck_assert_int_eq(bmp_parse(data, bytes, &m, &error), 0);
		types[m.type]++;
		*n_global += m.peer.pre_policy_global;
		data += bytes;
		size -= bytes;
	}
}

START_TEST(reads_a_capture_of_frr)
{
	unsigned types[8] = {0}, n_global = 0;
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.bmp", &size);

	count(data, size, types, &n_global);
	ck_assert_uint_eq(types[BMP_INITIATION], 1);
	ck_assert_uint_eq(types[BMP_PEER_UP], 9);
	ck_assert_uint_gt(types[BMP_PEER_DOWN], 50);
	ck_assert_uint_gt(types[BMP_ROUTE_MONITORING], 40);
	/* all but the initiation and the four post-policy End-of-RIBs */
	ck_assert_uint_eq(n_global, types[BMP_PEER_UP] + types[BMP_PEER_DOWN] +
					    types[BMP_ROUTE_MONITORING] - 4);
	free(data);
}
END_TEST

/* Each message of the initial dump, cut at every byte: with its length corrected, it must be
 * refused. */
START_TEST(any_cut_is_an_error)
{
	struct octets_error error;
	struct bmp_message m;
	size_t size, bytes = 0, left = 2791; /* the initial table */
	uint8_t *data = load("frr-8.4.4-drill.bmp", &size);

	for (const uint8_t *p = data; left > 0; p += bytes, left -= bytes) {
		ck_assert_int_eq(bmp_parse_length(p, left, &bytes, &error), 0);
		for (size_t n = 0; n < bytes; n++) {
			uint8_t *exact = malloc(n ? n : 1);
			uint32_t length = htonl((uint32_t)n);
			bool unlooked = p[5] == BMP_ROUTE_MONITORING && (p[7] & 0x40) && n >= 48;
			bool whole_tlv = p[5] == BMP_INITIATION && (n == 6 || n == 25);

			memcpy(exact, p, n);
			if (n >= 5)
				memcpy(exact + 1, &length, 4);
			error.reason = NULL;
			if (unlooked || whole_tlv) { /* nothing is missing of what is read */
				ck_assert_int_eq(bmp_parse(exact, n, &m, &error), 0);
			} else {
				ck_assert_msg(bmp_parse(exact, n, &m, &error) == -EBADMSG,
					      "type %u cut at %zu", p[5], n);
				ck_assert_ptr_nonnull(error.reason);
				ck_assert_uint_le(error.offset, n);
			}
			free(exact);
		}
	}
	free(data);
}
END_TEST

START_TEST(framing)
{
	static const struct {
		const char *digits;
		int err;
	} cases[] = {
		{"", -EAGAIN},
		{"03 00", -EAGAIN},
		{"03 00000030", -EAGAIN},
		{"03 00000030 00", 0},
		{"02", -EBADMSG},
		{"03 00000005 00", -EBADMSG},
		{"03 00000000 04", -EBADMSG},
		{"03 00030001 00", -EBADMSG},
		{"03 ffffffff 00", -EBADMSG},
	};
	struct octets_error error;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};
		size_t bytes = 0;

		hex(&b, cases[i].digits);
		ck_assert_msg(bmp_parse_length(b.p, b.n, &bytes, &error) == cases[i].err,
			      "case %zu", i);
		if (cases[i].err == 0)
			ck_assert_uint_eq(bytes, 0x30);
	}
}
END_TEST

START_TEST(peer_up_and_down)
{
	struct octets_error error;
	struct bmp_message m;
	struct bytes b = {.n = 0};

	bmp_peer_up(&b, "198.18.0.0", 120, true);
	ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), 0);
	ck_assert_uint_eq(m.peer_up.sent.as, 64513);
	ck_assert_uint_eq(m.peer_up.received.as, 65101);
	ck_assert_uint_eq(m.peer_up.received.restart_time_s, 120);
	ck_assert_mem_eq(&m.peer.address, &(struct in6_addr[]){addr("198.18.0.0")}[0], 16);

	for (uint8_t reason = 0; reason < 8; reason++) {
		b.n = 0;
		bmp_peer_down(&b, "2001:db8:18::2", reason, 0x0609);
		ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), 0);
		ck_assert_uint_eq(m.peer_down.reason, reason);
		ck_assert_uint_eq(m.peer_down.fsm_event, reason == 2 ? 0x0609 : 0);
		ck_assert_uint_eq(m.peer_down.code, reason == 1 || reason == 3 ? 6 : 0);
		ck_assert_uint_eq(m.peer_down.subcode, reason == 1 || reason == 3 ? 9 : 0);
		ck_assert_mem_eq(&m.peer.address, &(struct in6_addr[]){addr("2001:db8:18::2")}[0],
				 16);
	}
}
END_TEST

START_TEST(other_peers_are_set_aside)
{
	static const struct {
		uint8_t type, flags, distinguisher;
		bool global;
	} cases[] = {
		{0, 0x00, 0, true},  {0, 0x20, 0, true},  {0, 0x40, 0, false}, /* post-policy */
		{0, 0x10, 0, false},					       /* adj-rib-out */
		{0, 0x00, 1, false}, {1, 0x00, 1, false}, {2, 0x00, 0, false}, {3, 0x00, 0, false},
	};
	struct octets_error error;
	struct bmp_message m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};

		bmp_route(&b, "198.18.0.0", "198.19.0.2", NULL);
		b.p[6] = cases[i].type;
		b.p[7] = cases[i].flags;
		b.p[15] = cases[i].distinguisher;
		ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), 0);
		ck_assert_msg(m.peer.pre_policy_global == cases[i].global, "case %zu", i);
		ck_assert_msg((m.update.p != NULL) == cases[i].global, "case %zu", i);
		ck_assert(m.peer.two_octet_as_path == !!(cases[i].flags & 0x20));
	}
}
END_TEST

START_TEST(termination_and_unknown_types)
{
	struct octets_error error;
	struct bmp_message m;
	struct bytes b = {.n = 0};

	hex(&b, "03 0000000c 05 0001 0002 0001");
	ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), 0);
	ck_assert(m.termination.has_reason);
	ck_assert_uint_eq(m.termination.reason, 1);
	b.n = 0;
	hex(&b, "03 0000000b 05 0001 0001 00");
	ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), -EBADMSG);
	ck_assert_uint_eq(error.offset, 10);
	b.n = 0;
	hex(&b, "03 00000008 63 dead");
	ck_assert_int_eq(bmp_parse(b.p, b.n, &m, &error), 0);
	ck_assert_uint_eq(m.type, 99);
}
END_TEST

RUN_TESTS("bmp_parse", reads_a_capture_of_frr, any_cut_is_an_error, framing, peer_up_and_down,
	  other_peers_are_set_aside, termination_and_unknown_types)
