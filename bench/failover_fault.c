/* failover_fault.c - see failover_fault.h */
#include "failover_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster.h"

#define KERNEL_WAIT_NS UINT64_C(2000000000)

struct times {
	uint64_t done_ns, kernel_ns;
	int rc;
};

static int enter(const char *netns)
{
	char path[128];
	int fd, rc;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = setns(fd, CLONE_NEWNET) ? -errno : 0;
	close(fd);
	return rc;
}

static int listen_to_links(void)
{
	const struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	const struct timeval patience = {.tv_usec = 100000};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* When a message says that the device has no carrier any more; 0: not in time. */
static uint64_t await_loss(int fd, unsigned ifindex)
{
	uint64_t end = cluster_now_ns() + KERNEL_WAIT_NS, now;
	char bytes[8192];

	while ((now = cluster_now_ns()) < end) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		struct nlmsghdr head;
		struct ifinfomsg info;

		if (n < (ssize_t)NLMSG_LENGTH(sizeof(info)))
			continue;
		memcpy(&head, bytes, sizeof(head));
		memcpy(&info, bytes + NLMSG_HDRLEN, sizeof(info));
		if (head.nlmsg_type == RTM_NEWLINK && (unsigned)info.ifi_index == ifindex &&
		    !(info.ifi_flags & IFF_RUNNING))
			return cluster_now_ns();
	}
	return 0;
}

static int set_forwarding(int fd, bool on)
{
	return write(fd, on ? "1" : "0", 1) == 1 ? 0 : -errno;
}

static int set_up(int fd, const char *device, bool up)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", device);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		return -errno;
	request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
}

static int act(const struct failover_fault *fault, bool on, struct times *times)
{
	int fd = fault->forwarding ? open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC)
				   : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	times->done_ns = cluster_now_ns();
	if (fault->forwarding)
		rc = set_forwarding(fd, !on);
	for (unsigned i = 0; !fault->forwarding && !rc && i < fault->n_devices; i++)
		rc = set_up(fd, fault->device[i], !on);
	close(fd);
	return rc;
}

static void child(const struct failover_fault *fault, bool on, bool listen, struct times *times)
{
	unsigned ifindex = 0;
	int fd = -1;

	if (listen) {
		times->rc = enter(fault->server_netns);
		if (times->rc)
			return;
		ifindex = if_nametoindex(fault->server_device);
		fd = listen_to_links();
		if (fd < 0 || !ifindex) {
			times->rc = fd < 0 ? fd : -ENODEV;
			return;
		}
	}
	times->rc = enter(fault->leaf_netns);
	if (!times->rc)
		times->rc = act(fault, on, times);
	if (!times->rc && listen)
		times->kernel_ns = await_loss(fd, ifindex);
}

int failover_fault_do(const struct failover_fault *fault, bool on, uint64_t *done_ns,
		      uint64_t *kernel_ns)
{
	struct times times = {0};
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		child(fault, on, kernel_ns && fault->server_device[0], &times);
		_exit(write(ends[1], &times, sizeof(times)) != sizeof(times));
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &times, sizeof(times)) != sizeof(times))
		times.rc = pid < 0 ? -errno : -EIO;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	*done_ns = times.done_ns;
	if (kernel_ns)
		*kernel_ns = times.kernel_ns;
	return times.rc;
}
