/* SPDX-License-Identifier: BSD-2-Clause */
/* frr_release.c - see frr_release.h */
#include "frr_release.h"

#include <stdio.h>
#include <string.h>

/*
 * 8.4.4 and 10.7.0 were run. In between, what a release might refuse is left out: without
 * `zebra work-queue` routes wait 10 ms longer, and a mgmtd that nobody asks does no harm.
 */
static const struct frr_release releases[] = {
	{.major = 0, .minor = 0, .has_work_queue = true},
	{.major = 10, .minor = 0, .wants_mgmtd = true},
	{.major = 10, .minor = 1, .wants_mgmtd = true, .has_extended_bandwidth = true},
};

const struct frr_release *frr_release_of(const char *version)
{
	size_t i = sizeof(releases) / sizeof(*releases) - 1;
	unsigned major, minor = 0;

	version += strcspn(version, "0123456789");
	if (sscanf(version, "%4u.%4u", &major, &minor) < 1)
		return &releases[i];
	while (i && (releases[i].major > major ||
		     (releases[i].major == major && releases[i].minor > minor)))
		i--;
	return &releases[i];
}
