/* SPDX-License-Identifier: BSD-2-Clause */
#include "topology.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file as libcyaml fills it: pointers, so that an absent key and a zero are two things. */
struct timers_yaml {
	uint32_t *keepalive_s;
	uint32_t *hold_s;
};

struct topology_yaml {
	char *name;
	uint32_t *servers, *gpus_per_server, *planes, *sub_ports;
	uint32_t *rate_mbps, *queue_bytes, *mtu, *graceful_restart_s;
	uint32_t *probe_interval_ms, *probe_multiplier;
	int *ipv6;
	struct timers_yaml *bgp_timers;
};

#define OPTIONAL_PTR  (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define UINT_KEY(key) CYAML_FIELD_UINT_PTR(#key, OPTIONAL_PTR, struct topology_yaml, key)

static const cyaml_schema_field_t timers_fields[] = {
	CYAML_FIELD_UINT_PTR("keepalive_s", OPTIONAL_PTR, struct timers_yaml, keepalive_s),
	CYAML_FIELD_UINT_PTR("hold_s", OPTIONAL_PTR, struct timers_yaml, hold_s),
	CYAML_FIELD_END,
};

/* libcyaml's own booleans take any word for true. */
static const cyaml_strval_t yes_no[] = {{"false", 0}, {"true", 1}};

static const cyaml_schema_field_t topology_fields[] = {
	CYAML_FIELD_STRING_PTR("name", OPTIONAL_PTR, struct topology_yaml, name, 0,
			       CYAML_UNLIMITED),
	UINT_KEY(servers),
	UINT_KEY(gpus_per_server),
	UINT_KEY(planes),
	UINT_KEY(sub_ports),
	UINT_KEY(rate_mbps),
	UINT_KEY(queue_bytes),
	UINT_KEY(mtu),
	UINT_KEY(graceful_restart_s),
	UINT_KEY(probe_interval_ms),
	UINT_KEY(probe_multiplier),
	CYAML_FIELD_ENUM_PTR("ipv6", OPTIONAL_PTR | CYAML_FLAG_STRICT, struct topology_yaml, ipv6,
			     yes_no, 2),
	CYAML_FIELD_MAPPING_PTR("bgp_timers", OPTIONAL_PTR, struct topology_yaml, bgp_timers,
				timers_fields),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t topology_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct topology_yaml, topology_fields),
};

/* What libcyaml says on its way out: the first sentence is the reason, the first position is the
 * place. */
struct complaint {
	char reason[200];
	char key[64];
	unsigned line;
	bool backtrace;
};

__attribute__((format(printf, 3, 0))) static void on_cyaml_log(cyaml_log_t level, void *ctx,
							       const char *format, va_list args)
{
	struct complaint *c = ctx;
	const char *text, *at;
	char line[256];

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	text = strncmp(line, "Load: ", 6) ? line : line + 6;
	if (!strncmp(text, "Backtrace", 9)) {
		c->backtrace = true;
		return;
	}
	if (!c->backtrace) {
		if (!c->reason[0])
			snprintf(c->reason, sizeof(c->reason), "%.190s", text);
		return;
	}
	at = strstr(text, "in mapping field '");
	if (at && !c->key[0])
		sscanf(at, "in mapping field '%63[^']", c->key);
	at = strstr(text, "line: ");
	if (at && !c->line)
		c->line = (unsigned)strtoul(at + 6, NULL, 10);
}

/* The line that a key stands on, for what is checked after libcyaml is done; 1 if it is not to be
 * found. */
static unsigned line_of(const char *text, size_t size, const char *key)
{
	size_t n = strlen(key);
	unsigned line = 1;

	for (size_t i = 0; i + n < size; i++) {
		bool starts = i == 0 || strchr(" \t\n{,\"'", text[i - 1]);

		if (text[i] == '\n')
			line++;
		else if (text[i] == '#')
			while (i + 1 < size && text[i + 1] != '\n')
				i++;
		else if (starts && !memcmp(text + i, key, n) && strchr(": \"'", text[i + n]))
			return line;
	}
	return 1;
}

struct source {
	const char *file, *text;
	size_t size;
	char *error;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct source *s, const char *key,
							const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	snprintf(s->error, TOPOLOGY_ERROR_MAX, "%.200s:%u: %s: %s", s->file,
		 line_of(s->text, s->size, key), key, why);
	return -EBADMSG;
}

static int take(const struct source *s, const char *key, const uint32_t *given, unsigned fallback,
		unsigned least, unsigned most, unsigned *out)
{
	unsigned value = given ? *given : fallback;

	if (!given && fallback < least)
		return refuse(s, key, "required key is missing; give a number from %u to %u", least,
			      most);
	if (value < least || value > most)
		return refuse(s, key, "%u is out of range; give a number from %u to %u", value,
			      least, most);
	*out = value;
	return 0;
}

/* Limits that no single key breaks: the address plan's, FRR's multipath, BGP's hold time. */
static int check_whole(const struct source *s, const struct topology *t)
{
	unsigned gpus = t->servers * t->gpus_per_server;

	if (gpus > 1024)
		return refuse(s, "servers", "%u GPUs in all; 1024 at most", gpus);
	if (gpus * t->planes * t->sub_ports > 32768)
		return refuse(s, "servers", "%u sub-links in all; 198.18.0.0/16 numbers 32768",
			      gpus * t->planes * t->sub_ports);
	if (t->gpus_per_server * t->planes * t->sub_ports > 256)
		return refuse(s, "sub_ports",
			      "a server would have %u BGP paths to a peer; FRR takes 256",
			      t->gpus_per_server * t->planes * t->sub_ports);
	if (t->hold_s < 3 || t->hold_s < t->keepalive_s)
		return refuse(s, "hold_s",
			      "%u is shorter than 3 s (RFC 4271 4.2) or than keepalive_s",
			      t->hold_s);
	if (t->ipv6 && t->mtu < 1280)
		return refuse(s, "mtu", "%u is below the 1280 that IPv6 needs", t->mtu);
	return 0;
}

static int translate(const struct source *s, const struct topology_yaml *y, struct topology *out)
{
	const struct timers_yaml none = {0}, *timers = y->bgp_timers ? y->bgp_timers : &none;
	struct topology t = {0};
	int rc;

	if (y->name && !topology_name_valid(y->name))
		return refuse(s, "name", "use 1 to %d of a-z, 0-9 and '-', no '-' at either end",
			      TOPOLOGY_NAME_MAX);
	if (y->name)
		snprintf(t.name, sizeof(t.name), "%s", y->name);
	t.ipv6 = y->ipv6 && *y->ipv6;
	if (y->probe_interval_ms && (rc = take(s, "probe_interval_ms", y->probe_interval_ms, 0, 1,
					       10000, &t.probe_interval_ms)))
		return rc;
	if (y->probe_multiplier &&
	    (rc = take(s, "probe_multiplier", y->probe_multiplier, 0, 2, 50, &t.probe_multiplier)))
		return rc;
	if ((rc = take(s, "servers", y->servers, 0, 1, 1024, &t.servers)) ||
	    (rc = take(s, "gpus_per_server", y->gpus_per_server, 1, 1, 16, &t.gpus_per_server)) ||
	    (rc = take(s, "planes", y->planes, 0, 1, 16, &t.planes)) ||
	    (rc = take(s, "sub_ports", y->sub_ports, 0, 1, 8, &t.sub_ports)) ||
	    (rc = take(s, "rate_mbps", y->rate_mbps, 200, 0, 100000, &t.rate_mbps)) ||
	    (rc = take(s, "queue_bytes", y->queue_bytes, 1 << 20, 1 << 16, 1 << 28,
		       &t.queue_bytes)) ||
	    (rc = take(s, "mtu", y->mtu, 4200, 576, 9216, &t.mtu)) ||
	    (rc = take(s, "graceful_restart_s", y->graceful_restart_s, 20, 0, 3600,
		       &t.graceful_restart_s)) ||
	    (rc = take(s, "keepalive_s", timers->keepalive_s, 1, 1, 3600, &t.keepalive_s)) ||
	    (rc = take(s, "hold_s", timers->hold_s, 3, 3, 65535, &t.hold_s)) ||
	    (rc = check_whole(s, &t)))
		return rc;
	*out = t;
	return 0;
}

int topology_parse(const char *file, const char *text, size_t size, struct topology *out,
		   char *error)
{
	const struct source source = {file, text, size, error};
	struct complaint c = {0};
	const cyaml_config_t config = {
		.log_fn = on_cyaml_log,
		.log_ctx = &c,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	struct topology_yaml *yaml = NULL;
	cyaml_err_t e;
	int rc;

	if (size == 0 || memchr(text, '\0', size)) {
		snprintf(error, TOPOLOGY_ERROR_MAX, "%.200s:1: the file is %s", file,
			 size ? "not text: it holds a zero byte" : "empty");
		return -EBADMSG;
	}
	e = cyaml_load_data((const uint8_t *)text, size, &config, &topology_schema,
			    (cyaml_data_t **)&yaml, NULL);
	if (e == CYAML_ERR_INVALID_KEY && !strncmp(c.reason, "Unexpected key: ", 16))
		return refuse(&source, c.reason + 16,
			      "there is no such key; see farelab(8) for those there are");
	if (e != CYAML_OK || !yaml) {
		snprintf(error, TOPOLOGY_ERROR_MAX, "%.200s:%u: %s%s%s", file, c.line ? c.line : 1,
			 c.key, c.key[0] ? ": " : "", c.reason[0] ? c.reason : cyaml_strerror(e));
		return e == CYAML_ERR_OOM ? -ENOMEM : -EBADMSG;
	}
	rc = translate(&source, yaml, out);
	cyaml_free(&config, &topology_schema, yaml, 0);
	return rc;
}

int topology_load(const char *path, struct topology *out, char *error)
{
	char *text = malloc(TOPOLOGY_FILE_MAX + 1);
	FILE *f = fopen(path, "re");
	size_t size = 0;
	int rc = 0;

	if (!text || !f) {
		rc = text ? -errno : -ENOMEM;
		snprintf(error, TOPOLOGY_ERROR_MAX, "%.200s: %s", path, strerror(-rc));
		goto out;
	}
	size = fread(text, 1, TOPOLOGY_FILE_MAX + 1, f);
	if (ferror(f))
		rc = -EIO;
	else if (size > TOPOLOGY_FILE_MAX)
		rc = -EFBIG;
	if (rc)
		snprintf(error, TOPOLOGY_ERROR_MAX, "%.200s: %s", path, strerror(-rc));
	else
		rc = topology_parse(path, text, size, out, error);
out:
	if (f)
		fclose(f);
	free(text);
	return rc;
}

bool topology_name_valid(const char *name)
{
	size_t n = strlen(name);

	return n >= 1 && n <= TOPOLOGY_NAME_MAX && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}
