/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX over TCP: ucp_put_nbx. Completion is local: the data have been taken, not placed.
 */
#include <ucp/api/ucp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "micro/transport/method.h"

#define ADDRESS_BYTES 2048
#define RKEY_BYTES    1024
#define QUEUE	      1024

struct ucx_card {
	uint64_t base;
	size_t address_bytes, rkey_bytes;
	uint8_t address[ADDRESS_BYTES], rkey[RKEY_BYTES];
};

struct ucx_slot {
	struct ucx *ucx;
};

struct ucx {
	const struct transport_end *end;
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_mem_h memory;
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	struct ucx_card theirs;
	struct ucx_slot slots[QUEUE];
	unsigned queue[QUEUE];
	uint64_t head, tail;
	bool failed;
};

static int method_ucx_start(struct ucx *u)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA};
	ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				      .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_config_t *config;
	ucs_status_t status;

	/* bytes through the namespaces' wire: neither shared memory nor the other's pages */
	setenv("UCX_TLS", "tcp", 1);
	setenv("UCX_NET_DEVICES", "p0", 1);
	setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
	if (ucp_config_read(NULL, NULL, &config))
		return -EOPNOTSUPP;
	status = ucp_init(&params, config, &u->context);
	ucp_config_release(config);
	if (status || ucp_worker_create(u->context, &worker, &u->worker))
		return -EOPNOTSUPP;
	return 0;
}

static int method_ucx_describe(struct ucx *u, struct ucx_card *mine)
{
	ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						  UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				    .address = u->end->memory,
				    .length = u->end->memory_bytes};
	ucp_address_t *address;
	void *rkey;

	if (ucp_mem_map(u->context, &map, &u->memory) ||
	    ucp_worker_get_address(u->worker, &address, &mine->address_bytes) ||
	    ucp_rkey_pack(u->context, u->memory, &rkey, &mine->rkey_bytes))
		return -EIO;
	if (mine->address_bytes > ADDRESS_BYTES || mine->rkey_bytes > RKEY_BYTES)
		return -E2BIG;
	mine->base = (uintptr_t)u->end->memory;
	memcpy(mine->address, address, mine->address_bytes);
	memcpy(mine->rkey, rkey, mine->rkey_bytes);
	ucp_worker_release_address(u->worker, address);
	ucp_rkey_buffer_release(rkey);
	return 0;
}

static int ucx_open(struct transport_end *end, void **state)
{
	struct ucx *u = calloc(1, sizeof(*u));
	struct ucx_card mine = {0};
	ucp_ep_params_t ep = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	int err;

	*state = u;
	if (!u)
		return -ENOMEM;
	u->end = end;
	err = method_ucx_start(u);
	if (!err)
		err = method_ucx_describe(u, &mine);
	if (!err)
		err = transport_exchange(end, &mine, &u->theirs, sizeof(mine));
	if (err)
		return err;
	ep.address = (const ucp_address_t *)u->theirs.address;
	if (ucp_ep_create(u->worker, &ep, &u->ep) ||
	    ucp_ep_rkey_unpack(u->ep, u->theirs.rkey, &u->rkey))
		return -EHOSTUNREACH;
	return 0;
}

/* The slot that a request was about, in its user data. */
static void on_put(void *request, ucs_status_t status, void *arg)
{
	struct ucx_slot *slot = arg;
	struct ucx *u = slot->ucx;

	if (status)
		u->failed = true;
	u->queue[u->tail++ % QUEUE] = (unsigned)(slot - u->slots);
	ucp_request_free(request);
}

static int ucx_post(void *state, unsigned slot)
{
	struct ucx *u = state;
	size_t offset = slot * u->end->stride;
	ucp_request_param_t p = {.op_attr_mask =
					 UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
				 .cb.send = on_put,
				 .user_data = &u->slots[slot]};
	void *request;

	u->slots[slot].ucx = u;
	request = ucp_put_nbx(u->ep, u->end->memory + offset, u->end->bytes,
			      u->theirs.base + offset, u->rkey, &p);
	if (UCS_PTR_IS_ERR(request))
		return UCS_PTR_STATUS(request) == UCS_ERR_NO_RESOURCE ? -EAGAIN : -EIO;
	if (!request)
		u->queue[u->tail++ % QUEUE] = slot;
	return 0;
}

static int ucx_progress(void *state, unsigned *done, int max)
{
	struct ucx *u = state;
	int n = 0;

	ucp_worker_progress(u->worker);
	for (; n < max && u->head < u->tail; n++)
		done[n] = u->queue[u->head++ % QUEUE];
	return u->failed ? -EIO : n;
}

static void ucx_close(void *state)
{
	struct ucx *u = state;

	ucp_rkey_destroy(u->rkey);
	ucp_mem_unmap(u->context, u->memory);
	ucp_worker_destroy(u->worker);
	ucp_cleanup(u->context);
	free(u);
}

static const struct transport_method ucx_tcp = {
	.name = "ucx-tcp",
	.what = "UCX over tcp, ucp_put_nbx",
	.open = ucx_open,
	.post = ucx_post,
	.progress = ucx_progress,
	.close = ucx_close,
};

extern const struct transport_method *const transport_module[];
const struct transport_method *const transport_module[] = {&ucx_tcp, NULL};
