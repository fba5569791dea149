/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/custom.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml/strict_yaml.h"
#include "base/text_file.h"

#define CUSTOM_MAX	  16 /* of each list */
#define CUSTOM_ERROR	  512
#define CUSTOM_MAX_TOKENS 131072 /* the longest context of table 9 */

struct model_yaml {
	char *name;
	unsigned layers, kv_heads, head_dim, element_bytes;
	double prefill_base_ms, prefill_tokens_per_s, step_ms;
};

struct experts_yaml {
	char *name;
	unsigned experts, top_k, hidden;
};

struct lengths_yaml {
	char *law;
	unsigned min, max;
	double alpha;
};

struct custom_yaml {
	struct model_yaml *models;
	unsigned n_models;
	struct experts_yaml *experts;
	unsigned n_experts;
	char *trace;
	double *trace_tokens;
	struct lengths_yaml *prompts, *outputs;
	unsigned *burst;
};

static const cyaml_schema_field_t model_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct model_yaml, name, 1, 31),
	CYAML_FIELD_UINT("layers", CYAML_FLAG_DEFAULT, struct model_yaml, layers),
	CYAML_FIELD_UINT("kv_heads", CYAML_FLAG_DEFAULT, struct model_yaml, kv_heads),
	CYAML_FIELD_UINT("head_dim", CYAML_FLAG_DEFAULT, struct model_yaml, head_dim),
	CYAML_FIELD_UINT("element_bytes", CYAML_FLAG_DEFAULT, struct model_yaml, element_bytes),
	CYAML_FIELD_FLOAT("prefill_base_ms", CYAML_FLAG_DEFAULT, struct model_yaml,
			  prefill_base_ms),
	CYAML_FIELD_FLOAT("prefill_tokens_per_s", CYAML_FLAG_DEFAULT, struct model_yaml,
			  prefill_tokens_per_s),
	CYAML_FIELD_FLOAT("step_ms", CYAML_FLAG_DEFAULT, struct model_yaml, step_ms),
	CYAML_FIELD_END};
static const cyaml_schema_value_t model_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct model_yaml, model_fields)};
static const cyaml_schema_field_t experts_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct experts_yaml, name, 1, 31),
	CYAML_FIELD_UINT("experts", CYAML_FLAG_DEFAULT, struct experts_yaml, experts),
	CYAML_FIELD_UINT("top_k", CYAML_FLAG_DEFAULT, struct experts_yaml, top_k),
	CYAML_FIELD_UINT("hidden", CYAML_FLAG_DEFAULT, struct experts_yaml, hidden),
	CYAML_FIELD_END};
static const cyaml_schema_value_t experts_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct experts_yaml, experts_fields)};
static const cyaml_schema_field_t lengths_fields[] = {
	CYAML_FIELD_STRING_PTR("law", CYAML_FLAG_POINTER, struct lengths_yaml, law, 1, 31),
	CYAML_FIELD_UINT("min", CYAML_FLAG_DEFAULT, struct lengths_yaml, min),
	CYAML_FIELD_UINT("max", CYAML_FLAG_OPTIONAL, struct lengths_yaml, max),
	CYAML_FIELD_FLOAT("alpha", CYAML_FLAG_OPTIONAL, struct lengths_yaml, alpha),
	CYAML_FIELD_END};
static const cyaml_schema_field_t custom_fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("models", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				   struct custom_yaml, models, n_models, &model_value, 0,
				   CUSTOM_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("experts", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				   struct custom_yaml, experts, n_experts, &experts_value, 0,
				   CUSTOM_MAX),
	CYAML_FIELD_STRING_PTR("trace", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct custom_yaml, trace, 1, PATH_MAX - 1),
	CYAML_FIELD_FLOAT_PTR("trace_tokens", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct custom_yaml, trace_tokens),
	CYAML_FIELD_MAPPING_PTR("prompts", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct custom_yaml, prompts, lengths_fields),
	CYAML_FIELD_MAPPING_PTR("outputs", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct custom_yaml, outputs, lengths_fields),
	CYAML_FIELD_UINT_PTR("burst", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct custom_yaml,
			     burst),
	CYAML_FIELD_END};
static const cyaml_schema_value_t custom_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct custom_yaml, custom_fields)};
static const struct strict_yaml_range ranges[] = {
	{"layers", .min = 1, .max = 10000},
	{"kv_heads", .min = 1, .max = 10000},
	{"head_dim", .min = 1, .max = 100000},
	{"element_bytes", .min = 1, .max = 8},
	{"prefill_base_ms", .max = 1e6},
	{"prefill_tokens_per_s", .max = 1e9, .above_min = true},
	{"step_ms", .max = 1e6, .above_min = true},
	{"experts", .min = 2, .max = MOE_MAX_EXPERTS},
	{"top_k", .min = 1, .max = MOE_MAX_EXPERTS},
	{"hidden", .min = 1, .max = 1000000},
	{"trace_tokens", .max = 1000, .above_min = true},
	{"min", .min = 1, .max = CUSTOM_MAX_TOKENS},
	{"max", .min = 1, .max = CUSTOM_MAX_TOKENS},
	{"alpha", .max = 10, .above_min = true},
	{"burst", .min = 1, .max = 10000},
	{.key = NULL},
};
static const struct strict_yaml_schema custom_schema = {&custom_value, ranges};

/* What is in force. */
static struct {
	struct strict_yaml *yaml;
	struct model model[CUSTOM_MAX];
	struct moe_config experts[CUSTOM_MAX];
	struct trace trace;
} custom;

static void custom_model(const struct model_yaml *from, struct model *to)
{
	*to = (struct model){.name = from->name,
			     .what = "from the workload's file",
			     .layers = from->layers,
			     .kv_heads = from->kv_heads,
			     .head_dim = from->head_dim,
			     .element_bytes = from->element_bytes,
			     .prefill_base_s = from->prefill_base_ms / 1e3,
			     .prefill_tps = from->prefill_tokens_per_s,
			     .step_s = from->step_ms / 1e3};
}

/* A name may not be the draft's, or twice there. */
static int custom_names(struct strict_yaml *y, const struct custom_yaml *c)
{
	char key[64];

	for (unsigned i = 0; i < c->n_models; i++)
		for (unsigned k = 0; k <= i; k++) {
			if (k < i ? strcmp(c->models[i].name, c->models[k].name) != 0
				  : model_find(c->models[i].name) == NULL)
				continue;
			snprintf(key, sizeof(key), "models[%u].name", i);
			return strict_yaml_wrong(y, key, "%s is another model's name",
						 c->models[i].name);
		}
	for (unsigned i = 0; i < c->n_experts; i++)
		for (unsigned k = 0; k <= i; k++) {
			if (k < i ? strcmp(c->experts[i].name, c->experts[k].name) != 0
				  : moe_config_find(c->experts[i].name) == NULL)
				continue;
			snprintf(key, sizeof(key), "experts[%u].name", i);
			return strict_yaml_wrong(y, key, "%s is another configuration's name",
						 c->experts[i].name);
		}
	return 0;
}

/* -1: no law. */
static int custom_law(const char *name)
{
	static const char *const laws[] = {
		[LENGTHS_FIXED] = "fixed", [LENGTHS_UNIFORM] = "uniform", [LENGTHS_ZIPF] = "zipf"};

	for (int i = 0; i < (int)(sizeof(laws) / sizeof(laws[0])); i++)
		if (strcmp(laws[i], name) == 0)
			return i;
	return -1;
}

static int custom_lengths(struct strict_yaml *y, const char *key, const struct lengths_yaml *l)
{
	int law = l ? custom_law(l->law) : LENGTHS_FIXED;

	if (law < 0)
		return strict_yaml_wrong(y, key, "law is not fixed, uniform or zipf");
	if (law != LENGTHS_FIXED && l->max <= l->min)
		return strict_yaml_wrong(y, key, "max is not above min");
	return 0;
}

static int custom_laws(struct strict_yaml *y, const struct custom_yaml *c)
{
	int err = custom_lengths(y, "prompts", c->prompts);

	if (!err)
		err = custom_lengths(y, "outputs", c->outputs);
	if (!err && c->trace && (c->prompts || c->outputs || c->burst))
		err = strict_yaml_wrong(y, "trace", "a trace has lengths and arrivals of its own");
	return err;
}

static void custom_use_law(const struct lengths_yaml *from, struct lengths *to)
{
	if (from)
		*to = (struct lengths){(enum lengths_law)custom_law(from->law), from->min,
				       from->max, from->alpha > 0 ? from->alpha : 1};
}

void custom_requests(struct lengths *prompt, struct lengths *output, unsigned *burst)
{
	const struct custom_yaml *c = custom.yaml ? strict_yaml_values(custom.yaml) : NULL;

	if (!c)
		return;
	custom_use_law(c->prompts, prompt);
	custom_use_law(c->outputs, output);
	if (c->burst)
		*burst = *c->burst;
}

static int custom_parse(struct strict_yaml **out, const char *name, const char *text, size_t length,
			char *error, size_t size)
{
	const struct custom_yaml *c;
	int err = strict_yaml_load(out, name, text, length, &custom_schema, error, size);

	if (err)
		return err;
	c = strict_yaml_values(*out);
	err = custom_names(*out, c);
	if (!err)
		err = custom_laws(*out, c);
	for (unsigned i = 0; !err && i < c->n_experts; i++) {
		char key[64];

		snprintf(key, sizeof(key), "experts[%u].top_k", i);
		if (c->experts[i].top_k > c->experts[i].experts)
			err = strict_yaml_wrong(*out, key, "%u of %u experts cannot be chosen",
						c->experts[i].top_k, c->experts[i].experts);
	}
	if (err)
		strict_yaml_destroy(*out);
	return err;
}

int custom_check(const char *name, const char *text, size_t length, char *error, size_t error_size)
{
	struct strict_yaml *yaml;
	int err = custom_parse(&yaml, name, text, length, error, error_size);

	if (!err)
		strict_yaml_destroy(yaml);
	return err;
}

/* The trace's path is relative to the file that names it. */
static int custom_load_trace(const char *file, const char *name, char *error, size_t size)
{
	const char *slash = strrchr(file, '/');
	char path[PATH_MAX], *text;
	size_t length;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%.*s%s",
			     *name == '/' || !slash ? 0 : (int)(slash - file + 1), file,
			     name) >= sizeof(path))
		return -ENAMETOOLONG;
	err = text_file_read_regular(path, TRACE_MAX_BYTES, &text, &length);
	if (err) {
		snprintf(error, size, "%.300s: %s", path, strerror(-err));
		return err;
	}
	err = trace_parse(&custom.trace, path, text, length, error, size);
	free(text);
	return err;
}

static int custom_use(const char *path, char *error, size_t size)
{
	const struct custom_yaml *c = strict_yaml_values(custom.yaml);
	int err;

	for (unsigned i = 0; i < c->n_models; i++)
		custom_model(&c->models[i], &custom.model[i]);
	for (unsigned i = 0; i < c->n_experts; i++)
		custom.experts[i] = (struct moe_config){c->experts[i].name, c->experts[i].experts,
							c->experts[i].top_k, c->experts[i].hidden};
	model_use(custom.model, c->n_models, custom.experts, c->n_experts);
	if (!c->trace)
		return 0;
	err = custom_load_trace(path, c->trace, error, size);
	if (!err && c->trace_tokens)
		trace_scale(&custom.trace, *c->trace_tokens);
	return err;
}

int custom_load(const char *path)
{
	char error[CUSTOM_ERROR] = "", *text;
	size_t length;
	int err = text_file_read_regular(path, CUSTOM_MAX_BYTES, &text, &length);

	if (err) {
		fprintf(stderr, "farebench: %s: %s\n", path, strerror(-err));
		return err;
	}
	err = custom_parse(&custom.yaml, path, text, length, error, sizeof(error));
	free(text);
	if (err)
		custom.yaml = NULL;
	if (!err)
		err = custom_use(path, error, sizeof(error));
	if (err) {
		fprintf(stderr, "farebench: %s\n", *error ? error : strerror(-err));
		custom_fini();
	}
	return err;
}

void custom_fini(void)
{
	model_use(NULL, 0, NULL, 0);
	trace_fini(&custom.trace);
	strict_yaml_destroy(custom.yaml);
	custom.yaml = NULL;
}

const struct trace *custom_trace(void)
{
	return custom.trace.n ? &custom.trace : NULL;
}
