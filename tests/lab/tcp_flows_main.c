/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_flows_main.c - bench/engine/tcp_flows.h as a program, for scripts.
 *
 *   tcp_flows receive ADDRESS PORT FLOWS SECONDS     first; prints one line of JSON at the end
 *   tcp_flows send FROM TO PORT FLOWS SECONDS [PACE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tcp_flows.h"

static struct tcp_flows_received received;

static int receive(char **argv)
{
	const struct tcp_flows_received *r = &received;
	int err = tcp_flows_receive(argv[2], (uint16_t)atoi(argv[3]), (unsigned)atoi(argv[4]),
				    atof(argv[5]), &received);

	if (err)
		return err;
	printf("{\"longest_gap_ms\": %.1f, \"start_s\": %.3f, \"bins_bytes\": [", r->longest_gap_ms,
	       r->from_s);
	for (size_t b = 0; b < r->n_bins; b++)
		printf("%s%llu", b ? ", " : "", (unsigned long long)r->bytes[b]);
	puts("]}");
	return 0;
}

int main(int argc, char **argv)
{
	int err;

	if (argc == 6 && !strcmp(argv[1], "receive")) {
		err = receive(argv);
	} else if ((argc == 7 || argc == 8) && !strcmp(argv[1], "send")) {
		err = tcp_flows_send(argv[2], argv[3], (uint16_t)atoi(argv[4]),
				     (unsigned)atoi(argv[5]), atof(argv[6]),
				     argc == 8 ? strtoul(argv[7], NULL, 10) : 0);
	} else {
		fputs("usage: see the head of tcp_flows_main.c\n", stderr);
		return 2;
	}
	if (err)
		fprintf(stderr, "tcp_flows: %s\n", strerror(-err));
	return err ? 1 : 0;
}
