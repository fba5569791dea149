/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planted.h - defects that the simulation can switch on, to see that it finds them (tests/sim).
 *
 * PLANTED(name) is a constant false, and its branch no code, everywhere but in the simulation's own
 * build of these sources.
 */
#ifndef QP_PLANTED_H
#define QP_PLANTED_H

#ifdef FARE_PLANTED
/* name, what is wrong */
#define PLANTED_LIST(X) X(qpn_reused, "a new QP gets the number of the one before it")

#define PLANTED_ENUM(name, what) PLANTED_##name,
enum planted { PLANTED_none, PLANTED_LIST(PLANTED_ENUM) PLANTED_END };
#undef PLANTED_ENUM
extern enum planted planted_active;
#define PLANTED(name) (planted_active == PLANTED_##name)
#else
#define PLANTED(name) 0
#endif

#endif
