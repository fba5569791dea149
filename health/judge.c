/* SPDX-License-Identifier: BSD-2-Clause */
#include "judge.h"

#include <string.h>

#include "health_limits.h"
#include "health_planted.h"

#define UNIT_US	      (REPORT_WIRE_UNIT_NS / 1000)
#define PART_SHIFT    16u /* 65.5 ms; longer where probes are few */
#define PART_PACKETS  16u
#define WINDOW_PARTS  16u
#define REBASE_NS     (60000 * HEALTH_MS_NS) /* far less than half of what 32 bits of us take */
#define LOSSY_PARTS   5u		     /* losses in fewer parts are one event: 5 x 65.5 ms */
#define LEAST_SHIFT   21u		     /* 2 s: clocks drift apart by 0.2 ms at most */
#define SENT_JUMP_MAX 4096u /* between two reports: more is a peer that counts anew */

/* ---- reports ------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct judge_part *part_of(struct judge *j, uint32_t plane, uint64_t clock_us)
{
	uint64_t number = clock_us >> j->part_shift;
	struct judge_part *part = &j->planes[plane].parts[number % JUDGE_PARTS];

	if (part->number != number)
		*part = (struct judge_part){.number = number};
	return part;
}

/* A peer that has restarted, was not heard for long, or probes at another pace. */
static void rebase(struct judge *j, uint32_t plane, const struct report_wire *r,
		   unsigned part_shift)
{
	j->incarnation = r->incarnation;
	/* larger than any difference, so that what was sent before is larger than 0, too */
	j->clock_us = (UINT64_C(1) << 32) + r->clock_us;
	j->part_shift = part_shift;
	j->n_planes = r->n_planes;
	j->least_us[0] = j->least_us[1] = INT64_MAX;
	for (uint32_t i = 0; i < REPORT_WIRE_MAX_PLANES; i++) { /* it may have had more planes */
		struct judge_plane *p = &j->planes[i];

		p->sent = r->planes[i].sent - (i == plane && !r->is_try); /* this one counts */
		p->received_ns = 0;
		p->n_missing = 0;
		p->decide_ns = 0;
		p->is_dead = false;
		p->reported = p->news = 0;
		memset(p->parts, 0, sizeof(p->parts));
	}
}

static unsigned shift_of(uint64_t interval_us)
{
	unsigned shift = PART_SHIFT;

	while (UINT64_C(1) << shift < PART_PACKETS * interval_us && shift < 26)
		shift++;
	return shift;
}

/* How much longer the packet took than the fastest of late, over whatever plane. */
static uint32_t delay_us(struct judge *j, uint64_t clock_us, uint64_t came_ns)
{
	int64_t us = (int64_t)(came_ns / 1000 - clock_us), least;
	uint64_t number = j->clock_us >> LEAST_SHIFT;

	if (number != j->least_number) {
		j->least_us[1] = j->least_us[0];
		j->least_us[0] = us;
		j->least_number = number;
	}
	if (us < j->least_us[0])
		j->least_us[0] = us;
	least = j->least_us[0] < j->least_us[1] ? j->least_us[0] : j->least_us[1];
	return us - least < UINT32_MAX ? (uint32_t)(us - least) : UINT32_MAX;
}

/* What the report says of a plane over which it did not come. */
static void note_sent(struct judge *j, const struct judge_times *t, uint32_t plane, uint32_t n,
		      uint64_t allowance_ns, uint64_t now)
{
	struct judge_plane *p = &j->planes[plane];

	uint32_t many = p->received_ns ? t->n_missing : t->n_missing_first;

	part_of(j, plane, j->clock_us)->sent += (uint16_t)n;
	p->n_missing += n;
	if (!p->decide_ns && p->n_missing >= (HEALTH_PLANTED(one_is_a_row) ? 1 : many))
		p->decide_ns = now + allowance_ns;
}

/*
 * A packet that counts came over the plane: of n that were sent since the last report it is one. If
 * another plane's report has counted it already, that may have been in the next part: so what a
 * part has received beyond what was sent in it is the next one's.
 */
static void note_received(struct judge *j, uint32_t plane, uint32_t n, uint64_t clock_us,
			  uint64_t came_ns)
{
	struct judge_part *part = part_of(j, plane, clock_us);
	uint32_t delay = delay_us(j, clock_us, came_ns);

	if (delay > part->delay_us)
		part->delay_us = delay;
	part->sent += (uint16_t)n;
	while (part->received >= part->sent && part->number < j->clock_us >> j->part_shift)
		part = part_of(j, plane, (part->number + 1) << j->part_shift);
	part->received++;
}

static void note_alive(struct judge_plane *p, uint64_t now)
{
	p->received_ns = now;
	p->is_dead = false;
	if (HEALTH_PLANTED(rows_go_on))
		return;
	p->n_missing = 0;
	p->decide_ns = 0;
}

static void note_flags(struct judge *j, const struct report_wire *r)
{
	for (uint32_t i = 0; i < j->n_planes; i++) {
		struct judge_plane *p = &j->planes[i];

		p->news |= r->planes[i].flags & (uint8_t)~p->reported;
		p->news &= r->planes[i].flags;
		p->reported = r->planes[i].flags | (HEALTH_PLANTED(flags_kept) ? p->reported : 0);
		p->reported_lost = r->planes[i].lost;
		p->reported_age_ns = r->planes[i].age * (uint64_t)REPORT_WIRE_UNIT_NS;
	}
}

/* A report that others have overtaken: only that it came says something. */
static void take_overtaken(struct judge *j, uint32_t plane, const struct report_wire *r,
			   int32_t apart, uint64_t came_ns)
{
	uint64_t clock_us = j->clock_us + (uint64_t)(int64_t)apart;
	uint64_t oldest = (j->clock_us >> j->part_shift) - (JUDGE_PARTS - 1);

	if (!r->is_try && clock_us >> j->part_shift >= oldest)
		note_received(j, plane, 0, clock_us, came_ns);
}

void judge_report(struct judge *j, const struct judge_times *t, uint32_t plane,
		  const struct report_wire *r, bool flags_count, const struct judge_limits *limits,
		  uint64_t came_ns, uint64_t now)
{
	uint64_t interval_us = larger(t->interval_ns / 1000, (uint64_t)r->interval * UNIT_US);
	unsigned shift = shift_of(interval_us);
	int32_t apart = (int32_t)(r->clock_us - (uint32_t)j->clock_us);
	bool throughout;

	if (plane >= r->n_planes)
		return;
	if (!j->reported_ns || r->n_planes != j->n_planes || r->incarnation != j->incarnation ||
	    (shift != j->part_shift && shift + 1 != j->part_shift) ||
	    now > j->reported_ns + REBASE_NS)
		rebase(j, plane, r, shift), apart = 0;
	note_alive(&j->planes[plane], now);
	if (apart < 0) {
		take_overtaken(j, plane, r, apart, came_ns);
		return;
	}
	j->clock_us += (uint32_t)apart;
	j->reported_ns = now;
	/* between packets further apart all planes may have lost what was sent */
	throughout = (uint32_t)apart <= 2 * interval_us;
	for (uint32_t i = 0; i < j->n_planes; i++) {
		struct judge_plane *p = &j->planes[i];
		uint32_t n = r->planes[i].sent - p->sent;

		if (n > INT32_MAX) /* of a packet that was built before the last one */
			n = 0;
		p->sent += n;
		if (n > SENT_JUMP_MAX)
			n = 0;
		if (i == plane && !r->is_try)
			note_received(j, i, throughout ? n : 1, j->clock_us, came_ns);
		else if (i != plane && n && throughout)
			note_sent(j, t, i, n, limits[i].allowance_ns, now);
	}
	if (flags_count && !HEALTH_PLANTED(reports_unused))
		note_flags(j, r);
}

/* ---- rules --------------------------------------------------------------- */

bool judge_decide(struct judge *j, uint32_t plane, uint64_t now)
{
	struct judge_plane *p = &j->planes[plane];

	if (p->decide_ns && now >= p->decide_ns)
		p->is_dead = true;
	return p->is_dead;
}

bool judge_is_reported_dead(const struct judge *j, uint32_t plane, uint64_t now)
{
	return j->planes[plane].reported & REPORT_DEAD && now < j->reported_ns + HEALTH_BLIND_NS;
}

/* A queue stood when the part's packets were sent, or just before or after. */
static bool is_queued(const struct judge *j, uint32_t plane, uint64_t number, uint64_t queue_ns)
{
	for (uint64_t n = number - 1; n <= number + 1; n++) {
		const struct judge_part *part = &j->planes[plane].parts[n % JUDGE_PARTS];

		if (part->number == n && part->delay_us * UINT64_C(1000) > queue_ns)
			return true;
	}
	return false;
}

struct judge_losses judge_losses(const struct judge *j, uint32_t plane,
				 const struct judge_limits *limits)
{
	uint64_t now = j->clock_us >> j->part_shift;
	uint64_t young = (limits->allowance_ns / 1000 >> j->part_shift) + 1;
	struct judge_losses sum = {0};

	for (uint32_t i = 0; i < JUDGE_PARTS; i++) {
		const struct judge_part *part = &j->planes[plane].parts[i];

		if (!part->number || part->number + young > now ||
		    part->number + young + WINDOW_PARTS <= now)
			continue;
		sum.sent += part->sent;
		if (part->received >= part->sent ||
		    (limits->queue_ns && is_queued(j, plane, part->number, limits->queue_ns)))
			continue;
		sum.lost += part->sent - part->received;
		sum.n_parts++;
	}
	return sum;
}

bool judge_is_lossy(const struct judge_losses *l, const struct judge_times *t)
{
	return l->lost >= HEALTH_LOST_MIN && l->n_parts >= LOSSY_PARTS &&
	       l->lost * UINT64_C(1000000) > (uint64_t)t->max_loss_ppm * l->sent;
}

uint64_t judge_received_ns(const struct judge *j)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < j->n_planes; i++)
		newest = larger(newest, j->planes[i].received_ns);
	return newest;
}

uint8_t judge_take_news(struct judge *j, uint32_t plane)
{
	uint8_t news = j->planes[plane].news;

	j->planes[plane].news = 0;
	return news;
}

void judge_forget(struct judge *j, uint32_t plane)
{
	struct judge_plane *p = &j->planes[plane];

	p->n_missing = 0;
	p->decide_ns = 0;
	p->is_dead = false;
	p->news = 0;
	p->counted_number = 0;
	memset(p->parts, 0, sizeof(p->parts));
}

void judge_fill(struct judge *j, uint32_t plane, struct report_wire_plane *out, uint64_t now)
{
	uint64_t number = j->clock_us >> j->part_shift;
	struct judge_plane *p = &j->planes[plane];
	static const struct judge_limits none;

	if (p->counted_number != number) {
		struct judge_losses l = judge_losses(j, plane, &none);

		p->counted_lost = (uint8_t)(l.sent ? l.lost * UINT64_C(255) / l.sent : 0);
		p->counted_number = number;
	}
	out->age = p->received_ns ? report_wire_units(now - p->received_ns) : REPORT_WIRE_LONG;
	out->lost = p->counted_lost;
	out->flags = p->is_dead ? REPORT_DEAD : 0;
}
