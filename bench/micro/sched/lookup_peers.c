/* SPDX-License-Identifier: BSD-2-Clause */
/* lookup_peers.c - the peers that this build has. */
#include "micro/sched/lookup_peer.h"

const struct lookup_peer *const lookup_peers[] = {
	&lookup_peer_conn,
	&lookup_peer_flow_id,
#ifdef SCHED_HAVE_ABSL
	&lookup_peer_absl,
#endif
#ifdef SCHED_HAVE_RTE
	&lookup_peer_rte,
#endif
#ifdef SCHED_HAVE_CK
	&lookup_peer_ck,
#endif
#ifdef SCHED_HAVE_URCU
	&lookup_peer_urcu,
#endif
#ifdef SCHED_HAVE_GLIB
	&lookup_peer_glib,
#endif
#ifdef SCHED_HAVE_UTHASH
	&lookup_peer_uthash,
#endif
	NULL,
};
