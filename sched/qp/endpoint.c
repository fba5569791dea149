/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/endpoint.h"

#include "qp/control_wire.h"

int endpoint_send(const struct endpoint *ep, const struct peer_address *remote,
		  struct control_message *message, uint16_t plane, uint16_t sub_port,
		  uint16_t source_port)
{
	uint8_t buf[QP_CONTROL_MAX];
	struct qp_control control = {.remote = remote->address,
				     .remote_port = remote->port,
				     .plane = plane,
				     .sub_port = sub_port,
				     .udp_source_port = source_port,
				     .data = buf};
	int n;

	message->source = ep->incarnation;
	message->source_port = ep->info->port;
	n = control_wire_encode(message, buf + CONTROL_AUTH_BYTES,
				sizeof(buf) - CONTROL_AUTH_BYTES);
	if (n < 0)
		return n;
	control_auth_sign(&ep->auth, &ep->attr.address, &remote->address, buf, (size_t)n);
	control.length = CONTROL_AUTH_BYTES + (size_t)n;
	return ep->provider->control_send(ep->handle, &control);
}
