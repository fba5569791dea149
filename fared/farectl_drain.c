/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl_drain.c - see farectl_drain.h */
#include "farectl_drain.h"

#include <stdio.h>
#include <unistd.h>

#define LOOK_US	     500000
#define QUIET_LOOKS  2 /* in a row: a second without traffic */
#define TELL_EVERY_S 5

static int look(const char *run_dir, const struct quiet_scope *scope, struct quiet_look *out)
{
	struct snapshot s;
	int err = snapshot_take(&s, run_dir, SNAPSHOT_QPS, 0);

	if (err || !s.planes || !s.qp_sums || s.has_more_qps) {
		fprintf(stderr, "farectl: %s\n",
			s.has_more_qps ? "there are more QPs than it sums up; look at the devices' "
					 "counts (ip -s link)"
				       : s.why);
		err = -1;
	} else {
		quiet_look(out, scope, &s);
	}
	snapshot_free(&s);
	return err;
}

static void tell_unknown(const struct quiet_look *l)
{
	for (size_t i = 0; i < l->n_devices; i++)
		if (!l->devices[i].is_known)
			fprintf(stderr,
				"farectl: no device %s here: its traffic is not looked at\n",
				l->devices[i].name);
}

int farectl_drain_wait(const char *run_dir, const struct quiet_scope *scope, double limit_s)
{
	struct quiet_look before, now;
	double begin_s, told_s;
	unsigned quiet = 0;
	char why[128] = "";

	if (look(run_dir, scope, &before))
		return 1;
	tell_unknown(&before);
	begin_s = told_s = before.at_s;
	while (quiet < QUIET_LOOKS) {
		usleep(LOOK_US);
		if (look(run_dir, scope, &now))
			return 1;
		quiet = quiet_between(&before, &now, why, sizeof(why)) ? quiet + 1 : 0;
		before = now;
		if (quiet < QUIET_LOOKS && now.at_s - begin_s >= limit_s) {
			fprintf(stderr, "farectl: not quiet after %g s: %s; the drain stays\n",
				limit_s, why[0] ? why : "looked at too briefly");
			return 1;
		}
		if (!quiet && now.at_s - told_s >= TELL_EVERY_S) {
			fprintf(stderr, "farectl: %.0f s: %s\n", now.at_s - begin_s, why);
			told_s = now.at_s;
		}
	}
	fprintf(stderr, "farectl: quiet\n");
	return 0;
}
