/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare_limits.h - the sizes that the shared memory and the API agree on.
 */
#ifndef FARE_LIMITS_H
#define FARE_LIMITS_H

#define FARE_MAX_PLANES	    16
#define FARE_MAX_SUB_PORTS  8
#define FARE_MAX_LOCAL_GPUS 16
#define FARE_MAX_PAIRS	    4096
#define FARE_DEV_NAME_MAX   16 /* IFNAMSIZ */

#define FARE_DSCP_ZERO	   64	/* fare_group_options.dscp: DSCP 0, as 0 means the default */
#define FARE_PRIVATE_MAX   256	/* bytes that each end may say when a group opens */
#define FARE_MESSAGE_MAX   4096 /* bytes of one fare_group_send() */
#define FARE_MESSAGES_MAX  128	/* outstanding in one group */
#define FARE_PIECES_MAX	   8	/* of one fare_write or fare_read */
#define FARE_PLANE_QPS_MAX 64	/* of a group on each plane */

#endif
