/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark_once.h - included before every unit test: an assertion that holds is reported once for each
 * place.
 *
 * Check reports every one that holds, to say later after which of them a test crashed. For a loop
 * of a million these are megabytes, and unpacking them takes ten times as long as the test.
 */
#ifndef MARK_ONCE_H
#define MARK_ONCE_H

#include <check.h>
#include <stdbool.h>

#define _mark_point(file, line)                                                                    \
	__extension__({                                                                            \
		static bool is_marked;                                                             \
                                                                                                   \
		if (!is_marked)                                                                    \
			(_mark_point)(file, line);                                                 \
		is_marked = true;                                                                  \
	})

#endif
