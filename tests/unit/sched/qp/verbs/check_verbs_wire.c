/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/verbs/verbs_wire.h"

static struct verbs_wire_message sample(enum verbs_wire_type type)
{
	struct verbs_wire_message m = {.type = type};

	if (type == VERBS_WIRE_GROUP || type == VERBS_WIRE_AUTHENTICATED) {
		m.payload = "abcdefgh";
		m.payload_bytes = 8;
		return m;
	}
	m.nonce = UINT64_C(0x0123456789abcdef);
	m.key = 0xfedcba98;
	m.port = type == VERBS_WIRE_KEY_QUERY ? 4799 : 0;
	if (type == VERBS_WIRE_KEY_REPLY)
		for (m.n_keys = 0; m.n_keys < VERBS_WIRE_MAX_KEYS; m.n_keys++)
			m.keys[m.n_keys] = (struct verbs_wire_key){m.n_keys / 8, m.n_keys % 8,
								   0x80000000u + m.n_keys};
	return m;
}

START_TEST(every_type_comes_back_the_same)
{
	for (int type = VERBS_WIRE_GROUP; type <= VERBS_WIRE_AUTHENTICATED; type++) {
		struct verbs_wire_message in = sample((enum verbs_wire_type)type), out;
		uint8_t a[VERBS_WIRE_MAX], b[VERBS_WIRE_MAX];
		const char *reason;
		size_t at;
		int n = verbs_wire_encode(&in, a, sizeof(a));

		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(verbs_wire_decode(&out, a, (size_t)n, &reason, &at), 0);
		ck_assert_int_eq(verbs_wire_encode(&out, b, sizeof(b)), n);
		ck_assert_mem_eq(a, b, (size_t)n);
		for (int cut = 0; cut < n; cut++) {
			ck_assert_int_eq(verbs_wire_encode(&in, b, (size_t)cut), -EMSGSIZE);
			if ((type == VERBS_WIRE_GROUP || type == VERBS_WIRE_AUTHENTICATED) &&
			    cut >= VERBS_WIRE_HEADER)
				continue; /* its length is the datagram's */
			ck_assert_int_eq(verbs_wire_decode(&out, a, (size_t)cut, &reason, &at),
					 -EBADMSG);
			ck_assert_ptr_nonnull(reason);
			ck_assert_uint_le(at, (size_t)cut);
		}
	}
}
END_TEST

START_TEST(refuses_what_is_out_of_range)
{
	static const struct {
		enum verbs_wire_type type;
		size_t place;
		uint8_t value;
		size_t at;
	} t[] = {
		{VERBS_WIRE_GROUP, 0, 0, 0},	     {VERBS_WIRE_GROUP, 4, 2, 4},
		{VERBS_WIRE_KEY_QUERY, 5, 0, 5},     {VERBS_WIRE_KEY_QUERY, 5, 5, 5},
		{VERBS_WIRE_KEY_REPLY, 20, 129, 20}, {VERBS_WIRE_KEY_REPLY, 20, 127, 20},
		{VERBS_WIRE_KEY_REPLY, 21, 16, 21},  {VERBS_WIRE_KEY_REPLY, 28, 8, 27},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct verbs_wire_message m = sample(t[i].type);
		uint8_t buf[VERBS_WIRE_MAX];
		const char *reason = NULL;
		size_t at = 0;
		int n = verbs_wire_encode(&m, buf, sizeof(buf));

		buf[t[i].place] = t[i].value;
		ck_assert_msg(verbs_wire_decode(&m, buf, (size_t)n, &reason, &at) == -EBADMSG,
			      "row %zu", i);
		ck_assert_ptr_nonnull(reason);
		ck_assert_msg(at == t[i].at, "row %zu: %s at %zu", i, reason, at);
	}
}
END_TEST

START_TEST(does_not_encode_nonsense)
{
	struct verbs_wire_message m = {.type = (enum verbs_wire_type)9};
	uint8_t buf[2 * VERBS_WIRE_MAX];

	ck_assert_int_eq(verbs_wire_encode(&m, buf, sizeof(buf)), -EINVAL);
	m = (struct verbs_wire_message){
		.type = VERBS_WIRE_GROUP, .payload = buf, .payload_bytes = VERBS_WIRE_MAX};
	ck_assert_int_eq(verbs_wire_encode(&m, buf, sizeof(buf)), -EMSGSIZE);
	m = (struct verbs_wire_message){.type = VERBS_WIRE_KEY_REPLY,
					.n_keys = VERBS_WIRE_MAX_KEYS + 1};
	ck_assert_int_eq(verbs_wire_encode(&m, buf, sizeof(buf)), -EMSGSIZE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_wire");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, every_type_comes_back_the_same);
	tcase_add_test(t, refuses_what_is_out_of_range);
	tcase_add_test(t, does_not_encode_nonsense);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
