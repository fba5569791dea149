/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_signal.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int ofi_signal_init(struct ofi_signal *signal)
{
	*signal = (struct ofi_signal){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
	return signal->fd < 0 ? -errno : 0;
}

void ofi_signal_fini(struct ofi_signal *signal)
{
	if (signal->fd >= 0)
		close(signal->fd);
	*signal = OFI_SIGNAL_NONE;
}

void ofi_signal_raise(struct ofi_signal *signal)
{
	if (signal->fd < 0 || signal->raised)
		return;
	eventfd_write(signal->fd, 1);
	signal->raised = true;
}

void ofi_signal_clear(struct ofi_signal *signal)
{
	eventfd_t value;

	if (!signal->raised)
		return;
	eventfd_read(signal->fd, &value);
	signal->raised = false;
}
