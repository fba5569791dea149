/* SPDX-License-Identifier: BSD-2-Clause */
/* daemon_addresses.c - see daemon_internal.h: what addresses.h calls back into */
#include "daemon_internal.h"

static void record_address(struct daemon *d, int plane, const char *subject,
			   enum address_fault fault, const char *reason)
{
	static const char *const names[] = {
		[ADDRESS_OK] = "address ok",
		[ADDRESS_SHARED] = "address shared",
		[ADDRESS_OFF_SUBNET] = "address off subnet",
		[ADDRESS_TENTATIVE] = "address tentative",
		[ADDRESS_DUPLICATE] = "address duplicate",
		[ADDRESS_MISSING] = "address missing",
	};
	bool is_bad = fault > ADDRESS_OK && fault != ADDRESS_TENTATIVE;
	struct event e = event_of(is_bad ? EVENT_LINK_LOST : EVENT_LINK_CHANGED, plane);

	event_fill(&e, subject, NULL, names[fault], reason);
	daemon_add_event(d, &e);
}

static void on_gpu(void *arg, uint32_t gpu, bool is_v6, enum address_fault fault)
{
	struct daemon *d = arg;
	char text[ADDRESS_TEXT_MAX];

	path_table_own_address(d->table, gpu, is_v6, fault);
	record_address(d, -1, address_format(&d->config->gpus[gpu].address[is_v6], text), fault,
		       "this GPU's own address");
}

static void on_sub_port(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, bool is_v6,
			enum address_fault fault)
{
	struct daemon *d = arg;

	path_table_sub_port_address(d->table, gpu, plane, sub_port, is_v6, fault);
	record_address(
		d, (int)plane, d->config->gpus[gpu].planes[plane].sub_ports[sub_port].dev, fault,
		fault == ADDRESS_SHARED ? "its subnet is that of another plane's sub-port, too"
		: is_v6			? "of the neighbour's subnet, for IPv6 routes"
					: "of the neighbour's subnet, for IPv4 routes");
}

const struct addresses_handlers daemon_addresses_handlers = {on_gpu, on_sub_port};
