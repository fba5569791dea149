/* SPDX-License-Identifier: BSD-2-Clause */
/* path_sums.c - see path_sums.h */
#include "path_sums.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *gpu_name(const json_t *planes, json_int_t index)
{
	const json_t *plane;
	size_t i;

	json_array_foreach (planes, i, plane)
		if (json_integer_value(json_object_get(plane, "local_gpu_index")) == index)
			return json_object_get(plane, "local_gpu");
	return NULL;
}

/* The row of qp's path in sums, which is made if there is none. NULL: the QP has no plane. */
static json_t *sum_of(json_t *sums, const json_t *qp, const json_t *planes)
{
	json_int_t gpu = json_integer_value(json_object_get(qp, "local_gpu_index")),
		   plane = json_integer_value(json_object_get(qp, "plane"));
	const char *peer = json_string_value(json_object_get(qp, "peer"));
	char key[128];
	json_t *row;

	if (!peer || !json_is_integer(json_object_get(qp, "plane")) || !gpu_name(planes, gpu))
		return NULL;
	snprintf(key, sizeof(key), "%" JSON_INTEGER_FORMAT " %s %" JSON_INTEGER_FORMAT, gpu, peer,
		 plane);
	row = json_object_get(sums, key);
	if (row)
		return row;
	row = json_pack("{s:O, s:s, s:I, s:I, s:f}", "local_gpu", gpu_name(planes, gpu), "peer",
			peer, "plane", plane, "qps", (json_int_t)0, "bytes", 0.0);
	json_object_set_new(sums, key, row);
	return row;
}

json_t *path_sums_of(const json_t *qps, const json_t *planes)
{
	json_t *sums = json_object(), *rows = json_array(), *row;
	const json_t *qp;
	const char *key;
	size_t i;

	json_array_foreach (qps, i, qp) {
		row = sum_of(sums, qp, planes);
		if (!row)
			continue;
		json_object_set_new(
			row, "qps",
			json_integer(json_integer_value(json_object_get(row, "qps")) + 1));
		json_object_set_new(row, "bytes",
				    json_real(json_real_value(json_object_get(row, "bytes")) +
					      json_number_value(json_object_get(qp, "bytes"))));
	}
	json_object_foreach (sums, key, row)
		json_array_append(rows, row);
	json_decref(sums);
	return rows;
}
