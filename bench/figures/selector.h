/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selector.h - picks numbers out of a command's JSON, for goals to be held against.
 *
 * Owns: nothing; pure. In: an expression and a JSON value; out: numbers. Thread: any.
 *
 *	expression = path [ ("-" | "/") path ]	element by element, in the order of the file; as
 *						many on both sides, or one on the right
 *	path       = step { "." step }
 *	step       = ( name | '"' anything '"' ) [ "[" filter { "," filter } "]" ]
 *	filter     = name ("=" | "!=") text	compared as text; numbers as JSON prints them
 *
 * `runs[scenario!=healthy,strategy=fare-spray].ratio` visits the elements of the array `runs` that
 * pass every filter; null, what was not measured, is passed over, except where an operator would
 * pair what does not belong together. Operators stand between
 * blanks ("a - b"), so that names may hold "-" and "/".
 */
#ifndef SELECTOR_H
#define SELECTOR_H

#include <jansson.h>
#include <stddef.h>

/*
 * Up to max numbers into out; returns how many (>= 1). -EBADMSG: the expression is malformed or
 * picks something that is no number; -ENOENT: it picks nothing; -E2BIG: more than max, or unequal
 * lists. *reason says which part.
 */
int selector_numbers(const char *expression, const json_t *root, double *out, int max, char *reason,
		     size_t reason_size);

#endif
