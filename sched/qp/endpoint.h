/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint.h - the endpoint of a domain: its provider, what it was made with, and the time of the
 * current poll. Control messages leave here.
 *
 * Written by domain.c and engine.c; all below them read it. The domain's thread.
 */
#ifndef QP_ENDPOINT_H
#define QP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/control_auth.h"
#include "qp/peer_address.h"
#include "qp/provider.h"

#define ENDPOINT_NEVER UINT64_MAX /* a time that does not come */

struct control_message;

struct endpoint {
	const struct qp_provider *provider;
	struct qp_endpoint *handle;
	const struct qp_endpoint_info *info; /* of handle */
	struct qp_endpoint_attr attr;
	struct control_auth auth;
	uint64_t incarnation; /* of this process */
	/* never returns 0; a simulation has a seeded one */
	uint64_t (*random)(void *arg);
	void *random_arg;
	uint64_t now_ns;     /* of the current poll */
	uint64_t resumed_ns; /* of the first poll after the application was away for long */
	bool drained;	     /* all completions of the provider were taken */
};

static inline uint64_t endpoint_random(const struct endpoint *ep)
{
	return ep->random(ep->random_arg);
}

/*
 * Authenticates and sends a message over plane and sub_port (QP_ANY_PLANE: the kernel chooses) from
 * source_port (0: the channel's own). 0, or -errno: it was not sent. Messages may be lost: senders
 * repeat them.
 */
int endpoint_send(const struct endpoint *ep, const struct peer_address *remote,
		  struct control_message *message, uint16_t plane, uint16_t sub_port,
		  uint16_t source_port);

#endif
