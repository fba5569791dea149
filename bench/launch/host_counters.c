/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/host_counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void counters_add(json_t *all, const char *prefix, const char *name, uint64_t value)
{
	char key[256];

	if (json_object_size(all) < HOST_COUNTERS_MAX &&
	    (size_t)snprintf(key, sizeof(key), "%s.%s", prefix, name) < sizeof(key))
		json_object_set_new(all, key, json_integer((json_int_t)(value & INT64_MAX)));
}

/* Every file of the directory that holds a number. */
static void counters_of_directory(json_t *all, const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned long long value;
		FILE *file;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		file = fd < 0 ? NULL : fdopen(fd, "r");
		if (file && fscanf(file, "%llu", &value) == 1)
			counters_add(all, prefix, entry->d_name, value);
		if (file)
			fclose(file);
		else if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* ---- ethtool ---- */

static int counters_ethtool(const char *dev, void *command)
{
	struct ifreq request = {.ifr_data = command};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCETHTOOL, &request))
		err = -errno;
	close(fd);
	return err;
}

static void counters_of_driver(json_t *all, const char *dev)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
	char prefix[IFNAMSIZ + 16];
	unsigned n;

	if (counters_ethtool(dev, &info) || info.n_stats == 0 || info.n_stats > HOST_COUNTERS_MAX)
		return;
	n = info.n_stats;
	names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + n * sizeof(uint64_t));
	if (names && values) {
		names->cmd = ETHTOOL_GSTRINGS;
		names->string_set = ETH_SS_STATS;
		names->len = n;
		values->cmd = ETHTOOL_GSTATS;
		values->n_stats = n;
	}
	snprintf(prefix, sizeof(prefix), "%s.ethtool", dev);
	/* a driver whose numbers of names and values differ has changed in between */
	if (names && values && !counters_ethtool(dev, names) && !counters_ethtool(dev, values) &&
	    names->len <= n && values->n_stats == names->len)
		for (unsigned i = 0; i < names->len; i++) {
			char name[ETH_GSTRING_LEN + 1];

			snprintf(name, sizeof(name), "%.*s", ETH_GSTRING_LEN,
				 (const char *)names->data + (size_t)i * ETH_GSTRING_LEN);
			counters_add(all, prefix, name, values->data[i]);
		}
	free(names);
	free(values);
}

void host_device_describe(const char *dev, char *out, size_t size)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	char path[128];
	long speed = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/speed", dev);
	file = fopen(path, "re");
	if (file && fscanf(file, "%ld", &speed) != 1)
		speed = 0;
	if (file)
		fclose(file);
	if (counters_ethtool(dev, &info)) {
		snprintf(out, size, "unknown");
		return;
	}
	snprintf(out, size, "%.32s%s%.32s", info.driver, info.fw_version[0] ? ", firmware " : "",
		 info.fw_version);
	if (speed > 0)
		snprintf(out + strlen(out), size - strlen(out), ", %ld Mb/s", speed);
}

/* ---- RDMA devices ---- */

static void counters_of_rdma(json_t *all)
{
	static const char *const kinds[] = {"counters", "hw_counters"};
	DIR *devices = opendir("/sys/class/infiniband");
	struct dirent *device;

	while (devices && (device = readdir(devices))) {
		if (device->d_name[0] == '.')
			continue;
		for (unsigned port = 1; port <= 2; port++)
			for (unsigned k = 0; k < 2; k++) {
				char path[512], prefix[280];

				snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/%s",
					 device->d_name, port, kinds[k]);
				snprintf(prefix, sizeof(prefix), "%s.%u", device->d_name, port);
				counters_of_directory(all, path, prefix);
			}
	}
	if (devices)
		closedir(devices);
}

json_t *host_counters_read(const char *const *dev, unsigned n)
{
	json_t *all = json_object();

	for (unsigned i = 0; all && i < n; i++) {
		char path[128];

		snprintf(path, sizeof(path), "/sys/class/net/%.15s/statistics", dev[i]);
		counters_of_directory(all, path, dev[i]);
		counters_of_driver(all, dev[i]);
	}
	if (all)
		counters_of_rdma(all);
	return all;
}

char *host_counters_grown(const json_t *before, const json_t *after)
{
	char *text = NULL;
	const char *key;
	json_t *value;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
		const json_t *was = json_object_get(before, key);
		json_int_t grew = json_integer_value(value) - json_integer_value(was);

		if (!json_is_integer(was) || !json_is_integer(value) || grew <= 0)
			continue;
		fprintf(out, "%s%s +%lld", ftell(out) ? ", " : "", key, (long long)grew);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
