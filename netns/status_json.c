/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON that programs read of a lab's state. */
#include <stdio.h>

#include "lb.h"
#include "status.h"

static json_t *pid_json(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	pid_t pid = lab_daemon_pid(lab, host, daemon);

	return pid ? json_integer(pid) : json_null();
}

static json_int_t gray_ppm(const struct fault_link *f)
{
	return f->from_leaf_loss_ppm > f->to_leaf_loss_ppm ? f->from_leaf_loss_ppm
							   : f->to_leaf_loss_ppm;
}

/* What the leaf sent to that link: null where nothing marks. */
static json_t *ecn_json(const struct status *s, unsigned k)
{
	const struct ecn_counters *m = s->marks ? &s->marks[k] : NULL;
	json_t *ramp;

	if (!m)
		return json_null();
	ramp = json_array();
	for (unsigned i = 0; i <= ECN_RAMP_PARTS; i++)
		json_array_append_new(ramp, json_pack("[I, I, I]", (json_int_t)m->ramp_packets[i],
						      (json_int_t)m->ramp_marked[i],
						      (json_int_t)m->ramp_squares[i]));
	return json_pack(
		"{s:I, s:I, s:I, s:o, s:o, s:I, s:I}", "packets", (json_int_t)m->packets, "bytes",
		(json_int_t)m->bytes, "marked", (json_int_t)m->marked, "ramp", ramp, "onset_ns",
		m->first_mark_ns && m->first_ns
			? json_integer((json_int_t)(m->first_mark_ns - m->first_ns))
			: json_null(),
		"queue_at_onset_bytes",
		(json_int_t)(m->queue_at_first_mark_ns * s->faults.links[k].rate_mbps / 8000),
		"queue_peak_bytes",
		(json_int_t)(m->queue_peak_ns * s->faults.links[k].rate_mbps / 8000));
}

static json_t *sub_port_json(const struct lab *lab, const struct status *s, struct plan_gpu gpu,
			     unsigned plane, unsigned sub)
{
	unsigned k = plan_link_number(&lab->topology, gpu, plane, sub);
	struct plan_link link;

	plan_link_at(&lab->topology, k, &link);
	return json_pack("{s:s, s:s, s:I, s:I, s:b, s:I, s:o}", "dev", link.far_dev, "leaf_dev",
			 link.leaf_dev, "rate_bps",
			 (json_int_t)s->faults.links[k].rate_mbps * 1000000, "announced_bps",
			 (json_int_t)s->faults.announced_mbps[k] * 1000000, "up", (int)s->up[k],
			 "gray_loss_ppm", gray_ppm(&s->faults.links[k]), "ecn", ecn_json(s, k));
}

/* Of the switches of one tier to those of the next. */
static json_t *uplinks_json(const struct lab *lab, const struct status *s, enum plan_role lower)
{
	const char *from = plan_role_name(lower), *to = plan_role_name(lower + 1);
	char names[2][PLAN_HOST_NAME_MAX], keys[2][24];
	json_t *list = json_array();
	struct plan_link link;

	snprintf(keys[0], sizeof(keys[0]), "%s_dev", from);
	snprintf(keys[1], sizeof(keys[1]), "%s_dev", to);
	for (unsigned k = plan_sub_links(&lab->topology); k < plan_links(&lab->topology); k++) {
		plan_link_at(&lab->topology, k, &link);
		if (link.leaf.role != lower)
			continue;
		plan_host_name(link.leaf, names[0]);
		plan_host_name(link.far, names[1]);
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:I, s:o}", from,
						names[0], to, names[1], keys[0], link.leaf_dev,
						keys[1], link.far_dev, "rate_bps",
						(json_int_t)s->faults.links[k].rate_mbps * 1000000,
						"up", (int)s->up[k], "gray_loss_ppm",
						gray_ppm(&s->faults.links[k]), "ecn",
						lower == PLAN_LEAF ? ecn_json(s, k) : json_null()));
	}
	return list;
}

static json_t *gpu_json(const struct lab *lab, const struct status *s, struct plan_gpu gpu)
{
	const struct topology *t = &lab->topology;
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN], name[16], leaf[PLAN_HOST_NAME_MAX];
	json_t *planes = json_array();

	for (unsigned plane = 0; plane < t->planes; plane++) {
		json_t *subs = json_array();

		for (unsigned sub = 0; sub < t->sub_ports; sub++)
			json_array_append_new(subs, sub_port_json(lab, s, gpu, plane, sub));
		plan_host_name(plan_leaf_of(t, gpu.server, plane), leaf);
		json_array_append_new(planes, json_pack("{s:i, s:s, s:o}", "plane", (int)plane,
							"leaf", leaf, "sub_ports", subs));
	}
	plan_loopback_v4(plan_global(t, gpu), v4);
	plan_loopback_v6(plan_global(t, gpu), v6);
	snprintf(name, sizeof(name), "g%u", gpu.gpu);
	return json_pack("{s:s, s:i, s:i, s:s?, s:s?, s:o}", "name", name, "index", (int)gpu.gpu,
			 "global_index", (int)plan_global(t, gpu), "ipv4", t->ipv4 ? v4 : NULL,
			 "ipv6", t->ipv6 ? v6 : NULL, "planes", planes);
}

static json_t *server_json(const struct lab *lab, const struct status *s, unsigned server)
{
	const struct plan_host host = {PLAN_SERVER, server};
	char name[PLAN_HOST_NAME_MAX], netns[PLAN_NETNS_NAME_MAX], dir[LAB_PATH_MAX],
		fared[LAB_PATH_MAX];
	json_t *gpus = json_array();

	for (unsigned j = 0; j < lab->topology.gpus_per_server; j++)
		json_array_append_new(gpus, gpu_json(lab, s, (struct plan_gpu){server, j}));
	plan_host_name(host, name);
	lab_netns(lab, host, netns);
	lab_path(lab, host, "", dir);
	lab_path(lab, host, "fared", fared);
	return json_pack("{s:s, s:s, s:s, s:s, s:{s:o, s:o, s:o}, s:o}", "name", name, "netns",
			 netns, "run_dir", dir, "fared_run_dir", fared, "pids", "zebra",
			 pid_json(lab, host, LAB_ZEBRA), "bgpd", pid_json(lab, host, LAB_BGPD),
			 "fared", pid_json(lab, host, LAB_FARED), "gpus", gpus);
}

static json_t *switch_json(const struct lab *lab, const struct status *s, struct plan_host host)
{
	char name[PLAN_HOST_NAME_MAX], netns[PLAN_NETNS_NAME_MAX];
	bool up = !fault_state_host_failed(&s->faults, host) &&
		  lab_daemon_pid(lab, host, LAB_ZEBRA) && lab_daemon_pid(lab, host, LAB_BGPD);

	plan_host_name(host, name);
	lab_netns(lab, host, netns);
	return json_pack("{s:s, s:s, s:i, s:b, s:s*, s:{s:o, s:o}}", "name", name, "netns", netns,
			 "plane", (int)plan_plane(&lab->topology, host), "up", (int)up, "lb",
			 host.role == PLAN_LEAF ? topology_lb_name(lb_of(lab, host.index).mode)
						: NULL,
			 "pids", "zebra", pid_json(lab, host, LAB_ZEBRA), "bgpd",
			 pid_json(lab, host, LAB_BGPD));
}

static void append_text(const char *text, void *arg)
{
	json_array_append_new(arg, json_string(text));
}

static json_t *pfc_json(const struct topology *t)
{
	return t->pfc.xoff_bytes
		       ? json_pack("{s:i, s:i, s:i, s:i}", "xoff_bytes", (int)t->pfc.xoff_bytes,
				   "xon_bytes", (int)t->pfc.xon_bytes, "headroom_bytes",
				   (int)t->pfc.headroom_bytes, "watchdog_ms",
				   (int)t->pfc.watchdog_ms)
		       : json_null();
}

json_t *status_json(const struct lab *lab, const struct status *s)
{
	const struct topology *t = &lab->topology;
	json_t *servers = json_array(), *faults = json_array();
	json_t *switches[] = {[PLAN_LEAF] = json_array(),
			      [PLAN_SPINE] = json_array(),
			      [PLAN_SUPERSPINE] = json_array()};

	for (unsigned server = 0; server < t->servers; server++)
		json_array_append_new(servers, server_json(lab, s, server));
	for (unsigned k = t->servers; k < plan_hosts(t); k++) {
		struct plan_host host = plan_host_at(t, k);

		json_array_append_new(switches[host.role], switch_json(lab, s, host));
	}
	status_faults(lab, s, append_text, faults);
	return json_pack("{s:s, s:b, s:s?, s:i, s:i, s:i, s:i, s:i, s:o, s:I, s:I, s:i, s:o, s:o, "
			 "s:o, s:o, s:o, s:o, s:o}",
			 "lab", lab->name, "converged", (int)s->converged, "why",
			 s->converged ? NULL : s->why, "planes", (int)t->planes, "sub_ports",
			 (int)t->sub_ports, "mtu_bytes", (int)t->mtu, "bucket_bytes",
			 (int)topology_bucket_bytes(t), "queue_bytes", (int)t->queue_bytes, "pfc",
			 pfc_json(t), "ecn_threshold_bytes", (json_int_t)t->ecn_threshold_kb * 1024,
			 "ecn_max_bytes", (json_int_t)t->ecn_max_kb * 1024, "ecn_max_percent",
			 (int)t->ecn_max_percent, "faults", faults, "servers", servers, "leaves",
			 switches[PLAN_LEAF], "spines", switches[PLAN_SPINE], "superspines",
			 switches[PLAN_SUPERSPINE], "uplinks", uplinks_json(lab, s, PLAN_LEAF),
			 "spine_uplinks", uplinks_json(lab, s, PLAN_SPINE));
}
