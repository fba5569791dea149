/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_alarm.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define IDLE_MAX 64

void soft_alarm_init(struct soft_alarm *alarm)
{
	*alarm = (struct soft_alarm){.epoll_fd = -1, .timer_fd = -1, .wake_fd = -1};
}

int soft_alarm_watch(const struct soft_alarm *alarm, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	return epoll_ctl(alarm->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int soft_alarm_open(struct soft_alarm *alarm)
{
	int err;

	alarm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (alarm->epoll_fd < 0)
		return -errno;
	alarm->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarm->timer_fd < 0)
		return -errno;
	alarm->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (alarm->wake_fd < 0)
		return -errno;
	err = soft_alarm_watch(alarm, alarm->timer_fd);
	return err ? err : soft_alarm_watch(alarm, alarm->wake_fd);
}

void soft_alarm_leave(const struct soft_alarm *alarm)
{
	const int fds[] = {alarm->timer_fd, alarm->wake_fd, alarm->epoll_fd};

	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void soft_alarm_fini(struct soft_alarm *alarm)
{
	soft_alarm_leave(alarm);
	timers_fini(&alarm->timers);
}

static void set_timer(struct soft_alarm *alarm, uint64_t when_ns)
{
	struct itimerspec t = {
		.it_value = {.tv_sec = (time_t)(when_ns / 1000000000u),
			     .tv_nsec = (long)(when_ns % 1000000000u)},
	};

	timerfd_settime(alarm->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	alarm->armed_ns = when_ns;
}

/*
 * An eventfd, not a timer that is due at once: those cost a virtual machine tens of microseconds.
 */
static void set_awake(struct soft_alarm *alarm, bool awake)
{
	uint64_t count = 1;

	if (alarm->is_awake == awake)
		return;
	if ((awake ? write(alarm->wake_fd, &count, sizeof(count))
		   : read(alarm->wake_fd, &count, sizeof(count))) == sizeof(count))
		alarm->is_awake = awake;
}

void soft_alarm_wake(struct soft_alarm *alarm)
{
	if (!alarm->in_progress)
		set_awake(alarm, true);
}

void soft_alarm_rearm(struct soft_alarm *alarm)
{
	uint64_t next = timers_next(&alarm->timers);

	/* an alarm that comes too early is harmless, and cheaper than moving it */
	if (!alarm->in_progress && next && (!alarm->armed_ns || next < alarm->armed_ns))
		set_timer(alarm, next);
}

/* Also quietens a timer that has expired. */
void soft_alarm_end_progress(struct soft_alarm *alarm, bool found, bool is_due, uint64_t now_ns)
{
	bool expired = alarm->armed_ns && alarm->armed_ns <= now_ns;
	uint64_t next = timers_next(&alarm->timers);

	alarm->in_progress = false;
	if (!found)
		alarm->idleness += alarm->idleness < IDLE_MAX;
	else
		alarm->idleness -= alarm->idleness < 2 ? alarm->idleness : 2;
	set_awake(alarm, is_due);
	if (next != alarm->armed_ns &&
	    (expired || (next && (!alarm->armed_ns || next < alarm->armed_ns))))
		set_timer(alarm, next);
}
