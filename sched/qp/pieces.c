/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "qp/internal.h"

int pieces_check(const struct fare_group *group, const struct fare_write *write)
{
	uint64_t length = 0;

	if (write->n_pieces > FARE_PIECES_MAX || !write->pieces || write->length)
		return -EINVAL;
	for (unsigned i = 0; i < write->n_pieces; i++) {
		const struct fare_piece *p = &write->pieces[i];

		if (p->length && (!p->data || !p->mr ||
				  !domain_mr_holds(group->domain, p->mr, p->data, p->length)))
			return -EINVAL;
		if (__builtin_add_overflow(length, p->length, &length))
			return -EINVAL;
	}
	return length > UINT64_MAX - write->remote_addr ? -EINVAL : 0;
}

static struct kept_piece *pieces_of(const struct fare_group *group, const struct message *m)
{
	return &group->pieces[(size_t)(m - group->messages) * FARE_PIECES_MAX];
}

int pieces_reserve(struct fare_group *group)
{
	if (!group->pieces)
		group->pieces = calloc((size_t)group->options.max_messages * FARE_PIECES_MAX,
				       sizeof(*group->pieces));
	return group->pieces ? 0 : -ENOMEM;
}

uint64_t pieces_keep(struct fare_group *group, const struct message *m,
		     const struct fare_write *write)
{
	struct kept_piece *kept = pieces_of(group, m);
	uint64_t length = 0;

	for (unsigned i = 0; i < write->n_pieces; i++) {
		const struct fare_piece *p = &write->pieces[i];

		kept[i] = (struct kept_piece){.data = p->data,
					      .length = p->length,
					      .lkey = p->length ? domain_mr_lkey(p->mr) : 0};
		length += p->length;
	}
	return length;
}

/* Returns the piece in which *offset lies, and sets *offset to the offset within that piece. */
static const struct kept_piece *find(const struct fare_group *group, const struct message *m,
				     uint64_t *offset)
{
	const struct kept_piece *piece = pieces_of(group, m);

	for (; *offset >= piece->length; piece++)
		*offset -= piece->length;
	return piece;
}

uint64_t pieces_left(const struct fare_group *group, const struct message *m, uint64_t offset)
{
	const struct kept_piece *piece = find(group, m, &offset);

	return piece->length - offset;
}

uint8_t *pieces_at(const struct fare_group *group, const struct message *m, uint64_t offset,
		   uint32_t *lkey)
{
	const struct kept_piece *piece = find(group, m, &offset);

	*lkey = piece->lkey;
	return piece->data + offset;
}
