/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints that find each other by node and service, and by socket addresses. */
#include "ofi_pair.h"

static struct end server, client;
static const uint64_t caps = FI_MSG | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV;

static const uint32_t formats[] = {FI_FORMAT_UNSPEC, FI_SOCKADDR_IN};

static void open_server(uint32_t format)
{
	open_end(&server, 1, NULL, SERVICE, FI_SOURCE, hints_of(caps, format));
}

static void open_client(uint32_t format)
{
	open_end(&client, 0, "127.0.0.3", SERVICE, 0, hints_of(caps, format));
}

static fi_addr_t insert(struct end *e, const void *addr)
{
	fi_addr_t number;

	ck_assert_int_eq(fi_av_insert(e->av, addr, 1, &number, 0, NULL), 1);
	return number;
}

static fi_addr_t insert_name_of(struct end *e, struct end *other)
{
	uint8_t name[64];
	size_t bytes = sizeof(name);

	ck_assert_int_eq(fi_getname(&other->ep->fid, name, &bytes), 0);
	ck_assert_uint_eq(bytes, ofi_name_bytes(other->info->addr_format));
	return insert(e, name);
}

static void close_both(void)
{
	close_end(&client);
	close_end(&server);
}

/* As programs do that are given a server's name alone: the first message says who the client is. */
START_TEST(a_server_is_found_by_node_and_service)
{
	fi_addr_t to, back;

	open_server(formats[_i]);
	open_client(formats[_i]);
	to = insert(&client, client.info->dest_addr);
	ck_assert_uint_eq(pass(&client, to, &server), FI_ADDR_NOTAVAIL);
	back = insert_name_of(&server, &client);
	ck_assert_uint_eq(pass(&client, to, &server), back);
	ck_assert_uint_eq(pass(&server, back, &client), to);
	/* the same name again */
	ck_assert_uint_eq(insert(&client, client.info->dest_addr), to);
	close_both();
}
END_TEST

/* What is sent before there is a server waits for it. */
START_TEST(a_server_may_come_later)
{
	static const char text[] = "early";
	struct fi_cq_tagged_entry entry;
	char got[sizeof(text)] = "";
	fi_addr_t to;

	open_client(formats[_i]);
	to = insert(&client, client.info->dest_addr);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(fi_send(client.ep, text, sizeof(text), NULL, to, NULL), 0);
	fi_cq_read(client.cq, NULL, 0);
	open_server(formats[_i]);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(fi_recv(server.ep, got, sizeof(got), NULL, FI_ADDR_UNSPEC, NULL),
				 0);
		ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), 1);
		ck_assert_str_eq(got, text);
	}
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	close_both();
}
END_TEST

/* Nor is it lost where the domain is there, and polls, before its endpoint is. */
START_TEST(an_endpoint_may_come_later)
{
	struct fi_info *info, *hints = hints_of(caps, formats[_i]);
	struct fi_cq_tagged_entry entry;
	struct ofi_domain *from;
	uint64_t sent = 7, got = 0;
	fi_addr_t to;

	open_client(formats[_i]);
	from = (struct ofi_domain *)client.domain;
	to = insert(&client, client.info->dest_addr);
	ck_assert_int_eq(ask(1, NULL, SERVICE, FI_SOURCE, hints, &info), 0);
	fi_freeinfo(hints);
	open_parts(&server, info);
	ck_assert_int_eq(fi_send(client.ep, &sent, sizeof(sent), NULL, to, &sent), 0);
	while (!from->peers.n_reopening) /* refused, it waits to ask again */
		ck_assert_int_eq(fi_cq_read(client.cq, &entry, 1), -FI_EAGAIN);
	ck_assert_int_eq(fi_enable(server.ep), 0);
	ck_assert_int_eq(fi_recv(server.ep, &got, sizeof(got), NULL, FI_ADDR_UNSPEC, &got), 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), 1);
	ck_assert_uint_eq(got, sent);
	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	close_both();
}
END_TEST

/* A receive from a name takes what its process sends, whichever side connected. */
START_TEST(a_name_is_who_connects_from_there)
{
	struct fi_cq_tagged_entry entry;
	static uint64_t got, sent = 5;
	fi_addr_t by_name, to, source;

	open_server(formats[_i]);
	open_client(formats[_i]);
	/* the server's name is known to the client before, and the server opens the link */
	by_name = insert(&client, client.info->dest_addr);
	to = insert_name_of(&server, &client);
	ck_assert_int_eq(fi_recv(client.ep, &got, sizeof(got), NULL, by_name, NULL), 0);
	ck_assert_int_eq(fi_send(server.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	ck_assert_int_eq(next_entry(&client, &server, &entry, &source), 1);
	ck_assert_uint_eq(source, by_name);
	ck_assert_uint_eq(got, sent);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), 1);
	ck_assert_uint_eq(pass(&client, by_name, &server), to);
	close_both();
}
END_TEST

static void goes_down(struct fid_domain *fid)
{
	struct ofi_domain *d = ofi_domain_of(fid);
	unsigned n;

	for (time_t patience = time(NULL) + PATIENCE_S;;) {
		ofi_lock(d);
		ofi_progress_turn(d);
		n = HASH_CNT(hh_name, d->peers.by_name);
		ofi_unlock(d);
		if (!n)
			return;
		ck_assert(time(NULL) < patience);
	}
}

/* Another process at the same port is another peer, and has the same name. */
START_TEST(a_server_that_restarts_has_its_name)
{
	fi_addr_t to;

	open_server(formats[_i]);
	open_client(formats[_i]);
	to = insert(&client, client.info->dest_addr);
	for (int i = 0; i < 3; i++) {
		pass(&client, to, &server);
		close_end(&server);
		goes_down(client.domain);
		open_server(formats[_i]);
	}
	pass(&client, to, &server);
	close_both();
}
END_TEST

START_TEST(a_write_goes_to_a_name)
{
	static uint64_t data = 0x1122334455667788, target;
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	fi_addr_t to;

	open_server(formats[_i]);
	open_client(formats[_i]);
	to = insert(&client, client.info->dest_addr);
	ck_assert_int_eq(fi_mr_reg(server.domain, &target, sizeof(target), FI_REMOTE_WRITE, 0, 0, 0,
				   &mr, NULL),
			 0);
	ck_assert_int_eq(fi_writedata(client.ep, &data, sizeof(data), NULL, 7, to,
				      (uintptr_t)&target, fi_mr_key(mr), NULL),
			 0);
	ck_assert_int_eq(next_entry(&server, &client, &entry, NULL), 1);
	ck_assert_uint_eq(entry.data, 7);
	ck_assert_uint_eq(target, data);
	ck_assert_int_eq(next_entry(&client, &server, &entry, NULL), 1);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	close_both();
}
END_TEST

START_TEST(a_process_may_name_itself)
{
	fi_addr_t to, source = FI_ADDR_NOTAVAIL, one;
	static uint64_t got, sent = 3;
	struct fi_cq_tagged_entry entry;

	open_server(formats[_i]);
	ck_assert_int_eq(fi_av_insertsvc(server.av, "127.0.0.3", SERVICE, &to, 0, NULL), 1);
	ck_assert_int_eq(fi_recv(server.ep, &got, sizeof(got), NULL, to, NULL), 0);
	ck_assert_int_eq(fi_send(server.ep, &sent, sizeof(sent), NULL, to, NULL), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(next_entry(&server, NULL, &entry, &one), 1);
		source = entry.flags & FI_RECV ? one : source;
	}
	ck_assert_uint_eq(source, to);
	ck_assert_uint_eq(got, sent);
	close_end(&server);
}
END_TEST

START_TEST(services_are_inserted)
{
	int errors[4];
	fi_addr_t to[4];
	uint8_t name[64];
	size_t bytes = sizeof(name), length = 128;
	char text[128];

	open_server(formats[_i]);
	open_client(formats[_i]);
	ck_assert_int_eq(fi_av_insertsvc(client.av, "127.0.0.3", SERVICE, to, 0, NULL), 1);
	pass(&client, to[0], &server);
	ck_assert_int_eq(fi_av_lookup(client.av, to[0], name, &bytes), 0);
	ck_assert_uint_eq(bytes, client.info->dest_addrlen);
	ck_assert_mem_eq(name, client.info->dest_addr, bytes);
	ck_assert_ptr_nonnull(fi_av_straddr(client.av, name, text, &length));
	ck_assert_uint_eq(length, strlen(text) + 1);
	ck_assert_int_eq(
		fi_av_insertsvc(client.av, "2001:db8::1", SERVICE, to, FI_SYNC_ERR, errors), 0);
	ck_assert_int_eq(errors[0], FI_EINVAL);
	ck_assert_uint_eq(to[0], FI_ADDR_NOTAVAIL);
	ck_assert_int_eq(fi_av_insertsvc(client.av, "127.0.0.3", "0", to, 0, NULL), 0);
	ck_assert_int_eq(fi_av_insertsym(client.av, "127.0.0.2", 2, "9227", 2, to, 0, NULL), 4);
	pass(&client, to[3], &server);
	ck_assert_int_eq(fi_av_remove(client.av, to, 4, 0), 0);
	close_both();
}
END_TEST

/* The port of a service is one process's. */
START_TEST(a_port_that_is_taken_is_said_to_be)
{
	struct fid_fabric *fabric;
	struct fid_domain *other;
	struct fi_info *info;

	open_server(formats[_i]);
	ck_assert_int_eq(ask(1, NULL, SERVICE, FI_SOURCE, NULL, &info), 0);
	ck_assert_int_eq(ofi_fabric_open(info->fabric_attr, &fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(fabric, info, &other, NULL), -FI_EADDRINUSE);
	ck_assert_int_eq(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	close_end(&server);
}
END_TEST

/* An endpoint is where its domain is. A socket address names one alone. */
START_TEST(endpoints_of_a_domain)
{
	struct fi_info *info;
	struct fid_ep *ep;
	uint8_t name[64];
	size_t bytes = sizeof(name);
	int second = formats[_i] ? -FI_EADDRINUSE : 0;

	open_server(formats[_i]);
	ck_assert_int_eq(fi_getname(&server.ep->fid, name, &bytes), 0);
	ck_assert_int_eq(fi_setname(&server.ep->fid, name, bytes), -FI_EOPBADSTATE);
	ck_assert_int_eq(fi_endpoint(server.domain, server.info, &ep, NULL), 0);
	ck_assert_int_eq(fi_setname(&ep->fid, name, bytes), 0);
	ck_assert_int_eq(fi_setname(&ep->fid, name, bytes - 1), -FI_EINVAL);
	ck_assert_int_eq(fi_ep_bind(ep, &server.av->fid, 0), 0);
	ck_assert_int_eq(fi_ep_bind(ep, &server.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_enable(ep), second);
	ck_assert_int_eq(fi_close(&ep->fid), 0);
	ck_assert_int_eq(ask(1, NULL, "9229", FI_SOURCE, server.info, &info), 0);
	ck_assert_int_eq(fi_endpoint(server.domain, info, &ep, NULL), -FI_EADDRNOTAVAIL);
	fi_freeinfo(info);
	close_end(&server);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_av");
	TCase *tc = tcase_create("core");
	int skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_server_is_found_by_node_and_service, 0, 2);
	tcase_add_loop_test(tc, a_server_may_come_later, 0, 2);
	tcase_add_loop_test(tc, an_endpoint_may_come_later, 0, 2);
	tcase_add_loop_test(tc, a_name_is_who_connects_from_there, 0, 2);
	tcase_add_loop_test(tc, a_server_that_restarts_has_its_name, 0, 2);
	tcase_add_loop_test(tc, a_write_goes_to_a_name, 0, 2);
	tcase_add_loop_test(tc, a_process_may_name_itself, 0, 2);
	tcase_add_loop_test(tc, services_are_inserted, 0, 2);
	tcase_add_loop_test(tc, a_port_that_is_taken_is_said_to_be, 0, 2);
	tcase_add_loop_test(tc, endpoints_of_a_domain, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
