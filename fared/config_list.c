/* SPDX-License-Identifier: BSD-2-Clause */
#include "config_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "config.h"
#include "log.h"

#define V4_BITS 96 /* of the prefix that makes an IPv4 address a mapped one */

struct writer {
	struct config_list *list;
	enum config_effect effect; /* of what is added next */
	bool failed;
};

static struct config_entry *next_entry(struct config_list *list)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		void *grown = realloc(list->entries, room * sizeof(*list->entries));

		if (!grown)
			return NULL;
		list->entries = grown;
		list->room = room;
	}
	return &list->entries[list->n];
}

__attribute__((format(printf, 3, 4))) static void add(struct writer *w, const char *key,
						      const char *format, ...)
{
	struct config_entry *entry = w->failed ? NULL : next_entry(w->list);
	va_list ap;
	int n;

	w->failed = !entry;
	if (w->failed)
		return;
	va_start(ap, format);
	n = vasprintf(&entry->value, format, ap);
	va_end(ap);
	w->failed = n < 0;
	if (w->failed)
		return;
	snprintf(entry->key, sizeof(entry->key), "%s", key);
	entry->effect = w->effect;
	w->list->n++;
}

static void add_bool(struct writer *w, const char *key, bool value)
{
	add(w, key, "%s", value ? "true" : "false");
}

static void add_ms(struct writer *w, const char *key, uint64_t ns)
{
	add(w, key, "%.10g", (double)ns / 1e6);
}

/* ---- lists of addresses -------------------------------------------------- */

/* 64 prefixes of 50 characters are the longest. */
struct text {
	char out[4096];
	size_t length;
};

static void list_item(struct text *t, const char *item)
{
	int n = snprintf(t->out + t->length, sizeof(t->out) - t->length, "%s%s",
			 t->length ? ", " : "", item);

	if (n > 0 && (size_t)n < sizeof(t->out) - t->length)
		t->length += (size_t)n;
}

static void add_prefixes(struct writer *w, const struct bgp_source_config *bgp)
{
	char address[ADDRESS_TEXT_MAX], item[ADDRESS_TEXT_MAX + 8];
	struct text t = {.length = 0};

	for (size_t i = 0; i < bgp->n_peer_prefixes; i++) {
		const struct bgp_prefix *p = &bgp->peer_prefixes[i];
		unsigned base = IN6_IS_ADDR_V4MAPPED(&p->address) ? V4_BITS : 0;

		snprintf(item, sizeof(item), "%s/%u", address_format(&p->address, address),
			 p->length - base);
		list_item(&t, item);
	}
	add(w, "bgp.peer_prefixes", "[%s]", t.out);
}

static void add_neighbors(struct writer *w, const char *key, const struct bgp_source_config *bgp,
			  uint32_t gpu, uint32_t plane, uint32_t sub_port)
{
	char address[ADDRESS_TEXT_MAX];
	struct text t = {.length = 0};

	for (size_t i = 0; i < bgp->n_neighbors; i++) {
		const struct bgp_neighbor *n = &bgp->neighbors[i];

		if (n->local_gpu == gpu && n->plane == plane && n->sub_port == sub_port)
			list_item(&t, IN6_ARE_ADDR_EQUAL(&n->address, &BGP_NEIGHBOR_UNNUMBERED)
					      ? CONFIG_UNNUMBERED
					      : address_format(&n->address, address));
	}
	add(w, key, "[%s]", t.out);
}

static void add_addresses(struct writer *w, const char *key, const struct config_gpu *gpu)
{
	char address[ADDRESS_TEXT_MAX];
	struct text t = {.length = 0};

	for (int family = 0; family < 2; family++)
		if (!IN6_IS_ADDR_UNSPECIFIED(&gpu->address[family]))
			list_item(&t, address_format(&gpu->address[family], address));
	add(w, key, "[%s]", t.out);
}

/* ---- parts --------------------------------------------------------------- */

static void add_top(struct writer *w, const struct config *c)
{
	w->effect = CONFIG_RESTART;
	add(w, "node", "%s", c->node);
	add(w, "run_dir", "%s", c->run_dir);
	add(w, "user", "%s", c->user);
	add(w, "group", "%s", c->group);
	add(w, "attach_group", "%s", c->attach_group);
	add(w, "operator_group", "%s", c->operator_group);
	w->effect = CONFIG_AT_ONCE;
	add(w, "log_level", "%s", log_level_name(c->log_level));
	add(w, "kernel_routes", "%s", c->kernel_routes ? "on" : "off");
}

static void add_bgp(struct writer *w, const struct config *c)
{
	w->effect = CONFIG_RESTART;
	add(w, "bgp.bmp_user", "%s", c->bmp_user);
	w->effect = CONFIG_SOURCES;
	add(w, "bgp.bmp_address", "%.*s", (int)(strrchr(c->bmp_text, ':') - c->bmp_text),
	    c->bmp_text);
	add(w, "bgp.bmp_port", "%s", strrchr(c->bmp_text, ':') + 1);
	add(w, "bgp.bandwidth_scale", "%.10g", c->bgp.bandwidth_scale);
	add(w, "bgp.max_as_path", "%u", c->bgp.max_as_path);
	add(w, "bgp.stale_s", "%llu", (unsigned long long)(c->stale_ns / UINT64_C(1000000000)));
	add(w, "bgp.zserv_path", "%s", c->zserv_path);
	add(w, "bgp.frr_version", "%s", c->frr_version);
	add_prefixes(w, &c->bgp);
}

static void add_health(struct writer *w, const struct config_health *h)
{
	w->effect = CONFIG_RESTART;
	add_bool(w, "health.enabled", h->enabled);
	add_bool(w, "health.realtime", h->realtime);
	add_ms(w, "health.interval_ms", h->interval_ns);
	add(w, "health.multiplier", "%u", h->multiplier);
	add(w, "health.max_routers", "%u", h->max_routers);
	add_ms(w, "health.slow_interval_ms", h->slow_interval_ns);
	add(w, "health.max_probes_per_s", "%u", h->max_probes_per_s);
	add(w, "health.dscp", "%u", h->dscp);
	add_ms(w, "health.queue_ms", h->queue_ns);
	add(w, "health.recover_probes", "%u", h->recover_probes);
	add(w, "health.max_loss_percent", "%.10g", h->max_loss_ppm / 1e4);
	add_ms(w, "health.hold_ms", h->hold_ns);
	add_ms(w, "health.hold_max_ms", h->hold_max_ns);
	add_ms(w, "health.ramp_ms", h->ramp_ns);
	w->effect = CONFIG_AT_ONCE;
	add(w, "health.key_file", "%s", h->key_file);
	add(w, "health.second_key_file", "%s", h->second_key_file);
}

static void add_sub_port(struct writer *w, const struct config *c, uint32_t g, uint32_t plane,
			 uint32_t s)
{
	const struct config_plane *p = &c->gpus[g].planes[plane];
	char key[CONFIG_KEY_MAX];
	int base = snprintf(key, sizeof(key), "local_gpus[%u].planes[%u].sub_ports[%u].", g,
			    p->entry, s);

	w->effect = CONFIG_RESTART;
	snprintf(key + base, sizeof(key) - (size_t)base, "dev");
	add(w, key, "%s", p->sub_ports[s].dev);
	w->effect = CONFIG_AT_ONCE;
	snprintf(key + base, sizeof(key) - (size_t)base, "speed_mbps");
	add(w, key, "%llu", (unsigned long long)(p->sub_ports[s].speed_bps / 1000000));
	w->effect = CONFIG_SOURCES;
	snprintf(key + base, sizeof(key) - (size_t)base, "neighbors");
	add_neighbors(w, key, &c->bgp, g, plane, s);
}

static void add_gpu(struct writer *w, const struct config *c, uint32_t g)
{
	const struct config_gpu *gpu = &c->gpus[g];
	char key[CONFIG_KEY_MAX];

	w->effect = CONFIG_RESTART;
	snprintf(key, sizeof(key), "local_gpus[%u].name", g);
	add(w, key, "%s", gpu->name);
	snprintf(key, sizeof(key), "local_gpus[%u].addresses", g);
	add_addresses(w, key, gpu);
	for (uint32_t p = 0; p < gpu->n_planes; p++) {
		if (!gpu->planes[p].n_sub_ports)
			continue;
		w->effect = CONFIG_RESTART;
		snprintf(key, sizeof(key), "local_gpus[%u].planes[%u].plane", g,
			 gpu->planes[p].entry);
		add(w, key, "%u", p);
		for (uint32_t s = 0; s < gpu->planes[p].n_sub_ports; s++)
			add_sub_port(w, c, g, p, s);
	}
}

int config_list_create(struct config_list **out, const struct config *config)
{
	struct writer w = {.list = calloc(1, sizeof(*w.list))};

	*out = w.list;
	if (!w.list)
		return -ENOMEM;
	add_top(&w, config);
	add_bgp(&w, config);
	add_health(&w, &config->health);
	for (uint32_t g = 0; g < config->n_gpus; g++)
		add_gpu(&w, config, g);
	if (!w.failed)
		return 0;
	config_list_destroy(w.list);
	*out = NULL;
	return -ENOMEM;
}

void config_list_destroy(struct config_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++)
		free(list->entries[i].value);
	free(list->entries);
	free(list);
}

const char *config_effect_name(enum config_effect effect)
{
	static const char *const names[CONFIG_EFFECT_COUNT] = {
		[CONFIG_AT_ONCE] = "yes",
		[CONFIG_SOURCES] = "sources",
		[CONFIG_RESTART] = "restart",
	};

	return names[effect];
}
