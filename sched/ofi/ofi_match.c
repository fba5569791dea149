/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_match.h"

#include <stddef.h>
#include <utlist.h>

bool ofi_match_accepts(const struct ofi_posted *posted, const struct ofi_arrived *arrived)
{
	if (posted->tagged != arrived->tagged)
		return false;
	if (posted->source != OFI_ANY_SOURCE && posted->source != arrived->source)
		return false;
	return !posted->tagged || ((posted->tag ^ arrived->tag) & ~posted->ignore) == 0;
}

void ofi_match_post(struct ofi_match *m, struct ofi_posted *posted)
{
	DL_APPEND(m->posted[posted->tagged], posted);
	m->n_posted++;
}

void ofi_match_unpost(struct ofi_match *m, struct ofi_posted *posted)
{
	DL_DELETE(m->posted[posted->tagged], posted);
	m->n_posted--;
}

void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *arrived)
{
	DL_APPEND(m->arrived[arrived->tagged], arrived);
	m->n_arrived++;
}

void ofi_match_remove(struct ofi_match *m, struct ofi_arrived *arrived)
{
	DL_DELETE(m->arrived[arrived->tagged], arrived);
	m->n_arrived--;
}

struct ofi_posted *ofi_match_posted(const struct ofi_match *m, const struct ofi_arrived *arrived)
{
	struct ofi_posted *p;

	DL_FOREACH (m->posted[arrived->tagged], p)
		if (ofi_match_accepts(p, arrived))
			return p;
	return NULL;
}

struct ofi_arrived *ofi_match_arrived(const struct ofi_match *m, const struct ofi_posted *posted)
{
	struct ofi_arrived *a;

	DL_FOREACH (m->arrived[posted->tagged], a)
		if (ofi_match_accepts(posted, a))
			return a;
	return NULL;
}
