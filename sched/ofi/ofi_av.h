/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_av.h - fi_av(3): endpoints' addresses and the numbers that stand for them, of both types.
 *
 * Owns the map of both directions: fi_addr_t to (peer, endpoint), and back, for FI_SOURCE and
 * FI_DIRECTED_RECV. An entry that was inserted by a name (ofi_name.h) changes its peer.
 */
#ifndef OFI_AV_H
#define OFI_AV_H

#include <rdma/fi_domain.h>

struct ofi_av;
struct ofi_domain;
struct ofi_ep;
struct ofi_peer;

int ofi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		void *context);
struct ofi_av *ofi_av_of(struct fid *fid);
/* The endpoint's unexpected messages get a source when their sender's address is inserted. */
void ofi_av_bind_ep(struct ofi_av *av, struct ofi_ep *ep);
void ofi_av_unbind_ep(struct ofi_av *av, struct ofi_ep *ep);
/* NULL: no such entry. */
struct ofi_peer *ofi_av_peer(const struct ofi_av *av, fi_addr_t address, uint16_t *ep);
/* Names that stand for a peer stand for another from now on (ofi_named.h). */
void ofi_avs_move(struct ofi_domain *domain, struct ofi_peer *from, struct ofi_peer *to);
/* FI_ADDR_NOTAVAIL: was not inserted. */
fi_addr_t ofi_av_find(const struct ofi_av *av, const struct ofi_peer *peer, uint16_t ep);

#endif
