/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_info.c - fi_getinfo(3): what is negotiated, what is refused, what is said of the NIC. */
#include "case.h"

/* hints of this provider with these capabilities; the caller frees them. */
static struct fi_info *hints_for(uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(t.info->fabric_attr->prov_name);
	return hints;
}

/* What fi_getinfo() says of hints, which it frees; the caller frees *out. */
static int ask_version(uint32_t version, struct fi_info *hints, struct fi_info **out)
{
	int err = fi_getinfo(version, NULL, NULL, 0, hints, out);

	fi_freeinfo(hints);
	return err;
}

static int ask(struct fi_info *hints, struct fi_info **out)
{
	return ask_version(FI_VERSION(1, 17), hints, out);
}

static void is_refused(struct fi_info *hints)
{
	struct fi_info *info;

	CHECK(ask(hints, &info) == -FI_ENODATA);
}

/* The mode of registration is what the application names, and no more than the provider needs. */
static void registration(void)
{
	enum { BASIC = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY };
	enum { OLD_BASIC = 1, OLD_SCALABLE }; /* libfabric 2 calls their names deprecated */
	static const struct {
		uint32_t version;
		int wanted, given;
		size_t key_size;
	} rows[] = {
		{FI_VERSION(1, 17), BASIC, BASIC, 4},
		{FI_VERSION(1, 17), BASIC | FI_MR_LOCAL | FI_MR_ENDPOINT, BASIC, 4},
		{FI_VERSION(1, 17), 0, 0, 8},
		{FI_VERSION(1, 17), FI_MR_LOCAL, 0, 8},
		{FI_VERSION(1, 17), FI_MR_VIRT_ADDR | FI_MR_ALLOCATED, 0, 8},
		{FI_VERSION(1, 17), OLD_BASIC, OLD_BASIC, 4},
		{FI_VERSION(1, 17), OLD_SCALABLE, OLD_SCALABLE, 8},
		{FI_VERSION(1, 4), 0, OLD_BASIC, 4},
		{FI_VERSION(1, 4), OLD_BASIC, OLD_BASIC, 4},
		{FI_VERSION(1, 4), OLD_SCALABLE, OLD_SCALABLE, 8},
	};
	struct fi_info *hints, *info;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hints = hints_for(FI_RMA);
		hints->domain_attr->mr_mode = rows[i].wanted;
		ok(ask_version(rows[i].version, hints, &info), "fi_getinfo");
		if (info->domain_attr->mr_mode != rows[i].given ||
		    info->domain_attr->mr_key_size != rows[i].key_size)
			die("row %u: mr_mode 0x%x, keys of %zu bytes", i,
			    info->domain_attr->mr_mode, info->domain_attr->mr_key_size);
		fi_freeinfo(info);
	}
	hints = hints_for(FI_RMA);
	hints->domain_attr->mr_mode = OLD_BASIC | FI_MR_LOCAL;
	is_refused(hints);
}

/* What is asked for is given; what is not offered is refused, and not left out. */
static void capabilities(void)
{
	static const uint64_t offered[] = {FI_MSG,
					   FI_TAGGED,
					   FI_RMA,
					   FI_RMA | FI_READ,
					   FI_ATOMIC,
					   FI_RMA | FI_ATOMIC,
					   FI_MSG | FI_MULTI_RECV,
					   FI_MSG | FI_SOURCE,
					   FI_TAGGED | FI_DIRECTED_RECV,
					   FI_MSG | FI_LOCAL_COMM,
					   FI_MSG | FI_REMOTE_COMM};
	static const uint64_t missing[] = {FI_MULTICAST,  FI_NAMED_RX_CTX, FI_HMEM, FI_TRIGGER,
					   FI_COLLECTIVE, FI_RMA_EVENT,	   FI_FENCE};
	struct fi_info *info;

	for (unsigned i = 0; i < sizeof(offered) / sizeof(offered[0]); i++) {
		ok(ask(hints_for(offered[i]), &info), "fi_getinfo");
		CHECK((info->caps & offered[i]) == offered[i]);
		fi_freeinfo(info);
	}
	for (unsigned i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		is_refused(hints_for(FI_MSG | missing[i]));
}

static void attributes(void)
{
	static const uint64_t other_orders[] = {FI_ORDER_RAR, FI_ORDER_RAW, FI_ORDER_RAS,
						FI_ORDER_WAR, FI_ORDER_WAW, FI_ORDER_WAS,
						FI_ORDER_SAR};
	struct fi_info *hints = hints_for(FI_MSG), *info;

	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
	ok(ask(hints, &info), "fi_getinfo");
	CHECK(info->tx_attr->msg_order == (FI_ORDER_SAS | FI_ORDER_SAW));
	fi_freeinfo(info);
	for (unsigned i = 0; i < sizeof(other_orders) / sizeof(other_orders[0]); i++) {
		hints = hints_for(FI_MSG);
		hints->tx_attr->msg_order = other_orders[i];
		is_refused(hints);
	}
	for (int type = FI_AV_UNSPEC; type <= FI_AV_TABLE; type++) {
		hints = hints_for(FI_MSG);
		hints->domain_attr->av_type = (enum fi_av_type)type;
		ok(ask(hints, &info), "fi_getinfo");
		CHECK(info->domain_attr->av_type == (enum fi_av_type)type);
		fi_freeinfo(info);
	}
	hints = hints_for(FI_MSG);
	hints->ep_attr->type = FI_EP_MSG;
	is_refused(hints);
	CHECK(t.info->domain_attr->cq_data_size == 8);
}

/* Models of threading and progress: as weak as is asked for, because stronger is what there is. */
static void models(void)
{
	struct fi_info *hints, *info;

	for (int threading = FI_THREAD_UNSPEC; threading <= FI_THREAD_COMPLETION; threading++) {
		hints = hints_for(FI_MSG);
		hints->domain_attr->threading = (enum fi_threading)threading;
		ok(ask(hints, &info), "fi_getinfo");
		CHECK(info->domain_attr->threading ==
		      (threading ? (enum fi_threading)threading : FI_THREAD_SAFE));
		fi_freeinfo(info);
	}
	for (int progress = FI_PROGRESS_AUTO; progress <= FI_PROGRESS_MANUAL; progress++) {
		hints = hints_for(FI_MSG);
		hints->domain_attr->control_progress = hints->domain_attr->data_progress =
			(enum fi_progress)progress;
		ok(ask(hints, &info), "fi_getinfo");
		CHECK(info->domain_attr->control_progress == (enum fi_progress)progress);
		CHECK(info->domain_attr->data_progress == (enum fi_progress)progress);
		fi_freeinfo(info);
	}
}

/* Every interface that the headers know can be asked for; who may be reached is a domain's. */
static void versions(void)
{
	struct fi_info *info;

	for (uint32_t minor = FI_MAJOR_VERSION == 1 ? 5 : 0; minor <= FI_MINOR_VERSION; minor++) {
		ok(ask_version(FI_VERSION(FI_MAJOR_VERSION, minor), hints_for(FI_MSG), &info),
		   "fi_getinfo");
		CHECK(!(info->tx_attr->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)));
		CHECK(!(info->rx_attr->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)));
		fi_freeinfo(info);
	}
}

/* The NIC of a domain: its name, where it is, and the speed of its live planes. */
static void nic(void)
{
	const struct fi_info *copy;
	struct fi_link_attr *link;
	const char *text;

	CHECK(t.info->nic && t.info->nic->device_attr && t.info->nic->link_attr);
	link = t.info->nic->link_attr;
	CHECK(!strcmp(t.info->nic->device_attr->name, t.info->domain_attr->name));
	CHECK(!strcmp(t.info->nic->device_attr->driver, "fare"));
	CHECK(link->speed && link->state == FI_LINK_UP && *link->address);
	copy = fi_dupinfo(t.info);
	CHECK(copy && copy->nic && copy->nic != t.info->nic);
	CHECK(copy->nic->link_attr != link && copy->nic->link_attr->speed == link->speed);
	CHECK(!strcmp(copy->nic->link_attr->address, link->address));
	fi_freeinfo((struct fi_info *)(uintptr_t)copy);
	text = fi_tostr(t.info, FI_TYPE_INFO);
	CHECK(strstr(text, "RoCEv2") && strstr(text, "mr_mode") && strstr(text, "caps"));
}

static const char other[] = "offers other things";

const struct ofi_case cases_info[] = {
	{.name = "registration", .run = registration, .not_tcp = other},
	{.name = "capabilities", .run = capabilities, .not_tcp = other},
	{.name = "attributes", .run = attributes, .not_tcp = other},
	{.name = "models", .run = models, .not_tcp = other},
	{.name = "versions", .run = versions, .not_tcp = other},
	{.name = "nic", .run = nic, .not_tcp = other},
	{.name = NULL},
};
