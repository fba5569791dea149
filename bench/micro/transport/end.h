/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end.h - one measurement of one method: both ends forked, driven by the same loops, every method
 * alike.
 *
 * Owns: the two processes, pinned to a core each; the network namespaces that they are in. In: a
 * method, a size, a number of QPs. Out: goodput with what it cost in processor time, or half round
 * trips. Every message carries its number in its last eight bytes; at the end the receiver waits
 * for the last number of every slot and compares all bytes: a figure without the bytes does not
 * exist. Thread: one.
 */
#ifndef TRANSPORT_END_H
#define TRANSPORT_END_H

#include "micro/transport/method.h"
#include "shm_writer.h"

/* ---- net.c: two network namespaces joined by one veth pair per plane, p0 and on, and run
 * directories in which a path table says that all planes work; all goes with transport_net_down().
 * ---- */

struct transport_net {
	char netns[2][32], run_dir[2][48], address[2][16];
	struct shm_writer *writer[2];
	unsigned n_planes;
};

/* 0 or -errno, after saying what failed; call transport_net_down() either way. */
int transport_net_up(struct transport_net *net, unsigned n_planes);
void transport_net_down(struct transport_net *net);
/* Tells libfare of both ends that the first n planes carry traffic, the others none. */
int transport_net_publish(struct transport_net *net, unsigned n);
int transport_net_enter(const struct transport_net *net, unsigned who); /* this process; -errno */

#define TRANSPORT_MIN_BYTES 8
#define TRANSPORT_MAX_BYTES (64u << 20)
#define TRANSPORT_WHY_BYTES 128

struct transport_case {
	const struct transport_method *method;
	size_t bytes;
	unsigned qps;
	double seconds; /* measured, after a warm-up */
	bool latency;
	bool block; /* sleep when nothing is due, instead of spinning; where the method can */
};

struct transport_outcome {
	double goodput_bps, cpu_s_per_gb; /* processor time of both ends over 1e9 bytes delivered */
	double half_rtt_us[4];		  /* p50, p99, p99.9, worst */
	/*
	 * a cache line between the ends' cores, the slower of before and after; negative: unknown
	 */
	double handover_ns;
	uint64_t n;		       /* messages, or round trips */
	char why[TRANSPORT_WHY_BYTES]; /* it did not run to its end; else empty */
};

/*
 * 0; -EOPNOTSUPP: the method does not work on this machine; -errno with the reason in out->why, and
 * said on stderr.
 */
int transport_run(const struct transport_net *net, const struct transport_case *c,
		  struct transport_outcome *out);
/* How long a cache line takes between the cores that the ends run on, now (handover.h). */
double transport_handover_ns(void);

/* ---- handover.c: how far apart two cores are ---- */

/*
 * Whatever two processes hand each other through memory, a kernel's socket buffers included, moves
 * by cache lines. Cores that share a cache hand one over in some 30 ns; where a hypervisor has put
 * them on different ones it takes five times that, goodput between them is a third, and it may
 * change its mind from one second to the next. So who measures between cores says what this was
 * meanwhile.
 */

/*
 * One way, in nanoseconds: the median of several short rounds between cores a and b. Negative,
 * -errno: -EINVAL one core alone, -EAGAIN no thread, or a core that one may not run on.
 */
double handover_ns(unsigned a, unsigned b);

#endif
