/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINKS_V4       0xc6120000u /* 198.18.0.0 */
#define LOOPBACKS_V4   0xc6130001u /* 198.19.0.1 */
#define LEAF_IDS_V4    0xc613ff00u /* 198.19.255.0: beyond the 1,024th loopback */
#define LEAF_AS	       65101u
#define SERVER_AS      64513u
#define SERVER_AS_LONG 4200000000u

unsigned plan_hosts(const struct topology *t)
{
	return t->servers + t->planes;
}

struct plan_host plan_host_at(const struct topology *t, unsigned k)
{
	if (k < t->servers)
		return (struct plan_host){.leaf = false, .index = k};
	return (struct plan_host){.leaf = true, .index = k - t->servers};
}

void plan_host_name(struct plan_host host, char name[PLAN_HOST_NAME_MAX])
{
	snprintf(name, PLAN_HOST_NAME_MAX, "%c%u", host.leaf ? 'l' : 's', host.index % 100000);
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

uint32_t plan_leaf_as(const struct topology *t, unsigned plane)
{
	(void)t;
	return LEAF_AS + plane;
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
	if (host.leaf)
		v4_text(LEAF_IDS_V4 + host.index, text);
	else
		plan_loopback_v4(plan_global(t, (struct plan_gpu){host.index, 0}), text);
}

unsigned plan_link_number(const struct topology *t, struct plan_gpu gpu, unsigned plane,
			  unsigned sub)
{
	return (plan_global(t, gpu) * t->planes + plane) * t->sub_ports + sub;
}

void plan_link_at(const struct topology *t, struct plan_gpu gpu, unsigned plane, unsigned sub,
		  struct plan_link *out)
{
	unsigned number = plan_link_number(t, gpu, plane, sub);

	snprintf(out->server_dev, sizeof(out->server_dev), "g%up%us%u", gpu.gpu % 100, plane % 100,
		 sub % 100);
	snprintf(out->leaf_dev, sizeof(out->leaf_dev), "s%ug%us%u", gpu.server % 10000,
		 gpu.gpu % 100, sub % 100);
	v4_text(LINKS_V4 + 2 * number, out->leaf_v4);
	v4_text(LINKS_V4 + 2 * number + 1, out->server_v4);
	v6_text(0x18, 2 * number, out->leaf_v6);
	v6_text(0x18, 2 * number + 1, out->server_v6);
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
	bool leaf = text[0] == 'l';
	unsigned index;

	if (!leaf && text[0] != 's')
		return -EINVAL;
	if (plan_parse_index(text + 1, leaf ? t->planes : t->servers, &index))
		return -EINVAL;
	*out = (struct plan_host){.leaf = leaf, .index = index};
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
	if (plan_parse_host(t, server, &host) || host.leaf)
		return -EINVAL;
	if (slash && (slash[1] != 'g' || plan_parse_index(slash + 2, t->gpus_per_server, &gpu)))
		return -EINVAL;
	*out = (struct plan_gpu){.server = host.index, .gpu = gpu};
	return 0;
}
