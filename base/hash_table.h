/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash_table.h - uthash with the two settings that hold wherever this project uses it.
 *
 * Included instead of <uthash.h>, and by no public header: its macros are nobody's interface.
 */
#ifndef HASH_TABLE_H
#define HASH_TABLE_H

/*
 * Out of memory is an error to return and not a reason to exit: the hash table then leaves hh.tbl
 * NULL.
 */
#define HASH_NONFATAL_OOM 1
/* the default's jump table does not pass clang's -Wimplicit-fallthrough */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

#endif
