/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/mpi_job.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command.h"

#define JOB_SLACK_MS  60000 /* to start, to stop, and for what a slow transport takes longer */
#define JOB_TIMES     30    /* the slowest may take so much longer than it was to take */
#define JOB_MAX_RANKS 1024
#define JOB_PROGRAM   "fare-mpi-coll"
#define JOB_LAUNCHER  "farelab-mpi"
#define JOB_MAX_ARGS  40

/* ---- what it answered ---- */

static uint64_t job_whole(const json_t *value)
{
	double number = json_is_number(value) ? json_number_value(value) : -1;

	return number >= 0 && number < 9e18 ? (uint64_t)number : UINT64_MAX;
}

/* An array of n whole numbers; NULL: it is none. */
static uint64_t *job_numbers(const json_t *array, size_t n)
{
	uint64_t *out = json_array_size(array) == n ? calloc(n + 1, sizeof(*out)) : NULL;

	for (size_t i = 0; out && i < n; i++) {
		out[i] = job_whole(json_array_get(array, i));
		if (out[i] == UINT64_MAX) {
			free(out);
			return NULL;
		}
	}
	return out;
}

static int job_answer(const struct mpi_job *job, const json_t *answer, struct mpi_result *out)
{
	const json_t *took = json_object_get(answer, "took_ns");
	const char *algorithm = json_string_value(json_object_get(answer, "algorithm")),
		   *library = json_string_value(json_object_get(answer, "library"));
	uint64_t wrong = job_whole(json_object_get(answer, "wrong"));

	if (job_whole(json_object_get(answer, "bytes")) != job->bytes ||
	    job_whole(json_object_get(answer, "ranks")) != job->ranks || !algorithm || !library ||
	    json_is_true(json_object_get(answer, "alternates")) != job->alternates ||
	    wrong == UINT64_MAX || job_whole(json_object_get(answer, "checked")) == 0)
		return -EBADMSG;
	if (wrong)
		return -EBADE;
	out->n = (unsigned)json_array_size(took);
	out->took_ns = job_numbers(took, out->n);
	out->start_ns = job_numbers(json_object_get(answer, "start_ns"), out->n);
	out->checked = job_whole(json_object_get(answer, "checked"));
	out->wall_s = json_number_value(json_object_get(answer, "wall_s"));
	snprintf(out->algorithm, sizeof(out->algorithm), "%s", algorithm);
	snprintf(out->library, sizeof(out->library), "%s", library);
	return out->n && out->took_ns && out->start_ns && out->wall_s > 0 ? 0 : -EBADMSG;
}

int mpi_job_parse(const struct mpi_job *job, const char *line, struct mpi_result *out)
{
	json_t *root = line[0] == '{' ? json_loads(line, 0, NULL) : NULL;
	const char *event = json_string_value(json_object_get(root, "event"));
	int got = MPI_EVENT_NONE;

	if (event && strcmp(event, "begun") == 0)
		got = MPI_EVENT_BEGUN;
	if (event && strcmp(event, "ended") == 0)
		got = MPI_EVENT_ENDED;
	if (event && strcmp(event, "answer") == 0) {
		got = out->n ? -EBADMSG : job_answer(job, root, out);
		got = got ? got : MPI_EVENT_ANSWER;
	}
	json_decref(root);
	return got;
}

void mpi_result_fini(struct mpi_result *r)
{
	free(r->start_ns);
	free(r->took_ns);
	memset(r, 0, sizeof(*r));
}

/* ---- running it ---- */

bool mpi_job_find(const char *program, char *file, size_t size)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");

		if ((size_t)snprintf(file, size, "%.*s/%s", (int)length, path, program) < size &&
		    access(file, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

const char *mpi_job_missing(void)
{
	static const char *const wanted[] = {JOB_PROGRAM, JOB_LAUNCHER};
	char path[4096];

	if (!mpi_job_find("mpirun", path, sizeof(path)))
		return "mpirun is not installed (openmpi-bin)";
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		command_sibling(wanted[i], path, sizeof(path));
		if (!strchr(path, '/') && !mpi_job_find(wanted[i], path, sizeof(path)))
			return i ? "farelab-mpi is not installed"
				 : "fare-mpi-coll is not installed (it is built where OpenMPI's "
				   "headers are)";
	}
	return NULL;
}

struct job_watch {
	const struct mpi_job *job;
	struct mpi_result *out;
	int last; /* enum mpi_event: they come in order, once each */
};

static int job_line(void *arg, const char *line)
{
	struct job_watch *w = arg;
	int (*const on[])(void *) = {
		[MPI_EVENT_BEGUN] = w->job->on_begun, [MPI_EVENT_ENDED] = w->job->on_ended};
	int got = mpi_job_parse(w->job, line, w->out);

	if (got > 0 && got != w->last + 1)
		got = -EBADMSG;

	if (got < 0)
		fprintf(stderr, "farebench: %s over %s: %s: %.200s\n", w->job->operation,
			w->job->transport,
			got == -EBADE ? "wrong bytes arrived" : "an answer that makes no sense",
			line);
	if (got <= 0)
		return got;
	w->last = got;
	return got < MPI_EVENT_ANSWER && on[got] ? on[got](w->job->arg) : 0;
}

/* The words of the command; numbers are kept in text. */
struct job_args {
	const char *arg[JOB_MAX_ARGS];
	unsigned n;
	char launcher[4096], program[4096], algorithm[64], number[12], text[5][32];
};

static void job_add(struct job_args *w, const char *arg)
{
	if (w->n < JOB_MAX_ARGS - 1)
		w->arg[w->n++] = arg;
}

static const char *job_text(struct job_args *w, unsigned i, int decimals, double value)
{
	snprintf(w->text[i], sizeof(w->text[i]), "%.*f", decimals, value);
	return w->text[i];
}

static void job_set(struct job_args *w, const char *variable, const char *value)
{
	job_add(w, "--mca");
	job_add(w, variable);
	job_add(w, value);
}

static void job_force(const struct mpi_job *job, struct job_args *w)
{
	if (!job->algorithm)
		return;
	snprintf(w->algorithm, sizeof(w->algorithm), "coll_%s%s_algorithm",
		 job->overlaps ? "libnbc_i" : "tuned_", job->operation);
	snprintf(w->number, sizeof(w->number), "%u", job->algorithm);
	job_set(w, w->algorithm, w->number);
	job_set(w, "coll_tuned_use_dynamic_rules", "1");
	/* a pipeline passes on pieces, or each rank waits for the whole vector */
	job_set(w, "coll_tuned_bcast_algorithm_segmentsize", "65536");
}

static void job_command(const struct mpi_job *job, struct job_args *w)
{
	*w = (struct job_args){.n = 0};
	command_sibling(JOB_LAUNCHER, w->launcher, sizeof(w->launcher));
	command_sibling(JOB_PROGRAM, w->program, sizeof(w->program));
	job_add(w, w->launcher);
	job_add(w, "run");
	job_add(w, job->lab->name);
	job_add(w, job->transport);
	job_add(w, job_text(w, 0, 0, job->ranks));
	job_force(job, w);
	job_add(w, "--");
	job_add(w, w->program);
	if (job->alternates)
		job_add(w, "-a");
	if (job->overlaps)
		job_add(w, "-o");
	job_add(w, job->operation);
	job_add(w, job_text(w, 1, 0, (double)job->bytes));
	job_add(w, job_text(w, 2, 3, job->seconds));
	job_add(w, job_text(w, 3, 3, job->compute_s * 1e3));
	job_add(w, job_text(w, 4, 0, job->min_iterations ? job->min_iterations : 1));
}

static int job_verdict(const struct mpi_job *job, const struct job_watch *watch,
		       const struct command_result *r)
{
	if (r->status == 0 && watch->last == MPI_EVENT_ANSWER)
		return 0;
	fprintf(stderr, "farebench: %s over %s: exit status %d: %s\n", job->operation,
		job->transport, r->status, r->err);
	return -EREMOTEIO;
}

int mpi_job_run(const struct mpi_job *job, struct mpi_result *out)
{
	struct job_watch watch = {.job = job, .out = out};
	struct command_result result;
	struct job_args args;
	double limit_ms = (job->seconds + job->least_s) * 1e3 * JOB_TIMES + JOB_SLACK_MS;
	int err;

	memset(out, 0, sizeof(*out));
	if (job->ranks < 2 || job->ranks > JOB_MAX_RANKS)
		return -EINVAL;
	job_command(job, &args);
	err = command_watch(args.arg, limit_ms < INT32_MAX ? (int)limit_ms : INT32_MAX, job_line,
			    &watch, &result);
	if (err == -ETIMEDOUT)
		fprintf(stderr, "farebench: %s over %s has not ended in %.0f s\n", job->operation,
			job->transport, limit_ms / 1e3);
	if (!err) {
		err = job_verdict(job, &watch, &result);
		free(result.out);
	}
	if (err)
		mpi_result_fini(out);
	return err;
}
