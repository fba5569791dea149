/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_peer_group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/address.h"

/* From one process: it opens one for each class of packets (DSCP). */
#define ACCEPTED_MAX 64u

/* ---- making and ending ---- */

/* A line for each group: how many there are is what sharing them is about. */
static void peer_group_announce(const struct peer_group *g)
{
	char text[64 + INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
	struct in6_addr address;

	fare_group_peer(g->group, &address);
	address_format(&address, peer);
	snprintf(text, sizeof(text), "group %s %s", g->opened ? "toward" : "from", peer);
	device_info(g->device, text);
}

static struct peer_group *peer_group_create(struct device *device, struct fare_group *group)
{
	struct peer_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->device = device;
	g->group = group;
	fare_group_set_context(group, g);
	DL_APPEND(device->groups, g);
	return g;
}

void peer_group_close(struct peer_group *group)
{
	DL_DELETE(group->device->groups, group);
	fare_group_close(group->group);
	free(group);
}

static struct peer_group *peer_group_find(struct device *device, const struct fare_address *peer,
					  uint8_t dscp)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		if (g->opened && !g->closed && g->dscp == dscp &&
		    !memcmp(&g->peer, peer, sizeof(*peer)))
			return g;
	return NULL;
}

int peer_group_open(struct peer_group **out, struct device *device, const struct fare_address *peer,
		    uint8_t dscp)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
					     /* all communicators share them */
					     .max_messages = FARE_MESSAGES_MAX,
					     .message_bytes = WIRE_BYTES,
					     .private_data = WIRE_GREETING,
					     .private_bytes = sizeof(WIRE_GREETING),
					     .dscp = dscp};
	struct fare_group *group;
	int err;

	*out = peer_group_find(device, peer, dscp);
	if (*out)
		return 0;
	err = fare_group_open_to(&group, device->domain, peer, &options);
	if (err)
		return err;
	*out = peer_group_create(device, group);
	if (!*out) {
		fare_group_close(group);
		return -ENOMEM;
	}
	(*out)->opened = true;
	(*out)->peer = *peer;
	(*out)->dscp = dscp;
	peer_group_announce(*out);
	return 0;
}

int peer_group_send(struct peer_group *group, const struct wire_message *m, uint64_t context)
{
	uint8_t bytes[WIRE_BYTES];
	const struct fare_send send = {.data = bytes, .length = WIRE_BYTES, .context = context};

	wire_encode(m, bytes);
	return fare_group_send(group->group, &send);
}

void peer_group_cut(struct peer_group *group, const char *why)
{
	device_failed(group->device, why, -EPROTO);
	group->is_cut = true;
	fare_group_disconnect(group->group);
}

/* ---- events ---- */

void peer_group_on_connected(struct peer_group *group)
{
	size_t bytes;
	const void *said = fare_group_private(group->group, &bytes);

	group->connected = wire_is_greeting(said, bytes);
	if (!group->connected)
		fare_group_disconnect(group->group);
}

void peer_group_on_closed(struct peer_group *group, int status)
{
	group->closed = true;
	/* a peer that has done closes the group: that is no failure */
	if (!group->connected && group->opened)
		device_failed(group->device, "no connection", status ? status : -EPROTONOSUPPORT);
}

static unsigned count_from(const struct device *device, const struct fare_address *peer)
{
	const struct peer_group *g;
	unsigned n = 0;

	DL_FOREACH (device->groups, g)
		n += !g->opened && !memcmp(&g->peer, peer, sizeof(*peer));
	return n;
}

void peer_group_on_accepted(struct device *device, struct fare_group *group)
{
	struct peer_group *g = NULL;
	struct fare_address peer;

	if (!fare_group_peer_address(group, &peer) && count_from(device, &peer) < ACCEPTED_MAX)
		g = peer_group_create(device, group);
	if (!g) {
		fare_group_disconnect(group);
		return;
	}
	g->peer = peer;
	peer_group_announce(g);
}

void peer_groups_inherit(struct device *device)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		g->closed = true;
}
