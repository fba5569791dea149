/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link_speed.h - asks drivers for the speed of ports, again and again.
 *
 * Solely owns: one thread, and what drivers said last. In: the names of the devices. Out: on_speed,
 * on the loop's thread, for each port after each round. A driver answers under the kernel's lock of
 * all devices, which another one that is being reset may hold for seconds: the thread waits for it,
 * and the loop does not. Reason for asking again: a port may change its speed without losing its
 * carrier (a lane of its cable fails, a bond loses a member, firmware falls back), and the kernel
 * has no message for that.
 */
#ifndef LINK_SPEED_H
#define LINK_SPEED_H

#include <stdint.h>

struct ev_loop;
struct link_speed;

/* mbps 0: the driver says nothing, or is not there. */
typedef void (*link_speed_fn)(void *arg, uint32_t port, uint64_t mbps);

/* The driver's speed in Mb/s; 0 if it says none. fd: any socket. It may block, as said above. */
uint64_t link_speed_ask(int fd, const char *dev);

/*
 * Starts the thread, which inherits privileges and system-call filter: call it when those are in
 * force. devices are copied. 0 or -errno.
 */
int link_speed_start(struct link_speed **out, struct ev_loop *loop, const char *const *devices,
		     uint32_t n, uint64_t every_ns, link_speed_fn on_speed, void *arg);
/* Waits for the question under way. NULL is fine. */
void link_speed_stop(struct link_speed *speed);

#endif
