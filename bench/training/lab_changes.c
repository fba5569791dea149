/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/lab_changes.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* The member of an array whose text of that key is the same; NULL: none. */
static const json_t *changes_find(const json_t *array, const char *key, const char *text)
{
	const json_t *one;
	size_t i;

	json_array_foreach (array, i, one) {
		const char *here = json_string_value(json_object_get(one, key));

		if (here && strcmp(here, text) == 0)
			return one;
	}
	return NULL;
}

static unsigned changes_smaller(const json_t *from, const json_t *to)
{
	/* those of queues begin anew with a shaper, which faults and rates make new */
	static const char *const counters[] = {"tx_bytes", "tx_packets", "rx_bytes", "rx_packets",
					       "device_drops"};
	const json_t *device;
	unsigned n = 0;
	size_t i;

	json_array_foreach (json_object_get(from, "devices"), i, device) {
		const char *name = json_string_value(json_object_get(device, "dev"));
		const json_t *now =
			name ? changes_find(json_object_get(to, "devices"), "dev", name) : NULL;

		for (size_t k = 0; now && k < sizeof(counters) / sizeof(counters[0]); k++)
			n += json_integer_value(json_object_get(now, counters[k])) <
			     json_integer_value(json_object_get(device, counters[k]));
	}
	return n;
}

static unsigned changes_ended(const json_t *from, const json_t *to)
{
	const json_t *daemon;
	unsigned n = 0;
	size_t i;

	json_array_foreach (json_object_get(from, "daemons"), i, daemon) {
		const char *name = json_string_value(json_object_get(daemon, "name"));
		const json_t *now =
			name ? changes_find(json_object_get(to, "daemons"), "name", name) : NULL;

		n += !json_equal(json_object_get(now, "pid"), json_object_get(daemon, "pid"));
	}
	return n;
}

int lab_changes(const char *from, const char *to, struct lab_changes *out)
{
	json_t *first = json_loads(from, 0, NULL), *second = json_loads(to, 0, NULL),
	       *hosts = json_object_get(first, "hosts"), *then = json_object_get(second, "hosts"),
	       *host;
	int err = json_is_array(hosts) && json_is_array(then) ? 0 : -EBADMSG;
	size_t i;

	*out = (struct lab_changes){0};
	json_array_foreach (hosts, i, host) {
		const char *name = json_string_value(json_object_get(host, "name"));
		const json_t *now = name ? changes_find(then, "name", name) : NULL;

		if (err || !now) {
			err = -EBADMSG;
			break;
		}
		out->smaller += changes_smaller(host, now);
		out->ended += changes_ended(host, now);
	}
	json_decref(first);
	json_decref(second);
	return err;
}

int lab_changes_queues(const char *text, struct hist *bytes)
{
	json_t *root = json_loads(text, 0, NULL), *hosts = json_object_get(root, "hosts"), *host,
	       *device;
	int err = json_is_array(hosts) ? 0 : -EBADMSG;
	size_t i, k;

	json_array_foreach (hosts, i, host)
		json_array_foreach (json_object_get(host, "devices"), k, device) {
			json_int_t queued =
				json_integer_value(json_object_get(device, "backlog_bytes"));

			if (queued < 0)
				err = -EBADMSG;
			else
				hist_add(bytes, (uint64_t)queued);
		}
	json_decref(root);
	return err;
}

int lab_changes_daemons(const char *text,
			void (*on_daemon)(void *arg, const char *host, const char *name,
					  double rss_bytes),
			void *arg)
{
	json_t *root = json_loads(text, 0, NULL), *hosts = json_object_get(root, "hosts"), *host,
	       *daemon;
	int err = json_is_array(hosts) ? 0 : -EBADMSG;
	size_t i, k;

	json_array_foreach (hosts, i, host)
		json_array_foreach (json_object_get(host, "daemons"), k, daemon) {
			const char *at = json_string_value(json_object_get(host, "name")),
				   *name = json_string_value(json_object_get(daemon, "name"));
			const json_t *rss = json_object_get(daemon, "rss_bytes");

			if (at && name && json_is_integer(rss) && json_integer_value(rss) >= 0)
				on_daemon(arg, at, name, (double)json_integer_value(rss));
			else
				err = -EBADMSG;
		}
	json_decref(root);
	return err;
}
