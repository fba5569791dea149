/* SPDX-License-Identifier: BSD-2-Clause */
#include "pfc.h"

#include <string.h>

#include "base/octets.h"

#define ETHER_TYPE 0x8808 /* MAC control */
#define OPCODE	   0x0101

unsigned pfc_least_headroom(unsigned rate_mbps, unsigned bucket_bytes, unsigned frame_bytes)
{
	return rate_mbps * (PFC_REACTION_US / 8) + bucket_bytes + 2 * frame_bytes;
}

uint64_t pfc_quanta_ns(unsigned quanta, unsigned rate_mbps)
{
	return (uint64_t)quanta * PFC_QUANTUM_BIT * 1000 / rate_mbps;
}

bool pfc_buffer_enter(struct pfc_buffer *b, const struct pfc_limits *limits, unsigned bytes)
{
	int64_t with = b->bytes + bytes;
	bool fits = with <= limits->limit_bytes;

	if (fits)
		b->bytes = with;
	b->wants_pause |= with >= limits->xoff_bytes; /* without headroom by one that is dropped */
	return fits;
}

void pfc_buffer_leave(struct pfc_buffer *b, const struct pfc_limits *limits, unsigned bytes)
{
	b->bytes -= bytes;
	b->wants_pause &= b->bytes > limits->xon_bytes;
}

/* ---- frames: destination, source, type, opcode, class-enable vector, eight timers ---- */

void pfc_frame_write(uint8_t out[PFC_FRAME_BYTES], const uint8_t source[ETH_ALEN], unsigned class,
		     uint16_t quanta)
{
	static const uint8_t group[ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

	memset(out, 0, PFC_FRAME_BYTES);
	memcpy(out, group, ETH_ALEN);
	memcpy(out + ETH_ALEN, source, ETH_ALEN);
	octets_store(out + 12, ETHER_TYPE, 2);
	octets_store(out + 14, OPCODE, 2);
	octets_store(out + 16, 1u << class, 2);
	octets_store(out + 18 + 2 * class, quanta, 2);
}

bool pfc_frame_read(const uint8_t *frame, size_t size, unsigned class, uint16_t *quanta)
{
	if (size < 18 + 2 * PFC_CLASSES || octets_load(frame + 12, 2) != ETHER_TYPE ||
	    octets_load(frame + 14, 2) != OPCODE || !(octets_load(frame + 16, 2) & 1u << class))
		return false;
	*quanta = (uint16_t)octets_load(frame + 18 + 2 * class, 2);
	return true;
}

/* ---- a port --------------------------------------------------------------- */

static enum pfc_action pause_end(struct pfc_pause *p, uint64_t now_ns)
{
	if (!p->paused)
		return PFC_NOTHING;
	p->paused = false;
	p->paused_ns += now_ns - p->since_ns;
	return PFC_GO;
}

enum pfc_action pfc_pause_receive(struct pfc_pause *p, uint64_t now_ns, uint64_t duration_ns)
{
	if (!duration_ns) {
		p->ignores = false;
		return pause_end(p, now_ns);
	}
	p->until_ns = now_ns + duration_ns;
	if (p->paused || p->ignores)
		return PFC_NOTHING;
	p->paused = true;
	p->since_ns = now_ns;
	return PFC_STOP;
}

enum pfc_action pfc_pause_tick(struct pfc_pause *p, uint64_t now_ns, uint64_t watchdog_ns)
{
	if (now_ns < pfc_pause_deadline(p, watchdog_ns))
		return PFC_NOTHING;
	p->ignores = p->paused && now_ns < p->until_ns;
	p->storms += p->ignores;
	return pause_end(p, now_ns);
}

uint64_t pfc_pause_deadline(const struct pfc_pause *p, uint64_t watchdog_ns)
{
	if (!p->paused)
		return p->ignores ? p->until_ns : UINT64_MAX;
	return watchdog_ns && p->since_ns + watchdog_ns < p->until_ns ? p->since_ns + watchdog_ns
								      : p->until_ns;
}
