/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - carrier, speed and MTU of the local sub-ports, from the kernel.
 *
 * Solely owns: one rtnetlink socket subscribed to link changes, and the last known state of each
 * sub-port's device. In: link messages; the kernel's counts of lost carriers (device_count.h),
 * every 20 ms, or every 2 ms for a second after a message; ethtool's speed where the
 * configuration gives none (link_speed.h). Out:
 * on_link, once per change. Thread: the loop's. The kernel drops messages when we are slow
 * (ENOBUFS): everything is then asked for again, and what the new answer does not mention is
 * gone. It also is late with
 * messages of lost carriers, by milliseconds on a busy machine and by up to a second if another
 * one was lost just before: its counts never are.
 */
#ifndef LINKS_H
#define LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct ev_loop;
struct links;

enum links_state {
	LINKS_ABSENT, /* no device of that name */
	LINKS_DOWN,   /* administratively down */
	LINKS_NO_CARRIER,
	LINKS_UP,
};

struct links_handlers {
	/* ifindex is 0 if absent; speed_bps is 0 unless up and known. */
	void (*on_link)(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
			enum links_state old, enum links_state state, uint64_t speed_bps);
	void (*on_log)(void *arg, int priority, const char *line);
	/* The device's MTU is no longer old (0: it was not known, or is not now); may be NULL. */
	void (*on_mtu)(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, uint32_t old,
		       uint32_t mtu);
};

/*
 * Opens the socket and learns the first state before it returns (on_link is called from here, once
 * for each sub-port). config is borrowed until links_set_config(). 0 or -errno.
 */
int links_create(struct links **out, struct ev_loop *loop, const struct config *config,
		 const struct links_handlers *handlers, void *arg);
void links_destroy(struct links *l);
/*
 * From now on drivers are asked for their speed again every so often, on a thread of its own
 * (link_speed.h), where the configuration gives none: a change is an on_link without a change of
 * state. Call it when privileges are given up. 0 or -errno.
 */
int links_watch_speeds(struct links *l, uint64_t every_ns);
/* A reloaded configuration with the same devices: takes over its speeds. */
void links_set_config(struct links *l, const struct config *config);
/* The last known state of a sub-port; false if there is no such sub-port. */
bool links_view(const struct links *l, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		enum links_state *state, uint64_t *speed_bps);

const char *links_state_name(enum links_state state);

#endif
