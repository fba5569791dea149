/* SPDX-License-Identifier: BSD-2-Clause */
/* From the path table to the real segment and back: a second daemon adopts what the first
 * published. */
#include "publish.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "shm_layout.h"
#include "sink.h"

#define S    UINT64_C(1000000000)
#define MBPS UINT64_C(1000000)

static char dir[] = "/tmp/check_publish.XXXXXX";
static struct config *config;
static struct path_table *table;
static struct publish *publish;
static const struct in6_addr peer = {.s6_addr = {[10] = 0xff, 0xff, 198, 19, 0, 9}};

static void start(void)
{
	static const struct path_table_times times = {
		.stale_ns = 100 * S, .installed_ns = S, .restart_ns = 10 * S, .fallback_ns = S};
	static const struct path_table_gpu shape = {.n_planes = 2, .n_sub_ports = {1, 1}};

	ck_assert_int_eq(path_table_create(&table, &shape, 1, &times), 0);
	ck_assert_int_eq(publish_create(&publish, config, table, 0600, S), 0);
	for (uint32_t p = 0; p < 2; p++) {
		path_table_link(table, 0, p, 0, true, 400 * MBPS);
		publish_link(publish, &(struct sink_link){.plane = p,
							  .ifindex = 1 + p,
							  .is_up = true,
							  .speed_bps = 400 * MBPS});
	}
	path_table_source_replaced(table, PATH_SOURCE_BMP, true, S);
}

static void stop(void)
{
	publish_destroy(publish);
	path_table_destroy(table);
}

static void setup(void)
{
	static const char format[] =
		"node: s0\nrun_dir: %s\nbgp:\n  peer_prefixes: [198.19.0.0/16]\n"
		"local_gpus:\n  - name: g0\n    addresses: [198.19.0.1]\n    planes:\n"
		"      - sub_ports: [{dev: a0, speed_mbps: 400, neighbors: [198.18.0.0]}]\n"
		"      - sub_ports: [{dev: b0, speed_mbps: 400, neighbors: [198.18.0.2]}]\n";
	struct config_error error;
	char text[1024];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(text, sizeof(text), format, dir);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	start();
}

static void teardown(void)
{
	char path[64];

	stop();
	config_destroy(config);
	snprintf(path, sizeof(path), "%s/" SHM_NAME, dir);
	unlink(path);
	rmdir(dir);
}

/* What a reader sees of the only pair. */
static struct shm_path seen(uint32_t plane, uint64_t *word)
{
	struct shm_header *map;
	struct shm_path path;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s/" SHM_NAME, dir);
	fd = open(name, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_uint_eq(map->n_pairs, 1);
	*word = map->words[0];
	path = map->pairs[0].copies[*word & 1][plane];
	munmap(map, sizeof(*map));
	return path;
}

static void teach(uint32_t plane, double bps)
{
	struct bgp_path_event e = {.peer = peer,
				   .plane = (uint16_t)plane,
				   .reachable = true,
				   .bandwidth_kind = BGP_BANDWIDTH_VALUE,
				   .advertised_bps = bps};

	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, 2 * S), 0);
}

START_TEST(published_once_per_change)
{
	uint64_t first, word;

	teach(0, 100e6);
	teach(1, 400e6);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	publish_run(publish, 2 * S, NULL, NULL);
	ck_assert_uint_eq(seen(0, &first).usable_bps, 100 * MBPS);
	ck_assert_uint_eq(seen(1, &first).usable_bps, 400 * MBPS);
	ck_assert_uint_eq(seen(1, &first).live_sub_ports, 1);
	teach(0, 100e6);
	publish_run(publish, 3 * S, NULL, NULL);
	seen(0, &word);
	ck_assert_uint_eq(word, first);
	teach(0, 200e6);
	teach(1, 300e6);
	publish_run(publish, 3 * S, NULL, NULL);
	ck_assert_uint_eq(seen(0, &word).usable_bps, 200 * MBPS);
	ck_assert_uint_eq(word >> 1, (first >> 1) + 1);
}
END_TEST

START_TEST(a_restart_moves_nothing)
{
	struct publish_stats stats;
	struct shm_path path;
	uint64_t word;

	teach(0, 100e6);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	publish_run(publish, 2 * S, NULL, NULL);
	stop();
	start();
	publish_stats(publish, &stats);
	ck_assert_ptr_null(stats.why_new);
	ck_assert_uint_eq(stats.pairs_adopted, 1);
	publish_run(publish, 3 * S, NULL, NULL);
	path = seen(0, &word);
	ck_assert_uint_eq(path.usable_bps, 100 * MBPS);
	ck_assert_uint_eq(path.verdict, FARE_VERDICT_STALE);
	ck_assert_uint_eq(seen(1, &word).verdict, FARE_VERDICT_NO_ROUTE);
	teach(0, 100e6);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 3 * S);
	publish_run(publish, 4 * S, NULL, NULL);
	path = seen(0, &word);
	ck_assert_uint_eq(path.usable_bps, 100 * MBPS);
	ck_assert_uint_eq(path.verdict, FARE_VERDICT_OK);
}
END_TEST

START_TEST(rubbish_in_the_segment_is_not_adopted)
{
	struct shm_header *map;
	struct path_view view;
	char name[64];
	uint32_t pair;
	int fd;

	teach(0, 100e6);
	publish_run(publish, 2 * S, NULL, NULL);
	stop();
	snprintf(name, sizeof(name), "%s/" SHM_NAME, dir);
	fd = open(name, O_RDWR);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	memset(map->pairs[0].copies, 0xff, sizeof(map->pairs[0].copies)); /* no such verdict */
	munmap(map, sizeof(*map));
	start();
	publish_run(publish, 3 * S, NULL, NULL);
	if (path_table_find(table, 0, &peer, &pair)) {
		ck_assert(path_table_view(table, pair, 0, &view));
		ck_assert_uint_eq(view.usable_bps, 0);
	}
	teach(0, 50e6);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 3 * S);
	publish_run(publish, 4 * S, NULL, NULL);
	ck_assert(path_table_find(table, 0, &peer, &pair) &&
		  path_table_view(table, pair, 0, &view));
	ck_assert_uint_eq(view.usable_bps, 50 * MBPS);
}
END_TEST

static struct shm_header *open_segment(void)
{
	struct shm_header *map;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s/" SHM_NAME, dir);
	fd = open(name, O_RDONLY);
	map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	return map;
}

static void teach_peer(struct in6_addr who, bool reachable, uint64_t now)
{
	struct bgp_path_event e = {.peer = who,
				   .reachable = reachable,
				   .bandwidth_kind = BGP_BANDWIDTH_VALUE,
				   .advertised_bps = 100e6};

	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), 0);
}

static void on_forget(void *arg, uint32_t pair)
{
	(void)arg;
	publish_forget(publish, pair);
}

/* What a reader that attaches now is told of the first plane toward a peer; -1: of no such peer. */
static int64_t told_of(const struct shm_header *map, const struct in6_addr *who)
{
	for (uint32_t i = 0; i < map->n_pairs; i++)
		if (!memcmp(map->pairs[i].peer, who, sizeof(*who)))
			return (int64_t)map->pairs[i].copies[map->words[i] & 1][0].usable_bps;
	return -1;
}

/* Twice as many peers come and go as a segment has room for; one stays all the while. */
START_TEST(churn_does_not_fill_the_segment)
{
	struct shm_header *first = open_segment(), *last;
	struct publish_stats stats;
	struct in6_addr who = peer;
	uint64_t now = 10 * S;

	path_table_set_on_forget(table, on_forget, NULL);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	teach_peer(peer, true, now);
	publish_run(publish, now, NULL, NULL);
	for (uint32_t i = 0; i < 2 * FARE_MAX_PAIRS; i++) {
		who.s6_addr[13] = 100;
		who.s6_addr[14] = (uint8_t)(i >> 8);
		who.s6_addr[15] = (uint8_t)i;
		now += S / 20;
		teach_peer(who, true, now);
		publish_run(publish, now, NULL, NULL);
		teach_peer(who, false, now);
		publish_run(publish, now, NULL, NULL);
	}
	teach_peer(who, true, now);
	publish_run(publish, now, NULL, NULL);
	publish_stats(publish, &stats);
	ck_assert_uint_eq(stats.pairs_refused, 0);
	ck_assert_uint_eq(stats.renewals, 2);
	ck_assert_uint_eq(first->retired, 1);
	last = open_segment();
	ck_assert_uint_eq(last->retired, 0);
	ck_assert_int_eq(told_of(last, &peer), 100 * MBPS);
	ck_assert_int_eq(told_of(last, &who), 100 * MBPS);
	ck_assert_uint_eq(last->local_gpus[0].sub_ports[0][0].up, 1);
	ck_assert_uint_eq(last->incarnation, first->incarnation);
	munmap(first, sizeof(*first));
	munmap(last, sizeof(*last));
}
END_TEST

/*
 * Its directory is gone, so no new one can be made: that is counted, and new peers are refused
 * until it is tried again.
 */
START_TEST(a_renewal_that_fails_is_counted)
{
	struct shm_header *segment;
	uint64_t retry_ns;
	struct publish_stats stats;
	struct in6_addr who = peer;
	uint64_t now = 10 * S;
	char away[64];

	path_table_set_on_forget(table, on_forget, NULL);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	snprintf(away, sizeof(away), "%s.away", dir);
	ck_assert_int_eq(rename(dir, away), 0);
	for (uint32_t i = 0; i < FARE_MAX_PAIRS + 10; i++) {
		who.s6_addr[13] = 100;
		who.s6_addr[14] = (uint8_t)(i >> 8);
		who.s6_addr[15] = (uint8_t)i;
		now += S / 20;
		teach_peer(who, true, now);
		publish_run(publish, now, NULL, NULL);
		teach_peer(who, false, now);
		publish_run(publish, now, NULL, NULL);
	}
	teach_peer(peer, true, now);
	retry_ns = publish_run(publish, now, NULL, NULL);
	publish_stats(publish, &stats);
	ck_assert_int_eq(rename(away, dir), 0);
	ck_assert_uint_eq(stats.renewals, 0);
	ck_assert_uint_eq(stats.renewals_failed, 1);
	ck_assert_int_eq(stats.renewal_error, -ENOENT);
	ck_assert_uint_gt(stats.pairs_refused, 0);
	/* nothing more is said of it: it is tried again all the same, and by then there is room */
	ck_assert_uint_gt(retry_ns, now);
	ck_assert_uint_le(retry_ns, now + 60 * S);
	publish_run(publish, retry_ns, NULL, NULL);
	segment = open_segment();
	ck_assert_int_eq(told_of(segment, &peer), 100 * MBPS);
	munmap(segment, sizeof(*segment));
}
END_TEST

/* ---- a second sink ---- */

/* What it was called with, in order: "b" and "c" for the ends of a turn, "f0" for pair 0 forgotten,
 * "0:100,400" for the Mb/s of pair 0's planes. */
struct recorder {
	char text[4096];
	int refuses;
	uint64_t again_ns;
};

__attribute__((format(printf, 2, 3))) static void record(struct recorder *r, const char *format,
							 ...)
{
	size_t n = strlen(r->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->text + n, sizeof(r->text) - n, format, ap);
	va_end(ap);
}

static void on_begin(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	record(arg, "b ");
}

static int on_sink_pair(void *arg, const struct sink_pair *pair)
{
	struct recorder *r = arg;

	ck_assert_uint_eq(pair->n_planes, 2);
	record(r, "%u:%llu,%llu%s ", pair->id,
	       (unsigned long long)(pair->paths[0].usable_bps / MBPS),
	       (unsigned long long)(pair->paths[1].usable_bps / MBPS), r->refuses ? "!" : "");
	return r->refuses ? -ENOSPC : 0;
}

static void on_sink_forget(void *arg, uint32_t id)
{
	record(arg, "f%u ", id);
}

static uint64_t on_commit(void *arg)
{
	struct recorder *r = arg;

	record(r, "c ");
	return r->again_ns;
}

static void add_recorder(struct recorder *r)
{
	const struct sink sink = {.arg = r,
				  .begin = on_begin,
				  .pair = on_sink_pair,
				  .forget = on_sink_forget,
				  .commit = on_commit};

	ck_assert_int_eq(publish_add_sink(publish, &sink), 0);
}

/* What is recorded since the last look. */
static void expect(struct recorder *r, const char *text)
{
	ck_assert_str_eq(r->text, text);
	r->text[0] = 0;
}

START_TEST(a_second_sink_gets_each_change_once_and_in_order)
{
	static struct recorder r, late;
	struct in6_addr other = peer;

	add_recorder(&r);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	publish_run(publish, 2 * S, NULL, NULL);
	expect(&r, "b c ");
	teach(0, 100e6);
	teach(1, 400e6);
	publish_run(publish, 2 * S, NULL, NULL);
	expect(&r, "b 0:100,400 c ");
	/* the same again, and all pairs looked at again: nothing has changed */
	teach(0, 100e6);
	path_table_mark_all(table);
	publish_run(publish, 3 * S, NULL, NULL);
	expect(&r, "b c ");
	/* two changes of one turn are one; pairs come in the order of the table */
	other.s6_addr[15] = 10;
	teach_peer(other, true, 3 * S);
	teach(0, 150e6);
	teach(0, 200e6);
	publish_run(publish, 3 * S, NULL, NULL);
	expect(&r, "b 0:200,400 1:100,0 c ");
	/* one that comes later gets what there is, and the first does not get it again */
	add_recorder(&late);
	publish_run(publish, 4 * S, NULL, NULL);
	expect(&r, "b c ");
	expect(&late, "b 0:200,400 1:100,0 c ");
	/* a peer that goes */
	teach_peer(other, false, 4 * S);
	publish_run(publish, 4 * S, NULL, NULL);
	publish_forget(publish, 1);
	expect(&r, "b 1:0,0 c f1 ");
	expect(&late, "b 1:0,0 c f1 ");
}
END_TEST

START_TEST(what_one_sink_refuses_is_offered_to_it_alone)
{
	static struct recorder r = {.refuses = 1, .again_ns = 10 * S}, other;
	struct publish_stats before, after;

	add_recorder(&r);
	add_recorder(&other);
	path_table_source_state(table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "x", 2 * S);
	teach(0, 100e6);
	ck_assert_uint_le(publish_run(publish, 2 * S, NULL, NULL), 10 * S);
	expect(&r, "b 0:100,0! c ");
	expect(&other, "b 0:100,0 c ");
	publish_stats(publish, &before);
	r.again_ns = 0;
	r.refuses = 0;
	ck_assert_uint_ne(publish_run(publish, 3 * S, NULL, NULL), 0);
	expect(&r, "b c ");
	publish_run(publish, 10 * S, NULL, NULL);
	expect(&r, "b 0:100,0 c ");
	publish_run(publish, 30 * S, NULL, NULL);
	expect(&r, "b c ");
	expect(&other, "b c b c b c ");
	publish_stats(publish, &after);
	ck_assert_uint_eq(after.pairs_published, before.pairs_published);
	/* a change is offered at once, whatever was refused before */
	r.refuses = 1;
	r.again_ns = 100 * S;
	teach(0, 200e6);
	publish_run(publish, 30 * S, NULL, NULL);
	r.refuses = 0;
	teach(0, 300e6);
	publish_run(publish, 31 * S, NULL, NULL);
	expect(&r, "b 0:200,0! c b 0:300,0 c ");
}
END_TEST

START_TEST(sinks_are_few)
{
	static struct recorder r;
	const struct sink sink = {.arg = &r};

	for (int i = 1; i < SINKS_MAX; i++)
		add_recorder(&r);
	ck_assert_int_eq(publish_add_sink(publish, &sink), -ENOSPC);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("publish");
	TCase *tc = tcase_create("segment");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, published_once_per_change);
	tcase_add_test(tc, a_restart_moves_nothing);
	tcase_add_test(tc, a_renewal_that_fails_is_counted);
	tcase_add_test(tc, churn_does_not_fill_the_segment);
	tcase_add_test(tc, a_second_sink_gets_each_change_once_and_in_order);
	tcase_add_test(tc, what_one_sink_refuses_is_offered_to_it_alone);
	tcase_add_test(tc, sinks_are_few);
	tcase_add_test(tc, rubbish_in_the_segment_is_not_adopted);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
