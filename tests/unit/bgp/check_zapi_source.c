/* SPDX-License-Identifier: BSD-2-Clause */
/* The shell against a scripted zebra on a unix socket. */
#include "zapi_source.h"

#include <ev.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bgp_await.h"
#include "bgp_record.h"
#include "own_net.h"

#define P2	"198.19.0.2"
#define LINKS	8
#define ROUTES	500
#define LINK(i) (100u + (i)) /* its interface's index */

/*
 * A machine of LINKS links, device dN with 2001:db8:18:N::1/64, stands before the library's
 * functions.
 */
static struct ifaddrs addresses[LINKS];
static struct sockaddr_in6 own[LINKS], mask;
static char names[LINKS][4];
static unsigned n_reads;

int getifaddrs(struct ifaddrs **out)
{
	n_reads++;
	memset(mask.sin6_addr.s6_addr, 0xff, 8);
	mask.sin6_family = AF_INET6;
	for (unsigned i = 0; i < LINKS; i++) {
		own[i] = (struct sockaddr_in6){.sin6_family = AF_INET6,
					       .sin6_addr = addr("2001:db8:18::1")};
		own[i].sin6_addr.s6_addr[7] = (uint8_t)i;
		snprintf(names[i], sizeof(names[i]), "d%u", i);
		addresses[i] =
			(struct ifaddrs){.ifa_next = i + 1 < LINKS ? &addresses[i + 1] : NULL,
					 .ifa_name = names[i],
					 .ifa_addr = (struct sockaddr *)&own[i],
					 .ifa_netmask = (struct sockaddr *)&mask};
	}
	*out = addresses;
	return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
	ck_assert_ptr_eq(all, addresses);
}

unsigned if_nametoindex(const char *name)
{
	return LINK((unsigned)(name[1] - '0'));
}

char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "d%u", index - LINK(0));
	return name;
}

struct fixture {
	struct record r;
	struct ev_loop *loop;
	struct zapi_source *s;
	struct sockaddr_un address;
	int listener, fd;
};

static void await(struct fixture *f, const char *in, const char *text)
{
	ck_assert_msg(await_text(f->loop, in, text),
		      "never came: %s\npaths:\n%sstates:\n%slogs:\n%s", text, f->r.paths,
		      f->r.states, f->r.logs);
}

static void expect_greeting(struct fixture *f)
{
	uint8_t got[64];
	struct bytes want = {.n = 0};

	hex(&want, "0013fe06000000000012 17 0000 00000000 00 00"
		   "000efe0600000000000b 01 09 0000 000efe0600000000000b 02 09 0000");
	ck_assert_int_eq(recv(f->fd, got, want.n, MSG_WAITALL), (ssize_t)want.n);
	ck_assert_mem_eq(got, want.p, want.n);
}

START_TEST(learns_loses_and_learns_again)
{
	struct fixture f = {.fd = -1};
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);

	record_init(&f.r);
	f.loop = ev_loop_new(0);
	f.address.sun_family = AF_UNIX;
	snprintf(f.address.sun_path, sizeof(f.address.sun_path), "/tmp/check_zapi_source.%d",
		 (int)getpid());
	ck_assert_int_eq(zapi_source_create(&f.s, f.loop, f.address.sun_path, "8.4.4", &f.r.config,
					    &f.r.handlers, &f.r),
			 0);
	ck_assert_str_eq(f.r.states, "");
	await(&f, f.r.states, "down\n"); /* nobody is there yet */

	f.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f.listener, (struct sockaddr *)&f.address, sizeof(f.address)), 0);
	ck_assert_int_eq(listen(f.listener, 4), 0);
	await(&f, f.r.states, "syncing\n");
	f.fd = accept(f.listener, NULL, NULL);
	expect_greeting(&f);
	for (size_t i = 0; i < 181; i++) { /* the IPv4 route, byte by byte */
		ck_assert_int_eq(write(f.fd, data + i, 1), 1);
		ev_run(f.loop, EVRUN_NOWAIT);
	}
	await(&f, f.r.paths, P2 " 0/0 up relative 50\n");
	await(&f, f.r.states, "up\n");
	f.r.states[0] = f.r.paths[0] = '\0';
	close(f.fd);
	await(&f, f.r.paths, P2 " 0/0 up stale relative 50\n");
	await(&f, f.r.states, "syncing\n"); /* back by itself; and now zebra teaches IPv6 alone */
	f.fd = accept(f.listener, NULL, NULL);
	expect_greeting(&f);
	ck_assert_int_eq(write(f.fd, data + 181, 292 - 181), 292 - 181);
	await(&f, f.r.paths, P2 " 0/0 gone\n");

	zapi_source_destroy(f.s);
	close(f.fd);
	close(f.listener);
	unlink(f.address.sun_path);
	ev_loop_destroy(f.loop);
	free(data);
}
END_TEST

static void listen_only(struct fixture *f)
{
	record_init(&f->r);
	f->loop = ev_loop_new(0);
	f->address.sun_family = AF_UNIX;
	snprintf(f->address.sun_path, sizeof(f->address.sun_path), "/tmp/check_zapi_source.%d",
		 (int)getpid());
	f->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
}

static void stop(struct fixture *f)
{
	zapi_source_destroy(f->s);
	close(f->fd);
	close(f->listener);
	unlink(f->address.sun_path);
	ev_loop_destroy(f->loop);
}

static void listen_there(struct fixture *f, const struct bgp_source_config *config)
{
	listen_only(f);
	ck_assert_int_eq(zapi_source_create(&f->s, f->loop, f->address.sun_path, "8.4.4", config,
					    &f->r.handlers, &f->r),
			 0);
	await(f, f->r.states, "syncing\n");
	f->fd = accept(f->listener, NULL, NULL);
	expect_greeting(f);
}

/*
 * FRR 8.4's message of a peer that is reached over all links, by link-local next hops as IPv6's
 * are.
 */
static void route_over_all_links(struct bytes *b, unsigned peer)
{
	struct in6_addr gateway = addr("fe80::1"), to = addr("2001:db8:19::");

	to.s6_addr[14] = (uint8_t)(peer >> 8);
	to.s6_addr[15] = (uint8_t)peer;
	be(b, 10 + 32 + LINKS * 26u, 2);
	hex(b, "fe06 00000000 001e 09 0000 00000000 00000001 01 0a 80");
	raw(b, to.s6_addr, 16);
	be(b, LINKS, 2);
	for (unsigned i = 0; i < LINKS; i++) {
		hex(b, "00000000 05 00");
		raw(b, gateway.s6_addr, 16);
		be(b, LINK(i), 4);
	}
}

START_TEST(our_addresses_are_not_read_for_each_route)
{
	struct bgp_neighbor neighbors[LINKS];
	struct bgp_source_config config;
	struct fixture f = {.fd = -1};

	record_init(&f.r);
	config = f.r.config;
	config.neighbors = neighbors;
	config.n_neighbors = LINKS;
	for (unsigned i = 0; i < LINKS; i++) {
		neighbors[i] = (struct bgp_neighbor){.address = addr("2001:db8:18::2"),
						     .plane = (uint16_t)i};
		neighbors[i].address.s6_addr[7] = (uint8_t)i;
	}
	listen_there(&f, &config);
	config.peer_prefixes = f.r.prefixes;
	n_reads = 0;
	for (unsigned i = 0; i < ROUTES; i++) {
		struct bytes b = {.n = 0};

		route_over_all_links(&b, i + 2);
		ck_assert_int_eq(write(f.fd, b.p, b.n), (ssize_t)b.n);
		ev_run(f.loop, EVRUN_NOWAIT);
	}
	await(&f, f.r.states, "up\n");
	ck_assert_uint_eq(f.r.n_paths, ROUTES * LINKS);
	ck_assert_ptr_nonnull(strstr(f.r.paths, "2001:db8:19::2 0/7 up relative absent\n"));
	ck_assert_uint_eq(n_reads, 1); /* nobody changes an address of this namespace */
	ck_assert_str_eq(f.r.logs, "");
	stop(&f);
}
END_TEST

/* -1: all that is due now is done, and nobody has connected. */
static int accept_if_any(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		ev_run(f->loop, EVRUN_NOWAIT);
	return accept4(f->listener, NULL, NULL, SOCK_NONBLOCK);
}

/* FRR is upgraded while it is connected to: BMP names another release. */
START_TEST(speaks_the_release_that_it_is_told)
{
	struct bytes want = {.n = 0};
	struct fixture f = {.fd = -1};
	uint8_t got[64];

	listen_only(&f);
	ck_assert_int_eq(fcntl(f.listener, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(zapi_source_create(&f.s, f.loop, f.address.sun_path, NULL, &f.r.config,
					    &f.r.handlers, &f.r),
			 0);
	ck_assert_int_eq(accept_if_any(&f), -1); /* nobody has said yet */
	zapi_source_set_version(f.s, "FRRouting 12.1");
	ck_assert_int_eq(accept_if_any(&f), -1);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "\"FRRouting 12.1\" is not known"));
	zapi_source_set_version(f.s, "FRRouting 8.4.4");
	await(&f, f.r.states, "syncing\n");
	f.fd = accept_if_any(&f);
	expect_greeting(&f);
	zapi_source_set_version(f.s, "FRRouting 8.4.9"); /* speaks as 8.4.4 does */
	ck_assert_int_eq(accept_if_any(&f), -1);
	f.r.states[0] = '\0';
	zapi_source_set_version(f.s, "FRRouting 10.7.0");
	await(&f, f.r.states, "syncing\n");
	ck_assert_int_eq(recv(f.fd, got, sizeof(got), 0), 0); /* the old connection has ended */
	close(f.fd);
	f.fd = accept_if_any(&f);
	hex(&want, "0012fe06000000000013 18 0000 00000000 00"
		   "000efe0600000000000c 01 0a 0000 000efe0600000000000c 02 0a 0000");
	ck_assert_int_eq(recv(f.fd, got, want.n, 0), (ssize_t)want.n);
	ck_assert_mem_eq(got, want.p, want.n);
	stop(&f);
}
END_TEST

START_TEST(waits_where_the_configured_version_is_unknown)
{
	struct fixture f = {.fd = -1};

	listen_only(&f);
	ck_assert_int_eq(fcntl(f.listener, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(zapi_source_create(&f.s, f.loop, f.address.sun_path, "12.1", &f.r.config,
					    &f.r.handlers, &f.r),
			 0);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "FRR version \"12.1\" is not known"));
	ck_assert_int_eq(accept_if_any(&f), -1);
	stop(&f);
	zapi_source_destroy(NULL);
}
END_TEST

RUN_TESTS_IN(own_net, "zapi_source", learns_loses_and_learns_again,
	     our_addresses_are_not_read_for_each_route, speaks_the_release_that_it_is_told,
	     waits_where_the_configured_version_is_unknown)
