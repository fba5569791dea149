/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"

/* The CRC of zlib, bit by bit: shares nothing with what is tested. */
static uint32_t bitwise_crc(const uint8_t *data, size_t bytes)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

/* A WRITE ONLY of five bytes as it stands on an IPv4 wire, after the Ethernet header; ICRC left
 * out. */
static const uint8_t ipv4_frame[] = {
	0x45, 0x6a, 0x00, 0x44, 0x00, 0x07, 0x40, 0x00, 0x40, 0x11, 0x12, 0x34, /* IP, id 7 */
	198,  19,   0,	  1,	198,  19,   0,	  2,	0xc0, 0x01, 0x12, 0xb7,
	0x00, 0x30, 0xab, 0xcd,							/* UDP */
	0x0a, 0x70, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0x00, 0x00, 0x01, /* BTH */
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xaa, 0xbb, 0xcc, 0xdd,
	0x00, 0x00, 0x00, 0x05, /* RETH */
	'h',  'e',  'l',  'l',	'o',  0x00, 0x00, 0x00,
};
#define IPV4_BTH 28

static const uint8_t ipv6_frame[] = {
	0x66, 0xa1, 0x23, 0x45, 0x00, 0x1c, 0x11, 0x40, /* IPv6 */
	0x20, 0x01, 0x0d, 0xb8, 0,    0x19, 0,	  0,	0,    0,    0,	  0,	0,    0,
	0,    1,    0x20, 0x01, 0x0d, 0xb8, 0,	  0x19, 0,    0,    0,	  0,	0,    0,
	0,    0,    0,	  2,	0xc0, 0x01, 0x12, 0xb7, 0x00, 0x1c, 0xab, 0xcd, /* UDP */
	0x11, 0x40, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x00, 0x00, 0x00, 0x01, 0x1f, 0x00,
	0x00, 0x02,
};
#define IPV6_BTH 48

static uint32_t expected_ipv4(uint16_t ip_id)
{
	uint8_t hashed[8 + sizeof(ipv4_frame)];
	uint8_t *ip = hashed + 8;

	memset(hashed, 0xff, 8);
	memcpy(ip, ipv4_frame, sizeof(ipv4_frame));
	ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	ip[4] = (uint8_t)(ip_id >> 8);
	ip[5] = (uint8_t)ip_id;
	ip[26] = ip[27] = 0xff;
	ip[IPV4_BTH + 4] = 0xff;
	return bitwise_crc(hashed, sizeof(hashed));
}

static uint32_t expected_ipv6(void)
{
	uint8_t hashed[8 + sizeof(ipv6_frame)];
	uint8_t *ip = hashed + 8;

	memset(hashed, 0xff, 8);
	memcpy(ip, ipv6_frame, sizeof(ipv6_frame));
	ip[0] = 0x6f;
	ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
	ip[46] = ip[47] = 0xff;
	ip[IPV6_BTH + 4] = 0xff;
	return bitwise_crc(hashed, sizeof(hashed));
}

static struct roce_flow flow_of(const char *from, const char *to)
{
	struct roce_flow f = {.source_port = 0xc001, .destination_port = 4791};

	ck_assert_int_eq(inet_pton(AF_INET6, from, &f.source), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, to, &f.destination), 1);
	return f;
}

static struct roce_flow ipv4_flow(void)
{
	return flow_of("::ffff:198.19.0.1", "::ffff:198.19.0.2");
}

/* The UDP payload of the IPv4 frame with the ICRC of ip_id; returns its length. */
static size_t ipv4_payload(uint8_t *out, uint16_t ip_id)
{
	size_t n = sizeof(ipv4_frame) - IPV4_BTH;
	uint32_t crc = expected_ipv4(ip_id);

	memcpy(out, ipv4_frame + IPV4_BTH, n);
	for (unsigned i = 0; i < 4; i++)
		out[n + i] = (uint8_t)(crc >> 8 * i);
	return n + 4;
}

START_TEST(crc_of_the_test_is_that_of_zlib)
{
	/* the check value that every catalogue of CRCs gives */
	ck_assert_uint_eq(bitwise_crc((const uint8_t *)"123456789", 9), 0xcbf43926);
}
END_TEST

START_TEST(ipv4_matches_an_independent_crc)
{
	struct roce_flow f = ipv4_flow();
	const uint8_t *bth = ipv4_frame + IPV4_BTH;

	ck_assert_uint_eq(roce_icrc_compute(&f, 7, bth, 28, bth + 28, 5, 3), expected_ipv4(7));
}
END_TEST

START_TEST(ipv6_matches_an_independent_crc)
{
	struct roce_flow f = flow_of("2001:db8:19::1", "2001:db8:19::2");
	const uint8_t *bth = ipv6_frame + IPV6_BTH;

	ck_assert_uint_eq(roce_icrc_compute(&f, 99, bth, 16, NULL, 0, 0), expected_ipv6());
}
END_TEST

START_TEST(any_id_of_a_cut_batch_is_found)
{
	struct roce_flow f = ipv4_flow();
	struct roce_icrc_ids ids = {0};
	uint8_t b[64];
	size_t n = ipv4_payload(b, (uint16_t)_i);

	for (uint16_t guess = 0; guess < ROCE_ICRC_IDS; guess++) {
		uint16_t id = guess;

		ck_assert(roce_icrc_verify(&f, &ids, &id, b, n));
		ck_assert_uint_eq(id, _i);
	}
}
END_TEST

START_TEST(any_id_is_found_where_peers_are_devices)
{
	struct roce_flow f = ipv4_flow();
	struct roce_icrc_ids ids = {.any = true};
	unsigned passed = 0;
	uint8_t b[128];

	for (uint32_t wanted = 0; wanted <= UINT16_MAX; wanted++) {
		uint16_t id = (uint16_t)(wanted * 31 % 64);
		size_t n = ipv4_payload(b, (uint16_t)wanted);

		ck_assert(roce_icrc_verify(&f, &ids, &id, b, n));
		ck_assert_uint_eq(id, wanted);
	}
	/* what is left of the check: one bit wrong, anywhere, is not mistaken for another id */
	for (size_t bit = 0; bit < ipv4_payload(b, 4711) * 8; bit++) {
		uint16_t id = 0;
		size_t n = ipv4_payload(b, 4711);

		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (bit / 8 != 4) /* not hashed */
			passed += roce_icrc_verify(&f, &ids, &id, b, n);
	}
	ck_assert_uint_eq(passed, 0);
}
END_TEST

START_TEST(ids_beyond_a_batch_are_not_accepted)
{
	struct roce_flow f = ipv4_flow();
	struct roce_icrc_ids ids = {0};
	uint8_t b[64];
	uint16_t id = 0;

	ck_assert(!roce_icrc_verify(&f, &ids, &id, b, ipv4_payload(b, 64)));
	ck_assert(!roce_icrc_verify(&f, &ids, &id, b, ipv4_payload(b, 0x0100)));
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
	struct roce_flow f = ipv4_flow(), other = f;
	struct roce_icrc_ids ids = {0};
	uint8_t b[64];
	uint16_t id;
	size_t n = ipv4_payload(b, 0);

	for (size_t bit = 0; bit < n * 8; bit++) {
		if (bit / 8 == 4)
			continue; /* masked: switches may set congestion bits there */
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		id = 0;
		ck_assert(!roce_icrc_verify(&f, &ids, &id, b, n));
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	other.source.s6_addr[15] ^= 1;
	id = 0;
	ck_assert(!roce_icrc_verify(&other, &ids, &id, b, n));
	id = 0;
	ck_assert(!roce_icrc_verify(&f, &ids, &id, b, 12));
	ck_assert(roce_icrc_verify(&f, &ids, &id, b, n));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("roce_icrc");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, crc_of_the_test_is_that_of_zlib);
	tcase_add_test(t, ipv4_matches_an_independent_crc);
	tcase_add_test(t, ipv6_matches_an_independent_crc);
	tcase_add_loop_test(t, any_id_of_a_cut_batch_is_found, 0, ROCE_ICRC_IDS);
	tcase_add_test(t, any_id_is_found_where_peers_are_devices);
	tcase_add_test(t, ids_beyond_a_batch_are_not_accepted);
	tcase_add_test(t, every_flipped_bit_is_noticed);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
