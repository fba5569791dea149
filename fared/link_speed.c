/* SPDX-License-Identifier: BSD-2-Clause */
#include "link_speed.h"

#include <errno.h>
#include <ev.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct link_speed {
	struct ev_loop *loop;
	ev_async answered;
	link_speed_fn on_speed;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t change;
	bool stop;
	int fd;
	uint64_t every_ns;
	uint32_t n;
	struct asked {
		char dev[IFNAMSIZ];
		uint64_t mbps;
	} ports[];
};

/* The first call learns how many words the bitmaps have. */
uint64_t link_speed_ask(int fd, const char *dev)
{
	union {
		struct ethtool_link_settings settings;
		char room[sizeof(struct ethtool_link_settings) + 3 * 4 * 128];
	} u = {.settings = {.cmd = ETHTOOL_GLINKSETTINGS}};
	struct ifreq request = {0};
	int words;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", dev);
	request.ifr_data = (void *)&u;
	if (ioctl(fd, SIOCETHTOOL, &request) || u.settings.link_mode_masks_nwords >= 0)
		return 0;
	words = -u.settings.link_mode_masks_nwords;
	u.settings = (struct ethtool_link_settings){.cmd = ETHTOOL_GLINKSETTINGS,
						    .link_mode_masks_nwords = (__s8)words};
	if (ioctl(fd, SIOCETHTOOL, &request) || u.settings.speed == (__u32)SPEED_UNKNOWN)
		return 0;
	return u.settings.speed;
}

/* ---- the thread ---- */

/* With the lock. False: it is to end. */
static bool wait_a_while(struct link_speed *s)
{
	struct timespec until;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns = (uint64_t)until.tv_nsec + s->every_ns;
	until.tv_sec += (time_t)(ns / 1000000000u);
	until.tv_nsec = (long)(ns % 1000000000u);
	while (!s->stop && pthread_cond_timedwait(&s->change, &s->lock, &until) != ETIMEDOUT)
		;
	return !s->stop;
}

static void *link_speed_run(void *arg)
{
	struct link_speed *s = arg;

	pthread_mutex_lock(&s->lock);
	while (wait_a_while(s)) {
		for (uint32_t i = 0; i < s->n && !s->stop; i++) {
			uint64_t mbps;

			pthread_mutex_unlock(&s->lock);
			mbps = link_speed_ask(s->fd, s->ports[i].dev);
			pthread_mutex_lock(&s->lock);
			s->ports[i].mbps = mbps;
		}
		ev_async_send(s->loop, &s->answered);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the loop ---- */

static void on_answered(struct ev_loop *loop, ev_async *w, int revents)
{
	struct link_speed *s = w->data;

	(void)loop;
	(void)revents;
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t mbps;

		pthread_mutex_lock(&s->lock);
		mbps = s->ports[i].mbps;
		pthread_mutex_unlock(&s->lock);
		s->on_speed(s->arg, i, mbps);
	}
}

/* Signals are the loop's. */
static int start_thread(struct link_speed *s)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->change, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, link_speed_run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int link_speed_start(struct link_speed **out, struct ev_loop *loop, const char *const *devices,
		     uint32_t n, uint64_t every_ns, link_speed_fn on_speed, void *arg)
{
	struct link_speed *s = calloc(1, sizeof(*s) + n * sizeof(s->ports[0]));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->on_speed = on_speed;
	s->arg = arg;
	s->every_ns = every_ns;
	s->n = n;
	for (uint32_t i = 0; i < n; i++)
		snprintf(s->ports[i].dev, sizeof(s->ports[i].dev), "%s", devices[i]);
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0) {
		err = -errno;
		free(s);
		return err;
	}
	ev_async_init(&s->answered, on_answered);
	s->answered.data = s;
	ev_async_start(loop, &s->answered);
	err = start_thread(s);
	if (err) {
		ev_async_stop(loop, &s->answered);
		close(s->fd);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

void link_speed_stop(struct link_speed *speed)
{
	if (!speed)
		return;
	pthread_mutex_lock(&speed->lock);
	speed->stop = true;
	pthread_cond_signal(&speed->change);
	pthread_mutex_unlock(&speed->lock);
	pthread_join(speed->thread, NULL);
	ev_async_stop(speed->loop, &speed->answered);
	pthread_cond_destroy(&speed->change);
	pthread_mutex_destroy(&speed->lock);
	close(speed->fd);
	free(speed);
}
