/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/ofi_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"

#define OFI_SLACK_MS 150000 /* endpoints that take milliseconds each are set up before */

static const struct topo_gpu *ofi_first_of(const struct topo *topo, unsigned server)
{
	for (unsigned g = 0; g < topo->n_gpus; g++)
		if (topo->gpus[g].server == server)
			return &topo->gpus[g];
	return NULL;
}

static int ofi_answer(const char *text, const struct ofi_job *job, json_t **out, char why[400])
{
	json_t *root = json_loads(text, 0, NULL);
	const char *missing = json_string_value(json_object_get(root, "missing"));
	json_int_t wrong = json_integer_value(json_object_get(root, "wrong"));

	if (root && !missing && !wrong && json_object_get(root, "bytes")) {
		*out = root;
		return 0;
	}
	snprintf(why, 400, "%s", missing ? missing : "");
	json_decref(root);
	if (missing)
		return 0;
	fprintf(stderr, "farebench: fi_write over %s: %s: %.200s\n", job->provider,
		wrong ? "wrong bytes arrived" : "an answer that makes no sense", text);
	return wrong ? -EBADE : -EBADMSG;
}

int ofi_job_run(const struct trial *t, const struct ofi_job *job, json_t **out, char why[400])
{
	const struct topo *topo = t->fabric->topo;
	bool is_fare = !strcmp(job->provider, "fare");
	const struct topo_gpu *gpus[2] = {ofi_first_of(topo, 0), ofi_first_of(topo, 1)};
	char program[4096], bytes[24], loaders[16], seconds[24];
	struct command_result r;
	int rc;

	*out = NULL;
	command_sibling("fare-ofi-write", program, sizeof(program));
	if (!strchr(program, '/')) {
		snprintf(why, 400,
			 "fare-ofi-write is not installed (it is built where libfabric's headers "
			 "are)");
		return 0;
	}
	if (topo->n_servers < 2 || !topo->servers[0].netns[0] || !gpus[0]->ipv4[0]) {
		snprintf(why, 400, "it runs between two servers of a lab with IPv4");
		return 0;
	}
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)job->bytes);
	snprintf(loaders, sizeof(loaders), "%u", job->loaders);
	snprintf(seconds, sizeof(seconds), "%.3f", job->seconds);
	rc = command_run(
		(const char *const[]){program,
				      strcmp(job->provider, "tcp") ? job->provider : "tcp;ofi_rxm",
				      job->service, bytes, loaders, job->has_probe ? "1" : "0",
				      job->both ? "1" : "0", seconds, topo->servers[0].netns,
				      topo->servers[0].fared_run_dir, is_fare ? "" : gpus[0]->ipv4,
				      topo->servers[1].netns, topo->servers[1].fared_run_dir,
				      is_fare ? "" : gpus[1]->ipv4, NULL},
		(int)(job->seconds * 1e3) + OFI_SLACK_MS, &r);
	if (rc)
		return rc;
	if (r.status) {
		fprintf(stderr, "farebench: fi_write over %s: exit status %d: %s\n", job->provider,
			r.status, r.err);
		rc = -EREMOTEIO;
	} else {
		rc = ofi_answer(r.out, job, out, why);
	}
	free(r.out);
	return rc;
}

void ofi_job_setup(const json_t *answer, struct hist *out)
{
	const json_t *first = json_object_get(answer, "first_ns"), *value;
	size_t i;

	hist_init(out);
	json_array_foreach (json_object_get(answer, "setup_ns"), i, value) {
		json_int_t both = json_integer_value(value),
			   write = json_integer_value(json_array_get(first, i));

		hist_add(out, both > write ? (uint64_t)(both - write) : 0);
	}
}
