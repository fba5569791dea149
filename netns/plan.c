/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINKS_V4	  0xc6120000u /* 198.18.0.0 */
#define LOOPBACKS_V4	  0xc6130001u /* 198.19.0.1 */
#define UPLINKS_V4	  0xc6138000u /* 198.19.128.0: 4,096 of them end below 198.19.160.0 */
#define SUPERSPINE_IDS_V4 0xc613fd00u /* 198.19.253.0, 128 of them */
#define SPINE_IDS_V4	  0xc613fe00u /* 198.19.254.0, 256 of them */
#define LEAF_IDS_V4	  0xc613ff00u /* 198.19.255.0, 256 of them */
#define LEAF_AS		  65101u
#define SUPERSPINE_AS	  65371u /* 16 */
#define SPINE_AS	  65401u
#define ONE_AS		  64512u
#define SERVER_AS	  64513u
#define SERVER_AS_LONG	  4200000000u

static bool same_host(struct plan_host a, struct plan_host b)
{
	return a.role == b.role && a.index == b.index;
}

bool plan_at_leaf(const struct plan_link *link, struct plan_host host)
{
	return same_host(link->leaf, host);
}

unsigned plan_leaves(const struct topology *t)
{
	return t->planes * t->leaves_per_plane;
}

unsigned plan_spines(const struct topology *t)
{
	return t->planes * t->spines_per_plane;
}

unsigned plan_superspines(const struct topology *t)
{
	return t->pods > 1 ? t->planes * topology_pod_spines(t) : 0;
}

unsigned plan_hosts(const struct topology *t)
{
	return t->servers + plan_leaves(t) + plan_spines(t) + plan_superspines(t);
}

struct plan_host plan_host_at(const struct topology *t, unsigned k)
{
	const unsigned n[] = {t->servers, plan_leaves(t), plan_spines(t), plan_superspines(t)};
	enum plan_role role = PLAN_SERVER;

	for (; role < PLAN_SUPERSPINE && k >= n[role]; role++)
		k -= n[role];
	return (struct plan_host){role, k};
}

const char *plan_role_name(enum plan_role role)
{
	static const char *const names[] = {"server", "leaf", "spine", "superspine"};

	return names[role];
}

void plan_host_name(struct plan_host host, char name[PLAN_HOST_NAME_MAX])
{
	static const char *const stems[] = {"s", "l", "sp", "ss"};

	snprintf(name, PLAN_HOST_NAME_MAX, "%s%u", stems[host.role], host.index % 100000);
}

void plan_netns_name(const char *lab, struct plan_host host, char name[PLAN_NETNS_NAME_MAX])
{
	char host_name[PLAN_HOST_NAME_MAX];

	plan_host_name(host, host_name);
	snprintf(name, PLAN_NETNS_NAME_MAX, "fl-%.*s-%s", TOPOLOGY_NAME_MAX, lab, host_name);
}

unsigned plan_global(const struct topology *t, struct plan_gpu gpu)
{
	return gpu.server * t->gpus_per_server + gpu.gpu;
}

uint32_t plan_server_as(const struct topology *t, unsigned server)
{
	if (t->ibgp)
		return ONE_AS;
	return (t->servers > 500 ? SERVER_AS_LONG : SERVER_AS) + server;
}

unsigned plan_plane(const struct topology *t, struct plan_host host)
{
	return host.index / (host.role == PLAN_LEAF    ? t->leaves_per_plane
			     : host.role == PLAN_SPINE ? t->spines_per_plane
						       : topology_pod_spines(t));
}

unsigned plan_pod(const struct topology *t, struct plan_host host)
{
	unsigned n = host.role == PLAN_LEAF ? t->leaves_per_plane : t->spines_per_plane;

	return t->pods > 1 ? host.index % n / (n / t->pods) : 0;
}

struct plan_host plan_leaf_of(const struct topology *t, unsigned server, unsigned plane)
{
	return (struct plan_host){PLAN_LEAF,
				  plane * t->leaves_per_plane + topology_leaf(t, server)};
}

uint32_t plan_switch_as(const struct topology *t, struct plan_host host)
{
	if (t->ibgp)
		return ONE_AS;
	if (host.role == PLAN_LEAF)
		return LEAF_AS + host.index;
	if (host.role == PLAN_SUPERSPINE)
		return SUPERSPINE_AS + plan_plane(t, host);
	return SPINE_AS + plan_plane(t, host) * (t->pods > 1 ? t->pods : 1) + plan_pod(t, host);
}

static void v4_text(uint32_t address, char text[INET_ADDRSTRLEN])
{
	struct in_addr a = {.s_addr = htonl(address)};

	inet_ntop(AF_INET, &a, text, INET_ADDRSTRLEN);
}

/* 2001:db8:<net>::<host> */
static void v6_text(uint16_t net, uint32_t host, char text[INET6_ADDRSTRLEN])
{
	struct in6_addr a = {.s6_addr = {0x20, 0x01, 0x0d, 0xb8}};

	a.s6_addr[4] = (uint8_t)(net >> 8);
	a.s6_addr[5] = (uint8_t)net;
	for (unsigned i = 0; i < 4; i++)
		a.s6_addr[12 + i] = (uint8_t)(host >> (24 - 8 * i));
	inet_ntop(AF_INET6, &a, text, INET6_ADDRSTRLEN);
}

void plan_loopback_v4(unsigned global, char text[INET_ADDRSTRLEN])
{
	v4_text(LOOPBACKS_V4 + global, text);
}

void plan_loopback_v6(unsigned global, char text[INET6_ADDRSTRLEN])
{
	v6_text(0x19, global + 1, text);
}

void plan_router_id(const struct topology *t, struct plan_host host, char text[INET_ADDRSTRLEN])
{
	static const uint32_t first[] = {
		[PLAN_LEAF] = LEAF_IDS_V4,
		[PLAN_SPINE] = SPINE_IDS_V4,
		[PLAN_SUPERSPINE] = SUPERSPINE_IDS_V4,
	};

	if (host.role == PLAN_SERVER)
		plan_loopback_v4(plan_global(t, (struct plan_gpu){host.index, 0}), text);
	else
		v4_text(first[host.role] + host.index, text);
}

unsigned plan_link_number(const struct topology *t, struct plan_gpu gpu, unsigned plane,
			  unsigned sub)
{
	return (plan_global(t, gpu) * t->planes + plane) * t->sub_ports + sub;
}

unsigned plan_sub_links(const struct topology *t)
{
	return t->servers * t->gpus_per_server * t->planes * t->sub_ports;
}

unsigned plan_links(const struct topology *t)
{
	return plan_spine_uplink(t, 0) + (t->pods > 1 ? plan_spines(t) : 0);
}

unsigned plan_uplink_number(const struct topology *t, unsigned leaf, unsigned spine)
{
	return plan_sub_links(t) + leaf * topology_pod_spines(t) + spine;
}

unsigned plan_spine_uplink(const struct topology *t, unsigned spine)
{
	return plan_uplink_number(t, plan_leaves(t), 0) + spine;
}

int plan_uplink_between(const struct topology *t, struct plan_host lower, struct plan_host upper,
			unsigned *number)
{
	struct plan_link link;

	for (unsigned k = plan_sub_links(t); k < plan_links(t); k++) {
		plan_link_ends(t, k, &link);
		if (same_host(link.leaf, lower) && same_host(link.far, upper)) {
			*number = k;
			return 0;
		}
	}
	return -ENOENT;
}

void plan_link_ends(const struct topology *t, unsigned number, struct plan_link *out)
{
	unsigned uplink = number - plan_sub_links(t), pod_spines = topology_pod_spines(t), spine;

	*out = (struct plan_link){.number = number};
	if (number < plan_sub_links(t)) {
		unsigned global = number / t->sub_ports / t->planes;

		out->sub = number % t->sub_ports;
		out->plane = number / t->sub_ports % t->planes;
		out->gpu =
			(struct plan_gpu){global / t->gpus_per_server, global % t->gpus_per_server};
		out->leaf = plan_leaf_of(t, out->gpu.server, out->plane);
		out->far = (struct plan_host){PLAN_SERVER, out->gpu.server};
		return;
	}
	if (number >= plan_spine_uplink(t, 0)) {
		spine = number - plan_spine_uplink(t, 0);
		out->leaf = (struct plan_host){PLAN_SPINE, spine};
		out->plane = plan_plane(t, out->leaf);
		out->far = (struct plan_host){PLAN_SUPERSPINE,
					      out->plane * pod_spines + spine % pod_spines};
		return;
	}
	out->leaf = (struct plan_host){PLAN_LEAF, uplink / pod_spines};
	out->plane = plan_plane(t, out->leaf);
	spine = plan_pod(t, out->leaf) * pod_spines + uplink % pod_spines;
	out->far = (struct plan_host){PLAN_SPINE, out->plane * t->spines_per_plane + spine};
}

void plan_link_at(const struct topology *t, unsigned number, struct plan_link *out)
{
	bool uplink = number >= plan_sub_links(t);
	unsigned n = uplink ? number - plan_sub_links(t) : number;

	plan_link_ends(t, number, out);
	if (uplink) {
		snprintf(out->leaf_dev, sizeof(out->leaf_dev), "up%u",
			 out->leaf.role == PLAN_LEAF ? out->far.index % topology_pod_spines(t) : 0);
		plan_host_name(out->leaf, out->far_dev);
	} else {
		snprintf(out->leaf_dev, sizeof(out->leaf_dev), "s%ug%us%u", out->gpu.server % 10000,
			 out->gpu.gpu % 100, out->sub % 100);
		snprintf(out->far_dev, sizeof(out->far_dev), "g%up%us%u", out->gpu.gpu % 100,
			 out->plane % 100, out->sub % 100);
	}
	v4_text((uplink ? UPLINKS_V4 : LINKS_V4) + 2 * n, out->leaf_v4);
	v4_text((uplink ? UPLINKS_V4 : LINKS_V4) + 2 * n + 1, out->far_v4);
	v6_text(uplink ? 0x1a : 0x18, 2 * n, out->leaf_v6);
	v6_text(uplink ? 0x1a : 0x18, 2 * n + 1, out->far_v6);
}

unsigned plan_link_mbps(const struct topology *t, unsigned number)
{
	struct plan_link link;

	plan_link_ends(t, number, &link);
	if (link.far.role != PLAN_SERVER)
		return link.far.role == PLAN_SPINE ? t->spine_rate_mbps : t->superspine_rate_mbps;
	return topology_rate(t, link.gpu.server, link.gpu.gpu, link.plane, link.sub);
}

unsigned plan_link_next(const struct topology *t, struct plan_host host, unsigned number)
{
	unsigned n = plan_links(t);
	struct plan_link link;

	for (; number < n; number++) {
		plan_link_ends(t, number, &link);
		if (same_host(link.leaf, host) || same_host(link.far, host))
			return number;
	}
	return n;
}

void plan_link_text(const struct topology *t, unsigned number, char text[PLAN_TEXT_MAX])
{
	char lower[PLAN_HOST_NAME_MAX], upper[PLAN_HOST_NAME_MAX];
	struct plan_link link;

	plan_link_ends(t, number, &link);
	plan_host_name(link.leaf, lower);
	plan_host_name(link.far, upper);
	if (link.far.role != PLAN_SERVER)
		snprintf(text, PLAN_TEXT_MAX, "uplink %s %s", lower, upper);
	else
		snprintf(text, PLAN_TEXT_MAX, "subport s%u/g%u %u %u", link.gpu.server,
			 link.gpu.gpu, link.plane, link.sub);
}

int plan_parse_index(const char *text, unsigned limit, unsigned *out)
{
	size_t digits = strspn(text, "0123456789");
	unsigned value = 0;

	if (digits == 0 || digits > 6 || text[digits] != '\0')
		return -EINVAL;
	for (const char *p = text; *p; p++)
		value = value * 10 + (unsigned)(*p - '0');
	if (value >= limit)
		return -EINVAL;
	*out = value;
	return 0;
}

int plan_parse_host(const struct topology *t, const char *text, struct plan_host *out)
{
	enum plan_role role = text[0] == 'l'			 ? PLAN_LEAF
			      : text[0] == 's' && text[1] == 'p' ? PLAN_SPINE
			      : text[0] == 's' && text[1] == 's' ? PLAN_SUPERSPINE
								 : PLAN_SERVER;
	const unsigned limits[] = {t->servers, plan_leaves(t), plan_spines(t), plan_superspines(t)};
	unsigned index;

	if ((text[0] != 'l' && text[0] != 's') ||
	    plan_parse_index(text + (role >= PLAN_SPINE ? 2 : 1), limits[role], &index))
		return -EINVAL;
	*out = (struct plan_host){role, index};
	return 0;
}

int plan_parse_gpu(const struct topology *t, const char *text, struct plan_gpu *out)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct plan_host host;
	char server[PLAN_HOST_NAME_MAX];
	unsigned gpu = 0;

	if (n >= sizeof(server))
		return -EINVAL;
	memcpy(server, text, n);
	server[n] = '\0';
	if (plan_parse_host(t, server, &host) || host.role != PLAN_SERVER)
		return -EINVAL;
	if (slash && (slash[1] != 'g' || plan_parse_index(slash + 2, t->gpus_per_server, &gpu)))
		return -EINVAL;
	*out = (struct plan_gpu){.server = host.index, .gpu = gpu};
	return 0;
}
