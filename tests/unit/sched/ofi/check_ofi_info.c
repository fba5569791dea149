/* SPDX-License-Identifier: BSD-2-Clause */
/* What fi_getinfo() makes of node, service, FI_SOURCE and the addresses of hints. */
#include "ofi_pair.h"

#include "ofi/ofi_name.h"

static struct fi_info *info;

static void freed(void)
{
	fi_freeinfo(info);
	info = NULL;
}

static void has_place(const void *addr, size_t bytes, int host, unsigned port)
{
	struct in6_addr gpu = address(host);
	struct ofi_address a;
	struct peer_address at;

	ck_assert_ptr_nonnull(addr);
	ck_assert_int_eq(ofi_name_decode(info->addr_format, addr, bytes, &a), 0);
	ck_assert_int_eq(ofi_name_place(&a, &at), 0);
	ck_assert_mem_eq(&at.address, &gpu, sizeof(gpu));
	ck_assert_uint_eq(at.port, port);
}

static void is_from(int host, unsigned port)
{
	has_place(info->src_addr, info->src_addrlen, host, port);
}

static void is_to(int host, unsigned port)
{
	has_place(info->dest_addr, info->dest_addrlen, host, port);
}

/* Its own address, and no port before one is asked for. */
START_TEST(a_source_is_always_there)
{
	ck_assert_int_eq(ask(0, NULL, NULL, 0, NULL, &info), 0);
	ck_assert_uint_eq(info->addr_format, FI_FORMAT_UNSPEC);
	ck_assert_uint_eq(info->src_addrlen, OFI_ADDRESS_BYTES);
	is_from(0, 0);
	ck_assert_ptr_null(info->dest_addr);
	freed();
}
END_TEST

START_TEST(a_node_with_fi_source_chooses_the_gpu)
{
	ck_assert_int_eq(ask(0, "127.0.0.2", SERVICE, FI_SOURCE, NULL, &info), 0);
	is_from(0, SERVICE_PORT);
	ck_assert_ptr_null(info->dest_addr);
	freed();
	ck_assert_int_eq(ask(0, NULL, SERVICE, FI_SOURCE, NULL, &info), 0);
	is_from(0, SERVICE_PORT);
	freed();
	ck_assert_int_eq(ask(0, "127.0.0.3", NULL, FI_SOURCE, NULL, &info), -FI_ENODATA);
	ck_assert_int_eq(ask(0, "2001:db8::1", NULL, FI_SOURCE, NULL, &info), -FI_ENODATA);
}
END_TEST

START_TEST(a_node_without_it_is_the_destination)
{
	ck_assert_int_eq(ask(0, "127.0.0.3", SERVICE, 0, NULL, &info), 0);
	is_from(0, 0);
	is_to(1, SERVICE_PORT);
	freed();
	/* where the first process of a GPU is */
	ck_assert_int_eq(ask(0, "127.0.0.3", NULL, FI_NUMERICHOST, NULL, &info), 0);
	is_to(1, 4791);
	freed();
	setenv("FARE_PROVIDER", "verbs", 1);
	ck_assert_int_eq(ask(0, "127.0.0.3", NULL, 0, NULL, &info), 0);
	unsetenv("FARE_PROVIDER");
	is_to(1, 4798);
	freed();
	/* a service alone: of this GPU itself */
	ck_assert_int_eq(ask(0, NULL, SERVICE, 0, NULL, &info), 0);
	is_to(0, SERVICE_PORT);
	freed();
}
END_TEST

START_TEST(nodes_and_services_that_do_not_exist_find_nothing)
{
	ck_assert_int_eq(ask(0, "127.0.0.3", "65536", 0, NULL, &info), -FI_ENODATA);
	ck_assert_int_eq(ask(0, "127.0.0.3", "no such service", 0, NULL, &info), -FI_ENODATA);
	ck_assert_int_eq(ask(0, "localhost", SERVICE, FI_NUMERICHOST, NULL, &info), -FI_ENODATA);
	/* a host that is no GPU of the fabric: another provider may know it */
	ck_assert_int_eq(ask(0, "192.0.2.7", SERVICE, 0, NULL, &info), -FI_ENODATA);
	/* packets have the family of the GPU's address */
	ck_assert_int_eq(ask(0, "2001:db8::1", SERVICE, 0, NULL, &info), -FI_ENODATA);
}
END_TEST

/* Ports from there on are sources of data packets: no domain opens at one. */
START_TEST(a_source_port_of_data_is_not_offered)
{
	struct fi_info *hints;

	ck_assert_int_eq(ask(0, NULL, "49152", FI_SOURCE, NULL, &info), -FI_ENODATA);
	ck_assert_int_eq(ask(0, NULL, "49151", FI_SOURCE, NULL, &info), 0);
	is_from(0, 49151);
	/* as an address of hints */
	hints = hints_of(0, FI_SOCKADDR_IN);
	hints->src_addr = calloc(1, sizeof(struct sockaddr_in));
	hints->src_addrlen = sizeof(struct sockaddr_in);
	*(struct sockaddr_in *)hints->src_addr =
		(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(65535)};
	freed();
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}
END_TEST

/* What is offered is what fi_enable() allows. */
START_TEST(a_domain_of_socket_addresses_has_one_endpoint)
{
	struct fi_info *hints = hints_of(0, FI_SOCKADDR_IN);

	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	ck_assert_uint_eq(info->domain_attr->ep_cnt, 1);
	freed();
	ck_assert_int_eq(ask(0, NULL, NULL, 0, NULL, &info), 0);
	ck_assert_uint_gt(info->domain_attr->ep_cnt, 1);
	freed();
}
END_TEST

/* fi_dupinfo() of what was found is what many applications give as hints. */
START_TEST(what_was_found_can_be_hints)
{
	static const uint32_t formats[] = {FI_FORMAT_UNSPEC, FI_SOCKADDR, FI_SOCKADDR_IN};
	struct fi_info *hints = hints_of(0, formats[_i]), *first;

	ck_assert_int_eq(ask(0, "127.0.0.3", SERVICE, 0, hints, &first), 0);
	fi_freeinfo(hints);
	ck_assert_uint_eq(first->addr_format, _i ? FI_SOCKADDR_IN : FI_FORMAT_UNSPEC);
	ck_assert_int_eq(ask(0, NULL, SERVICE, FI_SOURCE, first, &info), 0);
	fi_freeinfo(first);
	is_from(0, SERVICE_PORT);
	is_to(1, SERVICE_PORT);
	freed();
}
END_TEST

START_TEST(socket_addresses_are_what_they_say)
{
	struct fi_info *hints = hints_of(0, FI_SOCKADDR);
	struct sockaddr_in in;

	ck_assert_int_eq(ask(0, "127.0.0.3", SERVICE, 0, hints, &info), 0);
	ck_assert_uint_eq(info->dest_addrlen, sizeof(in));
	memcpy(&in, info->dest_addr, sizeof(in));
	ck_assert_int_eq(in.sin_family, AF_INET);
	ck_assert_uint_eq(ntohs(in.sin_port), SERVICE_PORT);
	ck_assert_uint_eq(ntohl(in.sin_addr.s_addr), 0x7f000003);
	freed();
	/* as source in hints: any address, and a port */
	in.sin_addr.s_addr = 0;
	hints->src_addr = malloc(sizeof(in));
	hints->src_addrlen = sizeof(in);
	memcpy(hints->src_addr, &in, sizeof(in));
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), 0);
	is_from(0, SERVICE_PORT);
	freed();
	/* another GPU's; cut short; of a format that is not here */
	in.sin_addr.s_addr = htonl(0x7f000003);
	memcpy(hints->src_addr, &in, sizeof(in));
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->src_addrlen = 8;
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->src_addrlen = sizeof(in);
	hints->addr_format = FI_SOCKADDR_IN6;
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->addr_format = FI_SOCKADDR_IB;
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}
END_TEST

/* FI_SOURCE_ERR makes errors of what is none: only for who asks, and with FI_SOURCE. */
START_TEST(fi_source_err_is_for_who_asks)
{
	struct fi_info *hints = hints_of(FI_MSG | FI_SOURCE | FI_SOURCE_ERR, 0);

	ck_assert_int_eq(ask(0, NULL, NULL, 0, NULL, &info), 0);
	ck_assert(info->caps & FI_SOURCE);
	ck_assert(!(info->caps & FI_SOURCE_ERR));
	freed();
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), 0);
	ck_assert(info->caps & FI_SOURCE_ERR);
	ck_assert(info->rx_attr->caps & FI_SOURCE_ERR);
	freed();
	hints->caps = FI_MSG | FI_SOURCE_ERR;
	ck_assert_int_eq(ask(0, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_info");
	TCase *tc = tcase_create("core");
	int skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_source_is_always_there);
	tcase_add_test(tc, a_node_with_fi_source_chooses_the_gpu);
	tcase_add_test(tc, a_node_without_it_is_the_destination);
	tcase_add_test(tc, nodes_and_services_that_do_not_exist_find_nothing);
	tcase_add_test(tc, a_source_port_of_data_is_not_offered);
	tcase_add_test(tc, a_domain_of_socket_addresses_has_one_endpoint);
	tcase_add_loop_test(tc, what_was_found_can_be_hints, 0, 3);
	tcase_add_test(tc, socket_addresses_are_what_they_say);
	tcase_add_test(tc, fi_source_err_is_for_who_asks);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
