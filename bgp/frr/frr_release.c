/* SPDX-License-Identifier: BSD-2-Clause */
#include "frr_release.h"

#include <stdio.h>
#include <string.h>

/*
 * 8.4.4 and 10.3 are what labs run on. In between, what a release might refuse is left out: without
 * `zebra work-queue` routes wait 10 ms longer, and a mgmtd that nobody asks does no harm.
 */
static const struct frr_release releases[] = {
	{.major = 0, .minor = 0, .has_work_queue = true},
	{.major = 10, .minor = 0, .wants_mgmtd = true},
	{.major = 10, .minor = 1, .wants_mgmtd = true, .has_extended_bandwidth = true},
};

/* From the first to before the second, each major * 1000 + minor. */
static const struct {
	unsigned from, before;
	bool is_unusable;
	const char *text;
} troubles[] = {
	{0, 8004, true, "its zebra has another protocol than is known: upgrade to 8.4 or later"},
	{8004, 8005, false,
	 "its BMP leaves non-transitive Link Bandwidth communities out, and after policy may "
	 "withdraw for good what is there: leaves have to send transitive ones, and bgpd to "
	 "monitor "
	 "pre-policy, as fared --print-frr-config has it"},
	{11000, 1000000, true, "it is newer than what is known: its zebra is not connected to"},
};

static bool numbers_of(const char *version, unsigned *major, unsigned *minor)
{
	*minor = 0;
	version += strcspn(version, "0123456789");
	return sscanf(version, "%3u.%3u", major, minor) >= 1;
}

const char *frr_release_trouble(const char *version, bool *is_unusable)
{
	unsigned major, minor;

	*is_unusable = false;
	if (!numbers_of(version, &major, &minor))
		return NULL;
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++)
		if (major * 1000 + minor >= troubles[i].from &&
		    major * 1000 + minor < troubles[i].before) {
			*is_unusable = troubles[i].is_unusable;
			return troubles[i].text;
		}
	return NULL;
}

const struct frr_release *frr_release_of(const char *version)
{
	size_t i = sizeof(releases) / sizeof(*releases) - 1;
	unsigned major, minor;

	if (!numbers_of(version, &major, &minor))
		return &releases[i];
	while (i && (releases[i].major > major ||
		     (releases[i].major == major && releases[i].minor > minor)))
		i--;
	return &releases[i];
}
