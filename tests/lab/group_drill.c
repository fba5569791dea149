/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_drill.c - a QP group under fire: two hosts without a router (bed.h), and a parent that
 * breaks planes at random.
 *
 *   group_drill [--provider soft|verbs] [--mode flow|spray|packet] [--messages N | --seconds S]
 *               [--max-bytes B] [--planes N] [--sub-ports M] [--rate MBPS] [--patience S] [--seed
 *               N] [--calm] [--json FILE]
 *
 * What is sent and how it is checked: drill_hosts.h. Faults: planes said to be down, links down
 * before anybody says so, planes that drop everything in silence, sub-ports lost at either end, and
 * all planes down at once. When nothing moves for --patience seconds, both groups are dumped and
 * the drill fails. verbs: inside the VM, after fabric_up. Exit 77: not root. One line of JSON at
 * the end.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "drill_hosts.h"

enum fault { WELL, TOLD, LINKS, GRAY, SUB_PORT, FAULTS };

struct drill {
	struct drill_hosts hosts;
	struct bed_options options;
	double seconds;
	bool calm;
	const char *json;
	enum fault fault[FARE_MAX_PLANES];
	uint64_t n_faults[FAULTS], n_blackouts, start_ns, took_ns;
};

/* ---- faults ---- */

static unsigned pick(unsigned n)
{
	return (unsigned)rand() % n;
}

/*
 * Both orders occur: first the fault and then the word of it, or nobody says anything, or there is
 * nothing but the word.
 */
static void set_fault(struct drill *d, unsigned p, enum fault fault)
{
	enum fault kind = fault ? fault : d->fault[p];
	unsigned s = pick(d->hosts.bed.options.sub_ports), said = pick(2);
	int host = (int)pick(2);

	if (kind == LINKS)
		for (s = 0; s < d->hosts.bed.options.sub_ports; s++)
			bed_link(&d->hosts.bed, p, s, !fault);
	if (kind == GRAY)
		bed_gray(&d->hosts.bed, p, fault);
	if (kind == SUB_PORT && fault)
		d->hosts.bed.sub_port_down[host][p][s] = true;
	if (kind == SUB_PORT && !fault)
		memset(d->hosts.bed.sub_port_down[0][p], 0,
		       sizeof(d->hosts.bed.sub_port_down[0][p])),
			memset(d->hosts.bed.sub_port_down[1][p], 0,
			       sizeof(d->hosts.bed.sub_port_down[1][p]));
	d->hosts.bed.plane_down[p] = fault == TOLD || (fault == LINKS) || (fault == GRAY && said);
	d->fault[p] = fault;
	d->n_faults[fault]++;
	bed_publish(&d->hosts.bed);
}

/* A moment in which no plane is left. */
static void blackout(struct drill *d)
{
	bool down[FARE_MAX_PLANES];

	memcpy(down, d->hosts.bed.plane_down, sizeof(down));
	memset(d->hosts.bed.plane_down, 1, sizeof(d->hosts.bed.plane_down));
	bed_publish(&d->hosts.bed);
	d->n_blackouts++;
	poll(NULL, 0, 20 + (int)pick(60)); /* its length */
	memcpy(d->hosts.bed.plane_down, down, sizeof(down));
	bed_publish(&d->hosts.bed);
}

static void break_something(struct drill *d)
{
	unsigned p = pick(d->hosts.bed.options.planes), well = 0;

	for (unsigned q = 0; q < d->hosts.bed.options.planes; q++)
		well += d->fault[q] == WELL || d->fault[q] == SUB_PORT;
	if (pick(16) == 0)
		blackout(d);
	else if (d->fault[p])
		set_fault(d, p, WELL);
	else if (d->hosts.bed.options.sub_ports > 1 && pick(3) == 0)
		set_fault(d, p, SUB_PORT);
	else if (well > 1)
		set_fault(d, p, TOLD + pick(3));
}

/* ---- the drill ---- */

static bool wanted(const struct drill *d, uint64_t end)
{
	return d->hosts.messages ? d->hosts.shared->sent < d->hosts.messages : clock_now_ns() < end;
}

static bool run(struct drill *d)
{
	uint64_t end = clock_now_ns() + (uint64_t)(d->seconds * 1e9);

	while (wanted(d, end) && drill_hosts_alive(&d->hosts)) {
		/* paces the faults; nothing is waited for by it */
		poll(NULL, 0, 20 + (int)pick(120));
		if (!d->calm)
			break_something(d);
	}
	for (unsigned p = 0; p < d->options.planes; p++) {
		if (d->hosts.shared->failed)
			fprintf(stderr, "group_drill: plane %u: fault %d\n", p, d->fault[p]);
		if (d->fault[p])
			set_fault(d, p, WELL);
	}
	return drill_hosts_end(&d->hosts);
}

static void report(const struct drill *d, FILE *to, bool ok)
{
	unsigned long long faults = 0;

	for (int f = TOLD; f < FAULTS; f++)
		faults += d->n_faults[f];
	fprintf(to, "{\"drill\":{");
	drill_hosts_report(&d->hosts, to);
	fprintf(to,
		",\"seconds\":%.1f,\"faults\":%llu,\"told\":%llu,\"links\":%llu,\"gray\":%llu,"
		"\"sub_port\":%llu,"
		"\"blackouts\":%llu,\"ok\":%s}}\n",
		(double)d->took_ns / 1e9, faults, (unsigned long long)d->n_faults[TOLD],
		(unsigned long long)d->n_faults[LINKS], (unsigned long long)d->n_faults[GRAY],
		(unsigned long long)d->n_faults[SUB_PORT], (unsigned long long)d->n_blackouts,
		ok ? "true" : "false");
}

static uint64_t bytes_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	return *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

static bool parse(struct drill *d, int argc, char **argv)
{
	static const struct option options[] = {{"provider", 1, 0, 'p'},
						{"mode", 1, 0, 'm'},
						{"messages", 1, 0, 'n'},
						{"seconds", 1, 0, 's'},
						{"max-bytes", 1, 0, 'b'},
						{"planes", 1, 0, 'P'},
						{"sub-ports", 1, 0, 'S'},
						{"rate", 1, 0, 'R'},
						{"patience", 1, 0, 'w'},
						{"seed", 1, 0, 'r'},
						{"calm", 0, 0, 'c'},
						{"json", 1, 0, 'j'},
						{0, 0, 0, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'p')
			d->options.provider = optarg;
		else if (c == 'm')
			d->hosts.mode = !strcmp(optarg, "flow")	    ? FARE_MODE_FLOW
					: !strcmp(optarg, "packet") ? FARE_MODE_PACKET
								    : FARE_MODE_SPRAY;
		else if (c == 'n')
			d->hosts.messages = strtoull(optarg, NULL, 0);
		else if (c == 's')
			d->seconds = atof(optarg);
		else if (c == 'b')
			d->hosts.max_bytes = bytes_of(optarg);
		else if (c == 'P')
			d->options.planes = (unsigned)atoi(optarg);
		else if (c == 'S')
			d->options.sub_ports = (unsigned)atoi(optarg);
		else if (c == 'R')
			d->options.rate_mbps = (unsigned)atoi(optarg);
		else if (c == 'w')
			d->hosts.patience_s = atof(optarg);
		else if (c == 'r')
			d->hosts.seed = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'c')
			d->calm = true;
		else if (c == 'j')
			d->json = optarg;
		else
			return false;
	}
	d->hosts.max_bytes = (d->hosts.max_bytes + 7) / 8 * 8;
	return d->options.planes && d->options.planes <= FARE_MAX_PLANES && d->options.sub_ports &&
	       d->options.sub_ports <= FARE_MAX_SUB_PORTS && d->hosts.max_bytes;
}

int main(int argc, char **argv)
{
	static struct drill d = {
		.options = {.provider = "soft", .planes = 4, .sub_ports = 2, .rate_mbps = 200},
		.hosts = {.mode = FARE_MODE_SPRAY, .max_bytes = 1u << 20, .patience_s = 60},
		.seconds = 5};
	bool ok = false;
	FILE *json;

	d.hosts.seed = (unsigned)time(NULL);
	if (!parse(&d, argc, argv)) {
		fprintf(stderr, "group_drill: usage at the head of tests/lab/group_drill.c\n");
		return 2;
	}
	srand(d.hosts.seed);
	if (!drill_hosts_start(&d.hosts, &d.options)) {
		d.start_ns = clock_now_ns();
		ok = run(&d);
		d.took_ns = clock_now_ns() - d.start_ns;
	}
	bed_destroy(&d.hosts.bed);
	report(&d, stdout, ok);
	json = d.json ? fopen(d.json, "w") : NULL;
	if (json) {
		report(&d, json, ok);
		fclose(json);
	}
	return !ok;
}
