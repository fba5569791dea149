/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_link.h - groups toward a peer: which one carries what this process sends; who may open one.
 *
 * The transmit link is chosen at the first operation toward a peer and kept while it lives: the
 * group that the peer has opened, if there is one, else one that is opened here. Links belong to
 * their peer (ofi_peer.h). Under the domain's lock.
 */
#ifndef OFI_LINK_H
#define OFI_LINK_H

#include "ofi/ofi_peer.h"

/* NULL: no memory. The group is the link's from then on. */
struct ofi_link *ofi_link_add(struct ofi_peer *peer, struct fare_group *group);
/* peer->tx is connected (0), or is not yet (-EAGAIN); else why there will be none: -errno. */
int ofi_link_ensure(struct ofi_peer *peer);
/*
 * What the other end of a group says of itself. 0, or -EPROTONOSUPPORT: not this protocol, another
 * version of it, or another window; the log says which.
 */
int ofi_link_check_greeting(struct ofi_domain *domain, const void *data, size_t bytes);
/* struct fare_domain_options.on_request: refuses who does not speak this protocol. */
int ofi_link_on_request(void *domain, struct fare_request *request);

#endif
