/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - what QP groups send over the network (net.h), and who sends some of it again.
 *
 * Solely owns: control messages that an attacker recorded. In: packets of hosts. Out: the same, to
 * the network.
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include "qp/provider.h"
#include "qp/soft/roce_wire.h"
#include "sim.h"

struct fabric_packet {
	struct packet on; /* control datagrams fit everywhere: they count no bytes */
	bool is_control;
	uint32_t write_id; /* whose bytes they are; 0: no application's */
	uint32_t length;   /* of data */
	struct roce_packet roce;
	uint8_t data[QP_CONTROL_MAX];
};

#define FABRIC_RECORDS	  64
#define FABRIC_DIRECTIONS 2

static inline struct link *fabric_link(struct port *port, unsigned direction)
{
	return direction ? &port->down : &port->up;
}

struct fabric {
	/* control messages, to be sent again by an attacker */
	bool is_recording;
	unsigned n_recorded;
	struct fabric_packet records[FABRIC_RECORDS];
};

/* The network has its size. */
void fabric_init(struct sim *sim);
/* False: the host's device does not take a packet of data of that length. */
bool fabric_fits(const struct sim *sim, const struct fabric_packet *packet);
/* From that host; data is the caller's to fill in. */
struct fabric_packet *fabric_packet(struct sim *sim, unsigned from, unsigned to);
/* Takes the packet. plane may be QP_ANY_PLANE. */
void fabric_send(struct sim *sim, struct fabric_packet *packet);
/* One of the recorded control messages arrives again, by a healthy path. */
void fabric_replay(struct sim *sim);
/* All links as new; what is held is let go soon. */
void fabric_heal(struct sim *sim);

#endif
