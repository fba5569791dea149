/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane.h - inside of struct lanes, for the files behind lanes.h alone, which call each other in
 * this order and never back: lane.c (states, handshakes), lane_qps.c (QPs), port_cache.c (where
 * source ports lead), lane_ports.c (which of them a lane uses), lane_export.c (exported state).
 */
#ifndef QP_LANE_H
#define QP_LANE_H

#include "qp/control_wire.h"
#include "qp/endpoint.h"
#include "qp/group_paths.h"
#include "qp/lanes.h"
#include "qp/peer_link.h"
#include "qp/run_queue.h"

struct conn_shm_path;
struct conn_shm_qp;

enum lane_state {
	/* no QPs. The opener rebuilds when the path is usable and the back-off is over */
	LANE_DOWN,
	LANE_LEARNING,	 /* until the port cache knows enough source ports of the path */
	LANE_OPENING,	 /* opener: LANE_OPEN was sent */
	LANE_CONNECTING, /* opener: LANE_ACCEPT arrived, the QPs are changing to RTS */
	LANE_ACCEPTING,	 /* acceptor: LANE_ACCEPT was sent, the QPs can receive */
	LANE_UP,
	/*
	 * own QPs are in error; waiting until their work requests are flushed, and until the peer
	 * confirms that its QPs are in error
	 */
	LANE_RESETTING,
};

/* The last changes of a lane's state, for lanes_dump(). */
#define LANE_CHANGES 4
struct lane_change {
	uint64_t at_ns;
	const char *reason; /* static */
	enum lane_state from, to;
};

struct lane_qp {
	struct lanes_qp at; /* qp_wc.context points to it */
	struct qp *qp;
	uint16_t home;	   /* sub-port that the QP was made for */
	uint16_t sub_port; /* sub-port that the QP uses now */
	uint16_t source_port;
	uint32_t posted; /* work requests that were posted and have not completed */
	uint64_t posted_bytes;
	uint64_t progress_ns; /* when one completed last, or when one was posted after none was */
};

struct lane {
	struct lanes *lanes;
	uint16_t index; /* within the group */
	enum lane_state state;
	struct lane_change changes[LANE_CHANGES]; /* n_changes modulo LANE_CHANGES: the next */
	unsigned n_changes;
	unsigned events; /* enum lanes_event_kind: not taken yet */
	uint32_t epoch;
	bool confirmed; /* RESETTING: the peer's QPs are known to be in error, or were never made */
	bool yields;	/* acceptor: on the next epoch nothing is posted before post_ns */
	bool attempted; /* an attempt to bring the lane up has succeeded or failed */
	int error;	/* -errno of the last failed attempt; 0: none failed since it was up */
	int post_error; /* -errno: a QP takes no posts, which lane_step() acts on */
	bool keeps_backoff; /* RESETTING: not the path's failure, so back-off does not grow */
	unsigned n_qps;
	struct lane_qp *qps; /* n_qps of them */
	/* source ports that the lane needs: one for each QP; FARE_MODE_PACKET: all for one QP */
	unsigned n_ports;
	struct qp_path *path_set; /* FARE_MODE_PACKET: room for n_ports; n_paths in use */
	unsigned n_paths;
	struct lane_offer *offer; /* acceptor, LEARNING: not answered yet */
	struct port_entry *entry; /* of the port cache; NULL: source ports are random */
	struct port_path *ports;  /* the entry's; NULL likewise */
	struct lane *prev, *next; /* all lanes of that entry */
	bool is_ack_due;	  /* LANE_RESET_ACK for ack_epoch, once all is read */
	uint32_t ack_epoch;
	uint64_t due_ns;   /* of the next action: resend, give up, rebuild */
	uint64_t since_ns; /* when the state began */
	uint64_t backoff_ns;
	uint64_t up_since_ns;
	uint64_t post_ns; /* UP: nothing is posted before */
	unsigned sends;
	uint64_t posted_bytes; /* of all its QPs */
	/* what the lane and each of its QPs may have posted; a little more by the last chunk */
	uint64_t room_bytes, qp_room_bytes;
};

struct lanes {
	struct lanes_attr attr;
	bool is_packet; /* FARE_MODE_PACKET: a lane's one QP uses several source ports */
	unsigned n;
	struct lane *lane; /* n of them */
	uint64_t n_deaths, n_rebuilds;
	/* exported state; NULL: the segment had no rows left */
	struct conn_segment *segment;
	unsigned local_gpu;
	struct conn_shm_qp *rows;	 /* n x n_qps */
	struct conn_shm_path *path_rows; /* n; NULL also where the kernel routes */
};

static inline const struct endpoint *lane_ep(const struct lane *lane)
{
	return lane->lanes->attr.ep;
}

static inline uint64_t lane_now_ns(const struct lane *lane)
{
	return lane_ep(lane)->now_ns;
}

/* ---- lane.c ---- */

void lane_step(struct lane *lane);
uint64_t lane_due_ns(const struct lane *lane);
bool lane_is_busy(const struct lane *lane);
void lane_kill(struct lane *lane, const char *reason); /* QPs to error, LANE_RESET follows */
void lane_on_failure(struct lane *lane, enum failure failure);
void lane_drained(struct lane *lane);
void lane_on_control(struct lane *lane, const struct control_message *message);
void lane_follow_path(struct lane *lane, bool hashes_anew);

/* ---- lane_qps.c ---- */

bool lane_qps_exist(const struct lane *lane);
/* < 0: a QP failed by itself; > 0: a QP is changing its state; 0: no change is under way. */
int lane_qps_status(const struct lane *lane);
/* A QP has refused a request of the peer, and ended by that. */
bool lane_qps_refused(const struct lane *lane);
uint32_t lane_qps_posted(const struct lane *lane);
/* A QP has work, and nothing has come back from it for longer than any path takes. */
bool lane_qps_stalled(const struct lane *lane);
int lane_qps_create(struct lane *lane); /* all of them, or none and -errno */
int lane_qps_connect(struct lane *lane, const struct control_qp *peer,
		     const uint8_t (*addresses)[16], unsigned n_addresses);
/* Moves QPs to live sub-ports. False: one cannot leave its own, so that the lane is to end. */
bool lane_qps_follow_sub_ports(struct lane *lane);
void lane_qps_kick(struct lane *lane);
void lane_qps_destroy(struct lane *lane);

/* ---- lane_ports.c ---- */

/* The remote sub-port to which a port leads; -1: not known. */
int8_t lane_ports_remote(const struct lane *lane, unsigned local, uint16_t port);
/* One QP or source-port path of the lane more (by = -1: less) uses that port. */
void lane_ports_use(struct lane *lane, unsigned local, uint16_t port, int by);
/* Bit p: a QP of the group has port p of the pool; own: those of the lane itself count, too. */
uint16_t lane_ports_of_group(const struct lane *lane, bool own);
/* Enough ports are known for each QP, and for each remote sub-port to get its part of them. */
bool lane_ports_cover(const struct lane *lane);
/* The lane has more than one source port, so its load may be uneven. */
bool lane_ports_can_be_uneven(const struct lane *lane);
/* The lane's ports are even over these remote sub-ports, as far as is known. */
bool lane_ports_are_even(const struct lane *lane, uint32_t remotes);
/* The fewest QPs that make the lane even get other ports. True: at least one did. */
bool lane_ports_even_out(struct lane *lane);
/* FARE_MODE_PACKET: from now on the lane's QP sends by all live sub-ports, evenly. */
int lane_ports_set_paths(struct lane *lane);
/* The lane has no path set any more. */
void lane_ports_clear_paths(struct lane *lane);

/* ---- lane_export.c ---- */

void lane_export_create(struct lanes *lanes);
void lane_export_destroy(struct lanes *lanes);
/* Call when the lane's state or the sub-port of one of its QPs changed. */
void lane_export_lane(const struct lane *lane);
void lane_export_posted(const struct lane *lane);
void lane_export_acknowledged(const struct lane *lane, const struct lane_qp *q, uint32_t bytes);

#endif
