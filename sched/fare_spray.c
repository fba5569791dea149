/* SPDX-License-Identifier: BSD-2-Clause */
/* fare_spray.c - the public per-packet face: the daemon's weights of a pair as an exact schedule.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fare_spray_inline.h"
#include "spray_cursor.h"

struct fare_spray {
	struct fare_spray_head head;
};

/* What a change of weights or the end of a block needs. */
struct fare_spray_body {
	struct fare_pair *pair;
	struct attach_watch watch;
	struct spray_weights weights;
	struct spray_cursor cursor;
	bool started;
};

_Static_assert(FARE_MAX_PLANES <= FARE_SPRAY_END, "no plane looks like the mark");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t),
	       "the segment's words, read by the builtin");

static void spray_read(struct fare_spray_body *body, const struct fare_paths *paths)
{
	memset(&body->weights, 0, sizeof(body->weights));
	body->weights.n = paths->n_planes;
	for (unsigned p = 0; p < paths->n_planes; p++) {
		body->weights.bps[p] = paths->path[p].usable_bps;
		body->weights.live[p] = paths->path[p].live_sub_ports;
	}
}

/* New paths: another run, or none, entered where no plane gets a burst. */
static void spray_follow(struct fare_spray_body *body)
{
	struct spray_shared *shared = attach_spray_shared(attach_pair_owner(body->pair));
	const struct spray_run *former = body->cursor.run, *run;
	struct spray_weights before = body->weights;
	struct fare_paths paths;

	if (fare_pair_paths(body->pair, &paths))
		return; /* the writer is busy: what we have still holds, the next pick tries again
			 */
	attach_watch_seen(body->pair, &body->watch, paths.generation);
	spray_read(body, &paths);
	if (body->started && !memcmp(&before, &body->weights, sizeof(before)))
		return;
	spray_shared_take_run(shared, &body->weights, &run); /* none: computed pick by pick */
	if (body->started)
		spray_cursor_reweight(&body->cursor, &body->weights, run);
	else
		spray_cursor_start(&body->cursor, &body->weights, run,
				   attach_pair_phase(body->pair));
	body->started =
		body->cursor.at != body->cursor.end; /* after nothing at all: by phase again */
	spray_shared_give_run(shared, former);
}

int fare_spray_open(struct fare_spray **out, struct fare_pair *pair)
{
	struct fare_spray_body *body;
	struct fare_spray_head *head;
	int err = attach_check_pair(pair);

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (err)
		return err;
	body = calloc(1, sizeof(*body));
	head = body ? spray_shared_take_head(attach_spray_shared(attach_pair_owner(pair))) : NULL;
	if (!head) {
		free(body);
		return -ENOMEM;
	}
	head->body = body;
	body->pair = pair;
	spray_cursor_init(&body->cursor);
	attach_watch_add(pair, &body->watch, head);
	spray_follow(body);
	head->at = body->cursor.at;
	conn_segment_pickers(attach_segment(attach_pair_owner(pair)), 1);
	*out = (struct fare_spray *)(void *)head;
	return 0;
}

void fare_spray_close(struct fare_spray *spray)
{
	struct fare_spray_body *body;
	struct fare *fare;

	if (!spray)
		return;
	body = spray->head.body;
	if (attach_check_pair(body->pair))
		return;
	fare = attach_pair_owner(body->pair);
	conn_segment_pickers(attach_segment(fare), -1);
	attach_watch_remove(body->pair, &body->watch);
	spray_shared_give_run(attach_spray_shared(fare), body->cursor.run);
	spray_shared_give_head(attach_spray_shared(fare), &spray->head);
	free(body);
}

int fare_spray_next(struct fare_spray *spray, struct fare_slot *out)
{
	struct fare_spray_body *body = spray ? spray->head.body : NULL;
	int err = body && out ? attach_check_pair(body->pair) : -EINVAL;
	struct spray_cursor *c;

	if (err)
		return err;
	c = &body->cursor;
	c->at = spray->head.at;
	/* a retired segment's word may change no more: the daemon that was to do that was killed */
	if (__atomic_load_n(spray->head.word, __ATOMIC_ACQUIRE) != spray->head.seen ||
	    (c->at == c->end && attach_retired(attach_pair_owner(body->pair))))
		spray_follow(body);
	if (c->at == c->end && !spray_cursor_refill(c)) {
		spray->head.at = c->at;
		return -ENETUNREACH;
	}
	*out = *c->at++;
	spray->head.at = c->at;
	return 0;
}

int fare_spray_next_1(struct fare_spray *spray, struct fare_slot *out)
{
	return fare_spray_next(spray, out);
}
