/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interop.h - what the two ends of the conformance test say to each other over TCP: the soft end
 * asks, the device's end does and answers. Both run on one machine and its guest: structs travel as
 * they are.
 */
#ifndef INTEROP_H
#define INTEROP_H

#include <stdint.h>
#include <unistd.h>

#define INTEROP_PORT  4799
#define INTEROP_BYTES (1u << 20)

/*
 * How long a completion at the device may take, which gives a request up when 2 s pass without an
 * answer. The soft end waits longer, also for the device's answer.
 */
#define INTEROP_DEVICE_S 20
#define INTEROP_SOFT_S	 60
#define INTEROP_NONE	 (-2) /* status: nothing completed in that time */

enum interop_op {
	/*
	 * make a QP connected to (qpn, psn), of path MTU mtu, that survives rnr_retry words of "not
	 * ready" (7: all), with empty receives posted unless bare; answer: its own numbers, rkey
	 * and address of the target
	 */
	INTEROP_QP = 1,
	/* from the source's beginning to (rkey, addr); answer: completion status */
	INTEROP_WRITE,
	INTEROP_SEND,	 /* the source's beginning; answer: completion status */
	INTEROP_READ,	 /* from (rkey, addr) to offset in the target; answer: completion status */
	INTEROP_RECV,	 /* post a receive of length bytes at offset in the target */
	INTEROP_ARRIVED, /* wait for a receive to complete; answer: its status, immediate, length */
	INTEROP_FILL,	 /* make [offset, offset + length) of the target the pattern of seed */
	INTEROP_CHECK,	 /* is [offset, offset + length) of the target the pattern of seed? answer:
			    status 0 or 1 */
	INTEROP_END,
};

struct interop_ask {
	uint32_t op, qpn, psn, mtu, rnr_retry, bare, rkey, length, imm, with_imm, offset;
	uint64_t addr, seed;
};

struct interop_answer {
	int32_t status;
	uint32_t qpn, psn, rkey, imm, has_imm, length;
	uint64_t addr;
};

static inline uint8_t interop_byte(uint64_t seed, uint32_t i)
{
	uint64_t h = (seed * UINT64_C(0x9e3779b97f4a7c15)) ^ (i / 8 * UINT64_C(0xc2b2ae3d27d4eb4f));

	return (uint8_t)(h >> 8 * (i % 8));
}

static inline int interop_io(int fd, void *data, size_t bytes, int out)
{
	uint8_t *at = data;

	while (bytes) {
		ssize_t n = out ? write(fd, at, bytes) : read(fd, at, bytes);

		if (n <= 0)
			return -1;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

#endif
