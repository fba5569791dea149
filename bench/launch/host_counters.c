/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/host_counters.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/nic_counters.h"

#define COUNTERS_LEFT_OUT "left_out" /* how many: no counter has a name without a dot */

/* What has a class is kept whatever there is beside it, in whichever order devices come. */
static void counters_add(json_t *all, const char *prefix, const char *name, uint64_t value)
{
	char key[256];

	if ((size_t)snprintf(key, sizeof(key), "%s.%s", prefix, name) >= sizeof(key))
		return;
	if (json_object_size(all) < HOST_COUNTERS_MAX || nic_counter_is_known(key))
		json_object_set_new(all, key, json_integer((json_int_t)(value & INT64_MAX)));
	else
		json_object_set_new(
			all, COUNTERS_LEFT_OUT,
			json_integer(json_integer_value(json_object_get(all, COUNTERS_LEFT_OUT)) +
				     1));
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

bool host_device_of(const char *ipv4, char *out)
{
	struct ifaddrs *list, *at;
	char text[INET_ADDRSTRLEN];
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (at = list; !found && at; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    at->ifa_flags & IFF_LOOPBACK)
			continue;
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr,
			  text, sizeof(text));
		found = strcmp(text, ipv4) == 0;
		if (found)
			snprintf(out, IFNAMSIZ, "%s", at->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

/* ---- RDMA devices ---- */

/* The interfaces of a port: those of its GIDs, bonds and VLANs among them. */
static bool counters_port_has(const char *port, const char *const *dev, unsigned n)
{
	char path[512], name[IFNAMSIZ + 1];
	struct dirent *entry;
	bool found = false;
	DIR *gids;

	snprintf(path, sizeof(path), "%.400s/gid_attrs/ndevs", port);
	gids = opendir(path);
	while (!found && gids && (entry = readdir(gids))) {
		int fd = openat(dirfd(gids), entry->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t length = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);

		if (fd >= 0)
			close(fd);
		name[length > 0 ? length : 0] = '\0';
		name[strcspn(name, "\n")] = '\0';
		for (unsigned i = 0; !found && name[0] && i < n; i++)
			found = strcmp(name, dev[i]) == 0;
	}
	if (gids)
		closedir(gids);
	return found;
}

/* Ports of the interfaces alone: others carry traffic that is not the benchmark's. */
static void counters_of_rdma(json_t *all, const char *sysfs, const char *const *dev, unsigned n)
{
	static const char *const kinds[] = {"counters", "hw_counters"};
	char root[256], port[400], path[512], prefix[280];
	struct dirent *device;
	DIR *devices;

	snprintf(root, sizeof(root), "%.200s/class/infiniband", sysfs);
	devices = opendir(root);
	while (devices && (device = readdir(devices)))
		for (unsigned i = 1; device->d_name[0] != '.' && i <= 2; i++) {
			if ((size_t)snprintf(port, sizeof(port), "%s/%.100s/ports/%u", root,
					     device->d_name, i) >= sizeof(port) ||
			    !counters_port_has(port, dev, n))
				continue;
			snprintf(prefix, sizeof(prefix), "%.100s.%u", device->d_name, i);
			for (unsigned k = 0; k < 2; k++) {
				snprintf(path, sizeof(path), "%s/%s", port, kinds[k]);
				counters_of_directory(all, path, prefix);
			}
		}
	if (devices)
		closedir(devices);
}

json_t *host_counters_read(const char *sysfs, const char *const *dev, unsigned n)
{
	json_t *all = json_object();

	for (unsigned i = 0; all && i < n; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%.400s/class/net/%.15s/statistics", sysfs, dev[i]);
		counters_of_directory(all, path, dev[i]);
		counters_of_driver(all, dev[i]);
	}
	if (all)
		counters_of_rdma(all, sysfs, dev, n);
	return all;
}

char *host_counters_grown(const json_t *before, const json_t *after)
{
	char *text = NULL;
	const char *key;
	json_t *value;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	json_int_t left_out = json_integer_value(json_object_get(after, COUNTERS_LEFT_OUT));

	if (!out)
		return NULL;
	json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
		const json_t *was = json_object_get(before, key);
		json_int_t grew = json_integer_value(value) - json_integer_value(was);

		if (!json_is_integer(was) || !json_is_integer(value) || grew <= 0 ||
		    strcmp(key, COUNTERS_LEFT_OUT) == 0)
			continue;
		fprintf(out, "%s%s +%lld", ftell(out) ? ", " : "", key, (long long)grew);
	}
	if (left_out > 0)
		fprintf(out, "%s%lld counters of no known class are left out",
			ftell(out) ? ", " : "", (long long)left_out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
