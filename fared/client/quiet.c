/* SPDX-License-Identifier: BSD-2-Clause */
#include "quiet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"

#define BUSY_SHARE 0.01

static bool quiet_is_text(const json_t *row, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(row, key));

	return !wanted || (text && !strcmp(text, wanted));
}

static bool is_number(const json_t *row, const char *key, int wanted)
{
	return wanted < 0 || json_integer_value(json_object_get(row, key)) == wanted;
}

static bool is_of_planes(const json_t *row, uint32_t planes)
{
	json_int_t plane = json_integer_value(json_object_get(row, "plane"));

	return !planes || (plane >= 0 && plane < 32 && planes >> plane & 1);
}

/* An address can be written in several ways. */
static bool is_peer(const json_t *row, const char *wanted)
{
	const char *text = json_string_value(json_object_get(row, "peer"));
	struct in6_addr a, b;

	return !wanted || (text && !address_parse(text, &a) && !address_parse(wanted, &b) &&
			   IN6_ARE_ADDR_EQUAL(&a, &b));
}

static bool covers(const struct quiet_scope *scope, const json_t *row)
{
	return quiet_is_text(row, "local_gpu", scope->gpu) && is_of_planes(row, scope->planes);
}

static bool read_count(const char *device, const char *what, uint64_t *out)
{
	char path[128];
	bool read;
	FILE *f;

	if (strchr(device, '/'))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%.15s/statistics/%s", device, what);
	f = fopen(path, "re");
	read = f && fscanf(f, "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return read;
}

static void read_devices(struct quiet_reading *out, const struct quiet_scope *scope,
			 const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		const char *name = json_string_value(json_object_get(port, "dev"));
		struct quiet_device *d = &out->devices[out->n_devices];

		if (!name || out->n_devices == QUIET_MAX_DEVICES ||
		    !is_number(port, "sub_port", scope->sub_port))
			continue;
		snprintf(d->name, sizeof(d->name), "%s", name);
		d->speed_bps = json_number_value(json_object_get(port, "speed_bps"));
		d->is_known = quiet_is_text(port, "state", "absent") ||
			      (read_count(name, "rx_bytes", &d->rx_bytes) &&
			       read_count(name, "tx_bytes", &d->tx_bytes));
		out->n_devices++;
	}
}

void quiet_reading(struct quiet_reading *out, const struct quiet_scope *scope,
		   const struct snapshot *s)
{
	const json_t *planes = json_object_get(s->planes, "planes"), *row;
	json_t *sum;
	const char *key;
	size_t i;

	*out = (struct quiet_reading){.at_s = s->at_s};
	json_object_foreach (s->qp_sums, key, sum)
		if (covers(scope, sum) && is_peer(sum, scope->peer) && scope->sub_port < 0)
			out->qp_bytes += json_number_value(json_object_get(sum, "bytes"));
	json_array_foreach (planes, i, row)
		if (covers(scope, row) && !scope->peer)
			read_devices(out, scope, json_object_get(row, "sub_ports"));
}

static bool device_is_quiet(const struct quiet_device *before, const struct quiet_device *after,
			    double over_s, char *why, size_t why_size)
{
	double rx_bps = (double)(after->rx_bytes - before->rx_bytes) * 8 / over_s,
	       tx_bps = (double)(after->tx_bytes - before->tx_bytes) * 8 / over_s,
	       most_bps = after->speed_bps * BUSY_SHARE;

	if (!before->is_known || !after->is_known || (rx_bps <= most_bps && tx_bps <= most_bps))
		return true;
	snprintf(why, why_size, "%s receives %.4g and sends %.4g Mb/s", after->name, rx_bps / 1e6,
		 tx_bps / 1e6);
	return false;
}

bool quiet_between(const struct quiet_reading *before, const struct quiet_reading *after, char *why,
		   size_t why_size)
{
	double over_s = after->at_s - before->at_s;

	if (over_s <= 0)
		return false;
	if (after->qp_bytes > before->qp_bytes) {
		snprintf(why, why_size, "applications send %.4g Mb/s",
			 (after->qp_bytes - before->qp_bytes) * 8 / over_s / 1e6);
		return false;
	}
	if (after->qp_bytes < before->qp_bytes) {
		snprintf(why, why_size, "QPs have just ended: what others send is not known");
		return false;
	}
	for (size_t i = 0; i < after->n_devices && i < before->n_devices; i++)
		if (!device_is_quiet(&before->devices[i], &after->devices[i], over_s, why,
				     why_size))
			return false;
	return true;
}
