/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_planted.h - defects of the path table that the simulation can switch on, to see that it
 * finds them (tests/sim/health).
 *
 * PATH_PLANTED(name) is a constant false, and its branch no code, everywhere but in the
 * simulation's own build of these sources.
 */
#ifndef PATH_PLANTED_H
#define PATH_PLANTED_H

#ifdef FARE_PLANTED
/* name, what is wrong */
#define PATH_PLANTED_LIST(X)                                                                       \
	X(silence_withdraws, "a source that is in sync and has said nothing withdraws everything") \
	X(old_route_counts, "a source that was replaced withdraws nothing by not repeating it")    \
	X(zebra_unheard, "a path is used though zebra has not installed it")                       \
	X(replaced_kept, "a smaller bandwidth does not replace a larger one")

#define PATH_PLANTED_NAME(name, what) PATH_PLANTED_##name,
enum path_planted { PATH_PLANTED_NONE, PATH_PLANTED_LIST(PATH_PLANTED_NAME) PATH_PLANTED_END };
extern enum path_planted path_planted_active;
#define PATH_PLANTED(name) (path_planted_active == PATH_PLANTED_##name)
#else
#define PATH_PLANTED(name) false
#endif

#endif
