/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - the models of the draft: bytes of a KV cache (table 9, appendix F), of a dispatch
 * (table 7, appendix E), and the time that compute is taken to need.
 *
 * Owns: nothing. Pure. Thread: any. Compute is emulated: its times are formulas, given below, and
 * every report says so.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

#include "engine/moe.h"

/* CFG-A .. CFG-D: layers, KV heads, dimension of a head, bytes of an element. */
struct model {
	const char *name, *what;
	unsigned layers, kv_heads, head_dim, element_bytes;
	/*
	 * Emulated compute of one worker: a prompt of n tokens takes base_s + n / prefill_tps; one
	 * step of decoding takes step_s, that of a batch of 64, as of an engine that pads. Of the
	 * order of what is published for eight-GPU servers of 2024; what matters here is that they
	 * do not depend on the fabric.
	 */
	double prefill_base_s, prefill_tps, step_s;
};

const struct model *model_find(const char *name); /* NULL: none */
/* S_KV = 2 L H_kv D C P: bytes of the cache of `tokens` tokens. */
double model_kv_bytes(const struct model *model, double tokens);
double model_prefill_s(const struct model *model, double tokens);
/*
 * A step of full batches of so many requests: weights are read once whatever the batch, three
 * quarters of the step of 64 (step_s); the rest grows with it.
 */
double model_batch_step_s(const struct model *model, unsigned batch);

/* M1 .. M4: experts, top-k, hidden dimension; BF16. */
struct moe_config {
	const char *name;
	unsigned experts, top_k, hidden;
};

const struct moe_config *moe_config_find(const char *name);
/* More of both, borrowed until the next call (custom.h). */
void model_use(const struct model *models, unsigned n_models, const struct moe_config *configs,
	       unsigned n_configs);
/*
 * The routing of `tokens` tokens a GPU among `gpus` GPUs from `first` on, with the copy of a token
 * divided by scale (one byte at least).
 */
struct moe moe_of_config(const struct moe_config *config, unsigned first, unsigned gpus,
			 unsigned tokens, double scale, uint64_t seed);

#endif
