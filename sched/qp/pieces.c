/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "qp/regions.h"
#include "qp/transfer_state.h"

struct kept_piece {
	uint8_t *data;
	uint64_t length;
	uint32_t lkey;
};

static struct kept_piece *pieces_of(const struct transfer *t, const struct message *m)
{
	return &t->pieces[(size_t)(m - t->messages) * FARE_PIECES_MAX];
}

int pieces_reserve(struct transfer *t)
{
	if (!t->pieces)
		t->pieces = calloc((size_t)t->attr.options->max_messages * FARE_PIECES_MAX,
				   sizeof(*t->pieces));
	return t->pieces ? 0 : -ENOMEM;
}

uint64_t pieces_keep(struct transfer *t, const struct message *m, const struct fare_write *write)
{
	struct kept_piece *kept = pieces_of(t, m);
	uint64_t length = 0;

	for (unsigned i = 0; i < write->n_pieces; i++) {
		const struct fare_piece *p = &write->pieces[i];

		kept[i] = (struct kept_piece){.data = p->data,
					      .length = p->length,
					      .lkey = p->length ? regions_lkey(p->mr) : 0};
		length += p->length;
	}
	return length;
}

/* Returns the piece in which *offset lies, and sets *offset to the offset within that piece. */
static const struct kept_piece *pieces_find(const struct transfer *t, const struct message *m,
					    uint64_t *offset)
{
	const struct kept_piece *piece = pieces_of(t, m);

	for (; *offset >= piece->length; piece++)
		*offset -= piece->length;
	return piece;
}

uint64_t pieces_left(const struct transfer *t, const struct message *m, uint64_t offset)
{
	const struct kept_piece *piece = pieces_find(t, m, &offset);

	return piece->length - offset;
}

uint8_t *pieces_at(const struct transfer *t, const struct message *m, uint64_t offset,
		   uint32_t *lkey)
{
	const struct kept_piece *piece = pieces_find(t, m, &offset);

	*lkey = piece->lkey;
	return piece->data + offset;
}
