/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns.h"
#include "process.h"
#include "print_error.h"

static void pair_line(FILE *in, const struct lab *lab, unsigned number)
{
	char far[PLAN_NETNS_NAME_MAX], leaf[PLAN_NETNS_NAME_MAX];
	unsigned mtu = lab->topology.mtu;
	struct plan_link link;

	plan_link_at(&lab->topology, number, &link);
	lab_netns(lab, link.far, far);
	lab_netns(lab, link.leaf, leaf);
	fprintf(in, "link add %s mtu %u netns %s type veth peer name %s mtu %u netns %s\n",
		link.far_dev, mtu, far, link.leaf_dev, mtu, leaf);
}

static void loopback_lines(FILE *in, const struct topology *t, struct plan_gpu gpu)
{
	char text[INET6_ADDRSTRLEN];

	plan_loopback_v4(plan_global(t, gpu), text);
	if (t->ipv4)
		fprintf(in, "addr add %s/32 dev lo\n", text);
	if (!t->ipv6)
		return;
	plan_loopback_v6(plan_global(t, gpu), text);
	fprintf(in, "addr add %s/128 dev lo nodad\n", text);
}

static void address_lines(FILE *in, const struct topology *t, const struct plan_link *link,
			  bool leaf)
{
	const char *dev = leaf ? link->leaf_dev : link->far_dev;

	if (t->ipv4)
		fprintf(in, "addr add %s/31 dev %s\n", leaf ? link->leaf_v4 : link->far_v4, dev);
	if (t->ipv6)
		fprintf(in, "addr add %s/127 dev %s nodad\n", leaf ? link->leaf_v6 : link->far_v6,
			dev);
	fprintf(in, "link set %s up\n", dev);
}

static void shape_line(FILE *in, const char *dev, unsigned rate_mbps, unsigned queue_bytes)
{
	if (rate_mbps)
		fprintf(in,
			"qdisc replace dev %s root handle 1: tbf rate %umbit burst %u limit %u\n",
			dev, rate_mbps, LINKS_BUCKET_BYTES, queue_bytes);
	else
		fprintf(in, "qdisc replace dev %s root noqueue\n", dev);
}

static void shaper_line(FILE *in, const struct topology *t, const struct plan_link *link, bool leaf)
{
	shape_line(in, leaf ? link->leaf_dev : link->far_dev, plan_link_mbps(t, link->number),
		   t->queue_bytes);
}

/* Calls one of the two line writers for every link that ends at host. */
static void each_link_of(FILE *in, const struct topology *t, struct plan_host host,
			 void (*line)(FILE *, const struct topology *, const struct plan_link *,
				      bool))
{
	struct plan_link link;

	PLAN_EACH_LINK(t, host, k)
	{
		plan_link_at(t, k, &link);
		line(in, t, &link, host.role == PLAN_LEAF);
	}
}

static int make_pairs(const struct lab *lab)
{
	static const char *const ip[] = {"ip", "-batch", "-", NULL};
	struct process_batch batch;
	int rc = process_batch_start(&batch, ip);

	if (rc)
		return rc;
	for (unsigned k = 0; k < plan_links(&lab->topology); k++)
		pair_line(batch.in, lab, k);
	return process_batch_end(&batch);
}

/* Every link that ends at host, at the topology's rate. */
static int shape_host(const struct lab *lab, struct plan_host host)
{
	char netns[PLAN_NETNS_NAME_MAX];
	const char *const tc[] = {"tc", "-n", netns, "-batch", "-", NULL};
	struct process_batch batch;
	int rc;

	lab_netns(lab, host, netns);
	rc = process_batch_start(&batch, tc);
	if (rc)
		return rc;
	each_link_of(batch.in, &lab->topology, host, shaper_line);
	return process_batch_end(&batch);
}

static int make_host(const struct lab *lab, struct plan_host host)
{
	char netns[PLAN_NETNS_NAME_MAX];
	const char *const ip[] = {"ip", "-n", netns, "-batch", "-", NULL};
	const struct topology *t = &lab->topology;
	struct process_batch batch;
	int rc;

	lab_netns(lab, host, netns);
	/* Shapers first: a link must never be up without its rate. */
	rc = shape_host(lab, host);
	if (!rc)
		rc = process_batch_start(&batch, ip);
	if (rc)
		return rc;
	fputs("link set lo up\n", batch.in);
	for (unsigned j = 0; host.role == PLAN_SERVER && j < t->gpus_per_server; j++)
		loopback_lines(batch.in, t, (struct plan_gpu){host.index, j});
	each_link_of(batch.in, t, host, address_lines);
	return process_batch_end(&batch);
}

int links_make(const struct lab *lab)
{
	int rc = make_pairs(lab);

	for (unsigned k = 0; !rc && k < plan_hosts(&lab->topology); k++)
		rc = make_host(lab, plan_host_at(&lab->topology, k));
	if (rc)
		print_error("iproute2 could not make the links; see above (does this kernel have "
			    "veth and "
			    "tbf?)");
	return rc;
}

int links_set_up(const char *netns, const char *dev, bool up)
{
	struct ifreq request = {0};
	int home, fd, rc = netns_enter(netns, &home);

	if (rc)
		return rc;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(request.ifr_name, IFNAMSIZ, "%s", dev);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request)) {
		rc = -errno;
	} else {
		request.ifr_flags =
			(short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
		rc = ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
	}
	if (fd >= 0)
		close(fd);
	netns_leave(home);
	return rc;
}

int links_shape(const char *netns, const char *dev, unsigned rate_mbps, unsigned queue_bytes)
{
	const char *const tc[] = {"tc", "-n", netns, "-batch", "-", NULL};
	struct process_batch batch;
	int rc = process_batch_start(&batch, tc);

	if (rc)
		return rc;
	shape_line(batch.in, dev, rate_mbps, queue_bytes);
	return process_batch_end(&batch);
}

int links_shape_all(const struct lab *lab)
{
	int rc = 0;

	for (unsigned k = 0; !rc && k < plan_hosts(&lab->topology); k++)
		rc = shape_host(lab, plan_host_at(&lab->topology, k));
	return rc;
}

bool links_carrier(int any_socket, const char *dev)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GLINK};
	struct ifreq request = {.ifr_data = (char *)&value};

	snprintf(request.ifr_name, IFNAMSIZ, "%s", dev);
	return !ioctl(any_socket, SIOCETHTOOL, &request) && value.data;
}
