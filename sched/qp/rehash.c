/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rehash.c - a lane that is up notices when its source ports lead elsewhere than they did, and
 * follows.
 *
 * A leaf hashes anew whenever its links to the peer become fewer or more. Then ports that covered
 * the remote sub-ports evenly may crowd on some. So a lane asks, by echoes from its own ports,
 * where they lead now; if that is not even, it asks from others, too, and moves as few of its ways
 * as make it so. Remote sub-ports that no answer names are lost, or never were: they do not count.
 *
 * When: at once on coming up (what the daemon knew may be seconds old), on a change of the path, or
 * of the daemon's list. Then after FIRST_NS, twice that, and so on. For carrier returns seconds
 * before BGP does and nobody says when the leaf is done: so what it did last is noticed after no
 * longer than it took to do it. The intervals end at MAX_NS, which costs a datagram a QP and is
 * only there for what neither the path nor the daemon's list shows.
 *
 * Where echoes do not travel as QPs' packets do (qp_provider.echoes_tell_ports) nothing is asked:
 * over devices, QPs are addressed to the remote sub-port's own device and no hash of the leaf's
 * decides.
 *
 * Owns struct lane's rehash; while the lane is up, its learning, too.
 */
#include "qp/internal.h"

/* for an answer: the QPs' own time-out, beyond the longest queue that fills up */
#define WAIT_NS	 UINT64_C(134000000)
#define SENDS	 3
#define FIRST_NS (2 * WAIT_NS)
#define MAX_NS	 UINT64_C(32000000000)

/* With one way there is nothing to be uneven. */
static bool follows(const struct fare_group *group, unsigned l)
{
	const struct fare_group_options *o = &group->options;
	unsigned n = o->mode == FARE_MODE_PACKET ? group->lanes[l].n_ways : group->lanes[l].n_qps;

	return group->domain->provider->echoes_tell_ports && o->mode != FARE_MODE_KERNEL &&
	       !o->random_ports && n > 1;
}

static void rest(struct fare_group *group, unsigned l, bool found)
{
	struct rehash *r = &group->lanes[l].rehash;
	uint64_t jitter;

	r->interval_ns = found ? FIRST_NS : r->interval_ns;
	/* lanes made together need not ask together */
	jitter = group->lanes[l].learning.nonce % (r->interval_ns / 4);
	r->due_ns = group->domain->now_ns + r->interval_ns - jitter;
	r->interval_ns = r->interval_ns < MAX_NS / 2 ? r->interval_ns * 2 : MAX_NS;
	r->state = REHASH_REST;
	group->lanes[l].learning.nonce = 0;
}

static void ask(struct fare_group *group, unsigned l)
{
	ports_send(group, l);
	group->lanes[l].rehash.due_ns = group->domain->now_ns + WAIT_NS;
}

static void begin(struct fare_group *group, unsigned l, enum rehash_state state)
{
	struct rehash *r = &group->lanes[l].rehash;

	ports_start_own(group, l, state == REHASH_WIDE);
	r->state = state;
	if (state == REHASH_OWN)
		r->began_ns = group->domain->now_ns;
	ask(group, l);
}

void rehash_start(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	lane->rehash = (struct rehash){
		.met = candidates_remotes(lane->learning.candidates, lane->learning.n),
		.seen = attach_pair_ports_sequence(group->pair, l),
		.due_ns = group->domain->now_ns,
		.interval_ns = FIRST_NS};
}

/* Not sooner than an answer takes: what changes faster than that cannot be followed. */
void rehash_hint(struct fare_group *group, unsigned l)
{
	struct rehash *r = &group->lanes[l].rehash;
	uint64_t soonest = r->began_ns + WAIT_NS, now = group->domain->now_ns;

	r->state = REHASH_REST; /* half of a round's answers may be old news */
	r->interval_ns = FIRST_NS;
	r->due_ns = soonest > now ? soonest : now;
	group->lanes[l].learning.nonce = 0;
}

/* The way is still what was asked about. */
static bool is_own(const struct fare_group *group, unsigned l, unsigned i)
{
	const struct lane *lane = &group->lanes[l];
	const struct candidate *c = &lane->learning.candidates[i];

	if (group->options.mode == FARE_MODE_PACKET)
		return i < lane->n_ways && lane->ways[i].sub_port == c->local_sub_port &&
		       lane->ways[i].udp_source_port == c->port;
	return lane->qps[i].sub_port == c->local_sub_port && lane->qps[i].source_port == c->port;
}

/* Way i leaves from c's port from now on. */
static int move(struct fare_group *group, unsigned l, unsigned i, const struct candidate *c)
{
	struct lane_qp *q;
	int err;

	if (group->options.mode == FARE_MODE_PACKET)
		return ways_replace(group, l, i, c->port);
	q = &group->lanes[l].qps[i];
	err = group->domain->provider->qp_move(q->qp, q->sub_port, c->port);
	if (!err)
		q->source_port = c->port;
	return err;
}

static void show(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	for (unsigned i = 0; group->options.mode != FARE_MODE_PACKET && i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];

		q->remote_sub_port = -1; /* from its home, that is */
		if (q->sub_port == q->home)
			q->remote_sub_port = (int8_t)lane->learning.candidates[i].remote_sub_port;
	}
	shown_lane(group, l);
}

/* As few ways as it takes get other ports. Whether any did. */
static bool even_out(struct fare_group *group, unsigned l)
{
	struct learning *learning = &group->lanes[l].learning;
	struct candidate *c = learning->candidates;
	unsigned from, to;
	bool moved = false;

	while (candidates_improve(c, learning->n_own, learning->n, &from, &to)) {
		c[to].used = true; /* by us now, or by somebody else meanwhile */
		if (!is_own(group, l, from) || move(group, l, from, &c[to]))
			continue;
		c[from] = c[to];
		moved = true;
	}
	return moved;
}

static bool answered_all_own(const struct learning *learning)
{
	for (unsigned i = 0; i < learning->n_own; i++)
		if (!learning->candidates[i].answered)
			return false;
	return true;
}

/* Those that the daemon's list names. */
static uint32_t listed(const struct fare_group *group, unsigned l)
{
	struct fare_port known[FARE_PORTS_MAX];
	uint32_t remotes = 0;
	int n = fare_pair_ports(group->pair, l, known, FARE_PORTS_MAX);

	for (int i = 0; i < n; i++)
		remotes |= 1u << known[i].remote_sub_port;
	return remotes;
}

/*
 * Fewer remote sub-ports than there are here: may be all that there are, or all that these ports
 * happen to meet, one being back that they never met. So others are asked, too, in vain where the
 * peer has fewer.
 */
static bool may_be_more(const struct fare_group *group, unsigned l, uint32_t remotes)
{
	unsigned n = (unsigned)__builtin_popcount(remotes);

	return n < group->lanes[l].learning.n_own && n < group->paths.path[l].n_sub_ports;
}

/* The answers are in, or as many as come. */
static void judge(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	const struct learning *learning = &lane->learning;
	uint32_t remotes = candidates_remotes(learning->candidates, learning->n);
	bool moved = false;

	if (!answered_all_own(learning)) {
		/* a plane that loses echoes has another trouble: nothing to conclude */
		rest(group, l, false);
		return;
	}
	if (lane->rehash.state == REHASH_OWN) {
		remotes |= lane->rehash.met | listed(group, l);
		lane->rehash.met = remotes;
		show(group, l);
		if (may_be_more(group, l, remotes) ||
		    !candidates_are_even(learning->candidates, learning->n_own, remotes)) {
			begin(group, l, REHASH_WIDE);
			return;
		}
	} else {
		lane->rehash.met = remotes;
		moved = even_out(group, l);
		show(group, l);
	}
	rest(group, l, moved);
}

uint64_t rehash_due_ns(const struct fare_group *group, unsigned l)
{
	return follows(group, l) ? group->lanes[l].rehash.due_ns : ENGINE_NEVER;
}

void rehash_step(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	struct rehash *r = &lane->rehash;
	uint32_t listed_now;

	if (!follows(group, l))
		return;
	listed_now = attach_pair_ports_sequence(group->pair, l);
	if (listed_now != r->seen) {
		r->seen = listed_now;
		rehash_hint(group, l);
	}
	if (r->state != REHASH_REST && lane->learning.replies == lane->learning.n) {
		judge(group, l);
		return;
	}
	if (group->domain->now_ns < r->due_ns)
		return;
	if (r->state == REHASH_REST)
		begin(group, l, REHASH_OWN);
	else if (lane->learning.sends < SENDS)
		ask(group, l);
	else
		judge(group, l);
}
