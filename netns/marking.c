/* SPDX-License-Identifier: BSD-2-Clause */
#include "marking.h"

#include <errno.h>

#include "netns.h"
#include "print_error.h"

/* In the leaf's namespace. */
static int apply(const struct topology *t, unsigned number, unsigned rate_mbps)
{
	struct plan_link link;

	plan_link_at(t, number, &link);
	if (!t->ecn_threshold_kb || !rate_mbps)
		return ecn_detach(link.leaf_dev);
	return ecn_attach(link.leaf_dev,
			  &(const struct ecn_ramp){.rate_mbps = rate_mbps,
						   .bucket_bytes = topology_bucket_bytes(t),
						   .min_bytes = t->ecn_threshold_kb * 1024,
						   .max_bytes = t->ecn_max_kb * 1024,
						   .max_percent = t->ecn_max_percent});
}

/* Calls apply for the links of a leaf, or for the one of that number. */
static int apply_at(const struct lab *lab, struct plan_host leaf, unsigned only,
		    const unsigned *rate_mbps)
{
	const struct topology *t = &lab->topology;
	int home, rc = lab_enter(lab, leaf, &home);

	if (rc)
		return rc;
	PLAN_EACH_LINK(t, leaf, k)
	if (!rc && (only == k || only == plan_links(t)))
		rc = apply(t, k, only == k ? *rate_mbps : rate_mbps[k]);
	netns_leave(home);
	if (rc == -EOPNOTSUPP)
		print_error("this kernel cannot mark: BPF programs at a device's egress (tcx) need "
			    "Linux 6.6; leave ecn_threshold_kb out");
	return rc;
}

int marking_apply(const struct lab *lab, const unsigned *rate_mbps)
{
	const struct topology *t = &lab->topology;
	int rc = 0;

	for (unsigned k = 0; !rc && k < plan_leaves(t); k++)
		rc = apply_at(lab, (struct plan_host){PLAN_LEAF, k}, plan_links(t), rate_mbps);
	return rc;
}

int marking_apply_link(const struct lab *lab, unsigned number, unsigned rate_mbps)
{
	struct plan_link link;

	plan_link_ends(&lab->topology, number, &link);
	if (link.leaf.role != PLAN_LEAF)
		return 0;
	return apply_at(lab, link.leaf, number, &rate_mbps);
}

int marking_read(const struct lab *lab, struct plan_host leaf, struct ecn_counters *out)
{
	const struct topology *t = &lab->topology;
	int home, rc = lab_enter(lab, leaf, &home);

	if (rc)
		return rc;
	PLAN_EACH_LINK(t, leaf, k)
	{
		struct plan_link link;

		plan_link_at(t, k, &link);
		rc = ecn_read(link.leaf_dev, &out[k]);
		if (rc && rc != -ENOENT)
			break;
		rc = 0;
	}
	netns_leave(home);
	return rc;
}
