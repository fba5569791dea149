/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_open.c - opens a verbs endpoint on one device and says how it went: "ok", or the errno's
 * name.
 *
 *   verbs_open DEVICE ADDRESS [PATH_MTU [order-free]]          (ADDRESS as ::ffff:a.b.c.d or IPv6)
 *
 * order-free: and then makes an order-free QP, and says how that went.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/provider.h"

int main(int argc, char **argv)
{
	struct qp_endpoint_attr attr = {.n_planes = 1, .n_sub_ports = {1}, .path_mtu = 1024};
	struct qp_endpoint *ep;
	int err;

	if (argc < 3 || inet_pton(AF_INET6, argv[2], &attr.address) != 1)
		return 2;
	snprintf(attr.dev[0][0], sizeof(attr.dev[0][0]), "%s", argv[1]);
	if (argc > 3)
		attr.path_mtu = (uint32_t)atoi(argv[3]);
	err = qp_verbs_provider.endpoint_create(&ep, &attr);
	if (!err && argc > 4) {
		struct qp_attr order_free = {.timeout = 14, .retry_cnt = 6, .order_free = true};
		struct qp *qp;

		err = qp_verbs_provider.qp_create(ep, &order_free, &qp);
	}
	puts(err ? strerrorname_np(-err) : "ok");
	qp_verbs_provider.endpoint_destroy(ep);
	return 0;
}
