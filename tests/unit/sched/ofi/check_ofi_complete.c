/* SPDX-License-Identifier: BSD-2-Clause */
/* FI_SOURCE and FI_SOURCE_ERR: what is said of messages whose sender is in no AV. */
#include <poll.h>

#include "ofi_pair.h"

static struct end server, client;

static const uint32_t formats[] = {FI_FORMAT_UNSPEC, FI_SOCKADDR_IN};

static fi_addr_t begin(uint64_t caps, uint32_t format)
{
	fi_addr_t to;

	open_end(&server, 1, NULL, SERVICE, FI_SOURCE, hints_of(caps, format));
	open_end(&client, 0, "127.0.0.3", SERVICE, 0, hints_of(FI_MSG | FI_RMA, format));
	ck_assert_int_eq(fi_av_insert(client.av, client.info->dest_addr, 1, &to, 0, NULL), 1);
	return to;
}

static void end(void)
{
	struct fi_cq_tagged_entry entry;

	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	close_end(&client);
	close_end(&server);
}

START_TEST(an_unknown_source_is_named)
{
	fi_addr_t to = begin(FI_MSG | FI_SOURCE | FI_SOURCE_ERR, formats[_i]), number;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	static uint64_t sent = 9, got;
	uint8_t data[64], name[64];
	size_t bytes = sizeof(name);

	ck_assert_int_eq(fi_recv(server.ep, &got, sizeof(got), NULL, FI_ADDR_UNSPEC, &got), 0);
	ck_assert_int_eq(fi_send(client.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), -FI_EAVAIL);
	error.err_data = data;
	error.err_data_size = sizeof(data);
	ck_assert_int_eq(fi_cq_readerr(server.cq, &error, 0), 1);
	ck_assert_int_eq(error.err, FI_EADDRNOTAVAIL);
	ck_assert_ptr_eq(error.op_context, &got);
	ck_assert_uint_eq(error.len, sizeof(sent));
	ck_assert_uint_eq(got, sent);
	ck_assert_int_eq(fi_getname(&client.ep->fid, name, &bytes), 0);
	ck_assert_uint_eq(error.err_data_size, bytes);
	ck_assert_mem_eq(data, name, bytes);
	/* inserted as it is, the next one is as any other */
	ck_assert_int_eq(fi_av_insert(server.av, data, 1, &number, 0, NULL), 1);
	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	ck_assert_uint_eq(pass(&client, to, &server), number);
	ck_assert_int_eq(fi_send(client.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	end();
}
END_TEST

/* The caller has no room: the queue's own is pointed to. */
START_TEST(an_unknown_source_is_pointed_to)
{
	fi_addr_t to = begin(FI_MSG | FI_SOURCE | FI_SOURCE_ERR, formats[_i]);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	static uint64_t sent, got;
	uint8_t name[64];
	size_t bytes = sizeof(name);

	ck_assert_int_eq(fi_send(client.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	ck_assert_int_eq(fi_recv(server.ep, &got, sizeof(got), NULL, FI_ADDR_UNSPEC, NULL), 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), -FI_EAVAIL);
	ck_assert_int_eq(fi_cq_readerr(server.cq, &error, 0), 1);
	ck_assert_int_eq(fi_getname(&client.ep->fid, name, &bytes), 0);
	ck_assert_uint_eq(error.err_data_size, bytes);
	ck_assert_mem_eq(error.err_data, name, bytes);
	end();
}
END_TEST

/* Without FI_SOURCE_ERR it is no error; nor is what is not read from the queue a leak. */
START_TEST(an_unknown_source_is_no_error_by_itself)
{
	uint64_t caps = FI_MSG | FI_SOURCE | (_i ? FI_SOURCE_ERR : 0);
	fi_addr_t to = begin(caps, 0), source;
	struct fi_cq_tagged_entry entry;
	static uint64_t sent, got;

	ck_assert_int_eq(fi_send(client.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	ck_assert_int_eq(fi_recv(server.ep, &got, sizeof(got), NULL, FI_ADDR_UNSPEC, NULL), 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, &source), _i ? -FI_EAVAIL : 1);
	if (!_i)
		ck_assert_uint_eq(source, FI_ADDR_NOTAVAIL);
	end();
}
END_TEST

/* ---- what is waited on ---- */

static bool is_readable(const struct ofi_signal *signal)
{
	struct pollfd p = {.fd = signal->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

START_TEST(readable_while_raised)
{
	struct ofi_signal signal;

	ck_assert_int_eq(ofi_signal_init(&signal), 0);
	ck_assert(!is_readable(&signal));
	ofi_signal_clear(&signal); /* does not block */
	ofi_signal_raise(&signal);
	ofi_signal_raise(&signal);
	ck_assert(is_readable(&signal));
	ofi_signal_clear(&signal);
	ck_assert(!is_readable(&signal));
	ofi_signal_raise(&signal);
	ck_assert(is_readable(&signal));
	ofi_signal_fini(&signal);
	ck_assert_int_eq(signal.fd, -1);
}
END_TEST

START_TEST(without_a_descriptor_nothing_happens)
{
	struct ofi_signal signal = OFI_SIGNAL_NONE;

	ofi_signal_raise(&signal);
	ck_assert(!signal.raised);
	ofi_signal_clear(&signal);
	ofi_signal_fini(&signal);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_complete");
	TCase *tc = tcase_create("core"), *waited = tcase_create("signal");
	int skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, an_unknown_source_is_named, 0, 2);
	tcase_add_loop_test(tc, an_unknown_source_is_pointed_to, 0, 2);
	tcase_add_loop_test(tc, an_unknown_source_is_no_error_by_itself, 0, 2);
	suite_add_tcase(s, tc);
	tcase_add_test(waited, readable_while_raised);
	tcase_add_test(waited, without_a_descriptor_nothing_happens);
	suite_add_tcase(s, waited);
	return run_suite(s);
}
