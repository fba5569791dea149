/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_shape.h - how large everything of a group is: options with their defaults, QPs a lane,
 * windows, chunks (pure).
 *
 * Owns nothing; it fills in fields of the group. In: what the application or the peer asks for, the
 * domain's planes, the paths' rates. Out: the group's options, lanes, windows. The domain's thread.
 */
#ifndef QP_GROUP_SHAPE_H
#define QP_GROUP_SHAPE_H

#include <stdint.h>

struct control_message;
struct fare_group;
struct fare_group_options;
struct message;

/* offer: the peer's GROUP_OPEN, or NULL. 0, -EINVAL, -EOPNOTSUPP. */
int shape_options(struct fare_group *group, const struct fare_group_options *in,
		  const struct control_message *offer);
/* Makes the lanes. 0, -EINVAL, -EPROTO (the peer's planes are not ours), -ENOMEM. */
int shape_lanes(struct fare_group *group, const struct control_message *offer);
/* The paths changed: on slow links windows and chunks are smaller. */
void shape_follow_rate(struct fare_group *group);
/* How long a chunk of the message is at most. */
uint32_t shape_unit_bytes(const struct fare_group *group, const struct message *m);

#endif
