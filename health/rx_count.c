/* rx_count.c - see rx_count.h */
#include "rx_count.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int rx_count_open(void)
{
	const struct timeval patience = {.tv_usec = 20000}; /* a kernel that does not answer */
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

/* rx_packets of the 64-bit counters in an answer of n bytes. */
static int parse(const uint8_t *bytes, size_t n, int ifindex, uint64_t *packets)
{
	struct rtnl_link_stats64 stats;
	struct if_stats_msg about;
	struct nlmsghdr head;
	struct rtattr attr;
	size_t at = NLMSG_LENGTH(sizeof(about));

	if (n < NLMSG_HDRLEN)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_type != RTM_NEWSTATS)
		return head.nlmsg_type == NLMSG_ERROR ? -ENODEV : -EBADMSG;
	if (head.nlmsg_len > n || head.nlmsg_len < at)
		return -EBADMSG;
	memcpy(&about, bytes + NLMSG_HDRLEN, sizeof(about));
	if ((int)about.ifindex != ifindex)
		return -EAGAIN; /* the answer to a question that we gave up on */
	while (at + sizeof(attr) <= head.nlmsg_len) {
		memcpy(&attr, bytes + at, sizeof(attr));
		if (attr.rta_len < sizeof(attr) || at + attr.rta_len > head.nlmsg_len)
			return -EBADMSG;
		if (attr.rta_type == IFLA_STATS_LINK_64 &&
		    attr.rta_len >= RTA_LENGTH(sizeof(uint64_t))) {
			memcpy(&stats.rx_packets, bytes + at + RTA_LENGTH(0),
			       sizeof(stats.rx_packets));
			*packets = stats.rx_packets;
			return 0;
		}
		at += RTA_ALIGN(attr.rta_len);
	}
	return -EBADMSG;
}

int rx_count_read(int fd, int ifindex, uint64_t *packets)
{
	struct {
		struct nlmsghdr head;
		struct if_stats_msg about;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETSTATS,
			 .nlmsg_flags = NLM_F_REQUEST},
		.about = {.ifindex = (uint32_t)ifindex,
			  .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)},
	};
	uint8_t answer[1024];
	int rc;

	_Static_assert(offsetof(struct rtnl_link_stats64, rx_packets) == 0, "the first counter");
	if (send(fd, &ask, sizeof(ask), 0) < 0)
		return -errno;
	do {
		ssize_t n = recv(fd, answer, sizeof(answer), 0);

		if (n < 0)
			return -errno;
		rc = parse(answer, (size_t)n, ifindex, packets);
	} while (rc == -EAGAIN);
	return rc;
}
