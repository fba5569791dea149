/*
 * group_drill.c - a QP group under fire: two hosts without a router (bed.h), and a parent that breaks planes at random.
 *
 *   group_drill [--provider soft|verbs] [--mode flow|spray] [--messages N | --seconds S] [--max-bytes B]
 *               [--planes N] [--sub-ports M] [--rate MBPS] [--patience S] [--seed N] [--calm] [--json FILE]
 *
 * The sender's messages have lengths from 1 byte to --max-bytes, uniform in their logarithm, each with a content of its
 * own; the receiver verifies every byte when it is notified, overwrites it, and gives the place back by a bare
 * notification. A place holds messages in a known order, so that a lost, doubled or corrupted one shows. Faults: planes
 * said to be down, links down before anybody says so, planes that drop everything in silence, sub-ports lost at either
 * end, and all planes down at once. When nothing moves for --patience seconds, both groups are dumped and the drill fails.
 * verbs: inside the VM, after fabric_up. Exit 77: not root. One line of JSON at the end.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bed.h"

#define MAX_PLACES 16
#define SLICE	   (1u << 20) /* bytes filled or verified between two looks at the domain */

struct shared {
	_Atomic int stop, over, failed, connected, dump[2];
	_Atomic uint64_t rkey, places_addr, sent, completed, received, bytes;
	_Atomic uint64_t lost, duplicated, corrupted;
	struct fare_group_stats stats;
	_Atomic uint64_t blocked, resumed;
};

enum fault { WELL, TOLD, LINKS, GRAY, SUB_PORT, FAULTS };

struct drill {
	struct bed bed;
	struct bed_options options;
	enum fare_mode mode;
	uint64_t messages, max_bytes;
	double seconds, patience;
	unsigned seed, n_places;
	bool calm;
	const char *json;
	enum fault fault[FARE_MAX_PLANES];
	uint64_t n_faults[FAULTS], n_blackouts;
	struct shared *shared;
};

static void fail(struct drill *d, const char *what, uint64_t id)
{
	fprintf(stderr, "group_drill: %s (message %llu)\n", what, (unsigned long long)id);
	d->shared->failed = 1;
	d->shared->stop = 1;
}

static uint64_t size_of(const struct drill *d, uint64_t id)
{
	double u = (double)(bed_mix(id, d->seed) >> 11) / (double)(UINT64_C(1) << 53);
	uint64_t n = (uint64_t)exp(u * log((double)d->max_bytes + 1));

	return n < 1 ? 1 : n < d->max_bytes ? n : d->max_bytes;
}

static void dump_if_asked(struct drill *d, int host, const struct fare_group *group)
{
	if (!d->shared->dump[host])
		return;
	fprintf(stderr, "group_drill: host %d:\n", host);
	if (group)
		fare_group_dump(group, STDERR_FILENO);
	d->shared->dump[host] = 0;
}

/* ---- the receiver ---- */

struct receiving {
	uint8_t *memory;
	uint64_t expected[MAX_PLACES]; /* id of the next message in a place */
	bool here[MAX_PLACES];	       /* and it has arrived */
	uint64_t checked[MAX_PLACES];  /* bytes of it */
	uint32_t credits[MAX_PLACES], n_credits;
	struct fare_group *group;
};

static void on_received(struct drill *d, struct receiving *r, const struct fare_event *e)
{
	unsigned k = e->tag % d->n_places;

	r->group = e->group;
	if (e->tag != (uint32_t)r->expected[k] || r->here[k]) {
		/* its place was not given back yet: older than expected is a duplicate; newer, and one was lost */
		if (r->here[k] || (int32_t)(e->tag - (uint32_t)r->expected[k]) < 0)
			d->shared->duplicated++;
		else
			d->shared->lost++;
		fail(d, "delivered out of turn", e->tag);
		return;
	}
	if (e->bytes != size_of(d, r->expected[k])) {
		d->shared->corrupted++;
		fail(d, "wrong size", e->tag);
	}
	r->here[k] = true;
	r->checked[k] = 0;
}

/* A slice of what has arrived. false: nothing is left to verify. */
static bool verify_some(struct drill *d, struct receiving *r)
{
	for (unsigned k = 0; k < d->n_places; k++) {
		uint8_t *place = r->memory + k * d->max_bytes;
		uint64_t size = size_of(d, r->expected[k]), from = r->checked[k], to = from + SLICE;

		if (!r->here[k])
			continue;
		to = to < size ? to : size;
		if (!bed_holds(place, from, to, r->expected[k])) {
			d->shared->corrupted++;
			fail(d, "corrupted", r->expected[k]);
		}
		memset(place + from, 0xee, to - from);
		r->checked[k] = to;
		if (to < size)
			return true;
		d->shared->received++;
		d->shared->bytes += size;
		r->credits[r->n_credits++] = (uint32_t)r->expected[k];
		r->expected[k] += d->n_places;
		r->here[k] = false;
		return true;
	}
	return false;
}

static int receiver(void *arg)
{
	struct drill *d = arg;
	struct shared *sh = d->shared;
	size_t bytes = d->n_places * d->max_bytes;
	struct receiving r = { .memory = bed_memory(bytes) };
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&d->bed, 1, &fare);
	struct fare_event e[32];
	struct fare_mr *mr;
	bool busy = false;

	for (unsigned k = 0; k < d->n_places; k++)
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
				fail(d, "the receiver's group closed", sh->received);
			if (e[i].kind == FARE_EVENT_COMPLETED && e[i].status && !sh->over)
				fail(d, strerror(-e[i].status), sh->received);
			if (e[i].kind == FARE_EVENT_RECEIVED)
				on_received(d, &r, &e[i]);
		}
		busy = verify_some(d, &r);
		while (r.n_credits) {
			struct fare_write w = { .tag = r.credits[r.n_credits - 1], .flags = FARE_WRITE_NOTIFY };

			if (fare_group_write(r.group, &w))
				break;
			r.n_credits--;
		}
		dump_if_asked(d, 1, r.group);
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
	bool busy[MAX_PLACES], done[MAX_PLACES], credited[MAX_PLACES];
	uint64_t owner[MAX_PLACES], next, filled;
};

static void on_sender_event(struct drill *d, struct sending *s, const struct fare_event *e)
{
	unsigned k = (unsigned)((e->kind == FARE_EVENT_COMPLETED ? e->context : e->tag) % d->n_places);

	if (e->kind == FARE_EVENT_CONNECTED)
		d->shared->connected = 1;
	d->shared->blocked += e->kind == FARE_EVENT_BLOCKED;
	d->shared->resumed += e->kind == FARE_EVENT_RESUMED;
	if (e->kind == FARE_EVENT_CLOSED)
		fail(d, "the sender's group closed", s->next);
	if (e->kind == FARE_EVENT_COMPLETED) {
		if (e->status)
			fail(d, strerror(-e->status), e->context);
		if (!s->busy[k] || s->done[k] || s->owner[k] != e->context) {
			d->shared->duplicated++;
			fail(d, "completed twice", e->context);
		}
		s->done[k] = true;
		d->shared->completed++;
	} else if (e->kind == FARE_EVENT_RECEIVED) {
		if (!s->busy[k] || s->credited[k] || (uint32_t)s->owner[k] != e->tag) {
			d->shared->duplicated++;
			fail(d, "given back twice", e->tag);
		}
		s->credited[k] = true;
	} else {
		return;
	}
	if (s->done[k] && s->credited[k])
		s->busy[k] = false;
}

/* Fills a slice of the next message, or posts it. false: there is no next one, or no place for it. */
static bool send_some(struct drill *d, struct sending *s)
{
	unsigned k = (unsigned)(s->next % d->n_places);
	uint64_t size = size_of(d, s->next), to = s->filled + SLICE;
	struct fare_write w = { .data = s->memory + k * d->max_bytes, .mr = s->mr, .length = size,
				.remote_addr = d->shared->places_addr + k * d->max_bytes,
				.rkey = (uint32_t)d->shared->rkey, .tag = (uint32_t)s->next,
				.flags = FARE_WRITE_NOTIFY, .context = s->next };

	if (d->shared->stop || !d->shared->connected || s->busy[k] || (d->messages && s->next == d->messages))
		return false;
	if (s->filled < size) {
		to = to < size ? to : size;
		bed_fill(s->memory + k * d->max_bytes, s->filled, to, s->next);
		s->filled = to;
		return true;
	}
	if (fare_group_write(s->group, &w))
		return false;
	s->busy[k] = true;
	s->done[k] = s->credited[k] = false;
	s->owner[k] = s->next++;
	s->filled = 0;
	d->shared->sent = s->next;
	return true;
}

static int sender(void *arg)
{
	struct drill *d = arg;
	struct shared *sh = d->shared;
	size_t bytes = d->n_places * d->max_bytes;
	struct sending s = { .memory = bed_memory(bytes) };
	struct fare_group_options options = { .mode = d->mode };
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&d->bed, 0, &fare);
	struct in6_addr peer = bed_address(1);
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
			on_sender_event(d, &s, &e[i]);
		busy = send_some(d, &s);
		idle = true;
		for (unsigned k = 0; k < d->n_places; k++)
			idle &= !s.busy[k];
		dump_if_asked(d, 0, s.group);
	}
	fare_group_stats(s.group, &sh->stats);
	sh->over = 1;
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

/* ---- faults ---- */

static unsigned pick(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Both orders occur: first the fault and then the word of it, or nobody says anything, or there is nothing but the word. */
static void set_fault(struct drill *d, unsigned p, enum fault fault)
{
	enum fault kind = fault ? fault : d->fault[p];
	unsigned s = pick(d->options.sub_ports), said = pick(2);
	int host = (int)pick(2);

	if (kind == LINKS)
		for (s = 0; s < d->options.sub_ports; s++)
			bed_link(&d->bed, p, s, !fault);
	if (kind == GRAY)
		bed_gray(&d->bed, p, fault);
	if (kind == SUB_PORT && fault)
		d->bed.sub_port_down[host][p][s] = true;
	if (kind == SUB_PORT && !fault)
		memset(d->bed.sub_port_down[0][p], 0, sizeof(d->bed.sub_port_down[0][p])),
			memset(d->bed.sub_port_down[1][p], 0, sizeof(d->bed.sub_port_down[1][p]));
	d->bed.plane_down[p] = fault == TOLD || (fault == LINKS) || (fault == GRAY && said);
	d->fault[p] = fault;
	d->n_faults[fault]++;
	bed_publish(&d->bed);
}

/* A moment in which no plane is left. */
static void blackout(struct drill *d)
{
	bool down[FARE_MAX_PLANES];

	memcpy(down, d->bed.plane_down, sizeof(down));
	memset(d->bed.plane_down, 1, sizeof(d->bed.plane_down));
	bed_publish(&d->bed);
	d->n_blackouts++;
	poll(NULL, 0, 20 + (int)pick(60)); /* its length */
	memcpy(d->bed.plane_down, down, sizeof(down));
	bed_publish(&d->bed);
}

static void break_something(struct drill *d)
{
	unsigned p = pick(d->options.planes), well = 0;

	for (unsigned q = 0; q < d->options.planes; q++)
		well += d->fault[q] == WELL || d->fault[q] == SUB_PORT;
	if (pick(16) == 0)
		blackout(d);
	else if (d->fault[p])
		set_fault(d, p, WELL);
	else if (d->options.sub_ports > 1 && pick(3) == 0)
		set_fault(d, p, SUB_PORT);
	else if (well > 1)
		set_fault(d, p, TOLD + pick(3));
}

/* ---- the drill ---- */

struct watchdog {
	uint64_t seen, since_ns;
};

static uint64_t progress_of(const struct shared *sh)
{
	return sh->sent + sh->completed + sh->received;
}

/* false: nothing has moved for too long; both sides have said what they know. */
static bool alive(struct drill *d, struct watchdog *w)
{
	uint64_t now = bed_now_ns(), seen = progress_of(d->shared), limit;

	if (seen != w->seen || !w->since_ns)
		*w = (struct watchdog){ seen, now };
	if ((double)(now - w->since_ns) < d->patience * 1e9)
		return true;
	for (int h = 0; h < 2; h++)
		d->shared->dump[h] = 1;
	for (limit = now + 2000000000; bed_now_ns() < limit && (d->shared->dump[0] || d->shared->dump[1]);)
		poll(NULL, 0, 10);
	for (unsigned p = 0; p < d->options.planes; p++)
		fprintf(stderr, "group_drill: plane %u: fault %d, %s\n", p, d->fault[p],
			d->bed.plane_down[p] ? "said to be down" : "said to be up");
	fail(d, "nothing moves", d->shared->received);
	return false;
}

static bool wanted(const struct drill *d, uint64_t end)
{
	if (d->shared->failed)
		return false;
	return d->messages ? d->shared->sent < d->messages : bed_now_ns() < end;
}

static bool run(struct drill *d)
{
	struct shared *sh = d->shared;
	struct watchdog watchdog = { 0 };
	uint64_t end = bed_now_ns() + (uint64_t)((d->seconds + 10) * 1e9);
	bool ok;

	if (bed_start(&d->bed, 1, receiver, d) || bed_start(&d->bed, 0, sender, d))
		return false;
	while (!sh->connected && !sh->failed && alive(d, &watchdog))
		poll(NULL, 0, 10);
	end = bed_now_ns() + (uint64_t)(d->seconds * 1e9);
	while (wanted(d, end) && alive(d, &watchdog)) {
		poll(NULL, 0, 20 + (int)pick(120)); /* paces the faults; nothing is waited for by it */
		if (!d->calm)
			break_something(d);
	}
	for (unsigned p = 0; p < d->options.planes; p++)
		if (d->fault[p])
			set_fault(d, p, WELL);
	sh->stop = 1; /* the receiver goes on until the sender has all its completions */
	while (!sh->over && !sh->failed && alive(d, &watchdog))
		poll(NULL, 0, 10);
	ok = !bed_join(&d->bed, 0);
	sh->over = 1;
	ok &= !bed_join(&d->bed, 1);
	sh->lost += sh->sent - sh->received;
	return ok && !sh->failed && sh->sent && sh->completed == sh->sent && !sh->lost && !sh->corrupted &&
	       !sh->duplicated && !sh->stats.flow_needless_moves && sh->blocked == sh->resumed &&
	       (!d->messages || sh->sent == d->messages);
}

static void report(const struct drill *d, FILE *to, bool ok, double seconds)
{
	const struct shared *sh = d->shared;
	unsigned long long faults = 0;

	for (int f = TOLD; f < FAULTS; f++)
		faults += d->n_faults[f];
	fprintf(to,
		"{\"drill\":{\"provider\":\"%s\",\"mode\":\"%s\",\"seed\":%u,\"seconds\":%.1f,\"messages\":%llu,"
		"\"completed\":%llu,\"received\":%llu,\"bytes\":%llu,\"lost\":%llu,\"corrupted\":%llu,\"duplicated\":%llu,\"wrong\":%llu,"
		"\"faults\":%llu,\"told\":%llu,\"links\":%llu,\"gray\":%llu,\"sub_port\":%llu,\"blackouts\":%llu,"
		"\"blocked\":%llu,\"replayed_chunks\":%llu,\"lane_deaths\":%llu,\"lane_rebuilds\":%llu,"
		"\"duplicate_notifications\":%llu,\"retransmitted_packets\":%llu,\"flow_moves\":%llu,"
		"\"needless_moves\":%llu,\"ok\":%s}}\n",
		d->options.provider, d->mode == FARE_MODE_FLOW ? "flow" : "spray", d->seed, seconds,
		(unsigned long long)sh->sent, (unsigned long long)sh->completed, (unsigned long long)sh->received,
		(unsigned long long)sh->bytes, (unsigned long long)sh->lost, (unsigned long long)sh->corrupted,
		(unsigned long long)sh->duplicated,
		(unsigned long long)(sh->lost + sh->corrupted + sh->duplicated), faults, (unsigned long long)d->n_faults[TOLD],
		(unsigned long long)d->n_faults[LINKS], (unsigned long long)d->n_faults[GRAY],
		(unsigned long long)d->n_faults[SUB_PORT], (unsigned long long)d->n_blackouts,
		(unsigned long long)sh->blocked, (unsigned long long)sh->stats.chunks_replayed,
		(unsigned long long)sh->stats.path_deaths, (unsigned long long)sh->stats.path_rebuilds,
		(unsigned long long)sh->stats.duplicate_notifications,
		(unsigned long long)sh->stats.retransmitted_packets, (unsigned long long)sh->stats.flow_moves,
		(unsigned long long)sh->stats.flow_needless_moves, ok ? "true" : "false");
}

static uint64_t bytes_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	return *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

static bool parse(struct drill *d, int argc, char **argv)
{
	static const struct option options[] = {
		{ "provider", 1, 0, 'p' }, { "mode", 1, 0, 'm' },    { "messages", 1, 0, 'n' }, { "seconds", 1, 0, 's' },
		{ "max-bytes", 1, 0, 'b' }, { "planes", 1, 0, 'P' }, { "sub-ports", 1, 0, 'S' }, { "rate", 1, 0, 'R' },
		{ "patience", 1, 0, 'w' },  { "seed", 1, 0, 'r' },   { "calm", 0, 0, 'c' },	 { "json", 1, 0, 'j' },
		{ 0, 0, 0, 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'p')
			d->options.provider = optarg;
		else if (c == 'm')
			d->mode = strcmp(optarg, "flow") ? FARE_MODE_SPRAY : FARE_MODE_FLOW;
		else if (c == 'n')
			d->messages = strtoull(optarg, NULL, 0);
		else if (c == 's')
			d->seconds = atof(optarg);
		else if (c == 'b')
			d->max_bytes = bytes_of(optarg);
		else if (c == 'P')
			d->options.planes = (unsigned)atoi(optarg);
		else if (c == 'S')
			d->options.sub_ports = (unsigned)atoi(optarg);
		else if (c == 'R')
			d->options.rate_mbps = (unsigned)atoi(optarg);
		else if (c == 'w')
			d->patience = atof(optarg);
		else if (c == 'r')
			d->seed = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'c')
			d->calm = true;
		else if (c == 'j')
			d->json = optarg;
		else
			return false;
	}
	d->n_places = d->max_bytes > 16u << 20 ? 4 : MAX_PLACES;
	d->max_bytes = (d->max_bytes + 7) / 8 * 8;
	return d->options.planes && d->options.planes <= FARE_MAX_PLANES && d->options.sub_ports &&
	       d->options.sub_ports <= FARE_MAX_SUB_PORTS && d->max_bytes;
}

int main(int argc, char **argv)
{
	static struct drill d = { .options = { .provider = "soft", .planes = 4, .sub_ports = 2, .rate_mbps = 200 },
				  .mode = FARE_MODE_SPRAY, .seconds = 5, .max_bytes = 1u << 20, .patience = 10 };
	uint64_t start = bed_now_ns();
	bool ok = false;
	FILE *json;

	d.seed = (unsigned)time(NULL);
	if (!parse(&d, argc, argv)) {
		fprintf(stderr, "group_drill: usage at the head of tests/lab/group_drill.c\n");
		return 2;
	}
	srand(d.seed);
	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!bed_make(&d.bed, &d.options)) {
		start = bed_now_ns();
		ok = run(&d);
	}
	bed_destroy(&d.bed);
	report(&d, stdout, ok, (double)(bed_now_ns() - start) / 1e9);
	json = d.json ? fopen(d.json, "w") : NULL;
	if (json) {
		report(&d, json, ok, (double)(bed_now_ns() - start) / 1e9);
		fclose(json);
	}
	return !ok;
}
