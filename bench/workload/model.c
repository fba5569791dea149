/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct model models[] = {
	{"CFG-A", "small: L=32, H_kv=8 (GQA), D=128, BF16", 32, 8, 128, 2, 0.004, 60000, 0.008},
	{"CFG-B", "mid: L=80, H_kv=8 (GQA), D=128, BF16", 80, 8, 128, 2, 0.010, 20000, 0.020},
	{"CFG-C", "large: L=96, H_kv=64 (MHA), D=128, BF16", 96, 64, 128, 2, 0.020, 10000, 0.030},
	{"CFG-D", "mid INT8: L=80, H_kv=8 (GQA), D=128, INT8", 80, 8, 128, 1, 0.008, 30000, 0.015},
};

static const struct moe_config moe_configs[] = {
	{"M1", 8, 2, 4096}, {"M2", 64, 4, 7168}, {"M3", 256, 2, 7168}, {"M4", 256, 8, 7168}};

/* Of a workload of one's own. */
static const struct model *more_models;
static const struct moe_config *more_configs;
static unsigned n_more_models, n_more_configs;

void model_use(const struct model *own, unsigned n_models, const struct moe_config *configs,
	       unsigned n_configs)
{
	more_models = own;
	n_more_models = n_models;
	more_configs = configs;
	n_more_configs = n_configs;
}

const struct model *model_find(const char *name)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	for (unsigned i = 0; i < n_more_models; i++)
		if (strcmp(more_models[i].name, name) == 0)
			return &more_models[i];
	return NULL;
}

double model_kv_bytes(const struct model *model, double tokens)
{
	return 2.0 * model->layers * model->kv_heads * model->head_dim * tokens *
	       model->element_bytes;
}

double model_prefill_s(const struct model *model, double tokens)
{
	return model->prefill_base_s + tokens / model->prefill_tps;
}

double model_batch_step_s(const struct model *model, unsigned batch)
{
	return model->step_s * (0.75 + 0.25 * batch / 64);
}

const struct moe_config *moe_config_find(const char *name)
{
	for (size_t i = 0; i < sizeof(moe_configs) / sizeof(moe_configs[0]); i++)
		if (strcmp(moe_configs[i].name, name) == 0)
			return &moe_configs[i];
	for (unsigned i = 0; i < n_more_configs; i++)
		if (strcmp(more_configs[i].name, name) == 0)
			return &more_configs[i];
	return NULL;
}

struct moe moe_of_config(const struct moe_config *config, unsigned first, unsigned gpus,
			 unsigned tokens, double scale, uint64_t seed)
{
	double copy = config->hidden * 2.0 / scale;

	return (struct moe){.gpus = gpus,
			    .tokens = tokens,
			    .top_k = config->top_k,
			    .experts = config->experts,
			    .hidden = copy < 1 ? 1 : (uint32_t)lround(copy),
			    .element_bytes = 1,
			    .first = first,
			    .period = 64,
			    .seed = seed & INT64_MAX};
}
