/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_handle.c - handles: a device that is open, with its protection domain and its completion
 * channel; and how the device of a slot is found again.
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/*
 * Of a lost device each of these may be refused; closing its descriptor ends what is left in the
 * kernel.
 */
static void close_handle(struct verbs_handle *h)
{
	for (unsigned i = 0; h->mr && i < VERBS_MAX_REGIONS; i++)
		if (h->mr[i])
			ibv_dereg_mr(h->mr[i]);
	if (h->channel)
		ibv_destroy_comp_channel(h->channel);
	if (h->pd)
		ibv_dealloc_pd(h->pd);
	ibv_close_device(h->context);
	free(h->mr);
	free(h);
}

void verbs_handle_put(struct qp_endpoint *ep, struct verbs_handle *h)
{
	struct verbs_handle **link = &ep->handles;

	if (--h->users)
		return;
	while (*link && *link != h)
		link = &(*link)->next;
	if (*link)
		*link = h->next;
	close_handle(h);
}

bool verbs_handle_is_in_sysfs(const struct ibv_context *device)
{
	return !access(device->device->dev_path, F_OK);
}

int verbs_handle_make(struct verbs_handle **out, struct ibv_context *device)
{
	struct verbs_handle *h = calloc(1, sizeof(*h));
	int err;

	*out = NULL;
	if (!h) {
		ibv_close_device(device);
		return -ENOMEM;
	}
	h->context = device;
	h->users = 1;
	h->in_sysfs = verbs_handle_is_in_sysfs(device);
	errno = 0;
	h->mr = calloc(VERBS_MAX_REGIONS, sizeof(*h->mr));
	h->pd = h->mr ? ibv_alloc_pd(device) : NULL;
	h->channel = h->pd ? ibv_create_comp_channel(device) : NULL;
	err = h->channel ? set_nonblocking(h->channel->fd) : errno ? -errno : -ENOMEM;
	if (!err)
		err = set_nonblocking(device->async_fd);
	if (err) {
		close_handle(h);
		return err;
	}
	*out = h;
	return 0;
}

static bool verbs_handle_is_ours(const struct qp_endpoint *ep, unsigned device,
				 struct ibv_context *context)
{
	struct ibv_gid_entry *gids;
	ssize_t n = verbs_gid_read(context, &gids);
	bool ours = false;

	for (unsigned p = 0; n > 0 && p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			ours |= ep->sub_ports[p][s].device == device &&
				verbs_gid_is_device_of(ep, gids, n, p, s);
	free(gids);
	return ours;
}

/* Of another slot: not to be opened in vain. It may have another name than before. */
static bool is_taken(const struct qp_endpoint *ep, unsigned device, const char *name)
{
	for (unsigned d = 0; d < ep->n_devices; d++)
		if (d != device && !strcmp(ep->devices[d].name, name))
			return true;
	return false;
}

/*
 * On a worker. Of the endpoint it reads what does not change while it runs: the configuration,
 * which slot a sub-port belongs to, and names, as no other device is opened meanwhile.
 */
int verbs_handle_reopen(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_device *d = &ep->devices[device];
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err = -ENODEV;

	if (!list)
		return errno ? -errno : -ENODEV;
	for (unsigned i = 0; err && list[i]; i++) {
		struct ibv_context *context;

		if (is_taken(ep, device, ibv_get_device_name(list[i])))
			continue;
		context = ibv_open_device(list[i]);
		if (!context)
			continue;
		if (verbs_handle_is_ours(ep, device, context))
			err = verbs_handle_make(&d->opened, context);
		else
			ibv_close_device(context);
	}
	ibv_free_device_list(list);
	return err;
}
