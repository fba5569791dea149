/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain_pair.h - two domains in one process, over the loopback device of a private network
 * namespace, each with a segment of its own as a daemon would publish it.
 */
#ifndef DOMAIN_PAIR_H
#define DOMAIN_PAIR_H

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fare.h"
#include "own_net.h"
#include "patience.h"
#include "qp/baseline.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/lane.h"
#include "qp/transfer_state.h"
#include "shm_writer.h"

static char dir[2][40], key[2][96];
static struct shm_writer *writer[2];
static struct fare *fare[2];
static struct fare_domain *domain[2];
static struct fare_group *group;
static unsigned n_connected, n_accepted, n_closed, n_completed, n_received, n_released, n_messages;
static int closed_status;
static struct fare_event completed, received; /* the last ones */
/* The messages that arrived, one behind the other, and their tags and numbers. */
static uint8_t arrived[1 << 16];
static size_t n_arrived;
static uint32_t arrived_tags[256];
static uint64_t arrived_sequences[256];
static bool busy_poll;
static unsigned n_planes = 1; /* all over the one device that there is */

static inline struct in6_addr address(int host)
{
	struct in6_addr a;

	inet_pton(AF_INET6, host ? "::ffff:127.0.0.3" : "::ffff:127.0.0.2", &a);
	return a;
}

static inline void write_key(int host, const char *content)
{
	FILE *f = fopen(key[host], "w");

	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fchmod(fileno(f), 0600);
	fclose(f);
}

static inline void setup(void)
{
	for (int h = 0; h < 2; h++) {
		struct shm_writer_gpu gpu = {.n_planes = n_planes};
		struct in6_addr own = address(h), peer = address(1 - h);
		struct shm_path path[FARE_MAX_PLANES];

		snprintf(dir[h], sizeof(dir[h]), "/tmp/fare-check-domain-XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(dir[h]));
		snprintf(key[h], sizeof(key[h]), "%s/key", dir[h]);
		memcpy(gpu.address[0], &own, sizeof(own));
		for (unsigned p = 0; p < n_planes; p++) {
			gpu.n_sub_ports[p] = 1;
			strcpy(gpu.dev[p][0], "lo");
			path[p] = (struct shm_path){1000000000, FARE_VERDICT_OK, 0, 0};
		}
		ck_assert_int_eq(shm_writer_open(&writer[h], dir[h], 0600, &gpu, 1, NULL), 0);
		for (unsigned p = 0; p < n_planes; p++)
			shm_writer_sub_port(writer[h], 0, p, 0, true, 1000000000);
		shm_writer_publish(writer[h], (uint32_t)shm_writer_pair(writer[h], 0, peer.s6_addr),
				   path, n_planes);
		ck_assert_int_eq(fare_attach(&fare[h], dir[h]), 0);
	}
	n_connected = n_accepted = n_closed = n_completed = n_received = n_released = n_messages =
		0;
	n_arrived = 0;
	busy_poll = false;
}

static inline void setup_four_planes(void)
{
	n_planes = 4;
	setup();
	n_planes = 1;
}

static inline void teardown(void)
{
	char command[128];

	for (int h = 0; h < 2; h++) {
		fare_domain_close(domain[h]);
		fare_detach(fare[h]);
		shm_writer_close(writer[h]);
		domain[h] = NULL;
		snprintf(command, sizeof(command), "rm -rf %s", dir[h]);
		ck_assert_int_eq(system(command), 0);
	}
}

static inline int open_domain(int host, const char *key_file, bool trusted, uint64_t secret)
{
	struct fare_domain_options options = {.key_file = key_file,
					      .trusted_network = trusted,
					      .secret = secret,
					      .accept = host == 1,
					      .path_mtu = 1024,
					      .busy_poll = busy_poll};

	return fare_domain_open(&domain[host], fare[host], 0, &options);
}

static inline void open_group(void)
{
	struct in6_addr peer = address(1);

	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, NULL), 0);
}

static inline void on_message(const struct fare_event *e)
{
	ck_assert_uint_le(n_arrived + e->bytes, sizeof(arrived));
	memcpy(arrived + n_arrived, e->data, e->bytes);
	n_arrived += e->bytes;
	arrived_tags[n_messages % 256] = e->tag;
	arrived_sequences[n_messages++ % 256] = e->sequence;
}

static inline void look(int h)
{
	struct fare_event e[8];
	int n = fare_domain_poll(domain[h], e, 8);

	for (int i = 0; i < n; i++) {
		n_connected += e[i].kind == FARE_EVENT_CONNECTED;
		n_accepted += e[i].kind == FARE_EVENT_ACCEPTED;
		n_closed += e[i].kind == FARE_EVENT_CLOSED;
		n_completed += e[i].kind == FARE_EVENT_COMPLETED;
		n_received += e[i].kind == FARE_EVENT_RECEIVED;
		n_released += e[i].kind == FARE_EVENT_RELEASED;
		if (e[i].kind == FARE_EVENT_COMPLETED)
			completed = e[i];
		if (e[i].kind == FARE_EVENT_RECEIVED)
			received = e[i];
		if (e[i].kind == FARE_EVENT_MESSAGE)
			on_message(&e[i]);
		if (e[i].kind == FARE_EVENT_CLOSED)
			closed_status = e[i].status;
	}
}

/* One look at both ends; waits for either to have something to do. */
static inline void turn(void)
{
	struct pollfd p[2] = {{fare_domain_fd(domain[0]), POLLIN, 0},
			      {fare_domain_fd(domain[1]), POLLIN, 0}};

	poll(p, 2, 20);
	look(0);
	look(1);
}

/* Two domains that trust each other, and a group between them. */
static inline void connect_trusted(void)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	open_group();
	for (time_t end = time(NULL) + PATIENCE_S; !n_connected || !n_accepted;) {
		ck_assert(time(NULL) < end);
		turn();
	}
}

/* Both ends go on until condition; fails when patience ends. */
#define TURN_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (time_t patience = time(NULL) + PATIENCE_S; !(condition);) {                   \
			ck_assert_msg(time(NULL) < patience, "never came true: " #condition);      \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static inline uint64_t rejected(void)
{
	struct fare_group_stats stats;

	fare_group_stats(group, &stats);
	return stats.control_rejected;
}

#endif
