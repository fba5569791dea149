/* SPDX-License-Identifier: BSD-2-Clause */
#include "drill_hosts.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define SLICE (1u << 20) /* bytes filled or verified between two looks at the domain */

void drill_hosts_fail(struct drill_hosts *h, const char *what, uint64_t id)
{
	fprintf(stderr, "drill: %s (message %llu)\n", what, (unsigned long long)id);
	h->shared->failed = 1;
	h->shared->stop = 1;
}

static uint64_t size_of(const struct drill_hosts *h, uint64_t id)
{
	double u = (double)(bed_mix(id, h->seed) >> 11) / (double)(UINT64_C(1) << 53);
	uint64_t n = (uint64_t)exp(u * log((double)h->max_bytes + 1));

	return n < 1 ? 1 : n < h->max_bytes ? n : h->max_bytes;
}

static void dump_if_asked(struct drill_hosts *h, int host, const struct fare_group *group)
{
	if (!h->shared->dump[host])
		return;
	fprintf(stderr, "drill: host %d:\n", host);
	if (group)
		fare_group_dump(group, STDERR_FILENO);
	h->shared->dump[host] = 0;
}

/* ---- the receiver ---- */

struct receiving {
	uint8_t *memory;
	uint64_t expected[DRILL_MAX_PLACES]; /* id of the next message in a place */
	bool here[DRILL_MAX_PLACES];	     /* and it has arrived */
	uint64_t checked[DRILL_MAX_PLACES];  /* bytes of it */
	uint32_t credits[DRILL_MAX_PLACES], n_credits;
	struct fare_group *group;
};

static void on_received(struct drill_hosts *h, struct receiving *r, const struct fare_event *e)
{
	unsigned k = e->tag % h->n_places;

	r->group = e->group;
	if (e->tag != (uint32_t)r->expected[k] || r->here[k]) {
		/*
		 * its place was not given back yet: older than expected is a duplicate; newer, and
		 * one was lost
		 */
		if (r->here[k] || (int32_t)(e->tag - (uint32_t)r->expected[k]) < 0)
			h->shared->duplicated++;
		else
			h->shared->lost++;
		drill_hosts_fail(h, "delivered out of turn", e->tag);
		return;
	}
	if (e->bytes != size_of(h, r->expected[k])) {
		h->shared->corrupted++;
		drill_hosts_fail(h, "wrong size", e->tag);
	}
	r->here[k] = true;
	r->checked[k] = 0;
}

/* A slice of what has arrived. false: nothing is left to verify. */
static bool verify_some(struct drill_hosts *h, struct receiving *r)
{
	for (unsigned k = 0; k < h->n_places; k++) {
		uint8_t *place = r->memory + k * h->max_bytes;
		uint64_t size = size_of(h, r->expected[k]), from = r->checked[k], to = from + SLICE;

		if (!r->here[k])
			continue;
		to = to < size ? to : size;
		if (!bed_holds(place, from, to, r->expected[k])) {
			h->shared->corrupted++;
			drill_hosts_fail(h, "corrupted", r->expected[k]);
		}
		memset(place + from, 0xee, to - from);
		r->checked[k] = to;
		if (to < size)
			return true;
		h->shared->received++;
		h->shared->bytes += size;
		r->credits[r->n_credits++] = (uint32_t)r->expected[k];
		r->expected[k] += h->n_places;
		r->here[k] = false;
		return true;
	}
	return false;
}

static int receiver(void *arg)
{
	struct drill_hosts *h = arg;
	struct drill_shared *sh = h->shared;
	size_t bytes = h->n_places * h->max_bytes;
	struct receiving r = {.memory = bed_memory(bytes)};
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&h->bed, 1, &fare);
	struct fare_event e[32];
	struct fare_mr *mr;
	bool busy = false;

	for (unsigned k = 0; k < h->n_places; k++)
		r.expected[k] = k;
	if (fare_mr_register(&mr, domain, r.memory, bytes, true))
		return 1;
	sh->places_addr = (uint64_t)(uintptr_t)r.memory;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!sh->over) {
		int n = bed_events(domain, e, 32, busy ? 0 : 50);

		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_CLOSED && !sh->over)
				drill_hosts_fail(h, "the receiver's group closed", sh->received);
			if (e[i].kind == FARE_EVENT_COMPLETED && e[i].status && !sh->over)
				drill_hosts_fail(h, strerror(-e[i].status), sh->received);
			if (e[i].kind == FARE_EVENT_RECEIVED)
				on_received(h, &r, &e[i]);
		}
		busy = verify_some(h, &r);
		while (r.n_credits) {
			struct fare_write w = {.tag = r.credits[r.n_credits - 1],
					       .flags = FARE_WRITE_NOTIFY};

			if (fare_group_write(r.group, &w))
				break;
			r.n_credits--;
		}
		dump_if_asked(h, 1, r.group);
	}
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

/* ---- the sender ---- */

struct sending {
	uint8_t *memory;
	struct fare_mr *mr;
	struct fare_group *group;
	bool busy[DRILL_MAX_PLACES], done[DRILL_MAX_PLACES], credited[DRILL_MAX_PLACES];
	uint64_t owner[DRILL_MAX_PLACES], next, filled;
};

static void on_sender_event(struct drill_hosts *h, struct sending *s, const struct fare_event *e)
{
	unsigned k =
		(unsigned)((e->kind == FARE_EVENT_COMPLETED ? e->context : e->tag) % h->n_places);

	if (e->kind == FARE_EVENT_CONNECTED)
		h->shared->connected = 1;
	h->shared->blocked += e->kind == FARE_EVENT_BLOCKED;
	h->shared->resumed += e->kind == FARE_EVENT_RESUMED;
	if (e->kind == FARE_EVENT_CLOSED)
		drill_hosts_fail(h, "the sender's group closed", s->next);
	if (e->kind == FARE_EVENT_COMPLETED) {
		if (e->status)
			drill_hosts_fail(h, strerror(-e->status), e->context);
		if (!s->busy[k] || s->done[k] || s->owner[k] != e->context) {
			h->shared->duplicated++;
			drill_hosts_fail(h, "completed twice", e->context);
		}
		s->done[k] = true;
		h->shared->completed++;
	} else if (e->kind == FARE_EVENT_RECEIVED) {
		if (!s->busy[k] || s->credited[k] || (uint32_t)s->owner[k] != e->tag) {
			h->shared->duplicated++;
			drill_hosts_fail(h, "given back twice", e->tag);
		}
		s->credited[k] = true;
	} else {
		return;
	}
	if (s->done[k] && s->credited[k])
		s->busy[k] = false;
}

/*
 * Fills a slice of the next message, or posts it. false: there is no next one, or no place for it.
 */
static bool send_some(struct drill_hosts *h, struct sending *s)
{
	unsigned k = (unsigned)(s->next % h->n_places);
	uint64_t size = size_of(h, s->next), to = s->filled + SLICE;
	struct fare_write w = {.data = s->memory + k * h->max_bytes,
			       .mr = s->mr,
			       .length = size,
			       .remote_addr = h->shared->places_addr + k * h->max_bytes,
			       .rkey = (uint32_t)h->shared->rkey,
			       .tag = (uint32_t)s->next,
			       .flags = FARE_WRITE_NOTIFY,
			       .context = s->next};

	if (h->shared->stop || !h->shared->connected || s->busy[k] ||
	    (h->messages && s->next == h->messages))
		return false;
	if (s->filled < size) {
		to = to < size ? to : size;
		bed_fill(s->memory + k * h->max_bytes, s->filled, to, s->next);
		s->filled = to;
		return true;
	}
	if (fare_group_write(s->group, &w))
		return false;
	s->busy[k] = true;
	s->done[k] = s->credited[k] = false;
	s->owner[k] = s->next++;
	s->filled = 0;
	h->shared->sent = s->next;
	return true;
}

static void publish_stats(struct drill_hosts *h, const struct fare_group *group)
{
	struct fare_group_stats stats;

	fare_group_stats(group, &stats);
	h->shared->deaths = stats.path_deaths;
	h->shared->rebuilds = stats.path_rebuilds;
	for (unsigned p = 0; p < h->bed.options.planes; p++)
		h->shared->plane_bytes[p] = stats.plane_bytes[p];
}

/* A write that the peer does not allow fails alone, whether its library or its device says so. */
static void expect_refusal(struct drill_hosts *h, struct fare_domain *domain,
			   struct fare_group *group, struct fare_write w, const char *what)
{
	uint64_t end = clock_now_ns() + (uint64_t)(h->patience_s * 1e9);
	struct fare_event e;

	w.context = UINT64_MAX;
	if (!fare_group_write(group, &w))
		while (clock_now_ns() < end)
			if (bed_events(domain, &e, 1, 50) == 1 && e.kind == FARE_EVENT_COMPLETED &&
			    e.context == w.context && e.status == -EACCES)
				return;
	drill_hosts_fail(h, what, w.context);
	fare_group_dump(group, STDERR_FILENO);
}

static void refusals(struct drill_hosts *h, struct fare_domain *domain, struct sending *s)
{
	uint64_t length = h->max_bytes < 5000 ? h->max_bytes : 5000;
	struct fare_write w = {.data = s->memory,
			       .mr = s->mr,
			       .length = length,
			       .remote_addr = h->shared->places_addr,
			       .rkey = (uint32_t)h->shared->rkey};

	w.rkey ^= 1u << 20;
	expect_refusal(h, domain, s->group, w, "a key that names nothing was not refused");
	w.rkey ^= 1u << 20;
	w.remote_addr += h->n_places * h->max_bytes - length / 2;
	expect_refusal(h, domain, s->group, w, "a write past the end was not refused");
}

static int sender(void *arg)
{
	struct drill_hosts *h = arg;
	struct drill_shared *sh = h->shared;
	size_t bytes = h->n_places * h->max_bytes;
	struct sending s = {.memory = bed_memory(bytes)};
	struct fare_group_options options = {.mode = h->mode};
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&h->bed, 0, &fare);
	struct in6_addr peer = bed_address_in(&h->bed, 1);
	struct fare_event e[32];
	bool idle = false, busy = false;

	while (!sh->rkey && !sh->failed)
		poll(NULL, 0, 1);
	if (fare_mr_register(&s.mr, domain, s.memory, bytes, false) ||
	    fare_group_open(&s.group, domain, &peer, &options))
		return 1;
	while (!(sh->stop && (idle || sh->failed))) {
		int n = bed_events(domain, e, 32, busy ? 0 : 50);

		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++)
			on_sender_event(h, &s, &e[i]);
		busy = send_some(h, &s);
		/* the word of it may come after the last completion */
		idle = sh->blocked == sh->resumed;
		for (unsigned k = 0; k < h->n_places; k++)
			idle &= !s.busy[k];
		dump_if_asked(h, 0, s.group);
		publish_stats(h, s.group);
	}
	if (!sh->failed)
		refusals(h, domain, &s);
	publish_stats(h, s.group);
	fare_group_stats(s.group, &sh->stats);
	sh->over = 1;
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

/* ---- the parent ---- */

int drill_hosts_start(struct drill_hosts *h, const struct bed_options *options)
{
	h->n_places = h->max_bytes > 16u << 20 ? 4 : DRILL_MAX_PLACES;
	h->shared = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h->shared == MAP_FAILED || bed_make(&h->bed, options) ||
	    bed_start(&h->bed, 1, receiver, h) || bed_start(&h->bed, 0, sender, h))
		return 1;
	while (!h->shared->connected && drill_hosts_alive(h))
		poll(NULL, 0, 10);
	return h->shared->failed;
}

bool drill_hosts_alive(struct drill_hosts *h)
{
	struct drill_shared *sh = h->shared;
	uint64_t now = clock_now_ns(),
		 seen = sh->sent + sh->completed + sh->received + (uint64_t)sh->connected, limit;

	if (sh->failed)
		return false;
	if (seen != h->seen || !h->since_ns) {
		h->seen = seen;
		h->since_ns = now;
	}
	if ((double)(now - h->since_ns) < h->patience_s * 1e9)
		return true;
	for (int host = 0; host < 2; host++)
		sh->dump[host] = 1;
	for (limit = now + UINT64_C(2000000000);
	     clock_now_ns() < limit && (sh->dump[0] || sh->dump[1]);)
		poll(NULL, 0, 10);
	drill_hosts_fail(h, "nothing moves", sh->received);
	return false;
}

bool drill_hosts_end(struct drill_hosts *h)
{
	struct drill_shared *sh = h->shared;
	bool ok;

	sh->stop = 1; /* the receiver goes on until the sender has all its completions */
	while (!sh->over && drill_hosts_alive(h))
		poll(NULL, 0, 10);
	sh->over |= sh->failed;
	ok = !bed_join(&h->bed, 0);
	sh->over = 1;
	ok &= !bed_join(&h->bed, 1);
	sh->lost += sh->sent - sh->received;
	return ok && !sh->failed && sh->sent && sh->completed == sh->sent && !sh->lost &&
	       !sh->corrupted && !sh->duplicated && !sh->stats.flow_needless_moves &&
	       sh->blocked == sh->resumed && (!h->messages || sh->sent == h->messages);
}

void drill_hosts_report(const struct drill_hosts *h, FILE *to)
{
	static const char *const modes[] = {"flow", "spray", "kernel", "packet"};
	const struct drill_shared *sh = h->shared;

	fprintf(to,
		"\"provider\":\"%s\",\"mode\":\"%s\",\"seed\":%u,\"messages\":%llu,\"completed\":%"
		"llu,\"received\":%llu,"
		"\"bytes\":%llu,\"lost\":%llu,\"corrupted\":%llu,\"duplicated\":%llu,\"wrong\":%"
		"llu,\"blocked\":%llu,"
		"\"replayed_chunks\":%llu,\"lane_deaths\":%llu,\"lane_rebuilds\":%llu,\"duplicate_"
		"notifications\":%llu,"
		"\"retransmitted_packets\":%llu,\"flow_moves\":%llu,\"needless_moves\":%llu",
		h->bed.options.provider, modes[h->mode], h->seed, (unsigned long long)sh->sent,
		(unsigned long long)sh->completed, (unsigned long long)sh->received,
		(unsigned long long)sh->bytes, (unsigned long long)sh->lost,
		(unsigned long long)sh->corrupted, (unsigned long long)sh->duplicated,
		(unsigned long long)(sh->lost + sh->corrupted + sh->duplicated),
		(unsigned long long)sh->blocked, (unsigned long long)sh->stats.chunks_replayed,
		(unsigned long long)sh->stats.path_deaths,
		(unsigned long long)sh->stats.path_rebuilds,
		(unsigned long long)sh->stats.duplicate_notifications,
		(unsigned long long)sh->stats.retransmitted_packets,
		(unsigned long long)sh->stats.flow_moves,
		(unsigned long long)sh->stats.flow_needless_moves);
}
