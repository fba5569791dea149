/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_link.h"

#include <stdlib.h>
#include <utlist.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_wire.h"

struct ofi_link *ofi_link_add(struct ofi_peer *peer, struct fare_group *group)
{
	struct ofi_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->peer = peer;
	link->group = group;
	fare_group_peer(group, &peer->gpu);
	fare_group_set_context(group, link);
	DL_APPEND(peer->links, link);
	return link;
}

static struct ofi_greeting own_greeting(const struct ofi_domain *domain)
{
	return (struct ofi_greeting){.version = OFI_WIRE_VERSION,
				     .window_bytes = domain->env.window_bytes};
}

static int open_link(struct ofi_peer *peer)
{
	struct ofi_domain *domain = peer->domain;
	uint8_t greeting[OFI_GREETING_BYTES];
	const struct ofi_greeting own = own_greeting(domain);
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = sizeof(greeting)};
	struct fare_group *group;
	int err;

	ofi_greeting_encode(&own, greeting);
	err = fare_group_open_to(&group, domain->fare_domain, &peer->address, &options);
	if (err) {
		ofi_mr_say_why(domain, "a connection cannot be opened", err);
		return err;
	}
	peer->tx = ofi_link_add(peer, group);
	if (!peer->tx) {
		fare_group_close(group);
		return -ENOMEM;
	}
	peer->tx->opened = true;
	return 0;
}

int ofi_link_ensure(struct ofi_peer *peer)
{
	struct ofi_link *link;
	int err = 0;

	if (!peer->tx)
		DL_FOREACH (peer->links, link)
			if (link->connected && !link->closed)
				peer->tx = link;
	if (!peer->tx && peer->is_cut)
		return -ECONNABORTED;
	if (!peer->tx && peer->reopen_ns)
		return -EAGAIN;
	if (!peer->tx)
		err = open_link(peer);
	if (err)
		return err;
	return peer->tx->connected && !peer->tx->closed ? 0 : -EAGAIN;
}

int ofi_link_check_greeting(struct ofi_domain *domain, const void *data, size_t bytes)
{
	uint32_t own_bytes = domain->env.window_bytes;
	struct ofi_greeting peer;
	int err = ofi_greeting_decode(data, bytes, &peer);

	if (!err && peer.window_bytes == own_bytes)
		return 0;
	if (!ofi_peers_may_say(domain))
		return -EPROTONOSUPPORT;
	if (err == -EPROTONOSUPPORT)
		OFI_WARN(FI_LOG_EP_CTRL,
			 "a peer has version 0x%02x of this provider's protocol, this process "
			 "0x%02x: use one release of fared at all processes\n",
			 (unsigned)(uint8_t)peer.version, (unsigned)OFI_WIRE_VERSION);
	else if (err)
		OFI_WARN(FI_LOG_EP_CTRL, "a peer does not have this provider's protocol\n");
	else
		OFI_WARN(FI_LOG_EP_CTRL,
			 "a peer has FI_FARE_WINDOW_BYTES=%u, this process %u: they must be the "
			 "same at all processes\n",
			 peer.window_bytes, own_bytes);
	return -EPROTONOSUPPORT;
}

int ofi_link_on_request(void *arg, struct fare_request *request)
{
	struct ofi_domain *domain = arg;
	const struct ofi_greeting own = own_greeting(domain);
	int err = ofi_link_check_greeting(domain, request->data, request->bytes);

	if (err)
		return err;
	/* it asks again */
	if (ofi_peers_are_full(domain, &request->peer))
		return -EUSERS;
	ofi_greeting_encode(&own, request->reply);
	request->reply_bytes = OFI_GREETING_BYTES;
	return 0;
}
