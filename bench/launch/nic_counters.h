/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_counters.h - what counters of NICs and switches mean, whatever their driver calls them.
 *
 * Owns: the table of names, and nothing else. In: counters by name, before and after, as
 * host_counters.h and a switch's command give them; out: by how much each class grew. A device
 * that counts a class in two places counts it once: the first name of the table does. Pure.
 * Thread: any.
 */
#ifndef NIC_COUNTERS_H
#define NIC_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nic_class {
	NIC_PAUSES_RX, /* of all priorities */
	NIC_PAUSES_TX,
	NIC_ECN_MARKED, /* received with CE; of a switch: sent so */
	NIC_CNPS_TX,	/* DCQCN */
	NIC_CNPS_RX,
	NIC_CRC_ERRORS,
	NIC_FEC_UNCORRECTED, /* blocks */
	NIC_RDMA_RX,	     /* packets */
	NIC_CLASSES
};

struct nic_counts {
	bool known[NIC_CLASSES]; /* some device has such a counter */
	uint64_t grown[NIC_CLASSES];
	uint64_t marked, marked_of; /* marks and packets of the machines that count both */
};

const char *nic_class_name(enum nic_class of); /* "pause frames received" */
bool nic_counter_is_known(const char *key);    /* it is of a class */
/*
 * Pause frames, each once: where they were sent, by switches and NICs; of switches that count only
 * what they receive, there. Without switches NICs count both directions, as none pauses another.
 */
uint64_t nic_pauses(const struct nic_counts *nics, const struct nic_counts *switches, bool *known);
/* Adds what grew, of one machine, to counts. What there was not before does not count. -ENOMEM. */
int nic_counts_add(struct nic_counts *counts, const json_t *before, const json_t *after);
/* "pause frames received 5, CRC errors 0" of what is known; "" if nothing is. */
void nic_counts_show(const struct nic_counts *counts, char *out, size_t size);

/*
 * What a switch's command printed, as counters "DEVICE.NAME": JSON, whose numbers (and texts that
 * are numbers) count by their path, or lines "NAME VALUE", "NAME: VALUE". The caller's; NULL: no
 * memory. Hostile input gives what numbers there are.
 */
json_t *nic_counters_of_text(const char *device, const char *text, size_t length);

#endif
