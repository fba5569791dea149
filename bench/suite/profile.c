/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - the names of profiles.
 */
#include <errno.h>
#include <string.h>

#include "suite/suite.h"

static const char *const profile_names[PROFILE_COUNT] = {"quick", "lab", "draft"};

const char *profile_name(enum profile profile)
{
	return profile < PROFILE_COUNT ? profile_names[profile] : "?";
}

int profile_parse(const char *name)
{
	for (int i = 0; i < PROFILE_COUNT; i++)
		if (strcmp(name, profile_names[i]) == 0)
			return i;
	return -ENOENT;
}
