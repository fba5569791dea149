/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/topo.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct topo_reader {
	struct topo *topo;
	char *reason;
	size_t reason_size;
	uint8_t *seen; /* per global index */
};

static int __attribute__((format(printf, 2, 3)))
topo_bad(struct topo_reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->reason, r->reason_size, format, ap);
	va_end(ap);
	return -EBADMSG;
}

/* Copies a string member. optional: absent or null is "". */
static int topo_string(struct topo_reader *r, json_t *object, const char *key, char *out,
		       size_t size, bool optional)
{
	json_t *value = json_object_get(object, key);

	out[0] = '\0';
	if (optional && (!value || json_is_null(value)))
		return 0;
	if (!json_is_string(value))
		return topo_bad(r, "%s: a string is expected", key);
	if (json_string_length(value) >= size || strlen(json_string_value(value)) >= size)
		return topo_bad(r, "%s: longer than %zu bytes", key, size - 1);
	strcpy(out, json_string_value(value));
	return 0;
}

static int topo_number(struct topo_reader *r, json_t *object, const char *key, uint64_t max,
		       uint64_t *out)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		return topo_bad(r, "%s: an integer 0..%llu is expected", key,
				(unsigned long long)max);
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

static json_t *topo_array(struct topo_reader *r, json_t *object, const char *key, size_t max)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_array(value) || json_array_size(value) == 0 || json_array_size(value) > max) {
		topo_bad(r, "%s: an array of 1..%zu is expected", key, max);
		return NULL;
	}
	return value;
}

static int topo_read_leaves(struct topo_reader *r, json_t *root)
{
	json_t *list = topo_array(r, root, "leaves", TOPO_MAX_SWITCHES);
	struct topo *topo = r->topo;

	if (!list)
		return -EBADMSG;
	topo->leaves = calloc(json_array_size(list), sizeof(*topo->leaves));
	if (!topo->leaves)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct topo_leaf *leaf = &topo->leaves[i];
		json_t *object = json_array_get(list, i);
		uint64_t plane;

		if (topo_string(r, object, "name", leaf->name, sizeof(leaf->name), false) ||
		    topo_string(r, object, "netns", leaf->netns, sizeof(leaf->netns), false) ||
		    topo_string(r, object, "lb", leaf->lb, sizeof(leaf->lb), true) ||
		    topo_number(r, object, "plane", topo->n_planes - 1, &plane))
			return -EBADMSG;
		leaf->plane = (unsigned)plane;
		leaf->up = json_is_true(json_object_get(object, "up"));
		topo->n_leaves++;
	}
	return 0;
}

static int topo_read_uplink(struct topo_reader *r, json_t *object)
{
	struct topo_uplink *link = &r->topo->uplinks[r->topo->n_uplinks];
	char leaf[TOPO_NAME_MAX], spine[TOPO_NAME_MAX];
	int at_leaf, at_spine;

	if (topo_string(r, object, "leaf", leaf, sizeof(leaf), false) ||
	    topo_string(r, object, "spine", spine, sizeof(spine), false) ||
	    topo_number(r, object, "rate_bps", UINT64_C(1) << 53, &link->rate_bps))
		return -EBADMSG;
	at_leaf = topo_find_leaf(r->topo, leaf);
	at_spine = topo_find_spine(r->topo, spine);
	if (at_leaf < 0 || at_spine < 0)
		return topo_bad(r, "uplinks: no leaf %s or no spine %s", leaf, spine);
	link->leaf = (unsigned)at_leaf;
	link->spine = (unsigned)at_spine;
	link->up = json_is_true(json_object_get(object, "up"));
	r->topo->n_uplinks++;
	return 0;
}

/* Of each spine one, if there are superspines. */
static int topo_read_spine_uplinks(struct topo_reader *r, json_t *root)
{
	json_t *tops = json_object_get(root, "superspines"), *one, *top;
	char spine[TOPO_NAME_MAX], superspine[TOPO_NAME_MAX];
	size_t i, k;

	r->topo->n_superspines = (unsigned)json_array_size(tops);
	json_array_foreach (json_object_get(root, "spine_uplinks"), i, one) {
		uint64_t rate_bps;
		int at;

		if (topo_string(r, one, "spine", spine, sizeof(spine), false) ||
		    topo_string(r, one, "superspine", superspine, sizeof(superspine), false) ||
		    topo_number(r, one, "rate_bps", UINT64_C(1) << 53, &rate_bps))
			return -EBADMSG;
		at = topo_find_spine(r->topo, spine);
		json_array_foreach (tops, k, top) {
			const char *name = json_string_value(json_object_get(top, "name"));

			if (at < 0 || !name || strcmp(name, superspine) != 0)
				continue;
			r->topo->spines[at].superspine = (int)k;
			memcpy(r->topo->spines[at].superspine_name, superspine, sizeof(superspine));
			if (json_is_true(json_object_get(one, "up")) &&
			    json_is_true(json_object_get(top, "up")))
				r->topo->spines[at].uplink_bps = rate_bps;
			break;
		}
		if (at < 0 || k == json_array_size(tops))
			return topo_bad(r, "spine_uplinks: no spine %s or no superspine %s", spine,
					superspine);
	}
	return 0;
}

/* None, or both lists empty: one tier. */
static int topo_read_spines(struct topo_reader *r, json_t *root)
{
	json_t *spines = json_object_get(root, "spines"), *links = json_object_get(root, "uplinks"),
	       *one;
	struct topo *topo = r->topo;
	size_t i;
	int err = 0;

	if (!json_array_size(spines))
		return 0;
	if (json_array_size(spines) > TOPO_MAX_SWITCHES ||
	    json_array_size(links) > TOPO_MAX_SWITCHES * 16)
		return topo_bad(r, "spines, uplinks: there are too many");
	topo->spines = calloc(json_array_size(spines), sizeof(*topo->spines));
	topo->uplinks = calloc(json_array_size(links) + 1, sizeof(*topo->uplinks));
	if (!topo->spines || !topo->uplinks)
		return -ENOMEM;
	json_array_foreach (spines, i, one) {
		struct topo_spine *spine = &topo->spines[topo->n_spines];

		if (topo_string(r, one, "name", spine->name, sizeof(spine->name), false) ||
		    topo_string(r, one, "netns", spine->netns, sizeof(spine->netns), false))
			return -EBADMSG;
		spine->up = json_is_true(json_object_get(one, "up"));
		spine->superspine = -1;
		topo->n_spines++;
	}
	json_array_foreach (links, i, one) {
		err = topo_read_uplink(r, one);
		if (err)
			break;
	}
	return err ? err : topo_read_spine_uplinks(r, root);
}

/* Packets, marked ones, and squares (topo.h). Absent: counts of a lab without a ramp. */
static int topo_read_ramp(struct topo_reader *r, json_t *ecn, struct topo_marks *out)
{
	json_t *ramp = json_object_get(ecn, "ramp"), *part;
	size_t i;

	if (!ramp)
		return 0;
	if (json_array_size(ramp) != TOPO_RAMP_PARTS + 1)
		return topo_bad(r, "ramp: %d parts are expected", TOPO_RAMP_PARTS + 1);
	json_array_foreach (ramp, i, part) {
		json_int_t packets = json_integer_value(json_array_get(part, 0)),
			   marked = json_integer_value(json_array_get(part, 1)),
			   squares = json_integer_value(json_array_get(part, 2));

		if (json_array_size(part) != 3 || marked < 0 || packets < marked ||
		    squares < packets)
			return topo_bad(r, "ramp: packets, marked ones and squares are expected");
		out->ramp_packets[i] = (uint64_t)packets;
		out->ramp_marked[i] = (uint64_t)marked;
		out->ramp_squares[i] = (uint64_t)squares;
	}
	return 0;
}

/* Absent, or null: nothing marks. */
static int topo_read_marks(struct topo_reader *r, json_t *port, struct topo_marks *out)
{
	json_t *ecn = json_object_get(port, "ecn");

	if (!ecn || json_is_null(ecn))
		return 0;
	if (topo_number(r, ecn, "packets", INT64_MAX, &out->packets) ||
	    topo_number(r, ecn, "marked", INT64_MAX, &out->marked) ||
	    topo_number(r, ecn, "queue_at_onset_bytes", INT64_MAX, &out->queue_at_onset_bytes) ||
	    topo_number(r, ecn, "queue_peak_bytes", INT64_MAX, &out->queue_peak_bytes) ||
	    topo_read_ramp(r, ecn, out))
		return -EBADMSG;
	if (json_is_null(json_object_get(ecn, "onset_ns")))
		return 0;
	return topo_number(r, ecn, "onset_ns", INT64_MAX, &out->onset_ns);
}

static int topo_read_plane(struct topo_reader *r, struct topo_gpu *gpu, json_t *object)
{
	char leaf[TOPO_NAME_MAX];
	struct topo_plane *plane;
	uint64_t number;
	json_t *list;
	int index;

	if (topo_number(r, object, "plane", r->topo->n_planes - 1, &number) ||
	    topo_string(r, object, "leaf", leaf, sizeof(leaf), false))
		return -EBADMSG;
	plane = &gpu->plane[number];
	if (plane->n_sub_ports)
		return topo_bad(r, "GPU %s: plane %llu appears twice", gpu->name,
				(unsigned long long)number);
	index = topo_find_leaf(r->topo, leaf);
	if (index < 0)
		return topo_bad(r, "GPU %s: no leaf is named %s", gpu->name, leaf);
	plane->leaf = (unsigned)index;
	list = topo_array(r, object, "sub_ports", FARE_MAX_SUB_PORTS);
	if (!list)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct topo_sub_port *port = &plane->sub_port[i];
		json_t *item = json_array_get(list, i);

		if (topo_string(r, item, "dev", port->dev, sizeof(port->dev), false) ||
		    topo_number(r, item, "rate_bps", UINT64_C(1) << 53, &port->rate_bps) ||
		    topo_number(r, item, "gray_loss_ppm", 1000000, &number) ||
		    topo_read_marks(r, item, &port->marks))
			return -EBADMSG;
		port->gray_loss_ppm = (uint32_t)number;
		port->up = json_is_true(json_object_get(item, "up"));
		plane->n_sub_ports++;
	}
	return 0;
}

static int topo_read_gpu(struct topo_reader *r, unsigned server, json_t *object)
{
	struct topo *topo = r->topo;
	uint64_t global, index;
	struct topo_gpu *gpu;
	json_t *planes;

	if (topo_number(r, object, "global_index", topo->n_gpus - 1, &global) ||
	    topo_number(r, object, "index", FARE_MAX_LOCAL_GPUS - 1, &index))
		return -EBADMSG;
	if (r->seen[global])
		return topo_bad(r, "global_index %llu appears twice", (unsigned long long)global);
	r->seen[global] = 1;
	gpu = &topo->gpus[global];
	gpu->server = server;
	gpu->index = (unsigned)index;
	if (topo_string(r, object, "name", gpu->name, sizeof(gpu->name), false) ||
	    topo_string(r, object, "ipv4", gpu->ipv4, sizeof(gpu->ipv4), true) ||
	    topo_string(r, object, "ipv6", gpu->ipv6, sizeof(gpu->ipv6), true))
		return -EBADMSG;
	if (!gpu->ipv4[0] && !gpu->ipv6[0])
		return topo_bad(r, "GPU %s has no address", gpu->name);
	planes = topo_array(r, object, "planes", topo->n_planes);
	if (!planes)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(planes); i++) {
		int err = topo_read_plane(r, gpu, json_array_get(planes, i));

		if (err)
			return err;
	}
	return 0;
}

static int topo_read_pid(json_t *pids, const char *name)
{
	json_t *pid = json_object_get(pids, name);

	return json_is_integer(pid) && json_integer_value(pid) > 1 &&
			       json_integer_value(pid) < INT32_MAX
		       ? (int)json_integer_value(pid)
		       : 0;
}

static int topo_read_server(struct topo_reader *r, json_t *object)
{
	struct topo_server *server = &r->topo->servers[r->topo->n_servers];
	json_t *pids = json_object_get(object, "pids"), *gpus;

	if (topo_string(r, object, "name", server->name, sizeof(server->name), false) ||
	    topo_string(r, object, "netns", server->netns, sizeof(server->netns), false) ||
	    topo_string(r, object, "fared_run_dir", server->fared_run_dir,
			sizeof(server->fared_run_dir), false))
		return -EBADMSG;
	if (strchr(server->netns, '/'))
		return topo_bad(r, "netns: %s is not a name", server->netns);
	server->bgpd_pid = topo_read_pid(pids, "bgpd");
	server->fared_pid = topo_read_pid(pids, "fared");
	gpus = topo_array(r, object, "gpus", FARE_MAX_LOCAL_GPUS);
	if (!gpus)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		int err = topo_read_gpu(r, r->topo->n_servers, json_array_get(gpus, i));

		if (err)
			return err;
	}
	r->topo->n_servers++;
	return 0;
}

/* Absent, or null: there is none. */
static int topo_read_pfc(struct topo_reader *r, json_t *root, struct topo_pfc *out)
{
	json_t *pfc = json_object_get(root, "pfc");

	if (!pfc || json_is_null(pfc))
		return 0;
	return topo_number(r, pfc, "xoff_bytes", INT32_MAX, &out->xoff_bytes) ||
			       topo_number(r, pfc, "xon_bytes", INT32_MAX, &out->xon_bytes) ||
			       topo_number(r, pfc, "headroom_bytes", INT32_MAX,
					   &out->headroom_bytes) ||
			       topo_number(r, pfc, "watchdog_ms", INT32_MAX, &out->watchdog_ms)
		       ? -EBADMSG
		       : 0;
}

static int topo_read(struct topo_reader *r, json_t *root)
{
	struct topo *topo = r->topo;
	uint64_t planes, mtu, bucket = 0, percent = 0;
	json_t *servers;
	int err;

	if (topo_string(r, root, "lab", topo->lab, sizeof(topo->lab), false) ||
	    topo_string(r, root, "why", topo->why, sizeof(topo->why), true) ||
	    topo_number(r, root, "planes", FARE_MAX_PLANES, &planes) ||
	    topo_number(r, root, "mtu_bytes", 65535, &mtu) ||
	    (json_object_get(root, "bucket_bytes") &&
	     topo_number(r, root, "bucket_bytes", INT32_MAX, &bucket)) ||
	    (json_object_get(root, "queue_bytes") &&
	     topo_number(r, root, "queue_bytes", INT32_MAX, &topo->queue_bytes)) ||
	    topo_read_pfc(r, root, &topo->pfc) ||
	    (json_object_get(root, "ecn_threshold_bytes") &&
	     topo_number(r, root, "ecn_threshold_bytes", INT32_MAX, &topo->ecn_threshold_bytes)) ||
	    (json_object_get(root, "ecn_max_bytes") &&
	     (topo_number(r, root, "ecn_max_bytes", INT32_MAX, &topo->ecn_max_bytes) ||
	      topo_number(r, root, "ecn_max_percent", 100, &percent))))
		return -EBADMSG;
	if (planes == 0)
		return topo_bad(r, "planes: 0");
	topo->n_planes = (unsigned)planes;
	topo->mtu_bytes = (unsigned)mtu;
	topo->bucket_bytes = (unsigned)bucket;
	topo->ecn_max_percent = (unsigned)percent;
	topo->converged = json_is_true(json_object_get(root, "converged"));
	servers = topo_array(r, root, "servers", TOPO_MAX_GPUS);
	if (!servers)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(servers); i++)
		topo->n_gpus += (unsigned)json_array_size(
			json_object_get(json_array_get(servers, i), "gpus"));
	if (topo->n_gpus == 0 || topo->n_gpus > TOPO_MAX_GPUS)
		return topo_bad(r, "%u GPUs: 1..%d are expected", topo->n_gpus, TOPO_MAX_GPUS);
	topo->servers = calloc(json_array_size(servers), sizeof(*topo->servers));
	topo->gpus = calloc(topo->n_gpus, sizeof(*topo->gpus));
	r->seen = calloc(topo->n_gpus, 1);
	if (!topo->servers || !topo->gpus || !r->seen)
		return -ENOMEM;
	err = topo_read_leaves(r, root);
	if (!err)
		err = topo_read_spines(r, root);
	for (size_t i = 0; !err && i < json_array_size(servers); i++)
		err = topo_read_server(r, json_array_get(servers, i));
	return err;
}

int topo_parse(struct topo **out, const char *text, size_t length, char *reason, size_t reason_size)
{
	struct topo_reader r = {.reason = reason, .reason_size = reason_size};
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	int err;

	if (reason_size)
		reason[0] = '\0';
	if (!root)
		return topo_bad(&r, "offset %d: %s", error.position, error.text);
	r.topo = calloc(1, sizeof(*r.topo));
	err = !r.topo ? -ENOMEM : topo_read(&r, root);
	json_decref(root);
	free(r.seen);
	if (err) {
		topo_destroy(r.topo);
		return err;
	}
	*out = r.topo;
	return 0;
}

void topo_destroy(struct topo *topo)
{
	if (!topo)
		return;
	free(topo->servers);
	free(topo->gpus);
	free(topo->leaves);
	free(topo->spines);
	free(topo->uplinks);
	free(topo);
}
