/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_flows.h - TCP as any program uses it: many connections from one address to another, and what
 * of them arrives. Nothing of libfare.
 *
 * Owns: nothing. In: addresses in the thread's network namespace. Out: what arrived, and when.
 * Thread: any; one receiver and one sender a process.
 */
#ifndef TCP_FLOWS_H
#define TCP_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCP_FLOWS_MAX	   256
#define TCP_FLOWS_BINS_MAX 3000
#define TCP_FLOWS_BIN_NS   UINT64_C(100000000)

struct tcp_flows_received {
	/* The longest time in which some connection received nothing, from its first byte to the
	 * last moment at which all were to send. */
	double longest_gap_ms;
	bool gap_is_open; /* and had not ended then: it was at least that long */
	uint64_t from_ns; /* monotonic: all are accepted; the first bin begins */
	double from_s;	  /* the same, of the wall clock */
	size_t n_bins;
	uint64_t bytes[TCP_FLOWS_BINS_MAX]; /* in each bin */
};

/* Waits for n connections, and receives for that long. 0 or -errno. */
int tcp_flows_receive(const char *address, uint16_t port, unsigned n, double seconds,
		      struct tcp_flows_received *out);
/* pace: bytes of each connection every 5 ms; 0: all that TCP takes. 0 or -errno. */
int tcp_flows_send(const char *from, const char *to, uint16_t port, unsigned n, double seconds,
		   size_t pace);

#endif
