/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_flows.c - TCP as any program uses it: many connections from one address to another, and what
 * of them arrives.
 *
 *   tcp_flows receive ADDRESS PORT FLOWS SECONDS     first; prints one line of JSON at the end
 *   tcp_flows send FROM TO PORT FLOWS SECONDS [PACE] PACE: bytes of each flow every 5 ms; 0: all
 *                                                    that TCP takes
 *
 * longest_gap_ms is the longest time in which some flow received nothing, from the first byte of
 * that flow to the last moment at which all were to send; bins_bytes is what all flows received in
 * each 100 ms.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define FLOWS_MAX 256
#define BINS_MAX  600
#define BIN_NS	  UINT64_C(100000000)

static struct pollfd fds[FLOWS_MAX];
static uint64_t last_ns[FLOWS_MAX], gap_ns;
static uint64_t bins[BINS_MAX];
static char buffer[65536];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1)
		die(text);
	return a;
}

static void take(int i, uint64_t now, uint64_t start)
{
	ssize_t n = recv(fds[i].fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	uint64_t bin = (now - start) / BIN_NS;

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			fds[i].fd = -1;
		return;
	}
	if (last_ns[i] && now - last_ns[i] > gap_ns)
		gap_ns = now - last_ns[i];
	last_ns[i] = now;
	bins[bin < BINS_MAX ? bin : BINS_MAX - 1] += (uint64_t)n;
}

static int receive(const struct sockaddr_in *at, int n, double seconds)
{
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t start, end, now;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const struct sockaddr *)at, sizeof(*at)) || listen(listener, n))
		die("listen");
	for (int i = 0; i < n; i++)
		fds[i] = (struct pollfd){accept(listener, NULL, NULL), POLLIN, 0};
	now = start = clock_now_ns();
	end = start + (uint64_t)(seconds * 1e9);
	while (now < end) {
		if (poll(fds, (nfds_t)n, 50) < 0)
			die("poll");
		now = clock_now_ns();
		for (int i = 0; i < n; i++)
			if (fds[i].revents)
				take(i, now, start);
	}
	for (int i = 0; i < n; i++)
		if (now - last_ns[i] > gap_ns) /* one that received nothing any more, too */
			gap_ns = now - last_ns[i];
	printf("{\"longest_gap_ms\": %.1f, \"bins_bytes\": [", (double)gap_ns / 1e6);
	for (uint64_t b = 0; b < (end - start) / BIN_NS && b < BINS_MAX; b++)
		printf("%s%llu", b ? ", " : "", (unsigned long long)bins[b]);
	puts("]}");
	return 0;
}

static int flow(const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (const struct sockaddr *)from, sizeof(*from)) ||
	    connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		die("connect");
	return fd;
}

static int send_all(const struct sockaddr_in *from, const struct sockaddr_in *to, int n,
		    double seconds, size_t pace)
{
	uint64_t end;

	for (int i = 0; i < n; i++)
		fds[i] = (struct pollfd){flow(from, to), POLLOUT, 0};
	end = clock_now_ns() + (uint64_t)(seconds * 1e9);
	while (clock_now_ns() < end) {
		if (pace)
			usleep(5000);
		else
			poll(fds, (nfds_t)n, 5);
		for (int i = 0; i < n; i++)
			send(fds[i].fd, buffer, pace ? pace : sizeof(buffer),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a, b;

	if (argc == 6 && !strcmp(argv[1], "receive")) {
		a = address(argv[2], atoi(argv[3]));
		return receive(&a, atoi(argv[4]), atof(argv[5]));
	}
	if ((argc == 7 || argc == 8) && !strcmp(argv[1], "send")) {
		a = address(argv[2], 0);
		b = address(argv[3], atoi(argv[4]));
		return send_all(&a, &b, atoi(argv[5]), atof(argv[6]),
				argc == 8 ? strtoul(argv[7], NULL, 10) : 0);
	}
	fputs("usage: see the head of tcp_flows.c\n", stderr);
	return 2;
}
