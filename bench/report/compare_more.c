/* SPDX-License-Identifier: BSD-2-Clause */
/* compare_more.c - the trials that a comparison misses (compare_show.h): another farebench makes
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/compare_show.h"

/* Its report is not what was asked for: standard output is nowhere. */
static _Noreturn void more_exec(const char *const *argv)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0)
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int more_run(const char *const *argv)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0)
		more_exec(argv);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) < 128 ? -EIO : -EINTR;
}

/* Why more trials would not be of the same thing, or cannot be made from here; NULL: they can. */
static const char *more_cannot(const struct results *results)
{
	const char *version = json_string_value(json_object_get(results->run, "version"));

	if (!version || strcmp(version, FARE_VERSION) != 0)
		return "was made by another version of farebench: more trials by this one would "
		       "not be of the same thing";
	if (results_value(results, "Fabric", "Inventory"))
		return "was made on hosts: go on with it by farebench run --resume DIR --trials N "
		       "--hosts FILE --listen HOST:PORT --key FILE";
	return NULL;
}

int compare_more(const char *dir, unsigned trials)
{
	char count[16];
	const char *argv[10] = {"farebench", "run", "--resume", dir, "--trials", count}, *lab, *why;
	struct results results;
	int err = results_open(&results, dir);

	if (err)
		return err;
	snprintf(count, sizeof(count), "%u", trials);
	lab = results_value(&results, "Fabric", "Lab");
	if (lab) {
		argv[6] = "--lab";
		argv[7] = lab;
	}
	why = more_cannot(&results);
	if (why)
		fprintf(stderr, "farebench compare: %s %s\n", dir, why);
	err = why ? -EINVAL : more_run(argv);
	results_close(&results);
	return err;
}
