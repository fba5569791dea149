/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/mpi_job.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command.h"
#include "core/interrupt.h"

#define JOB_SLACK_MS  60000 /* to start, to stop, and for what a slow transport takes longer */
#define JOB_TIMES     30    /* the slowest may take so much longer than it was to take */
#define JOB_MAX_RANKS 1024
#define JOB_PROGRAM   "fare-mpi-coll"
#define JOB_LAUNCHER  "farelab-mpi"

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

/* Rank r uses GPU r: the operator's command has to start it on that GPU's host. */
static int job_hosts(const struct mpi_job *job, const json_t *hosts, struct mpi_result *out)
{
	const struct topo *topo = job->fabric->topo;

	for (unsigned r = 0; r < job->ranks && r < topo->n_gpus; r++) {
		const char *is = json_string_value(json_array_get(hosts, r)),
			   *wanted = topo->servers[topo->gpus[r].server].name;

		if (is && strcmp(is, wanted) == 0)
			continue;
		snprintf(out->why, sizeof(out->why),
			 "rank %u was started on %.24s, not on %.24s: --map-by seq and a hostfile "
			 "with a line for each GPU, in the inventory's order, do that",
			 r, is ? is : "no host", wanted);
		return -EOPNOTSUPP;
	}
	return 0;
}

int mpi_job_parse(const struct mpi_job *job, const char *line, struct mpi_result *out)
{
	json_t *root = line[0] == '{' ? json_loads(line, 0, NULL) : NULL;
	const char *event = json_string_value(json_object_get(root, "event"));
	int got = MPI_EVENT_NONE;

	if (event && strcmp(event, "begun") == 0) {
		got = job->fabric->hosts ? job_hosts(job, json_object_get(root, "hosts"), out) : 0;
		got = got ? got : MPI_EVENT_BEGUN;
	}
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

double mpi_result_mean_s(const struct mpi_result *r)
{
	double sum_ns = 0;

	for (unsigned i = 0; i < r->n; i++)
		sum_ns += (double)r->took_ns[i];
	return r->n ? sum_ns / r->n / 1e9 : NAN;
}

/* ---- what it needs ---- */

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

const char *mpi_job_missing(bool hosts)
{
	static const char *const wanted[] = {JOB_PROGRAM, JOB_LAUNCHER};
	char path[4096];

	if (!hosts && !mpi_job_find("mpirun", path, sizeof(path)))
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

uint64_t mpi_job_memory_bytes(const struct mpi_job *job)
{
	uint64_t vectors = 2, parts = 0;

	if (strcmp(job->operation, "allreduce") == 0 && !job->overlaps)
		parts = 2; /* ring: what comes in, and what came before */
	else if (strcmp(job->operation, "alltoall") == 0)
		parts = 1; /* in place: one that is exchanged */
	else if (strcmp(job->operation, "reduce_scatter") == 0)
		vectors++, parts = 2; /* ring: the sums so far as well */
	else if (strcmp(job->operation, "sendrecv") == 0 || job->overlaps)
		vectors++; /* MPI_Sendrecv_replace(), MPI_Iallreduce(): a copy */
	return (job->ranks * vectors + parts) * job->bytes;
}

/* ---- its command ---- */

void mpi_args_add(struct mpi_args *a, const char *arg)
{
	if (a->n < MPI_JOB_ARGS - 1)
		a->arg[a->n++] = arg;
}

/* "h0=/run/fared=gpu0,gpu1 h1=...": each host's run directory, and its GPUs' devices. */
static char *args_hosts(const struct hosts *hosts)
{
	const struct topo *topo = hosts_inventory(hosts)->topo;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (unsigned i = 0, gpu = 0; out && i < topo->n_servers; i++) {
		fprintf(out, "%s%s=%s", i ? " " : "", topo->servers[i].name,
			topo->servers[i].fared_run_dir);
		for (char before = '='; gpu < topo->n_gpus && topo->gpus[gpu].server == i; gpu++) {
			const char *dev = hosts_gpu_device(hosts, gpu);

			fprintf(out, "%c%s", before, dev ? dev : "-");
			before = ',';
		}
	}
	if (!out || !fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Ranks find what they need in the key file and in the inventory. */
static int args_hosts_begin(struct mpi_args *a, const struct hosts *hosts)
{
	const struct launch_options *o = hosts_options(hosts);
	char *key = realpath(o->key, NULL);

	if (!key)
		return -errno;
	snprintf(a->key, sizeof(a->key), "FARE_KEY_FILE=%s", key);
	free(key);
	snprintf(a->provider, sizeof(a->provider), "FARE_PROVIDER=%s",
		 hosts_inventory(hosts)->verbs ? "verbs" : "soft");
	a->hosts = args_hosts(hosts);
	mpi_args_add(a, "hosts");
	mpi_args_add(a, o->mpirun);
	mpi_args_add(a, a->hosts);
	return a->hosts ? 0 : -ENOMEM;
}

int mpi_args_launch(struct mpi_args *a, const struct mpi_job *job)
{
	const struct fabric *fabric = job->fabric;
	int err = 0;

	*a = (struct mpi_args){.n = 0};
	command_sibling(JOB_LAUNCHER, a->launcher, sizeof(a->launcher));
	snprintf(a->ranks, sizeof(a->ranks), "%u", job->ranks);
	mpi_args_add(a, a->launcher);
	if (fabric->hosts) {
		err = args_hosts_begin(a, fabric->hosts);
	} else {
		mpi_args_add(a, "run");
		mpi_args_add(a, fabric->lab.name);
	}
	mpi_args_add(a, job->transport);
	mpi_args_add(a, a->ranks);
	return err;
}

void mpi_args_program(struct mpi_args *a, const struct mpi_job *job, const char *program)
{
	mpi_args_add(a, "--");
	if (job->fabric->hosts) {
		mpi_args_add(a, "env");
		mpi_args_add(a, a->key);
		mpi_args_add(a, a->provider);
	}
	mpi_args_add(a, program);
}

void mpi_args_fini(struct mpi_args *a)
{
	free(a->hosts);
	a->hosts = NULL;
}

static void job_number(struct mpi_args *a, unsigned i, int decimals, double value)
{
	snprintf(a->text[i], sizeof(a->text[i]), "%.*f", decimals, value);
	mpi_args_add(a, a->text[i]);
}

static void job_set(struct mpi_args *a, const char *variable, const char *value)
{
	mpi_args_add(a, "--mca");
	mpi_args_add(a, variable);
	mpi_args_add(a, value);
}

static void job_force(const struct mpi_job *job, struct mpi_args *a)
{
	if (!job->algorithm)
		return;
	snprintf(a->algorithm, sizeof(a->algorithm), "coll_%s%s_algorithm",
		 job->overlaps ? "libnbc_i" : "tuned_", job->operation);
	snprintf(a->number, sizeof(a->number), "%u", job->algorithm);
	job_set(a, a->algorithm, a->number);
	job_set(a, "coll_tuned_use_dynamic_rules", "1");
	/* a pipeline passes on pieces, or each rank waits for the whole vector */
	job_set(a, "coll_tuned_bcast_algorithm_segmentsize", "65536");
}

static int job_command(const struct mpi_job *job, struct mpi_args *a)
{
	int err = mpi_args_launch(a, job);

	command_sibling(JOB_PROGRAM, a->program, sizeof(a->program));
	job_force(job, a);
	mpi_args_program(a, job, a->program);
	if (job->alternates)
		mpi_args_add(a, "-a");
	if (job->overlaps)
		mpi_args_add(a, "-o");
	mpi_args_add(a, job->operation);
	job_number(a, 0, 0, (double)job->bytes);
	job_number(a, 1, 3, job->seconds);
	job_number(a, 2, 3, job->compute_s * 1e3);
	job_number(a, 3, 0, job->min_iterations ? job->min_iterations : 1);
	return err;
}

/* ---- running it ---- */

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
			got == -EBADE	     ? "wrong bytes arrived"
			: got == -EOPNOTSUPP ? w->out->why
					     : "an answer that makes no sense",
			line);
	if (got <= 0)
		return got;
	w->last = got;
	return got < MPI_EVENT_ANSWER && on[got] ? on[got](w->job->arg) : 0;
}

/* On hosts the command is the operator's, and what is wrong with it belongs into the rows. */
static int job_failed(const struct mpi_job *job, struct mpi_result *out, int err, const char *how)
{
	fprintf(stderr, "farebench: %s over %s: %s\n", job->operation, job->transport, how);
	if (interrupt_pending()) /* mpirun has had the signal as well */
		return -EINTR;
	if (!job->fabric->hosts)
		return err;
	snprintf(out->why, sizeof(out->why), "--mpirun did not run it: %.120s", how);
	return -EOPNOTSUPP;
}

static int job_verdict(const struct mpi_job *job, const struct job_watch *watch,
		       const struct command_result *r)
{
	char how[600];

	if (r->status == 0 && watch->last == MPI_EVENT_ANSWER)
		return 0;
	snprintf(how, sizeof(how), "exit status %d (its last words are on stderr): %s", r->status,
		 r->err);
	return job_failed(job, watch->out, -EREMOTEIO, how);
}

int mpi_job_run(const struct mpi_job *job, struct mpi_result *out)
{
	struct job_watch watch = {.job = job, .out = out};
	struct command_result result;
	struct mpi_args args;
	double limit_ms = (job->seconds + job->least_s) * 1e3 * JOB_TIMES + JOB_SLACK_MS;
	char how[64];
	int err;

	memset(out, 0, sizeof(*out));
	if (job->ranks < 2 || job->ranks > JOB_MAX_RANKS)
		return -EINVAL;
	if (job->most_s > 0)
		limit_ms = fmin(limit_ms, job->most_s * 1e3);
	err = job_command(job, &args);
	if (!err)
		err = command_watch(args.arg, limit_ms < INT32_MAX ? (int)limit_ms : INT32_MAX,
				    job_line, &watch, &result);
	mpi_args_fini(&args);
	if (err == -ETIMEDOUT) {
		snprintf(how, sizeof(how), "it has not ended in %.0f s", limit_ms / 1e3);
		err = job_failed(job, out, err, how);
	} else if (!err) {
		err = job_verdict(job, &watch, &result);
		free(result.out);
	}
	if (err) {
		free(out->start_ns);
		free(out->took_ns);
		out->start_ns = out->took_ns = NULL;
		out->n = 0;
	}
	return err;
}
