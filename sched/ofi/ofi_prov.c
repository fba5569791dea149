/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_prov.h"

#include "ofi/ofi_env.h"
#include "ofi/ofi_fabric.h"
#include "ofi/ofi_info.h"

static void cleanup(void)
{
}

/*
 * The interface of the headers that this was built with: fi_getinfo() leaves a provider out if a
 * program asks for a later one.
 */
struct fi_provider ofi_provider = {
	.version = FI_VERSION(0, 1),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "fare",
	.getinfo = ofi_getinfo,
	.fabric = ofi_fabric_open,
	.cleanup = cleanup,
};

FI_EXT_INI;

/* libfabric keeps each definition of a parameter, and this object stays (-z nodelete). */
FI_EXT_INI
{
	static bool is_defined;

	if (!is_defined)
		ofi_env_define(&ofi_provider);
	is_defined = true;
	return &ofi_provider;
}
