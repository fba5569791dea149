/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vty.h - a question to an FRR daemon over its vty socket, without starting vtysh for each.
 *
 * Owns one connection. In: commands. Out: what the daemon answers, as text or JSON. One thread.
 */
#ifndef VTY_H
#define VTY_H

#include <jansson.h>

struct vty {
	int fd;
	char *text; /* the last answer; grows as needed */
	size_t capacity;
};

/* Connects to DIR/<daemon>.vty. -errno (-ECONNREFUSED, -ENOENT: no such daemon is running). */
int vty_open(struct vty *vty, const char *socket_path);
void vty_close(struct vty *vty);

/* Sends one command and reads its answer into vty->text. -EPROTO if the daemon refused the command,
 * -ETIMEDOUT. */
int vty_ask(struct vty *vty, const char *command);

/* As vty_ask(), parsed; the caller owns *out. -EBADMSG if the answer is not JSON. */
int vty_ask_json(struct vty *vty, const char *command, json_t **out);

#endif
