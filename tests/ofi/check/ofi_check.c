/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_check.c - libfabric's public semantics as its manual pages state them, checked at a provider.
 *
 *   ofi_check [-s] PROVIDER serve|ask DIRECTORY [CASE]
 *
 * Two processes, on one server or two, meet by files in DIRECTORY: their endpoints' addresses, and
 * what a case hands over. Each case runs at both; "client" does what is under test, "server" is the
 * other end. It runs over any provider of FI_EP_RDM: one that is known to be right checks the test.
 * -s: with scalable memory registration. Exit status 0: all cases passed. One line for each.
 */
#include "case.h"

static const struct ofi_case *const sets[] = {cases_msg,    cases_tag,	cases_rma,
					      cases_atomic, cases_info, cases_rest};

static struct fi_info *choose(const char *provider, bool scalable)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	CHECK(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV |
		      FI_MULTI_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order =
		FI_ORDER_SAS | (t.is_fare ? FI_ORDER_SAW | ATOMIC_ORDER : 0);
	hints->domain_attr->mr_mode =
		scalable ? FI_MR_LOCAL
			 : FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->cq_data_size = 4;
	hints->fabric_attr->prov_name = strdup(provider);
	ok(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	CHECK(!scalable || !(info->domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)));
	fi_freeinfo(hints);
	return info;
}

static void open_all(void)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
	struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	ok(fi_fabric(t.info->fabric_attr, &t.fabric, NULL), "fi_fabric");
	ok(fi_domain(t.fabric, t.info, &t.domain, NULL), "fi_domain");
	ok(fi_av_open(t.domain, &av, &t.av, NULL), "fi_av_open");
	ok(fi_cq_open(t.domain, &cq, &t.tx, NULL), "fi_cq_open");
	ok(fi_cq_open(t.domain, &cq, &t.rx, NULL), "fi_cq_open");
	ok(fi_cntr_open(t.domain, &cntr, &t.sent, NULL), "fi_cntr_open");
	ok(fi_cntr_open(t.domain, &cntr, &t.moved, NULL), "fi_cntr_open");
	ok(fi_endpoint(t.domain, t.info, &t.ep, NULL), "fi_endpoint");
	ok(fi_ep_bind(t.ep, &t.tx->fid, FI_TRANSMIT), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.rx->fid, FI_RECV), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.sent->fid, FI_SEND), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.moved->fid, FI_READ | FI_WRITE), "fi_ep_bind");
	ok(fi_ep_bind(t.ep, &t.av->fid, 0), "fi_ep_bind");
	ok(fi_enable(t.ep), "fi_enable");
}

static void register_all(void)
{
	t.out = calloc(1, LONG);
	t.in = calloc(1, LONG);
	CHECK(t.out && t.in);
	ok(fi_mr_reg(t.domain, t.out, LONG, FI_SEND | FI_WRITE, 0, OUT_KEY, 0, &t.out_mr, NULL),
	   "fi_mr_reg");
	ok(fi_mr_reg(t.domain, t.in, LONG, FI_RECV | FI_READ | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		     IN_KEY, 0, &t.in_mr, NULL),
	   "fi_mr_reg");
}

static void introduce(void)
{
	uint8_t address[ADDRESS];
	size_t n = sizeof(address);

	ok(fi_getname(&t.ep->fid, address, &n), "fi_getname");
	put_file("address", address, n);
	CHECK(fi_av_insert(t.av, address, 1, &t.self, 0, NULL) == 1);
	CHECK(get_file("address", address, sizeof(address)) == n);
	CHECK(fi_av_insert(t.av, address, 1, &t.peer, 0, NULL) == 1);
}

static void close_all(void)
{
	ok(fi_close(&t.out_mr->fid), "fi_close(mr)");
	ok(fi_close(&t.in_mr->fid), "fi_close(mr)");
	/* others crash here when they are asked too early */
	CHECK(!t.is_fare || fi_close(&t.domain->fid) == -FI_EBUSY);
	ok(fi_close(&t.ep->fid), "fi_close(ep)");
	ok(fi_close(&t.tx->fid), "fi_close(cq)");
	ok(fi_close(&t.rx->fid), "fi_close(cq)");
	ok(fi_close(&t.sent->fid), "fi_close(cntr)");
	ok(fi_close(&t.moved->fid), "fi_close(cntr)");
	ok(fi_close(&t.av->fid), "fi_close(av)");
	ok(fi_close(&t.domain->fid), "fi_close(domain)");
	ok(fi_close(&t.fabric->fid), "fi_close(fabric)");
	fi_freeinfo(t.info);
}

/* NULL: it runs here; else why not. */
static const char *why_not(const struct ofi_case *c)
{
	if (c->not_tcp && !t.is_fare)
		return c->not_tcp;
	if (c->mode == CASE_SCALABLE && has_prov_keys())
		return "registration is basic";
	return c->mode == CASE_BASIC && !has_prov_keys() ? "registration is scalable" : NULL;
}

static void run_case(const struct ofi_case *c)
{
	const char *why = why_not(c);

	if (why) {
		if (!t.server)
			printf("%-15s not run: %s\n", c->name, why);
		return;
	}
	t.what = c->name;
	meet();
	c->run();
	if (!c->is_alone)
		meet();
	if (!t.server)
		printf("%-15s passed\n", t.what);
	fflush(stdout);
}

static void run_all(const char *only)
{
	for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		for (const struct ofi_case *c = sets[i]; c->name; c++)
			if (only ? !strcmp(only, c->name) : !c->is_alone)
				run_case(c);
	t.what = "closing";
}

int main(int argc, char **argv)
{
	bool scalable = argc > 1 && !strcmp(argv[1], "-s");

	argv += scalable;
	argc -= scalable;
	if (argc < 4) {
		fprintf(stderr, "usage: ofi_check [-s] PROVIDER serve|ask DIRECTORY [CASE]\n");
		return 2;
	}
	t.server = !strcmp(argv[2], "serve");
	t.is_fare = !strcmp(argv[1], "fare");
	t.dir = argv[3];
	t.info = choose(argv[1], scalable);
	open_all();
	register_all();
	introduce();
	run_all(argc > 4 ? argv[4] : NULL);
	close_all();
	free(t.out);
	free(t.in);
	return 0;
}
