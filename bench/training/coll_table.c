/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/coll_table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS	   24
#define PLACE	   4  /* fields of each place: time, algbw, busbw, wrong */
#define NCCL_LEAST 11 /* size, count, type, and both places */

/* A number >= 0, "N/A" or "Pass" and "Fail"; else NaN, and *bad. */
static double coll_number(const char *field, bool *bad)
{
	char *end;
	double value = strtod(field, &end);

	if (*end == '\0' && value >= 0 && isfinite(value))
		return value;
	if (strcmp(field, "Pass") == 0 || strcmp(field, "Fail") == 0)
		return field[0] == 'F';
	*bad |= strcmp(field, "N/A") != 0;
	return NAN;
}

static int coll_fields(char *text, char *field[FIELDS])
{
	int n = 0;
	char *rest;

	for (char *at = strtok_r(text, " \t\r\n", &rest); at && n < FIELDS;
	     at = strtok_r(NULL, " \t\r\n", &rest))
		field[n++] = at;
	return n;
}

int coll_table_line(const char *line, struct coll_line *out)
{
	struct coll_line l = {0, {NAN, NAN}, NAN, NAN, NAN};
	char text[512], *field[FIELDS];
	bool bad = false;
	int n;

	snprintf(text, sizeof(text), "%s", line);
	n = coll_fields(text, field);
	if (n < 2 || strspn(field[0], "0123456789") != strlen(field[0]))
		return 0;
	l.bytes = strtoull(field[0], NULL, 10);
	if (n >= NCCL_LEAST) {
		for (int place = 0; place < 2; place++)
			l.time_us[place] = coll_number(field[n + PLACE * (place - 2)], &bad);
		l.wrong = fmax(coll_number(field[n - PLACE - 1], &bad),
			       coll_number(field[n - 1], &bad)); /* of one NaN: the other */
	} else {
		l.time_us[0] = coll_number(field[1], &bad);
		l.min_us = n > 3 ? coll_number(field[2], &bad) : NAN;
		l.max_us = n > 3 ? coll_number(field[3], &bad) : NAN;
		l.wrong = n > 2 && strchr("PF", field[n - 1][0]) ? coll_number(field[n - 1], &bad)
								 : NAN;
	}
	if (bad || !(l.time_us[0] > 0))
		return -EBADMSG;
	*out = l;
	return 1;
}
