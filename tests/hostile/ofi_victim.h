/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_victim.h - what the processes of hostile_ofi share: a file that each of them maps.
 */
#ifndef OFI_VICTIM_H
#define OFI_VICTIM_H

#include <stdint.h>

#define VICTIM_ADDRESS_BYTES 64
#define VICTIM_TAG_DIRECTED  7u /* THIRD to VICTIM, whose receive names THIRD as its source */
#define VICTIM_TAG_PRIVATE   8u /* VICTIM to THIRD */
#define VICTIM_DIRECTED_TEXT "from the third process"
#define VICTIM_PRIVATE_TEXT  "to the third process"
#define VICTIM_TEXT_BYTES    64

#define VICTIM_NUMBERS 16u /* of the region that peers may write, and not read */

enum victim_role { VICTIM, PARTNER, THIRD, VICTIM_ROLES };

/* The check of identities: each step is set by the process that its comment names. */
enum victim_step {
	STEP_NONE,
	STEP_ASKED,	/* the test: VICTIM posts its receive */
	STEP_POSTED,	/* VICTIM: the attacker sends in THIRD's name */
	STEP_ATTACKED,	/* the attacker: VICTIM sends to THIRD, THIRD to VICTIM */
	STEP_DELIVERED, /* THIRD: it has the message, and its own has left */
	STEP_RECEIVED,	/* VICTIM: so has it */
};

struct victim_stage {
	uint8_t address[VICTIM_ROLES][VICTIM_ADDRESS_BYTES]; /* fi_getname() */
	uint8_t idle[VICTIM_ADDRESS_BYTES]; /* an endpoint of VICTIM whose CQ nobody reads */
	_Atomic uint64_t region_address, region_key; /* of VICTIM */
	_Atomic int is_ready[VICTIM_ROLES]; /* it has opened; cleared when it posts nothing more */
	_Atomic int step, over;
	_Atomic int may_close;	/* set by the test when none is ready any more */
	_Atomic int reads_idle; /* set by the test, cleared by VICTIM when the CQ is empty */
	_Atomic uint64_t exchanged, wrong; /* messages between VICTIM and PARTNER */
	_Atomic uint64_t rss_kb;	   /* of VICTIM */
};

#endif
