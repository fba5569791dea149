/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

#define N_STOPS (sizeof(stops) / sizeof(*stops))

void interrupt_hold(void)
{
	struct sigaction now;
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < N_STOPS; i++)
		if (!sigaction(stops[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&held, stops[i]);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

int interrupt_pending(void)
{
	sigset_t pending;

	if (sigpending(&pending))
		return 0;
	for (size_t i = 0; i < N_STOPS; i++)
		if (sigismember(&pending, stops[i]))
			return stops[i];
	return 0;
}
