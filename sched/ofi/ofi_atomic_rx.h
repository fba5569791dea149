/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic_rx.h - atomic operations that arrive, and the answers to those of this process.
 *
 * A peer's operation is a record of its link, which libfare delivers once and in order; it is done
 * when it arrives, under the domain's lock, and answered. If the answer cannot be made, the
 * operation is not done. Owns nothing: the answer is an operation toward the peer (ofi_op.h).
 */
#ifndef OFI_ATOMIC_RX_H
#define OFI_ATOMIC_RX_H

#include <stddef.h>
#include <stdint.h>

struct ofi_peer;
struct ofi_wire;

/* w: an OFI_ATOMIC that is counted (ofi_wire.h); body: what follows it. */
void ofi_atomic_arrive(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
		       size_t bytes);
/* w: an OFI_RESULT. One that no operation waits for is ignored. */
void ofi_atomic_answered(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
			 size_t bytes);

#endif
