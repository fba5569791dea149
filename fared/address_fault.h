/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_fault.h - what may be wrong with an address of this server's own, as addresses.h finds it
 * and the path table takes it.
 *
 * Owns nothing. Thread: any. Pure.
 */
#ifndef ADDRESS_FAULT_H
#define ADDRESS_FAULT_H

/* In order: of two, the later one is the worse. */
enum address_fault {
	ADDRESS_OK,
	ADDRESS_SHARED,	    /* in one subnet with a sub-port of another plane */
	ADDRESS_OFF_SUBNET, /* there are some, and none in the neighbour's subnet */
	ADDRESS_TENTATIVE,  /* IPv6: duplicate address detection has not ended */
	ADDRESS_DUPLICATE,  /* IPv6: it has found the address on another host */
	ADDRESS_MISSING,
};

#endif
