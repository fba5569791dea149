/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_listener.h - a listening socket in the run directory, and who comes in by it.
 *
 * Solely owns: the socket and its file. In: who may connect. Out: credentials of those who did, as
 * the kernel knows them. Thread: the loop's.
 */
#ifndef CONTROL_LISTENER_H
#define CONTROL_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "control.h"

struct control_listener {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd;
};

/*
 * Listens at run_dir/name, in place of what a former daemon left there. For uid and, unless it is
 * (gid_t)-1, for gid. 0 or -errno; -EPERM: see privileges_give(). On error nothing is open.
 */
int control_listener_open(struct control_listener *listener, const char *run_dir, const char *name,
			  uid_t uid, gid_t gid);
/* Closes it and removes its file. */
void control_listener_close(struct control_listener *listener);
/* Who is at the other end of a connection, and the most that they may. false: nothing. */
bool control_listener_admit(int fd, const struct control_groups *groups,
			    struct control_client *who);

#endif
