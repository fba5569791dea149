/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_peer_group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/address.h"
#include "nccl/nccl_comm.h"

/* From one process: it opens one for each class of packets (DSCP). */
#define ACCEPTED_MAX 64u

/* ---- making and ending ---- */

/* A line for each group: how many there are is what sharing them is about. */
static void announce(const struct peer_group *g)
{
	char text[64 + INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
	struct in6_addr address;

	fare_group_peer(g->group, &address);
	address_format(&address, peer);
	snprintf(text, sizeof(text), "group %s %s", g->opened ? "toward" : "from", peer);
	device_info(g->device, text);
}

static struct peer_group *create(struct device *device, struct fare_group *group)
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

static void destroy(struct peer_group *g)
{
	DL_DELETE(g->device->groups, g);
	fare_group_close(g->group);
	free(g);
}

static struct peer_group *find(struct device *device, const struct fare_address *peer, uint8_t dscp)
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

	*out = find(device, peer, dscp);
	if (*out)
		return 0;
	err = fare_group_open_to(&group, device->domain, peer, &options);
	if (err)
		return err;
	*out = create(device, group);
	if (!*out) {
		fare_group_close(group);
		return -ENOMEM;
	}
	(*out)->opened = true;
	(*out)->peer = *peer;
	(*out)->dscp = dscp;
	announce(*out);
	return 0;
}

/* Not the number that became free last: what the peer has under way may still name it. */
uint16_t peer_group_new_number(struct peer_group *group)
{
	do
		group->last_comm++;
	while (comm_find(group, group->last_comm));
	return group->last_comm;
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

static bool greets(const void *data, size_t bytes)
{
	return bytes == sizeof(WIRE_GREETING) && !memcmp(data, WIRE_GREETING, bytes);
}

int peer_group_on_request(void *arg, struct fare_request *request)
{
	(void)arg;
	if (!greets(request->data, request->bytes))
		return -EPROTONOSUPPORT;
	memcpy(request->reply, WIRE_GREETING, sizeof(WIRE_GREETING));
	request->reply_bytes = sizeof(WIRE_GREETING);
	return 0;
}

static void on_connected(struct peer_group *g)
{
	size_t bytes;
	const void *said = fare_group_private(g->group, &bytes);

	g->connected = greets(said, bytes);
	if (!g->connected)
		fare_group_disconnect(g->group);
}

static void on_closed(struct peer_group *g, int status)
{
	g->closed = true;
	/* the peer's closing is its way to say that it has done */
	if (!g->connected && g->opened)
		device_failed(g->device, "no connection", status ? status : -EPROTONOSUPPORT);
}

static void on_message(struct peer_group *g, const struct fare_event *e)
{
	struct wire_message m;

	if (g->is_cut || wire_decode(e->data, e->bytes, &m))
		return;
	if (m.kind == WIRE_HELLO && !g->opened)
		comm_on_hello(g, &m);
	else if (m.kind == WIRE_CREDIT)
		comm_on_credit(comm_find(g, m.comm), &m.credit);
	else if (m.kind == WIRE_BYE)
		comm_on_bye(comm_find(g, m.comm));
}

static unsigned count_from(const struct device *device, const struct fare_address *peer)
{
	const struct peer_group *g;
	unsigned n = 0;

	DL_FOREACH (device->groups, g)
		n += !g->opened && !memcmp(&g->peer, peer, sizeof(*peer));
	return n;
}

static void on_accepted(struct device *device, struct fare_group *group)
{
	struct peer_group *g = NULL;
	struct fare_address peer;

	if (!fare_group_peer_address(group, &peer) && count_from(device, &peer) < ACCEPTED_MAX)
		g = create(device, group);
	if (!g) {
		fare_group_disconnect(group);
		return;
	}
	g->peer = peer;
	announce(g);
}

void peer_group_on_event(struct device *device, const struct fare_event *event)
{
	struct peer_group *g = fare_group_context(event->group);

	if (event->kind == FARE_EVENT_ACCEPTED)
		on_accepted(device, event->group);
	if (!g)
		return;
	switch (event->kind) {
	case FARE_EVENT_CONNECTED:
		on_connected(g);
		break;
	case FARE_EVENT_MESSAGE:
		on_message(g, event);
		break;
	case FARE_EVENT_RECEIVED:
		comm_on_data(comm_find(g, (uint16_t)(event->tag >> 16)), (uint16_t)event->tag,
			     event->bytes);
		break;
	case FARE_EVENT_COMPLETED:
		comm_on_completed(g, event);
		break;
	case FARE_EVENT_CLOSED:
		on_closed(g, event->status);
		break;
	case FARE_EVENT_ACCEPTED:
	case FARE_EVENT_SHIFTED:
	case FARE_EVENT_BLOCKED:
	case FARE_EVENT_RESUMED:
	case FARE_EVENT_RELEASED: /* no write of ours has a deadline */
		break;
	}
}

/* ---- sweeping ---- */

/* The group's end tells the peer, too: of its last communicator it needs no word. */
static bool is_last(const struct peer_group *g, const struct comm *comm)
{
	return g->opened && g->comms == comm && !comm_after(comm);
}

static void sweep_comms(struct peer_group *g)
{
	struct comm *next;

	for (struct comm *c = g->comms; c; c = next) {
		next = comm_after(c);
		if (g->closed)
			comm_on_bye(c);
		if (comm_is_leaving(c) && (g->closed || is_last(g, c) || comm_says_bye(c)))
			comm_free(c);
	}
}

void peer_group_sweep(struct device *device)
{
	struct peer_group *g, *next;

	DL_FOREACH_SAFE (device->groups, g, next) {
		if (g->n_leaving || g->closed)
			sweep_comms(g);
		if (!g->comms && (g->opened || g->closed))
			destroy(g);
	}
}

bool peer_groups_close(struct device *device)
{
	struct peer_group *g, *next;

	DL_FOREACH (device->groups, g)
		if (g->comms)
			return false;
	DL_FOREACH_SAFE (device->groups, g, next)
		destroy(g);
	return true;
}

void peer_groups_inherit(struct device *device)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		g->closed = true;
}
