/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_alarm.h - when an endpoint's owner has to call progress: a descriptor that is readable then.
 *
 * Owns an epoll descriptor, a timer, an eventfd and the timers of QPs. In: deadlines, wake-ups,
 * whether calls of progress found something. Out: a readable descriptor. One thread.
 */
#ifndef SOFT_ALARM_H
#define SOFT_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/timers.h"

/* from here on: the caller does not wait for the descriptor before it calls */
#define SOFT_ALARM_SPINNING 8

struct soft_alarm {
	int epoll_fd, timer_fd, wake_fd;
	struct timers timers;
	uint64_t armed_ns; /* when timer_fd expires; 0: off */
	bool is_awake;	   /* wake_fd is readable */
	bool in_progress;
	unsigned idleness; /* rises with calls of progress that find nothing, falls with others */
};

void soft_alarm_init(struct soft_alarm *alarm);
int soft_alarm_open(struct soft_alarm *alarm); /* 0 or -errno */
void soft_alarm_fini(struct soft_alarm *alarm);
/* In a child of fork(): closes the descriptors and changes nothing else. */
void soft_alarm_leave(const struct soft_alarm *alarm);
/* The descriptor is readable when fd is, too. 0 or -errno. */
int soft_alarm_watch(const struct soft_alarm *alarm, int fd);

/* Progress is due without a datagram or deadline. */
void soft_alarm_wake(struct soft_alarm *alarm);
/* A deadline may have moved closer outside of progress. */
void soft_alarm_rearm(struct soft_alarm *alarm);
/* Progress ends: it found something, or not; more is due at once, or not. */
void soft_alarm_end_progress(struct soft_alarm *alarm, bool found, bool is_due, uint64_t now_ns);
/* True: the caller polls without waiting for the descriptor, and mostly finds nothing. */
static inline bool soft_alarm_is_spinning(const struct soft_alarm *alarm)
{
	return alarm->idleness >= SOFT_ALARM_SPINNING;
}

#endif
