/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_named.h - which process a name stands for (ofi_name.h).
 *
 * While this process has a link with the process at an address and port, a name of these is that
 * process. Without one it is a peer of its own, struct ofi_peer with the name as address, where
 * operations wait until a link is open. The link says which process it is: then they are that
 * process's, and so are entries of AVs. After the last link the name is nobody's again. So a
 * process that restarts at the same port is reached by its name. Under the domain's lock.
 */
#ifndef OFI_NAMED_H
#define OFI_NAMED_H

#include <stdbool.h>

struct fare_address;
struct ofi_domain;
struct ofi_link;
struct ofi_peer;

/* The peer that a name stands for now. NULL: no memory. */
struct ofi_peer *ofi_named_get(struct ofi_domain *domain, const struct fare_address *name);
/* A link opened by name is connected, and becomes its process's. False: no memory. */
bool ofi_named_connected(struct ofi_link *link);
/* A link with the process is there: its name is this peer's. The last one has ended. */
void ofi_named_up(struct ofi_peer *peer);
void ofi_named_down(struct ofi_peer *peer);

#endif
