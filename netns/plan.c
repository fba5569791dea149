/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINKS_V4       0xc6120000u /* 198.18.0.0 */
#define LOOPBACKS_V4   0xc6130001u /* 198.19.0.1 */
#define UPLINKS_V4     0xc6138000u /* 198.19.128.0: 4,096 of them end below 198.19.160.0 */
#define SPINE_IDS_V4   0xc613fe00u /* 198.19.254.0, 256 of them */
#define LEAF_IDS_V4    0xc613ff00u /* 198.19.255.0, 256 of them */
#define LEAF_AS	       65101u
#define SPINE_AS       65401u
#define SERVER_AS      64513u
#define SERVER_AS_LONG 4200000000u

unsigned plan_leaves(const struct topology *t)
{
	return t->planes * t->leaves_per_plane;
}

unsigned plan_spines(const struct topology *t)
{
	return t->planes * t->spines_per_plane;
}

unsigned plan_hosts(const struct topology *t)
{
	return t->servers + plan_leaves(t) + plan_spines(t);
}

struct plan_host plan_host_at(const struct topology *t, unsigned k)
{
	unsigned leaves = plan_leaves(t);

	if (k < t->servers)
		return (struct plan_host){PLAN_SERVER, k};
	if (k < t->servers + leaves)
		return (struct plan_host){PLAN_LEAF, k - t->servers};
	return (struct plan_host){PLAN_SPINE, k - t->servers - leaves};
}

void plan_host_name(struct plan_host host, char name[PLAN_HOST_NAME_MAX])
{
	static const char *const stems[] = {"s", "l", "sp"};

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
	return (t->servers > 500 ? SERVER_AS_LONG : SERVER_AS) + server;
}

unsigned plan_plane(const struct topology *t, struct plan_host host)
{
	return host.index / (host.role == PLAN_LEAF ? t->leaves_per_plane : t->spines_per_plane);
}

struct plan_host plan_leaf_of(const struct topology *t, unsigned server, unsigned plane)
{
	return (struct plan_host){PLAN_LEAF,
				  plane * t->leaves_per_plane + topology_leaf(t, server)};
}

uint32_t plan_switch_as(const struct topology *t, struct plan_host host)
{
	return host.role == PLAN_LEAF ? LEAF_AS + host.index : SPINE_AS + plan_plane(t, host);
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
	if (host.role == PLAN_SERVER)
		plan_loopback_v4(plan_global(t, (struct plan_gpu){host.index, 0}), text);
	else
		v4_text((host.role == PLAN_LEAF ? LEAF_IDS_V4 : SPINE_IDS_V4) + host.index, text);
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
	return plan_sub_links(t) + plan_leaves(t) * t->spines_per_plane;
}

unsigned plan_uplink_number(const struct topology *t, unsigned leaf, unsigned spine)
{
	return plan_sub_links(t) + leaf * t->spines_per_plane + spine;
}

void plan_link_ends(const struct topology *t, unsigned number, struct plan_link *out)
{
	unsigned uplink = number - plan_sub_links(t);

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
	out->leaf = (struct plan_host){PLAN_LEAF, uplink / t->spines_per_plane};
	out->plane = plan_plane(t, out->leaf);
	out->far = (struct plan_host){PLAN_SPINE, out->plane * t->spines_per_plane +
							  uplink % t->spines_per_plane};
}

void plan_link_at(const struct topology *t, unsigned number, struct plan_link *out)
{
	bool uplink = number >= plan_sub_links(t);
	unsigned n = uplink ? number - plan_sub_links(t) : number;

	plan_link_ends(t, number, out);
	if (uplink) {
		snprintf(out->leaf_dev, sizeof(out->leaf_dev), "up%u",
			 out->far.index % t->spines_per_plane);
		snprintf(out->far_dev, sizeof(out->far_dev), "l%u", out->leaf.index);
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
	if (link.far.role == PLAN_SPINE)
		return t->spine_rate_mbps;
	return topology_rate(t, link.gpu.server, link.gpu.gpu, link.plane, link.sub);
}

unsigned plan_link_next(const struct topology *t, struct plan_host host, unsigned number)
{
	unsigned n = plan_links(t);
	struct plan_link link;

	for (; number < n; number++) {
		const struct plan_host *end = host.role == PLAN_LEAF ? &link.leaf : &link.far;

		plan_link_ends(t, number, &link);
		if (end->role == host.role && end->index == host.index)
			return number;
	}
	return n;
}

void plan_link_text(const struct topology *t, unsigned number, char text[PLAN_TEXT_MAX])
{
	struct plan_link link;

	plan_link_ends(t, number, &link);
	if (link.far.role == PLAN_SPINE)
		snprintf(text, PLAN_TEXT_MAX, "uplink l%u sp%u", link.leaf.index, link.far.index);
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
								 : PLAN_SERVER;
	const unsigned limits[] = {t->servers, plan_leaves(t), plan_spines(t)};
	unsigned index;

	if ((text[0] != 'l' && text[0] != 's') ||
	    plan_parse_index(text + (role == PLAN_SPINE ? 2 : 1), limits[role], &index))
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
