/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - the service manager's notification socket (sd_notify(3)), without its library.
 *
 * Owns nothing. In: $NOTIFY_SOCKET, $WATCHDOG_USEC. Out: one datagram per call. Thread: any. A
 * daemon that no manager started sends nothing.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether anybody listens. */
bool notify_has_manager(void);
/*
 * Sends state ("READY=1", "STOPPING=1"), which is said once: waits for up to 100 ms while the
 * manager's queue is full. 0 (also when nobody listens) or -errno.
 */
int notify_send(const char *state);
/*
 * RELOADING=1, with the time that sd_notify(3) wants beside it (CLOCK_MONOTONIC). READY=1 ends it.
 */
int notify_reloading(uint64_t now_ns);
/* WATCHDOG=1; as it is said again, a full queue is -EAGAIN at once. */
int notify_watchdog(void);
/* STATUS=: one line for people; as with notify_watchdog(), no wait. */
int notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Half of the watchdog's period in ns: ping at least that often. 0: no watchdog. */
uint64_t notify_watchdog_ns(void);

#endif
