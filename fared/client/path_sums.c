/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_sums.h"

#include <inttypes.h>
#include <stdio.h>

#define KEY_BYTES 160

static const char *path_sums_key(const char *gpu, const char *peer, json_int_t plane,
				 char key[KEY_BYTES])
{
	snprintf(key, KEY_BYTES, "%.48s %.64s %" JSON_INTEGER_FORMAT, gpu, peer, plane);
	return key;
}

static const char *gpu_name(const json_t *planes, json_int_t index)
{
	const json_t *plane;
	size_t i;

	json_array_foreach (planes, i, plane)
		if (json_integer_value(json_object_get(plane, "local_gpu_index")) == index)
			return json_string_value(json_object_get(plane, "local_gpu"));
	return NULL;
}

void path_sums_know(json_t *known, const json_t *paths)
{
	const json_t *path;
	size_t i;

	json_array_foreach (paths, i, path) {
		const char *gpu = json_string_value(json_object_get(path, "local_gpu")),
			   *peer = json_string_value(json_object_get(path, "peer"));
		char key[KEY_BYTES];

		if (gpu && peer)
			json_object_set_new(
				known,
				path_sums_key(gpu, peer,
					      json_integer_value(json_object_get(path, "plane")),
					      key),
				json_true());
	}
}

/* The row of qp's path in sums, which is made if there is none. NULL: it has no known path. */
static json_t *row_of(json_t *sums, const json_t *qp, const json_t *planes, const json_t *known)
{
	const char *gpu = gpu_name(planes,
				   json_integer_value(json_object_get(qp, "local_gpu_index"))),
		   *peer = json_string_value(json_object_get(qp, "peer"));
	const json_t *plane = json_object_get(qp, "plane");
	char key[KEY_BYTES];
	json_t *row;

	if (!gpu || !peer || !json_is_integer(plane))
		return NULL;
	path_sums_key(gpu, peer, json_integer_value(plane), key);
	row = json_object_get(sums, key);
	if (row || (known && !json_object_get(known, key)))
		return row;
	row = json_pack("{s:s, s:s, s:I, s:I, s:f}", "local_gpu", gpu, "peer", peer, "plane",
			json_integer_value(plane), "qps", (json_int_t)0, "bytes", 0.0);
	json_object_set_new(sums, key, row);
	return row;
}

void path_sums_add(json_t *sums, const json_t *qps, const json_t *planes, const json_t *known)
{
	const json_t *qp;
	json_t *row;
	size_t i;

	json_array_foreach (qps, i, qp) {
		row = row_of(sums, qp, planes, known);
		if (!row)
			continue;
		json_object_set_new(
			row, "qps",
			json_integer(json_integer_value(json_object_get(row, "qps")) + 1));
		json_object_set_new(row, "bytes",
				    json_real(json_real_value(json_object_get(row, "bytes")) +
					      json_number_value(json_object_get(qp, "bytes"))));
	}
}

double path_sums_bytes(const json_t *sums, const char *gpu, const char *peer, int plane)
{
	char key[KEY_BYTES];

	return json_real_value(json_object_get(
		json_object_get(sums, path_sums_key(gpu, peer, plane, key)), "bytes"));
}
