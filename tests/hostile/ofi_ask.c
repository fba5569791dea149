/* links: PkgConfig::LIBFABRIC */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ask.c - a libfabric application that asks what there is, and opens the first domain.
 *
 *   ofi_ask [NODE [SERVICE]]
 *
 * A line for each info: its domain, and its source address as libfabric prints it; then "opened". A
 * node and service are the source. What goes wrong ends it with 1; why is on stderr, by libfabric's
 * log.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

static void ok(int err, const char *call)
{
	if (!err)
		return;
	fprintf(stderr, "ofi_ask: %s: %s\n", call, fi_strerror(-err));
	exit(1);
}

int main(int argc, char **argv)
{
	const char *node = argc > 1 ? argv[1] : NULL, *service = argc > 2 ? argv[2] : NULL;
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;

	hints->fabric_attr->prov_name = strdup("fare");
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(fi_getinfo(FI_VERSION(1, 17), node, service, node ? FI_SOURCE : 0, hints, &info),
	   "fi_getinfo");
	for (struct fi_info *i = info; i; i = i->next) {
		const struct sockaddr_in *in = i->src_addr;

		printf("%s %s %u\n", i->domain_attr->name, inet_ntoa(in->sin_addr),
		       ntohs(in->sin_port));
	}
	fflush(stdout);
	ok(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	ok(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	puts("opened");
	ok(fi_close(&domain->fid), "fi_close");
	ok(fi_close(&fabric->fid), "fi_close");
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return 0;
}
