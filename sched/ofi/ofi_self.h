/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_self.h - operations of a process toward itself: messages are queued, memory is copied.
 *
 * No peer reaches it: a group that comes from this process's own address is refused
 * (ofi_peer.h), and a message that is announced is found by its sender's operation, never by an
 * address in a record.
 */
#ifndef OFI_SELF_H
#define OFI_SELF_H

#include <stdbool.h>

struct ofi_domain;
struct ofi_op;

/* 0 or -errno: how it ended. */
int ofi_self_run(struct ofi_op *op);
/* Hands the next message to ofi_rx_record(). false: there is none. */
bool ofi_self_deliver(struct ofi_domain *domain);
void ofi_self_fini(struct ofi_domain *domain);

#endif
