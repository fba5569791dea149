/* SPDX-License-Identifier: BSD-2-Clause */
/* resume.c - the arguments of a run that was stopped, and what it counted: so that it goes on as it
 * began (suite.h) */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "suite/suite.h"

static bool is_args(const json_t *args)
{
	const json_t *arg;
	size_t i;

	json_array_foreach (args, i, arg)
		if (!json_is_string(arg))
			return false;
	return json_is_array(args);
}

int resume_read(struct resume *resume, json_t **args, const char *dir)
{
	const json_t *seed, *seconds, *said;
	json_error_t error;
	const char *started;
	char path[4096];
	json_t *run;

	memset(resume, 0, sizeof(*resume));
	*args = NULL;
	snprintf(path, sizeof(path), "%s/run.json", dir);
	if (access(path, F_OK))
		return 0;
	run = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!run) {
		fprintf(stderr, "farebench: %s:%d: %s\n", path, error.line, error.text);
		return -EBADMSG;
	}
	seed = json_object_get(run, "seed");
	seconds = json_object_get(run, "seconds");
	said = json_object_get(run, "words");
	started = json_string_value(json_object_get(run, "started"));
	resume->has_seed = json_is_integer(seed) && json_integer_value(seed) >= 0 &&
			   json_integer_value(seed) <= UINT32_MAX;
	resume->seed = resume->has_seed ? (uint64_t)json_integer_value(seed) : 0;
	resume->seconds = json_number_value(seconds) > 0 ? json_number_value(seconds) : 0;
	if (started && strlen(started) < sizeof(resume->started))
		strcpy(resume->started, started);
	if (is_args(said))
		*args = json_deep_copy(said);
	json_decref(run);
	return 0;
}
