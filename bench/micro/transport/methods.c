/* SPDX-License-Identifier: BSD-2-Clause */
/* methods.c - the list of all methods, those that modules bring included (method.h) */
#include "micro/transport/method.h"

#include <dlfcn.h>

#include "core/command.h"

/* What a module brings, if it was built and its library loads. */
static unsigned methods_load(const char *file, const struct transport_method **out, unsigned room)
{
	const struct transport_method *const *methods;
	char path[4096];
	void *module;
	unsigned n = 0;

	command_sibling(file, path, sizeof(path));
	/* stays: its methods are used until the process ends */
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	methods = module ? dlsym(module, "transport_module") : NULL;
	while (methods && methods[n] && n < room) {
		out[n] = methods[n];
		n++;
	}
	return n;
}

unsigned transport_methods(const struct transport_method *out[TRANSPORT_MAX_METHODS])
{
	static const struct transport_method *const own[] = {
		&transport_raw,	       &transport_soft,		  &transport_soft_read,
		&transport_soft_send,  &transport_group_plane,	  &transport_group_busy,
		&transport_group_flow, &transport_group_spray,	  &transport_group_packet,
		&transport_group_read, &transport_group_notified, &transport_tcp,
		&transport_tcp_tuned,
	};
	unsigned n = 0;

	for (; n < sizeof(own) / sizeof(own[0]); n++)
		out[n] = own[n];
	n += methods_load("transport_ofi.so", out + n, TRANSPORT_MAX_METHODS - 1 - n);
	n += methods_load("transport_ucx.so", out + n, TRANSPORT_MAX_METHODS - 1 - n);
	out[n++] = &transport_udp;
	return n;
}
