/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_count.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SYSFS_ROOM 96
#define MAC_BYTES  6
/* device_count_follow(): a file that cannot be opened is tried again every so many readings */
#define RETRY_READINGS 64u

static const char *const file_of[] = {
	[DEVICE_COUNT_TX_PACKETS] = "statistics/tx_packets",
	[DEVICE_COUNT_CARRIER_DOWN] = "carrier_down_count",
};

static int open_file(const char *dev, const char *file)
{
	char path[SYSFS_ROOM];
	int fd, n = snprintf(path, sizeof(path), "/sys/class/net/%s/%s", dev, file);

	if (n < 0 || (size_t)n >= sizeof(path) || strchr(dev, '/'))
		return -ENODEV;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A line of sysfs, without its end. */
static int read_line(int fd, char *out, size_t room)
{
	ssize_t n = pread(fd, out, room - 1, 0);

	/* so it speaks of a device that is being taken away */
	if (n < 0)
		return errno == EINVAL ? -ENODEV : -errno;
	while (n && isspace((unsigned char)out[n - 1]))
		n--;
	out[n] = '\0';
	return n ? 0 : -EBADMSG;
}

static int read_file(const char *dev, const char *file, char *out, size_t room)
{
	int fd = open_file(dev, file), rc;

	if (fd < 0)
		return fd;
	rc = read_line(fd, out, room);
	close(fd);
	return rc;
}

/* What our own namespace says of the device, as sysfs would put it. */
static int about(const char *dev, char *index, size_t index_room, char *mac, size_t mac_room)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;
	struct ifreq r = {0};

	if (fd < 0)
		return -errno;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCGIFINDEX, &r))
		rc = -errno;
	snprintf(index, index_room, "%d", r.ifr_ifindex);
	if (!rc && ioctl(fd, SIOCGIFHWADDR, &r))
		rc = -errno;
	for (int i = 0, at = 0; !rc && i < MAC_BYTES; i++)
		at += snprintf(mac + at, mac_room - (size_t)at, "%s%02x", i ? ":" : "",
			       (unsigned char)r.ifr_hwaddr.sa_data[i]);
	close(fd);
	return rc;
}

/* Addresses of other lengths than Ethernet's are compared as far as both go. */
static int check_ours(const char *dev)
{
	char index[16], text[64], mac[3 * MAC_BYTES];
	int rc = about(dev, index, sizeof(index), mac, sizeof(mac));

	if (!rc)
		rc = read_file(dev, "ifindex", text, sizeof(text));
	if (!rc && strcmp(index, text))
		rc = -EXDEV;
	if (rc)
		return rc;
	if (read_file(dev, "address", text, sizeof(text)))
		return 0; /* it has none */
	return strncmp(mac, text, strlen(text) < strlen(mac) ? strlen(text) : strlen(mac)) ? -EXDEV
											   : 0;
}

/*
 * An RDMA device passes packets that its network device never sees. It has counters of them, but
 * reading those may wait for the firmware, and a loop of 3 ms cannot.
 */
static bool bypasses(const char *dev)
{
	char path[SYSFS_ROOM];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/infiniband", dev);
	return access(path, F_OK) == 0;
}

int device_count_open(struct device_count *c, const char *dev, enum device_count_of what)
{
	int rc = check_ours(dev);

	device_count_close(c);
	if (!rc && what != DEVICE_COUNT_CARRIER_DOWN && bypasses(dev))
		rc = -EOPNOTSUPP;
	if (!rc)
		rc = open_file(dev, file_of[what]);
	if (rc < 0)
		return rc;
	c->file = rc + 1;
	return 0;
}

int device_count_read(const struct device_count *c, uint64_t *n)
{
	char text[32], *end;
	int rc;

	if (!c->file)
		return -EBADF;
	rc = read_line(c->file - 1, text, sizeof(text));
	if (rc)
		return rc;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return errno || *end || end == text ? -EBADMSG : 0;
}

int device_count_follow(struct device_count *c, int ifindex, enum device_count_of what, uint64_t *n)
{
	char dev[IF_NAMESIZE];

	bool again = !c->file && ++c->n_failed % RETRY_READINGS == 0;

	if (c->ifindex != ifindex || again) {
		uint32_t n_failed = c->ifindex == ifindex ? c->n_failed : 0;

		device_count_close(c);
		if (ifindex > 0 && if_indextoname((unsigned)ifindex, dev))
			device_count_open(c, dev, what);
		c->ifindex = ifindex;
		c->n_failed = n_failed;
	}
	return device_count_read(c, n);
}

void device_count_close(struct device_count *c)
{
	if (c->file)
		close(c->file - 1);
	*c = (struct device_count){0};
}
