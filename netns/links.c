/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns.h"
#include "pfc_agent.h"
#include "process.h"
#include "print_error.h"
#include "roce_ports.h"

#define QUANTUM_BYTES 65536 /* no two classes of a prio share: any will do, and htb wants one */

static void pair_line(FILE *in, const struct lab *lab, unsigned number)
{
	char far[PLAN_NETNS_NAME_MAX], leaf[PLAN_NETNS_NAME_MAX];
	const struct topology *t = &lab->topology;
	/* within one AS, FRR takes paths with one next hop for one path */
	bool one_mac = t->unnumbered && !t->ibgp;
	/* no super-packet is larger than a bucket; PFC counts frames one by one */
	unsigned segments = t->pfc.xoff_bytes ? 1 : t->bucket_frames, mtu = t->mtu;
	char gso[40] = "";
	struct plan_link link;

	plan_link_at(&lab->topology, number, &link);
	lab_netns(lab, link.far, far);
	lab_netns(lab, link.leaf, leaf);
	if (segments)
		snprintf(gso, sizeof(gso), "gso_max_segs %u ", segments);
	fprintf(in, "link add %s mtu %u %snetns %s type veth peer name %s mtu %u %snetns %s%s\n",
		link.far_dev, mtu, gso, far, link.leaf_dev, mtu, gso, leaf,
		one_mac ? " address " PLAN_LEAF_MAC : "");
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

	if (t->ipv4 && !t->unnumbered)
		fprintf(in, "addr add %s/31 dev %s\n", leaf ? link->leaf_v4 : link->far_v4, dev);
	if (t->ipv6 && !t->unnumbered)
		fprintf(in, "addr add %s/127 dev %s nodad\n", leaf ? link->leaf_v6 : link->far_v6,
			dev);
	fprintf(in, "link set %s up\n", dev);
}

/* ---- shapers ------------------------------------------------------------- */

/*
 * htb: class 1:1 has the link's rate; its children are 1:2 for everything, whose own rate is next
 * to nothing and which borrows from 1:1, and with a band 1:3 for network control. 1:3 has a lower
 * prio, and the whole rate for its own: it is always asked first, and what it sends 1:1 has no
 * longer to lend.
 */
static void rate_lines(FILE *in, const char *dev, const struct topology *t, unsigned rate_mbps)
{
	unsigned bucket = topology_bucket_bytes(t);

	/* htb sends while there are no fewer than 0 tokens: so one frame more than they pay for */
	if (t->bucket_frames)
		bucket = bucket / t->bucket_frames * (t->bucket_frames - 1) + 1;
	fprintf(in,
		"class replace dev %s parent 1: classid 1:1 htb rate %umbit burst %u cburst %u "
		"quantum %u\n"
		"class replace dev %s parent 1:1 classid 1:2 htb prio 1 rate 8kbit ceil %umbit "
		"cburst %u quantum %u\n",
		dev, rate_mbps, bucket, bucket, QUANTUM_BYTES, dev, rate_mbps, bucket,
		QUANTUM_BYTES);
	if (t->priority_band)
		fprintf(in,
			"class replace dev %s parent 1:1 classid 1:3 htb prio 0 rate %umbit burst "
			"%u cburst %u quantum %u\n",
			dev, rate_mbps, bucket, bucket, QUANTUM_BYTES);
}

/*
 * htb lets a super-packet pass as one; tbf before it, far too fast to shape, cuts it up. With PFC
 * an agent stops that one, and a frame of MAC control starts it again: it goes no further.
 */
static void queue_line(FILE *in, const char *dev, const struct topology *t)
{
	if (t->pfc.xoff_bytes)
		fprintf(in,
			"qdisc replace dev %s parent 1:2 handle 2: tbf rate %ugbit burst %u limit "
			"%u\n"
			"filter add dev %s parent 1: pref 3 protocol 0x8808 bpf da bytecode \"1,6 "
			"0 0 4\"\n",
			dev, PFC_QUEUE_GBIT, t->mtu + ETH_HLEN, PFC_QUEUE_BYTES, dev);
	else if (t->bucket_frames)
		fprintf(in,
			"qdisc replace dev %s parent 1:2 handle 2: tbf rate 100gbit burst %u limit "
			"%u\n",
			dev, topology_bucket_bytes(t), t->queue_bytes);
	else
		fprintf(in, "qdisc replace dev %s parent 1:2 handle 2: bfifo limit %u\n", dev,
			t->queue_bytes);
}

static void band_lines(FILE *in, const char *dev)
{
	unsigned class = FARE_PROBE_DSCP << 2;

	fprintf(in,
		"filter add dev %s parent 1: pref 1 protocol ip u32 match ip dsfield 0x%x 0xfc "
		"flowid 1:3\n"
		"filter add dev %s parent 1: pref 2 protocol ipv6 u32 match ip6 priority 0x%x 0xfc "
		"flowid 1:3\n",
		dev, class, dev, class);
}

/* A shaper of that rate where there may be one already. htb cannot be changed: so it goes first. */
static void shape_lines(FILE *in, const char *dev, const struct topology *t, unsigned rate_mbps)
{
	fprintf(in, "qdisc replace dev %s root noqueue\n", dev);
	if (!rate_mbps)
		return;
	fprintf(in, "qdisc replace dev %s root handle 1: htb default 2\n", dev);
	rate_lines(in, dev, t, rate_mbps);
	queue_line(in, dev, t);
	if (t->priority_band)
		band_lines(in, dev);
}

static void shaper_lines(FILE *in, const struct topology *t, const struct plan_link *link,
			 bool leaf)
{
	shape_lines(in, leaf ? link->leaf_dev : link->far_dev, t, plan_link_mbps(t, link->number));
}

/* ---- making -------------------------------------------------------------- */

/* Calls one of the two line writers for every link that ends at host. */
static void each_link_of(FILE *in, const struct topology *t, struct plan_host host,
			 void (*line)(FILE *, const struct topology *, const struct plan_link *,
				      bool))
{
	struct plan_link link;

	PLAN_EACH_LINK(t, host, k)
	{
		plan_link_at(t, k, &link);
		line(in, t, &link, plan_at_leaf(&link, host));
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
	each_link_of(batch.in, &lab->topology, host, shaper_lines);
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
			    "veth, htb and cls_u32?)");
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

int links_shape(const char *netns, const char *dev, const struct topology *t, unsigned old_mbps,
		unsigned rate_mbps)
{
	const char *const tc[] = {"tc", "-n", netns, "-batch", "-", NULL};
	struct process_batch batch;
	int rc = process_batch_start(&batch, tc);

	if (rc)
		return rc;
	if (old_mbps && rate_mbps)
		rate_lines(batch.in, dev, t, rate_mbps);
	else
		shape_lines(batch.in, dev, t, rate_mbps);
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
