/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_test.h - what the tests of bgp/ share: bytes from hex, files, addresses, and BMP messages to
 * order.
 */
#ifndef BGP_TEST_H
#define BGP_TEST_H

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp_source.h"

struct bytes {
	uint8_t p[8192];
	size_t n;
};

static inline struct in6_addr addr(const char *text)
{
	struct in6_addr a = {0};

	if (strchr(text, ':')) {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &a), 1);
	} else {
		memset(a.s6_addr + 10, 0xff, 2);
		ck_assert_int_eq(inet_pton(AF_INET, text, a.s6_addr + 12), 1);
	}
	return a;
}

/* Appends hex digits; spaces are ignored. */
static inline void hex(struct bytes *b, const char *digits)
{
	unsigned v;

	for (const char *c = digits; *c;) {
		if (*c == ' ') {
			c++;
			continue;
		}
		ck_assert_int_eq(sscanf(c, "%2x", &v), 1);
		ck_assert_uint_lt(b->n, sizeof(b->p));
		b->p[b->n++] = (uint8_t)v;
		c += 2;
	}
}

static inline void raw(struct bytes *b, const void *data, size_t n)
{
	ck_assert_uint_le(b->n + n, sizeof(b->p));
	memcpy(b->p + b->n, data, n);
	b->n += n;
}

static inline void be(struct bytes *b, uint64_t v, unsigned width)
{
	for (unsigned i = width; i-- > 0;)
		b->p[b->n++] = i < 8 ? (uint8_t)(v >> 8 * i) : 0;
}

/* A capture beside the tests; *out_size bytes, to be freed. */
static inline uint8_t *load(const char *name, size_t *out_size)
{
	const char *root = getenv("FARE_SOURCE_DIR");
	uint8_t *data = malloc(1 << 20);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/unit/bgp/data/%s", root ? root : ".", name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	*out_size = fread(data, 1, 1 << 20, f);
	fclose(f);
	ck_assert_uint_gt(*out_size, 0);
	return data;
}

/* ---- BMP messages ---- */

static inline void bmp_begin(struct bytes *b, size_t *start, uint8_t type)
{
	*start = b->n;
	hex(b, "03 00000000");
	be(b, type, 1);
}

static inline void bmp_end(struct bytes *b, size_t start)
{
	uint32_t n = htonl((uint32_t)(b->n - start));

	memcpy(b->p + start + 1, &n, 4);
}

static inline void bmp_peer_header(struct bytes *b, const char *neighbor, uint8_t extra_flags)
{
	struct in6_addr a = addr(neighbor);

	hex(b, "00");
	be(b, (strchr(neighbor, ':') ? 0x80u : 0) | extra_flags, 1);
	be(b, 0, 8);
	if (strchr(neighbor, ':')) {
		raw(b, a.s6_addr, 16);
	} else {
		be(b, 0, 12);
		raw(b, a.s6_addr + 12, 4);
	}
	hex(b, "0000fe4d c613ff01 00000000 00000000");
}

/* What a router says first, and calls itself. */
static inline void bmp_initiation(struct bytes *b, const char *description)
{
	size_t start;

	bmp_begin(b, &start, 4);
	be(b, 1, 2);
	be(b, strlen(description), 2);
	raw(b, description, strlen(description));
	bmp_end(b, start);
}

static inline void bgp_header(struct bytes *b, uint8_t type, size_t body)
{
	hex(b, "ffffffffffffffffffffffffffffffff");
	be(b, 19 + body, 2);
	be(b, type, 1);
}

/* An OPEN of that AS. gr_s < 0: no graceful restart; else both families with the F bit, N bit if
 * asked. */
static inline void bgp_open_message(struct bytes *b, uint32_t as, int gr_s, bool n_bit)
{
	struct bytes c = {.n = 0};

	hex(&c, "0206 0104 0001 00 01 0206 0104 0002 00 01 0206 4104");
	be(&c, as, 4);
	if (gr_s >= 0) {
		hex(&c, "020c 400a");
		be(&c, (n_bit ? 0x4000u : 0) | (unsigned)gr_s, 2);
		hex(&c, "0001 01 80 0002 01 80");
	}
	bgp_header(b, 1, 10 + c.n);
	hex(b, "04 5ba0 0003 c613ff01");
	be(b, c.n, 1);
	raw(b, c.p, c.n);
}

/* A session with a neighbour of that AS. */
static inline void bmp_peer_up_of(struct bytes *b, const char *neighbor, uint32_t as, int gr_s,
				  bool n_bit)
{
	size_t start;

	bmp_begin(b, &start, 3);
	bmp_peer_header(b, neighbor, 0);
	be(b, 0, 16);
	hex(b, "00b3 c57e");
	bgp_open_message(b, 64513, 20, true);
	bgp_open_message(b, as, gr_s, n_bit);
	bmp_end(b, start);
}

static inline void bmp_peer_up(struct bytes *b, const char *neighbor, int gr_s, bool n_bit)
{
	bmp_peer_up_of(b, neighbor, 65101, gr_s, n_bit);
}

/* reason 2: detail is the FSM event; 1 and 3: detail is code << 8 | subcode of a NOTIFICATION. */
static inline void bmp_peer_down(struct bytes *b, const char *neighbor, uint8_t reason,
				 uint16_t detail)
{
	size_t start;

	bmp_begin(b, &start, 2);
	bmp_peer_header(b, neighbor, 0);
	be(b, reason, 1);
	if (reason == 1 || reason == 3)
		bgp_header(b, 3, 2);
	if (reason <= 3)
		be(b, detail, 2);
	bmp_end(b, start);
}

static inline void bmp_monitoring(struct bytes *b, const char *neighbor, uint8_t extra_flags,
				  const struct bytes *update)
{
	size_t start;

	bmp_begin(b, &start, 0);
	bmp_peer_header(b, neighbor, extra_flags);
	bgp_header(b, 2, update->n);
	raw(b, update->p, update->n);
	bmp_end(b, start);
}

/* A host route as FRR's BMP shows it: [own,] leaf, GPU. bits: of the float32 bandwidth; NULL: no
 * community. */
static inline void bmp_route(struct bytes *b, const char *neighbor, const char *peer,
			     const char *bits)
{
	bool v6 = strchr(peer, ':') != NULL;
	struct in6_addr a = addr(peer);
	struct bytes at = {.n = 0}, u = {.n = 0};

	hex(&at, "400101 00 5002 000e 0203 0000fc01 0000fe4d 0000fc02");
	if (!v6)
		hex(&at, "400304 c6120000");
	if (bits) {
		hex(&at, "c01008 0004fe4d");
		hex(&at, bits);
	}
	if (v6) {
		hex(&at, "800e26 0002 01 10 20010db8001800000000000000000000 00 80");
		raw(&at, a.s6_addr, 16);
	}
	be(&u, 0, 2);
	be(&u, at.n, 2);
	raw(&u, at.p, at.n);
	if (!v6) {
		be(&u, 32, 1);
		raw(&u, a.s6_addr + 12, 4);
	}
	bmp_monitoring(b, neighbor, 0, &u);
}

static inline void bmp_withdraw(struct bytes *b, const char *neighbor, const char *peer)
{
	bool v6 = strchr(peer, ':') != NULL;
	struct in6_addr a = addr(peer);
	struct bytes u = {.n = 0};

	if (v6) {
		hex(&u, "0000 0017 800f14 0002 01 80");
		raw(&u, a.s6_addr, 16);
	} else {
		hex(&u, "0005 20");
		raw(&u, a.s6_addr + 12, 4);
		hex(&u, "0000");
	}
	bmp_monitoring(b, neighbor, 0, &u);
}

static inline void bmp_end_of_rib(struct bytes *b, const char *neighbor, bool v6)
{
	struct bytes u = {.n = 0};

	hex(&u, v6 ? "0000 0006 800f03 0002 01" : "0000 0000");
	bmp_monitoring(b, neighbor, 0, &u);
}

static inline int run_tests(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

/* One test per suite entry, run with the usual Check machinery, once enter() has returned 0. */
#define RUN_TESTS_IN(enter, name, ...)                                                             \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *tests[] = {__VA_ARGS__};                                              \
		int skip = enter();                                                                \
                                                                                                   \
		return skip ? skip : run_tests(name, tests, sizeof(tests) / sizeof(tests[0]));     \
	}

static inline int anywhere(void)
{
	return 0;
}

#define RUN_TESTS(name, ...) RUN_TESTS_IN(anywhere, name, __VA_ARGS__)

#endif
