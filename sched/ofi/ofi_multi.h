/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_multi.h - FI_MULTI_RECV: one posted buffer that takes several messages, one behind the other.
 *
 * Owns receives' memory. Each message of such a buffer is a receive of its own, a part of the
 * buffer. The buffer is spent when less than FI_OPT_MIN_MULTI_RECV is left of it; it is given back
 * with the last of its parts to complete, whose entry has FI_MULTI_RECV. Under the domain's lock.
 */
#ifndef OFI_MULTI_H
#define OFI_MULTI_H

#include <stdbool.h>
#include <stdint.h>

struct ofi_recv;

/*
 * The receive for a message of so many bytes: a new part of the buffer, or recv itself if it is for
 * one message. NULL: no memory.
 */
struct ofi_recv *ofi_multi_part(struct ofi_recv *recv, uint64_t bytes);
/* It takes no further message, and need not be posted any more. */
bool ofi_multi_is_spent(const struct ofi_recv *recv);
/*
 * A posted receive that is cancelled or whose endpoint closes. False: parts of it have not
 * completed; it is given back with the last of them.
 */
bool ofi_multi_end(struct ofi_recv *recv);
/* Whether the buffer is given back with that receive. */
bool ofi_multi_gives_back(const struct ofi_recv *recv);
/* The receive has completed or is forgotten: it is gone, and the buffer with its last part. */
void ofi_multi_free(struct ofi_recv *recv);

#endif
