/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bed.h - a bed for tests of QP groups: two GPUs, their planes, and a parent that plays both
 * daemons.
 *
 * Owns: for soft, two network namespaces joined by planes x sub_ports veth pairs; for verbs,
 * nothing of the fabric, which is that of tests/vm/fabric.sh; the run directories; the writers of
 * both segments; the two children. In: what the test wants broken or said. Out: domains for the
 * children, which attach as any application does. Thread: the parent's, except for bed_enter() and
 * what follows it, which run in the children.
 */
#ifndef BED_H
#define BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fare.h"
#include "shm_writer.h"

struct bed_options {
	const char *provider; /* "soft" or "verbs" */
	unsigned planes, sub_ports;
	unsigned rate_mbps; /* soft: each sub-port is shaped to that; 0: not at all */
	unsigned mtu;	    /* of the links; 0: 4200. The path MTU is the largest that fits */
	/*
	 * soft: a leaf between them that hashes addresses and ports, instead of cables; one plane
	 */
	bool leaf;
	bool ipv6;    /* soft, without a leaf: the GPUs have IPv6 addresses */
	uint64_t bps; /* what each sub-port is said to carry; 0: 200 Mb/s */
};

struct bed {
	struct bed_options options;
	bool verbs;
	char ns[2][32], leaf[32], dir[2][48], key[48];
	pid_t child[2];
	int guard; /* socket to what removes all of it */
	struct shm_writer *writer[2];
	/*
	 * what bed_publish() says: planes to both alike, sub-ports to the host whose they are (and
	 * BGP to the other)
	 */
	bool plane_down[FARE_MAX_PLANES];
	bool sub_port_down[2][FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

/* Exits with 77, saying why, where such a bed cannot be. 0, or 1 with the problem on stderr. */
int bed_make(struct bed *bed, const struct bed_options *options);
/* Kills children that are left. What was made goes also if the test is killed without that. */
void bed_destroy(struct bed *bed);

struct in6_addr bed_address(int host);				 /* IPv4 */
struct in6_addr bed_address_in(const struct bed *bed, int host); /* of the bed's family */
const char *bed_device(const struct bed *bed, int host, unsigned plane, unsigned sub_port,
		       char text[16]);
/* A shell command; its exit status. */
int bed_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "ip netns exec ... " or nothing: before a command that is to run where host's devices are. */
const char *bed_in(const struct bed *bed, int host, char text[48]);

void bed_publish(struct bed *bed);
/* A sub-port's carrier, as host 0 sees it. Nobody says so. */
void bed_link(struct bed *bed, unsigned plane, unsigned sub_port, bool up);
/* All that the plane carries toward either host is dropped in silence, or no longer. */
void bed_gray(struct bed *bed, unsigned plane, bool gray);

/*
 * A host that only receives: registers so many bytes, says where (*rkey last, and never 0), and
 * closes the groups that its peer closes, until *over. For bed_start()'s functions; 0, or 1.
 */
int bed_sink(struct bed *bed, int host, size_t bytes, _Atomic uint64_t *addr,
	     _Atomic uint64_t *rkey, _Atomic int *over);
/* What a sub-port's device has received so far. */
uint64_t bed_rx_bytes(const struct bed *bed, int host, unsigned plane, unsigned sub_port);
/* The leaf hashes anew from now on: another seed, and that is all. */
int bed_rehash(const struct bed *bed, unsigned seed);

/* Starts host's process; it ends with what main returns. */
int bed_start(struct bed *bed, int host, int (*main)(void *arg), void *arg);
/* Waits for it to end: its exit status, or 1. */
int bed_join(struct bed *bed, int host);

/* In a child: into host's namespace; attached, with a domain. They exit with 1 if that fails. */
void bed_enter_namespace(const struct bed *bed, int host);
struct fare_domain *bed_enter(const struct bed *bed, int host, struct fare **fare);
/* Takes events, waiting up to ms for the first. */
int bed_events(struct fare_domain *domain, struct fare_event *events, int max, int ms);
/* Memory of zeroes. */
uint8_t *bed_memory(size_t bytes);

uint64_t bed_mix(uint64_t id, uint64_t i); /* 64 bits that look random */
/* What message id holds in its bytes [from, to), and whether it does; from is a multiple of 8. */
void bed_fill(uint8_t *message, uint64_t from, uint64_t to, uint64_t id);
bool bed_holds(const uint8_t *message, uint64_t from, uint64_t to, uint64_t id);

#endif
