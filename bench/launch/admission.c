/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "launch/handshake.h"

#define ADMISSION_LOG_NS UINT64_C(1000000000)

struct admission_guest {
	struct handshake handshake;
	uint64_t until_ns;
	char host[64], port[16];
};

struct admission {
	int listener;
	const struct control_auth *key;
	uint64_t said_ns, n_unsaid; /* refusals */
	unsigned n;		    /* oldest first */
	struct admission_guest guest[ADMISSION_MAX];
};

static void admission_log(struct admission *a, const struct admission_guest *guest,
			  const char *reason)
{
	uint64_t now = clock_now_ns();

	if (a->said_ns && now < a->said_ns + ADMISSION_LOG_NS) {
		a->n_unsaid++;
		return;
	}
	a->said_ns = now;
	fprintf(stderr, "farebench: %s port %s was refused: %s", guest->host, guest->port, reason);
	if (a->n_unsaid)
		fprintf(stderr, " (%llu more before it)", (unsigned long long)a->n_unsaid);
	fputc('\n', stderr);
	a->n_unsaid = 0;
}

static void admission_remove(struct admission *a, unsigned i)
{
	handshake_abandon(&a->guest[i].handshake);
	memmove(&a->guest[i], &a->guest[i + 1], (--a->n - i) * sizeof(a->guest[0]));
}

/* The oldest of the source that has the most. */
static unsigned admission_victim(const struct admission *a)
{
	unsigned victim = 0, most = 0;

	for (unsigned i = 0; i < a->n; i++) {
		unsigned same = 0;

		for (unsigned k = i; k < a->n; k++)
			same += !strcmp(a->guest[i].host, a->guest[k].host);
		if (same > most) {
			most = same;
			victim = i;
		}
	}
	return victim;
}

static void admission_enter(struct admission *a, int fd, const struct sockaddr_storage *from,
			    socklen_t length)
{
	struct admission_guest *guest;

	if (a->n == ADMISSION_MAX) {
		unsigned victim = admission_victim(a);

		admission_log(a, &a->guest[victim], "too many connections that say nothing");
		admission_remove(a, victim);
	}
	guest = &a->guest[a->n];
	guest->until_ns = clock_now_ns() + ADMISSION_MS * UINT64_C(1000000);
	if (getnameinfo((const struct sockaddr *)from, length, guest->host, sizeof(guest->host),
			guest->port, sizeof(guest->port), NI_NUMERICHOST | NI_NUMERICSERV)) {
		snprintf(guest->host, sizeof(guest->host), "somebody");
		snprintf(guest->port, sizeof(guest->port), "?");
	}
	a->n += !handshake_offer(&guest->handshake, fd);
}

/* Not all at once: others have come before, and perhaps have answered. */
static void admission_accept(struct admission *a)
{
	for (unsigned i = 0; i < ADMISSION_MAX / 4; i++) {
		struct sockaddr_storage from = {0};
		socklen_t length = sizeof(from);
		int fd = accept4(a->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		admission_enter(a, fd, &from, length);
	}
}

int admission_next(struct admission *a, struct rendezvous **link)
{
	uint64_t now = clock_now_ns();
	const char *reason;
	unsigned i = 0;

	admission_accept(a);
	while (i < a->n) {
		struct admission_guest *guest = &a->guest[i];
		int err = handshake_admit(&guest->handshake, a->key, link, &reason);

		if (err == -EAGAIN && now < guest->until_ns) {
			i++;
			continue;
		}
		if (err)
			admission_log(a, guest, err == -EAGAIN ? strerror(ETIMEDOUT) : reason);
		admission_remove(a, i);
		if (!err)
			return 0;
	}
	return -EAGAIN;
}

unsigned admission_polled(const struct admission *a, struct pollfd *out)
{
	out[0] = (struct pollfd){.fd = a->listener, .events = POLLIN};
	for (unsigned i = 0; i < a->n; i++)
		out[i + 1] = (struct pollfd){.fd = rendezvous_fd(a->guest[i].handshake.link),
					     .events = POLLIN};
	return a->n + 1;
}

int admission_create(struct admission **out, int listener, const struct control_auth *key)
{
	struct admission *a = calloc(1, sizeof(*a));
	int flags = fcntl(listener, F_GETFL);

	if (!a)
		return -ENOMEM;
	if (flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK)) {
		free(a);
		return -errno;
	}
	a->listener = listener;
	a->key = key;
	*out = a;
	return 0;
}

void admission_destroy(struct admission *a)
{
	if (!a)
		return;
	while (a->n)
		admission_remove(a, a->n - 1);
	free(a);
}
