/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIRS_PER_GPU 2048u

static void peer_of(unsigned pair, struct in6_addr *out)
{
	inet_pton(AF_INET6, "2001:db8:1::", out);
	out->s6_addr[14] = (uint8_t)(pair % PAIRS_PER_GPU >> 8);
	out->s6_addr[15] = (uint8_t)pair;
}

static int open_writer(struct rig *rig)
{
	static const uint32_t n_gpus = FARE_MAX_PAIRS / PAIRS_PER_GPU;
	struct shm_writer_gpu *gpus = calloc(n_gpus, sizeof(*gpus));
	int err;

	if (!gpus)
		return -ENOMEM;
	for (uint32_t g = 0; g < n_gpus; g++) {
		inet_pton(AF_INET6, "2001:db8:2::", gpus[g].address[1]);
		gpus[g].address[1][15] = (uint8_t)(g + 1);
		gpus[g].n_planes = rig->n_planes;
		for (unsigned p = 0; p < rig->n_planes; p++) {
			gpus[g].n_sub_ports[p] = 2;
			snprintf(gpus[g].dev[p][0], FARE_DEV_NAME_MAX, "g%up%us0", g & 7, p & 15);
			snprintf(gpus[g].dev[p][1], FARE_DEV_NAME_MAX, "g%up%us1", g & 7, p & 15);
		}
	}
	err = shm_writer_open(&rig->writer, rig->dir, 0600, gpus, n_gpus, NULL);
	free(gpus);
	for (uint32_t g = 0; !err && g < n_gpus; g++)
		for (unsigned p = 0; p < rig->n_planes; p++)
			for (unsigned s = 0; s < 2; s++)
				shm_writer_sub_port(rig->writer, g, p, s, true, 1);
	return err;
}

void rig_publish(struct rig *rig, unsigned pair, const uint64_t *bps)
{
	struct shm_path path[RIG_MAX_PLANES] = {{0}};

	for (unsigned p = 0; p < rig->n_planes; p++) {
		path[p].usable_bps = bps[p];
		path[p].verdict = bps[p] ? FARE_VERDICT_OK : FARE_VERDICT_NO_ROUTE;
	}
	shm_writer_publish(rig->writer, pair, path, rig->n_planes);
}

static int publish_pair(struct rig *rig, unsigned i, const uint64_t *bps)
{
	struct in6_addr peer;
	int err;

	peer_of(i, &peer);
	err = shm_writer_pair(rig->writer, i / PAIRS_PER_GPU, peer.s6_addr);
	if (err < 0)
		return err;
	rig_publish(rig, i, bps);
	return 0;
}

static int client_open(struct rig_client *client, const struct rig *rig)
{
	int err;

	client->pairs = calloc(rig->n_pairs, sizeof(struct fare_pair *));
	client->sprays = calloc(rig->n_pairs, sizeof(struct fare_spray *));
	err = client->pairs && client->sprays ? fare_attach(&client->fare, rig->dir) : -ENOMEM;
	for (unsigned i = 0; !err && i < rig->n_pairs; i++) {
		struct in6_addr peer;

		peer_of(i, &peer);
		err = fare_pair_open(&client->pairs[i], client->fare, i / PAIRS_PER_GPU, &peer);
		if (!err)
			err = fare_spray_open(&client->sprays[i], client->pairs[i]);
	}
	return err;
}

static void client_close(struct rig_client *client, const struct rig *rig)
{
	for (unsigned i = rig->n_pairs; i-- > 0 && client->pairs && client->sprays;) {
		fare_spray_close(client->sprays[i]);
		fare_pair_close(client->pairs[i]);
	}
	fare_detach(client->fare);
	free(client->pairs);
	free(client->sprays);
}

int rig_open(struct rig *rig, unsigned n_pairs, const uint64_t *bps, unsigned n_planes,
	     unsigned n_clients)
{
	int err;

	memset(rig, 0, sizeof(*rig));
	if (!n_pairs || n_pairs > FARE_MAX_PAIRS || !n_planes || n_planes > RIG_MAX_PLANES ||
	    !n_clients || n_clients > RIG_MAX_CLIENTS)
		return -EINVAL;
	rig->n_pairs = n_pairs;
	rig->n_planes = n_planes;
	rig->n_clients = n_clients;
	snprintf(rig->dir, sizeof(rig->dir), "/tmp/fare-rig-XXXXXX");
	if (!mkdtemp(rig->dir))
		return -errno;
	err = open_writer(rig);
	for (unsigned i = 0; !err && i < n_pairs; i++)
		err = publish_pair(rig, i, bps);
	for (unsigned c = 0; !err && c < n_clients; c++)
		err = client_open(&rig->client[c], rig);
	if (err)
		rig_close(rig);
	return err;
}

void rig_close(struct rig *rig)
{
	char path[64];

	for (unsigned c = 0; c < rig->n_clients; c++)
		client_close(&rig->client[c], rig);
	shm_writer_close(rig->writer);
	snprintf(path, sizeof(path), "%s/%s", rig->dir, SHM_NAME);
	unlink(path);
	rmdir(rig->dir);
	memset(rig, 0, sizeof(*rig));
}
