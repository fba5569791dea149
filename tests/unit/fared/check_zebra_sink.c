/* SPDX-License-Identifier: BSD-2-Clause */
/* The sink against a scripted zebra on a unix socket; the next hops by themselves. */
#include "zebra_sink.h"

#include <check.h>
#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "config.h"
#include "zebra_hops.h"

#define GBPS UINT64_C(1000000000)

static char path[64];
static struct ev_loop *loop;
static struct zebra_sink *zebra_sink;
static struct sink sink;
static int listener, zebra;
static bool connected;

static struct config *load(const char *kernel_routes)
{
	static const char format[] =
		"node: s0\nkernel_routes: %s\n"
		"bgp: {peer_prefixes: [198.19.0.0/16], zserv_path: %s}\n"
		"local_gpus:\n  - name: g0\n    addresses: [198.19.0.1]\n    planes:\n"
		"      - sub_ports:\n"
		"          - {dev: a0, neighbors: [198.18.0.0, \"2001:db8::a0\"]}\n"
		"          - {dev: a1, neighbors: [198.18.0.2]}\n"
		"      - sub_ports: [{dev: b0, neighbors: [\"2001:db8::b0\"]}]\n";
	struct config_error error;
	struct config *config;
	char text[1024];

	snprintf(text, sizeof(text), format, kernel_routes, path);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	return config;
}

static void set_config(const char *kernel_routes, const char *version)
{
	struct config *config = load(kernel_routes);

	zebra_sink_set_config(zebra_sink, config, version);
	config_destroy(config);
}

static void on_state(void *arg, bool is_connected, const char *reason)
{
	(void)arg;
	(void)reason;
	connected = is_connected;
}

static void turn(void)
{
	ev_run(loop, EVRUN_NOWAIT);
	sink.commit(sink.arg);
	usleep(1000);
}

static void await(bool is_connected)
{
	for (int i = 0; i < 10000 && connected != is_connected; i++)
		turn();
	ck_assert_int_eq(connected, is_connected);
}

static void accept_zebra(void)
{
	uint8_t hello[19];

	await(true);
	zebra = accept(listener, NULL, NULL);
	ck_assert_int_eq(recv(zebra, hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
	ck_assert_mem_eq(hello + 8, "\0\x12\x17\0\x54", 5); /* HELLO, sharp, instance 84 */
}

static void setup(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(path, sizeof(path), "/tmp/check_zebra_sink.%d", (int)getpid());
	strcpy(address.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 4), 0);
	loop = ev_loop_new(0);
	connected = false;
	ck_assert_int_eq(zebra_sink_create(&zebra_sink, loop, on_state, NULL), 0);
	sink = zebra_sink_as_sink(zebra_sink);
	for (uint32_t s = 0; s < 2; s++)
		sink.link(sink.arg, &(struct sink_link){0, 0, s, 1 + s, true, GBPS});
	sink.link(sink.arg, &(struct sink_link){0, 1, 0, 3, true, 2 * GBPS});
}

static void teardown(void)
{
	zebra_sink_destroy(zebra_sink);
	ev_loop_destroy(loop);
	close(listener);
	close(zebra);
	unlink(path);
}

static struct in6_addr peer_at(uint8_t i)
{
	return (struct in6_addr){.s6_addr = {[10] = 0xff, 0xff, 198, 19, i, 9}};
}

static void offer(uint32_t id, uint64_t bps0, uint64_t bps1, bool answered, uint32_t lossy)
{
	const struct shm_path paths[2] = {{.usable_bps = bps0}, {.usable_bps = bps1}};
	const struct sink_pair pair = {.id = id,
				       .peer = peer_at((uint8_t)id),
				       .n_planes = 2,
				       .paths = paths,
				       .answered = answered,
				       .lossy = lossy};

	ck_assert_int_eq(sink.pair(sink.arg, &pair), 0);
}

/* "ifindex:weight" of each hop in the next message to zebra, "gone", or "" if none comes. */
static const char *given(void)
{
	static char text[256];
	uint8_t m[4096];
	size_t length, at = 0;

	text[0] = '\0';
	for (int i = 0; i < 20 && recv(zebra, m, 2, MSG_PEEK | MSG_DONTWAIT) < 2; i++)
		turn();
	if (recv(zebra, m, 2, MSG_PEEK | MSG_DONTWAIT) < 2)
		return text;
	length = octets_load(m, 2);
	ck_assert_int_eq(recv(zebra, m, length, MSG_WAITALL), (ssize_t)length);
	if (octets_load(m + 8, 2) == 9)
		return strcpy(text, "gone");
	ck_assert_uint_eq(octets_load(m + 8, 2), 8);
	for (const uint8_t *hop = m + 30; hop < m + length - 5;) {
		size_t bytes = hop[4] == 3 ? 4 : 16;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u:%u", at ? " " : "",
				       (unsigned)octets_load(hop + 6 + bytes, 4),
				       (unsigned)octets_load(hop + 10 + bytes, 4));
		hop += 14 + bytes;
	}
	return text;
}

START_TEST(gives_what_changes_and_all_to_another_zebra)
{
	offer(0, 2 * GBPS, 2 * GBPS, true, 0);
	set_config("on", "8.4.4");
	accept_zebra();
	ck_assert_str_eq(given(), "1:127 2:127 3:254"); /* plane 1 over IPv6 alone */
	offer(0, 2 * GBPS, 2 * GBPS, true, 0);
	ck_assert_str_eq(given(), "");
	offer(0, 2 * GBPS, 0, true, 0); /* a plane dies */
	ck_assert_str_eq(given(), "1:254 2:254");
	sink.link(sink.arg, &(struct sink_link){0, 0, 1, 2, false, 0});
	ck_assert_str_eq(given(), "1:254");
	close(zebra);
	await(false);
	accept_zebra();
	ck_assert_str_eq(given(), "1:254");
	sink.forget(sink.arg, 0);
	ck_assert_str_eq(given(), "gone");
	ck_assert_str_eq(given(), "");
}
END_TEST

START_TEST(nothing_for_a_silent_peer_and_no_lossy_plane)
{
	set_config("on", "8.4.4");
	accept_zebra();
	offer(0, 2 * GBPS, 2 * GBPS, false, 0);
	ck_assert_str_eq(given(), "");
	offer(0, 2 * GBPS, 2 * GBPS, true, 2);
	ck_assert_str_eq(given(), "1:254 2:254");
	offer(0, 2 * GBPS, 2 * GBPS, true, 3); /* none is better */
	ck_assert_str_eq(given(), "1:127 2:127 3:254");
	offer(0, 2 * GBPS, 2 * GBPS, false, 0);
	ck_assert_str_eq(given(), "gone");
	offer(0, 0, 0, true, 0);
	ck_assert_str_eq(given(), "");
}
END_TEST

START_TEST(off_and_on)
{
	offer(0, 2 * GBPS, 0, true, 0);
	set_config("off", "8.4.4");
	for (int i = 0; i < 200; i++)
		turn();
	ck_assert(!connected);
	set_config("on", NULL); /* which FRR? */
	for (int i = 0; i < 200; i++)
		turn();
	ck_assert(!connected);
	set_config("on", "8.4.4");
	accept_zebra();
	ck_assert_str_eq(given(), "1:254 2:254");
	set_config("off", "8.4.4");
	ck_assert(!connected);
	ck_assert_int_eq(recv(zebra, path, 1, 0), 0); /* zebra removes the routes */
}
END_TEST

/* A zebra that reads nothing is not waited for, and a burst has a limit. */
START_TEST(a_full_socket_is_tried_again)
{
	uint32_t n = 4000, seen = 0;

	set_config("on", "8.4.4");
	accept_zebra();
	for (uint32_t id = 0; id < n; id++) {
		const struct shm_path paths[2] = {{.usable_bps = GBPS}, {.usable_bps = GBPS}};
		struct sink_pair pair = {.id = id,
					 .peer = peer_at(1),
					 .n_planes = 2,
					 .paths = paths,
					 .answered = true};

		pair.peer.s6_addr[13] = (uint8_t)(id >> 8);
		pair.peer.s6_addr[14] = (uint8_t)id;
		ck_assert_int_eq(sink.pair(sink.arg, &pair), 0);
	}
	sink.commit(sink.arg);
	while (*given())
		seen++;
	ck_assert_uint_eq(seen, n);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("zebra_sink");
	TCase *tc = tcase_create("zebra");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, gives_what_changes_and_all_to_another_zebra);
	tcase_add_test(tc, nothing_for_a_silent_peer_and_no_lossy_plane);
	tcase_add_test(tc, off_and_on);
	tcase_add_test(tc, a_full_socket_is_tried_again);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
