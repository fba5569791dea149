/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl_drain.c - `farectl drain --wait`: returns when nothing goes there any more. */
#include "farectl_tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define READ_US	       500000
#define QUIET_READINGS 2 /* in a row: a second without traffic */
#define PRINT_EVERY_S  5

static int read_quiet(const char *run_dir, const struct quiet_scope *scope,
		      struct quiet_reading *out)
{
	struct snapshot s;
	int err = snapshot_take(&s, run_dir, SNAPSHOT_QPS, 0, NULL);

	if (err || s.has_more_qps) {
		fprintf(stderr, "farectl: %s\n",
			s.has_more_qps ? "there are more QPs than it sums up; look at the devices' "
					 "counts (ip -s link)"
				       : s.why);
		err = -1;
	} else {
		quiet_reading(out, scope, &s);
	}
	snapshot_free(&s);
	return err;
}

/* Of another network namespace: what it carries cannot be said, so nothing is said to be quiet. */
static bool has_unknown(const struct quiet_reading *l)
{
	for (size_t i = 0; i < l->n_devices; i++)
		if (!l->devices[i].is_known) {
			fprintf(stderr,
				"farectl: no device %s here, so whether it is quiet is not known: "
				"run this in fared's network namespace; the drain stays\n",
				l->devices[i].name);
			return true;
		}
	return false;
}

int farectl_drain_wait(const char *run_dir, const struct quiet_scope *scope, double limit_s)
{
	struct quiet_reading before, now;
	double begin_s, printed_s;
	unsigned quiet = 0;
	char why[128] = "";

	if (read_quiet(run_dir, scope, &before))
		return 1;
	if (has_unknown(&before))
		return 1;
	begin_s = printed_s = before.at_s;
	while (quiet < QUIET_READINGS) {
		usleep(READ_US);
		if (read_quiet(run_dir, scope, &now))
			return 1;
		quiet = quiet_between(&before, &now, why, sizeof(why)) ? quiet + 1 : 0;
		before = now;
		if (quiet < QUIET_READINGS && now.at_s - begin_s >= limit_s) {
			fprintf(stderr, "farectl: not quiet after %g s: %s; the drain stays\n",
				limit_s, why[0] ? why : "looked at too briefly");
			return 1;
		}
		if (!quiet && now.at_s - printed_s >= PRINT_EVERY_S) {
			fprintf(stderr, "farectl: %.0f s: %s\n", now.at_s - begin_s, why);
			printed_s = now.at_s;
		}
	}
	fprintf(stderr, "farectl: quiet\n");
	return 0;
}
