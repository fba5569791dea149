/* fare_spray.c - the public per-packet face: the daemon's weights of a pair as an exact schedule.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fare_spray_inline.h"
#include "spray_cursor.h"

#define HEAD_ALIGN 64 /* one cache line per pick, not two */

struct fare_spray {
	struct fare_spray_head head; /* first: fare_spray_pick() */
	struct fare_pair *pair;
	struct attach_watch watch;
	struct spray_weights weights;
	struct spray_cursor cursor;
	bool started;
};

_Static_assert(offsetof(struct fare_spray, head) == 0, "the head comes first");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t),
	       "the segment's words, read by the builtin");

static void take(struct fare_spray *spray, const struct fare_paths *paths)
{
	memset(&spray->weights, 0, sizeof(spray->weights));
	spray->weights.n = paths->n_planes;
	for (unsigned p = 0; p < paths->n_planes; p++) {
		spray->weights.bps[p] = paths->path[p].usable_bps;
		spray->weights.live[p] = paths->path[p].live_sub_ports;
	}
}

/* New paths: another run, or none, entered where no plane gets a burst. */
static void follow(struct fare_spray *spray)
{
	struct spray_runs *runs = attach_runs(attach_pair_owner(spray->pair));
	const struct spray_run *former = spray->cursor.run, *run;
	struct spray_weights before = spray->weights;
	struct fare_paths paths;

	if (fare_pair_paths(spray->pair, &paths))
		return; /* the writer is busy: what we have still holds, the next pick tries again
			 */
	attach_watch_seen(spray->pair, &spray->watch, paths.generation);
	take(spray, &paths);
	if (spray->started && !memcmp(&before, &spray->weights, sizeof(before)))
		return;
	spray_runs_get(runs, &spray->weights, &run); /* none: computed pick by pick */
	if (spray->started)
		spray_cursor_reweight(&spray->cursor, &spray->weights, run);
	else
		spray_cursor_start(&spray->cursor, &spray->weights, run,
				   attach_pair_phase(spray->pair));
	spray->started =
		spray->cursor.at != spray->cursor.end; /* after nothing at all: by phase again */
	spray_runs_put(runs, former);
}

static void head_update(struct fare_spray *spray)
{
	spray->head.at = spray->cursor.at;
	spray->head.end = spray->cursor.end;
}

int fare_spray_open(struct fare_spray **out, struct fare_pair *pair)
{
	struct fare_spray *spray;
	void *memory;

	*out = NULL;
	if (posix_memalign(&memory, HEAD_ALIGN, sizeof(*spray)))
		return -ENOMEM;
	*out = spray = memset(memory, 0, sizeof(*spray));
	spray->pair = pair;
	spray_cursor_init(&spray->cursor);
	attach_watch_add(pair, &spray->watch, &spray->head.word, &spray->head.seen);
	follow(spray);
	head_update(spray);
	return 0;
}

void fare_spray_close(struct fare_spray *spray)
{
	if (!spray)
		return;
	attach_watch_remove(spray->pair, &spray->watch);
	spray_runs_put(attach_runs(attach_pair_owner(spray->pair)), spray->cursor.run);
	free(spray);
}

int fare_spray_next(struct fare_spray *spray, struct fare_slot *out)
{
	struct spray_cursor *c = &spray->cursor;
	uint8_t unit;

	c->at = spray->head.at;
	if (__atomic_load_n(spray->head.word, __ATOMIC_ACQUIRE) != spray->head.seen)
		follow(spray);
	if (c->at == c->end && !spray_cursor_refill(c)) {
		head_update(spray);
		return -ENETUNREACH;
	}
	unit = *c->at++;
	head_update(spray);
	out->plane = (uint16_t)SPRAY_UNIT_PLANE(unit);
	out->sub_port = (uint16_t)SPRAY_UNIT_SUB_PORT(unit);
	return 0;
}
