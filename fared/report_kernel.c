/* SPDX-License-Identifier: BSD-2-Clause */
/* report_kernel.c - see report.h: the routes that zebra is given */
#include "base/address.h"
#include "config.h"
#include "report.h"
#include "zebra_sink.h"

static json_t *report_kernel_hops(const struct zebra_sink_view *view)
{
	char gateway[ADDRESS_TEXT_MAX];
	json_t *hops = json_array();

	for (unsigned i = 0; i < view->n_hops; i++)
		json_array_append_new(
			hops, json_pack("{s:i, s:s, s:i}", "ifindex", (int)view->hops[i].ifindex,
					"gateway", address_format(&view->hops[i].gateway, gateway),
					"weight", (int)view->hops[i].weight));
	return hops;
}

static const char *report_kernel_reason(const struct report *r, const struct zebra_sink_view *view)
{
	if (!r->config->kernel_routes)
		return "kernel_routes is off";
	if (!view->answered)
		return "the peer answers no probe: BGP's route is in force";
	if (!view->n_hops)
		return "no plane is usable: BGP's route is in force";
	return view->given ? "" : "zebra has not been given it yet";
}

json_t *report_kernel(const struct report *r, const struct control_request *request)
{
	uint64_t cursor = request->cursor, next = cursor;
	struct zebra_sink_view view;
	char peer[ADDRESS_TEXT_MAX];
	json_t *rows = json_array(), *reply;
	bool more = false;

	while ((more = zebra_sink_next(r->kernel, &next, &view)) &&
	       json_array_size(rows) < report_page_rows(request)) {
		cursor = next;
		json_array_append_new(rows, json_pack("{s:s, s:b, s:s, s:o}", "peer",
						      address_format(&view.peer, peer), "given",
						      view.given, "reason",
						      report_kernel_reason(r, &view), "hops",
						      report_kernel_hops(&view)));
	}
	reply = report_page("kernel", rows, more, cursor);
	json_object_set_new(reply, "on", json_boolean(r->config->kernel_routes));
	json_object_set_new(reply, "connected", json_boolean(zebra_sink_is_connected(r->kernel)));
	json_object_set_new(reply, "table", json_integer(ZEBRA_SINK_TABLE));
	return reply;
}
