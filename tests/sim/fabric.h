/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - planes of leaves: links with rate, delay, loss, duplication, reordering; hashing.
 *
 * Solely owns: packets under way, the state of each direction of each link, the leaves' hash. In:
 * packets of hosts. Out: the same packets, later, elsewhere, twice or never (LOOP_PACKET).
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "link.h"
#include "qp/provider.h"
#include "qp/soft/roce_wire.h"
#include "sim.h"

struct packet {
	struct packet *next;
	uint8_t from, to; /* hosts */
	bool is_control;
	uint16_t plane, sub_port; /* sent from, then arrived on */
	uint16_t source_port;
	uint32_t write_id; /* whose bytes they are; 0: no application's */
	uint32_t length;   /* of data */
	struct roce_packet roce;
	uint8_t data[QP_CONTROL_MAX];
};

enum direction { TO_LEAF, TO_HOST, DIRECTIONS };

struct port {
	struct link link[DIRECTIONS]; /* control datagrams fit everywhere */
	bool has_carrier;
	bool is_routed;	     /* the leaf's hash counts it */
	uint32_t device_mtu; /* the host's own device refuses larger packets of data */
};

#define FABRIC_RECORDS 64

struct fabric {
	struct port port[SIM_HOSTS][SIM_PLANES][SIM_SUB_PORTS];
	uint32_t salt; /* of the leaves' hash */
	struct prng prng;
	struct packet *unused;
	/* control messages, to be sent again by an attacker */
	bool is_recording;
	unsigned n_recorded;
	struct packet records[FABRIC_RECORDS];
};

/* False: the host's device does not take a packet of data of that length. */
bool fabric_fits(const struct sim *sim, unsigned host, const struct packet *packet);
void fabric_init(struct sim *sim);
struct packet *fabric_packet(struct sim *sim);
void fabric_free(struct sim *sim, struct packet *packet);
/* Takes the packet. plane may be QP_ANY_PLANE. */
void fabric_send(struct sim *sim, struct packet *packet);
/* Where the leaf sends what comes from that source port; -1: nowhere. */
int fabric_leads_to(const struct sim *sim, unsigned from, unsigned to, unsigned plane,
		    uint16_t source_port);
/* One of the recorded control messages arrives again, by a healthy path. */
void fabric_replay(struct sim *sim);
/* All links as new; what is held is let go soon. */
void fabric_heal(struct sim *sim);
/* Packets under way are dropped: the schedule ended early. */
void fabric_drain(struct sim *sim);
void fabric_fini(struct sim *sim);

#endif
