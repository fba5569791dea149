/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 09_programs.c - the collectives of 9.1 to 9.3 and those beside them by nccl-tests (or rccl-tests)
 * and by the OSU micro-benchmarks, where they are installed.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "training/coll_table.h"
#include "training/common.h"

#define PROGRAM_TIMEOUT_MS 120000

static const struct {
	const char *nccl, *osu;
	bool osu_parts; /* its size is that of a part of the vector */
} programs[] = {
	[COLLECTIVE_ALLREDUCE] = {"all_reduce_perf", "osu_allreduce", false},
	[COLLECTIVE_ALLTOALL] = {"alltoall_perf", "osu_alltoall", true},
	[COLLECTIVE_ALLGATHER] = {"all_gather_perf", "osu_allgather", true},
	[COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter_perf", "osu_reduce_scatter", false},
	[COLLECTIVE_BCAST] = {"broadcast_perf", "osu_bcast", false},
	[COLLECTIVE_SENDRECV] = {"sendrecv_perf", NULL, false},
};

static void programs_add(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes,
			 const struct coll_line *l)
{
	static const char *const places[] = {"out", "in"};

	for (unsigned place = 0; place < 2; place++) {
		double ns = l->time_us[place] * 1e3;

		if (!isfinite(ns))
			continue;
		trial_with(t, "place", places[place]);
		trial_value(t, "time_mean", ns / 1e6, 1);
		trial_value(t, "algbw", (double)bytes / ns, 1);
		trial_value(t, "busbw", (double)bytes / ns * collective_factor(c, ranks), 1);
	}
	trial_with(t, NULL, NULL);
	if (isfinite(l->min_us))
		trial_value(t, "time_min", l->min_us / 1e3, 1);
	if (isfinite(l->max_us))
		trial_value(t, "time_max", l->max_us / 1e3, 1);
	if (isfinite(l->wrong))
		trial_value(t, "wrong", l->wrong, 1);
	else
		trial_missing(t, "wrong", "the program has not checked");
}

/* The line of that size, of all that it printed. */
static int programs_read(char *text, uint64_t size, struct coll_line *out)
{
	char *rest;
	int err = -ENOENT;

	for (char *at = strtok_r(text, "\n", &rest); at && err == -ENOENT;
	     at = strtok_r(NULL, "\n", &rest)) {
		int got = coll_table_line(at, out);

		if (got < 0 || (got && out->bytes == size))
			err = got < 0 ? got : 0;
	}
	return err;
}

static int programs_measure(struct trial *t, enum collective c, const char *path, bool is_osu,
			    unsigned ranks, uint64_t bytes)
{
	uint64_t size = is_osu && programs[c].osu_parts ? bytes / ranks : bytes;
	const struct mpi_job job = training_job(t, c, ranks, bytes);
	char n[12], range[64];
	const char *const nccl[] = {"-b", range, "-e", range, "-g", "1", "-n", n, NULL},
			  *const osu[] = {"-f", "-m", range, "-i", n, NULL};
	struct mpi_args args;
	struct coll_line line;
	char *text;
	int err = mpi_args_launch(&args, &job);

	mpi_args_program(&args, &job, path);
	for (const char *const *arg = is_osu ? osu : nccl; *arg; arg++)
		mpi_args_add(&args, *arg);
	snprintf(n, sizeof(n), "%u", job.min_iterations);
	snprintf(range, sizeof(range), is_osu ? "%llu:%llu" : "%llu", (unsigned long long)size,
		 (unsigned long long)size);
	if (!err)
		err = command_check(
			args.arg, (int)fmin(PROGRAM_TIMEOUT_MS, fabric_max_run_s(t->fabric) * 1e3),
			&text);
	mpi_args_fini(&args);
	if (err) {
		trial_missing(t, NULL, "%s failed (its last words are on stderr)", path);
		return err == -ENOMEM ? err : 0;
	}
	err = programs_read(text, size, &line);
	if (err)
		trial_missing(t, NULL, "%s printed no table with %llu bytes", path,
			      (unsigned long long)size);
	else
		programs_add(t, c, ranks, bytes, &line);
	free(text);
	return 0;
}

static int programs_run(struct trial *t)
{
	enum collective c = collective_parse(trial_text(t, "operation"));
	bool is_osu = strcmp(trial_text(t, "program"), "osu") == 0;
	const char *name = is_osu ? programs[c].osu : programs[c].nccl;
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	char path[4096];
	int err;

	if (!name || !mpi_job_find(name, path, sizeof(path))) {
		trial_missing(t, NULL, name ? "not here: %s is not in PATH" : "it has none%s",
			      name ? name : "");
		return 0;
	}
	if (!training_can(t, ranks, bytes))
		return 0;
	err = training_prepare(t);
	if (err)
		return err < 0 ? err : 0;
	return programs_measure(t, c, path, is_osu, ranks, bytes);
}

const struct test test_collectives_programs = {
	.id = "collectives-programs",
	.name = "Collectives by nccl-tests, rccl-tests and OSU micro-benchmarks",
	.clause = TRAINING_DRAFT "9",
	.dut = "DUT-F",
	.summary =
		"What these programs print, where they are in PATH; they choose their algorithm.",
	.needs = NEED_TWO_SERVERS,
	.strategies = mpi_strategies,
	.trials = {1, 3, 3},
	.params = PARAMS(
		PARAM("program", PARAM_NAME, "", "nccl-tests (or rccl-tests), OSU micro-benchmarks",
		      "nccl-tests,osu"),
		PARAM("operation", PARAM_NAME, "", "of the library", "allreduce,alltoall,allgather",
		      "allreduce,alltoall,allgather,reduce_scatter,bcast,sendrecv"),
		PARAM("size", PARAM_BYTES, "bytes", "of each rank's vector", "1M", "1M,8M,64M",
		      "1M,8M,64M,256M,1G,4G"),
		PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4",
		      "8,16,32,64,128,256,512,1024"),
		TRAINING_BALANCE),
	.fits = training_fits,
	.kpis = KPIS(
		{"time_mean", "ms", "SUT-E", "of an iteration, as the program prints it",
		 BETTER_LOWER, 0},
		{"time_min", "ms", "SUT-E", "of a rank, where the program has it", BETTER_LOWER, 0},
		{"time_max", "ms", "SUT-E", "of a rank, where the program has it", BETTER_LOWER, 0},
		{"algbw", "GB/s", "SUT-E", "a rank's bytes over the mean time", BETTER_HIGHER, 0},
		{"busbw", "GB/s", "SUT-E", "algbw times algo_factor", BETTER_HIGHER, 0},
		{"wrong", "", "SUT-E", "numbers that were wrong", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "As the programs print it", "size", "place", "strategy",
			    "time_mean", "algbw", "busbw"),
		       VIEW(VIEW_TABLE, "Ranks, and what was checked", "size", "program",
			    "strategy", "time_min", "time_max", "wrong")),
	.run = programs_run,
};
