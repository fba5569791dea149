/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr_dmabuf.h - a dma-buf (a GPU's memory, udmabuf) as a memory region of any provider.
 *
 * Owns the region's registration and, if there is one, its mapping. In: the descriptor of a
 * dma-buf. Out: a region, and the address by which it is named. The endpoint's thread.
 *
 * If the provider can, the device reaches the memory by itself (qp_provider.mr_register_dmabuf).
 * Otherwise the dma-buf is mapped, if its exporter allows it, and registered as host memory. With
 * the soft provider the CPU then moves the bytes. mr_dmabuf_sync() has to be called between use by
 * the CPU and use by a device.
 */
#ifndef MR_DMABUF_H
#define MR_DMABUF_H

#include <stddef.h>
#include <stdint.h>

#include "qp/provider.h"

struct mr_dmabuf {
	struct qp_mr mr;
	uint64_t addr;	  /* names the first byte, for peers and for work requests */
	void *map;	  /* NULL: the device needs none */
	size_t map_bytes; /* from the beginning of a page */
	int fd;		  /* own duplicate, for mr_dmabuf_sync(); -1: not mapped */
};

/*
 * Registers length bytes from offset. iova: the address wanted; out->addr differs from it if the
 * memory is mapped. access as for mr_register. fd is borrowed for the call. 0 or -errno:
 * -EOPNOTSUPP (neither the device nor the CPU reaches it), -EINVAL (wrong arguments, or no
 * dma-buf), -EBADF.
 */
int mr_dmabuf_register(struct mr_dmabuf *out, const struct qp_provider *provider,
		       struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
		       uint64_t iova, unsigned access);
void mr_dmabuf_deregister(struct mr_dmabuf *m, const struct qp_provider *provider,
			  struct qp_endpoint *ep);
/*
 * Makes what the CPU wrote visible to devices, and what devices wrote to the CPU
 * (DMA_BUF_IOCTL_SYNC). Call it before a write from the region is posted, and before the
 * application uses what arrived. 0 or -errno. If the device reaches the memory by itself, it does
 * nothing and returns 0.
 */
int mr_dmabuf_sync(const struct mr_dmabuf *m);

#endif
