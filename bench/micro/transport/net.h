/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net.h - two network namespaces joined by one veth pair per plane, for two processes to write to
 * each other.
 *
 * Owns: the namespaces, their devices p0.. and the run directories in which a path table says that
 * all planes work. In: nothing. Out: names and addresses. Everything goes with
 * transport_net_down(). Thread: one.
 */
#ifndef TRANSPORT_NET_H
#define TRANSPORT_NET_H

#include "shm_writer.h"

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

#endif
