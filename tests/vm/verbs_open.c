/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_open.c - opens a verbs endpoint on one device and says how it went: "ok", or the errno's
 * name.
 *
 *   verbs_open DEVICE ADDRESS [PATH_MTU [order-free|twice]]    (ADDRESS as ::ffff:a.b.c.d or IPv6)
 *
 * order-free: and then makes an order-free QP, and says how that went. twice: and then opens
 * another, as a second process would, and says at which ports their control channels receive.
 * PATH_MTU 0: says what it is then.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/provider.h"

#define P (&qp_verbs_provider)

static int make_order_free(struct qp_endpoint *ep)
{
	struct qp_attr order_free = {.timeout = 14, .retry_cnt = 6, .order_free = true};
	struct qp *qp;

	return P->qp_create(ep, &order_free, &qp);
}

static int open_another(const struct qp_endpoint *ep, const struct qp_endpoint_attr *attr)
{
	struct qp_endpoint *second;
	int err = P->endpoint_create(&second, attr);

	if (!err)
		printf("%u %u ", P->endpoint_info(ep)->port, P->endpoint_info(second)->port);
	P->endpoint_destroy(second);
	return err;
}

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
	err = P->endpoint_create(&ep, &attr);
	if (!err && argc > 4)
		err = strcmp(argv[4], "twice") ? make_order_free(ep) : open_another(ep, &attr);
	if (!err && argc > 3 && !attr.path_mtu)
		printf("%u ", P->endpoint_info(ep)->path_mtu);
	puts(err ? strerrorname_np(-err) : "ok");
	P->endpoint_destroy(ep);
	return 0;
}
