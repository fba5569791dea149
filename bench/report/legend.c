/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/legend.h"

#include "report/table.h"

/* As cell_text() and the views write them. */
static const char *const legend_marks[][2] = {
	{"12.3", "of trials that give a number each: their median; of a distribution: the "
		 "percentile that the column names, of all measurements of all trials together"},
	{"[11.9, 12.8]", "the 95% interval of that number, free of assumptions about its "
			 "distribution; of a value that follows from others, as a ratio of two "
			 "medians, by drawing the trials anew (bootstrap)"},
	{"(11.9 to 12.8)", "the lowest and the highest trial: with fewer than six there is no 95% "
			   "interval"},
	{"n=20", "trials that gave a number"},
	{"n=4100 in 20 trials", "measurements of a distribution, and the trials that they are of"},
	{"CV 3%", "coefficient of variation of the trials: standard deviation over mean; not shown "
		  "where it is 0"},
	{"max of 41", "too few measurements carry the percentile (three are expected beyond it, "
		      "ten beyond P99): the largest of 41"},
	{"12.3 alone", "computed from parameters and rates, or the same in every trial and neither "
		       "good nor bad"},
	{"yes (3 of 5)", "words, and how many trials said so"},
	{"n/a", "not available: the reason stands below the table, and in Not measured"},
	{"-", "nothing at this combination: it is not defined here, or follows from others"},
};

void legend_show(struct doc *doc)
{
	static const char *const headers[] = {"Mark", "Meaning"};
	struct table *table = NULL;
	int err = table_create(&table, 2, headers);

	for (size_t i = 0; !err && i < sizeof(legend_marks) / sizeof(legend_marks[0]); i++)
		err = table_row(table, legend_marks[i]);
	doc_fail(doc, err);
	if (err) {
		table_destroy(table);
		return;
	}
	doc_heading(doc, 2, "legend", "How to read the tables");
	doc_pairs(doc, table);
}
