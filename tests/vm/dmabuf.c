/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabuf.c - writes into a dma-buf and out of one. The dma-buf is made of host memory (udmabuf):
 * what a GPU's would need beyond that, a device that reaches it by itself, is not here.
 *
 *   dmabuf soft        (in a namespace with lo up and without rdma_rxe)
 *   dmabuf verbs       (after fabric_up 1 1)
 */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qp/mr_dmabuf.h"
#include "verbs_pair.h"

#define BYTES  65536u
#define OFFSET 8192u /* of the region in the dma-buf */
#define LENGTH 32768u

static uint8_t host[BYTES];
static uint8_t *behind; /* the dma-buf's memory, by another mapping */

static int make_dmabuf(void)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC),
	    memory = memfd_create("dmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC), fd;
	struct udmabuf_create create = {.size = BYTES, .flags = UDMABUF_FLAGS_CLOEXEC};

	if (device < 0 || memory < 0 || ftruncate(memory, BYTES) ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
		pair_fail("no udmabuf: %s", strerrorname_np(errno));
	behind = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	create.memfd = (uint32_t)memory;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	if (behind == MAP_FAILED || fd < 0)
		pair_fail("UDMABUF_CREATE: %s", strerrorname_np(errno));
	return fd;
}

static void open_soft(struct pair *p)
{
	p->v = &qp_soft_provider;
	for (int e = 0; e < 2; e++) {
		struct qp_endpoint_attr attr = {
			.n_planes = 1, .n_sub_ports = {1}, .path_mtu = 1024, .dev = {{"lo"}}};

		inet_pton(AF_INET6, e ? "::ffff:127.0.0.3" : "::ffff:127.0.0.2", &p->address[e]);
		attr.address = p->address[e];
		pair_check(p->v->endpoint_create(&p->ep[e], &attr));
	}
	p->n_qps = 1;
	for (int e = 0; e < 2; e++)
		pair_check(pair_make_qp(p, e, 0));
	for (int e = 0; e < 2; e++) {
		struct qp_remote to = {.address = p->address[!e],
				       .qpn = p->v->qp_num(p->qp[!e][0]),
				       .psn = p->v->qp_psn(p->qp[!e][0])};

		pair_check(p->v->qp_connect(p->qp[e][0], &to));
	}
}

static void wait_written(struct pair *p, unsigned before)
{
	pair_until(p, p->n_done[0] > before);
	if (p->n_failed[0])
		pair_fail("a write");
}

int main(int argc, char **argv)
{
	static struct pair p;
	bool soft = argc == 2 && !strcmp(argv[1], "soft");
	int fd = make_dmabuf(), err;
	struct mr_dmabuf in, out;
	struct qp_mr mr[2];
	unsigned before;

	if (soft) {
		open_soft(&p);
	} else {
		pair_open(&p);
		pair_connect(&p, 1);
	}
	if (!soft) {
		err = p.v->mr_register_dmabuf(p.ep[1], fd, OFFSET, LENGTH, 0x10000,
					      QP_ACCESS_REMOTE_WRITE, &mr[1]);
		printf("verbs: mr_register_dmabuf by rdma_rxe: %s\n",
		       err ? strerrorname_np(-err) : "ok");
		if (err && err != -EOPNOTSUPP)
			pair_fail("an unexpected error");
	}
	err = mr_dmabuf_register(&in, p.v, p.ep[1], fd, OFFSET, LENGTH, 0x10000,
				 QP_ACCESS_REMOTE_WRITE);
	if (!soft && err == -EOPNOTSUPP) {
		printf("verbs: and its mapping (no pages to pin): EOPNOTSUPP\n");
		return 0;
	}
	pair_check(err);
	pair_check(mr_dmabuf_register(&out, p.v, p.ep[0], fd, OFFSET, LENGTH, 0x10000, 0));
	pair_check(p.v->mr_register(p.ep[0], host, BYTES, 0, &mr[0]));
	pair_check(p.v->mr_register(p.ep[1], host, BYTES, QP_ACCESS_REMOTE_WRITE, &mr[1]));

	memset(host, 0x5a, LENGTH);
	before = p.n_done[0];
	pair_write(&p, 0, host, LENGTH, mr[0].lkey, in.addr, in.mr.rkey, 0);
	wait_written(&p, before);
	pair_check(mr_dmabuf_sync(&in));
	if (memcmp(behind + OFFSET, host, LENGTH) || behind[OFFSET - 1] || behind[OFFSET + LENGTH])
		pair_fail("what was written into the dma-buf");

	memset(behind + OFFSET, 0xa5, LENGTH);
	pair_check(mr_dmabuf_sync(&out));
	before = p.n_done[0];
	pair_write(&p, 0, (const uint8_t *)(uintptr_t)out.addr, LENGTH, out.mr.lkey,
		   (uintptr_t)host, mr[1].rkey, 0);
	wait_written(&p, before);
	if (memcmp(behind + OFFSET, host, LENGTH))
		pair_fail("what was written from the dma-buf");
	mr_dmabuf_deregister(&in, p.v, p.ep[1]);
	mr_dmabuf_deregister(&out, p.v, p.ep[0]);
	printf("%s: %u bytes into a dma-buf and out of it (udmabuf, mapped)\n", argv[1], LENGTH);
	pair_close(&p);
	return 0;
}
