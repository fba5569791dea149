/* SPDX-License-Identifier: BSD-2-Clause */
/* edition_show.c - what a report has beyond the older revisions of the drafts (summary.h) */
#include <string.h>

#include "report/summary.h"
#include "report/table.h"
#include "suite/edition.h"

/* What differs, of the drafts whose newer revision the run follows. */
static void edition_changes_show(struct doc *doc, struct editions e)
{
	static const char *const headers[] = {"Draft", "Clause", "-02", "Newer", "Here"};
	struct table *table = doc_table_of(doc, 5, headers);
	size_t n;
	const struct edition_change *c = edition_changes(&n);

	for (size_t i = 0; table && i < n; i++)
		if (e.newer[c[i].draft])
			doc_fail(doc, table_row(table, (const char *[]){edition_name(c[i].draft),
									c[i].clause, c[i].older,
									c[i].newer, c[i].here}));
	doc_table(doc, table);
}

/* Is the KPI of an earlier test, with the same boundary and moments? */
static bool edition_has_row(const struct results_tests *tests, size_t until, const struct kpi *k)
{
	for (size_t i = 0; i < until; i++) {
		const struct kpi *other = test_kpi(tests->test[i], k->name);

		if (other && strcmp(other->point, k->point) == 0 &&
		    strcmp(other->what, k->what) == 0)
			return true;
	}
	return false;
}

static void edition_points(struct doc *doc, const struct results *results,
			   const struct results_tests *tests)
{
	static const char *const headers[] = {"KPI", "Boundary", "What, from when to when"};
	struct table *table = doc_table_of(doc, 3, headers);

	doc_heading(doc, 3, "", "Observation points");
	doc_text(doc, "Times are stamped by the endpoints' software. Values of different "
		      "boundaries are neither compared nor combined.");
	for (size_t i = 0; table && i < tests->n; i++)
		for (const struct kpi *k = tests->test[i]->kpis; k->name; k++) {
			const struct rows_filter filter = {
				.test = tests->test[i]->id, .kpi = k->name, .trial = -1};

			if (!*k->point || edition_has_row(tests, i, k) ||
			    rows_next(results->rows, &filter, 0) == rows_count(results->rows))
				continue;
			doc_fail(doc,
				 table_row(table, (const char *[]){k->name, k->point, k->what}));
		}
	doc_table(doc, table);
}

static void edition_volume(struct doc *doc, const struct results *results)
{
	const struct rows_filter filter = {.kpi = "S_fabric", .trial = -1};
	const char *topology = results_value(results, "Fabric", "Topology");

	if (rows_next(results->rows, &filter, 0) == rows_count(results->rows))
		return;
	doc_heading(doc, 3, "", "Fabric-visible data volume");
	doc_text(doc,
		 "T_egress and S_fabric stand with each test of section 7. Method: derived, not "
		 "measured. The seeded routing gives the bytes of each pair of GPUs in each round; "
		 "S_fabric adds up, each byte once, those of pairs on different servers, and "
		 "T_egress all; both are means of a GPU and a dispatch. Nothing sent again is in "
		 "them. Placement: experts in blocks over the first GPUs of the fabric, as many as "
		 "the group (ep) has, server by server%s%s.",
		 topology ? "; the fabric: " : "", topology ? topology : "");
}

void edition_show(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	struct editions e = editions_of(results->run);

	if (!e.newer[EDITION_INFERENCE] && !e.newer[EDITION_TRAINING])
		return;
	doc_heading(doc, 2, "edition", "Edition");
	edition_changes_show(doc, e);
	edition_points(doc, results, tests);
	edition_volume(doc, results);
}
