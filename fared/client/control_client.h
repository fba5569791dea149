/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_client.h - the client's end of a daemon's control socket: requests and replies as JSON,
 * a line each.
 *
 * Solely owns: one connection. In: requests (borrowed). Out: replies, the caller's to free. Thread:
 * one at a time; calls wait for the daemon, ten seconds at most. Knows nothing of the daemon but
 * RUN_DIR/control.sock, and operate.sock for operators.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <jansson.h>

#define CONTROL_CLIENT_RUN_DIR "/run/fared"

struct control_client;

/* 0 or -errno, with why in words. */
int control_client_open(struct control_client **out, const char *run_dir, char *why,
			size_t why_size);
void control_client_close(struct control_client *c);
/* The reply, if it says ok; NULL: control_client_why(). */
json_t *control_client_ask(struct control_client *c, const json_t *request);
/* The same, whether the reply says ok or not; where not, control_client_why() is its error. */
json_t *control_client_exchange(struct control_client *c, const json_t *request);
/*
 * As control_client_ask(), for rows that come in pages: page after page, and the first reply with
 * all rows under rows_key. The cursor of the next page goes into request under cursor_key.
 */
json_t *control_client_ask_all(struct control_client *c, json_t *request, const char *rows_key,
			       const char *cursor_key);
/* After a request that is answered for ever: the next line, however long that takes. */
json_t *control_client_next(struct control_client *c);
/* Why the last call returned NULL. */
const char *control_client_why(const struct control_client *c);

#endif
