/* SPDX-License-Identifier: BSD-2-Clause */
/* Which counters an endpoint takes, and what they count. */
#include "ofi_pair.h"

static struct end server, client;

static void open_cntr(struct end *e)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};

	ck_assert_int_eq(fi_cntr_open(e->domain, &attr, &e->cntr, NULL), 0);
}

static void open_with_cntr(int host, struct end *e, uint64_t caps, uint64_t flags)
{
	struct fi_info *hints = hints_of(caps, 0), *info;

	ck_assert_int_eq(ask(host, NULL, SERVICE, FI_SOURCE, hints, &info), 0);
	fi_freeinfo(hints);
	open_parts(e, info);
	open_cntr(e);
	ck_assert_int_eq(fi_ep_bind(e->ep, &e->cntr->fid, flags), 0);
	ck_assert_int_eq(fi_enable(e->ep), 0);
}

/* Programs bind one counter for all that an endpoint receives, whatever it is for. */
START_TEST(each_flag_is_taken)
{
	static const uint64_t flags[] = {FI_SEND,
					 FI_RECV,
					 FI_READ,
					 FI_WRITE,
					 FI_REMOTE_READ,
					 FI_REMOTE_WRITE,
					 FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE,
					 FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
						 FI_REMOTE_WRITE};
	static const uint64_t caps[] = {FI_MSG, FI_TAGGED, FI_RMA, FI_MSG | FI_RMA};

	open_with_cntr(1, &server, caps[_i % 4], flags[_i / 4]);
	ck_assert_uint_eq(fi_cntr_read(server.cntr), 0);
	close_end(&server);
}
END_TEST

START_TEST(others_are_not)
{
	struct fi_info *info;

	ck_assert_int_eq(ask(1, NULL, NULL, 0, NULL, &info), 0);
	open_parts(&server, info);
	open_cntr(&server);
	ck_assert_int_eq(fi_ep_bind(server.ep, &server.cntr->fid, 0), -FI_EBADFLAGS);
	ck_assert_int_eq(fi_ep_bind(server.ep, &server.cntr->fid, FI_SEND | FI_MULTI_RECV),
			 -FI_EBADFLAGS);
	ck_assert_int_eq(fi_ep_bind(server.ep, &server.cntr->fid, FI_SEND), 0);
	ck_assert_int_eq(fi_ep_bind(server.ep, &server.cntr->fid, FI_SEND), -FI_EINVAL);
	close_end(&server);
}
END_TEST

/* Of what peers write, this end sees that with remote CQ data; receives count beside it. */
START_TEST(writes_with_data_and_receives_count)
{
	static uint64_t data = 1, target;
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	fi_addr_t to;

	open_with_cntr(1, &server, FI_MSG | FI_RMA, FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
	open_end(&client, 0, "127.0.0.3", SERVICE, 0, hints_of(FI_MSG | FI_RMA, 0));
	ck_assert_int_eq(fi_av_insert(client.av, client.info->dest_addr, 1, &to, 0, NULL), 1);
	pass(&client, to, &server);
	ck_assert_uint_eq(fi_cntr_read(server.cntr), 1);
	ck_assert_int_eq(fi_mr_reg(server.domain, &target, sizeof(target),
				   FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0, 0, &mr, NULL),
			 0);
	ck_assert_int_eq(fi_writedata(client.ep, &data, sizeof(data), NULL, 7, to,
				      (uintptr_t)&target, fi_mr_key(mr), NULL),
			 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), 1);
	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	ck_assert_uint_eq(fi_cntr_read(server.cntr), 2);
	ck_assert_int_eq(fi_write(client.ep, &data, sizeof(data), NULL, to, (uintptr_t)&target,
				  fi_mr_key(mr), NULL),
			 0);
	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	ck_assert_uint_eq(fi_cntr_read(server.cntr), 2);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	close_end(&client);
	close_end(&server);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_ep");
	TCase *tc = tcase_create("core");
	int skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, each_flag_is_taken, 0, 32);
	tcase_add_test(tc, others_are_not);
	tcase_add_test(tc, writes_with_data_and_receives_count);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
