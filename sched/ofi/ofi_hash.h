/* SPDX-License-Identifier: BSD-2-Clause */
/* ofi_hash.h - uthash with the settings that hold here; included instead of it. */
#ifndef OFI_HASH_H
#define OFI_HASH_H

/* out of memory is an error to return: the hash table then leaves hh.tbl NULL */
#define HASH_NONFATAL_OOM 1
/* the default's jump table does not pass clang's -Wimplicit-fallthrough */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

#endif
