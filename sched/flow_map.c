/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

_Static_assert(sizeof(struct flow_map_line) == 64, "a line is a cache line");

static uint64_t flow_map_scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

int flow_map_init(struct flow_map *m, uint32_t max_entries, uint64_t seed)
{
	/* half full: one entry in thirty then stands behind its home line */
	uint64_t n_lines = ((uint64_t)max_entries * 2 + FLOW_MAP_LANES - 1) / FLOW_MAP_LANES;
	size_t bytes = n_lines * sizeof(struct flow_map_line);
	size_t align = bytes < HUGE_PAGE ? sizeof(struct flow_map_line) : HUGE_PAGE;

	bytes = (bytes + align - 1) / align * align;
	*m = (struct flow_map){
		.lines = aligned_alloc(align, bytes),
		.n_lines = n_lines,
		.plain = flow_map_scramble(seed + UINT64_C(0x9e3779b97f4a7c15)),
		.turned = flow_map_scramble(~seed),
	};
	if (!m->lines)
		return -ENOMEM;
	/* without huge pages a large map misses the TLB, too; the kernel may have none */
	if (align == HUGE_PAGE)
		madvise(m->lines, bytes, MADV_HUGEPAGE);
	memset(m->lines, 0, bytes);
	return 0;
}

void flow_map_fini(struct flow_map *m)
{
	free(m->lines);
	*m = (struct flow_map){0};
}

static uint64_t flow_map_next(const struct flow_map *m, uint64_t at)
{
	return at + 1 < m->n_lines ? at + 1 : 0;
}

uint32_t flow_map_find_behind(const struct flow_map *m, uint64_t key)
{
	uint64_t at = flow_map_home(m, key);
	uint32_t found = 0;

	for (uint64_t n = m->n_lines; n > 1 && !found && m->lines[at].passed; n--) {
		at = flow_map_next(m, at);
		found = flow_map_in_line(&m->lines[at], key);
	}
	return found - 1;
}

/* The lane of a line that is empty, or FLOW_MAP_LANES. */
static unsigned flow_map_vacant(const struct flow_map_line *line)
{
	unsigned i = 0;

	while (i < FLOW_MAP_LANES && line->number[i])
		i++;
	return i;
}

void flow_map_add(struct flow_map *m, uint64_t key, uint32_t number)
{
	uint64_t at = flow_map_home(m, key);
	struct flow_map_line *line;
	unsigned i;

	while ((i = flow_map_vacant(&m->lines[at])) == FLOW_MAP_LANES) {
		m->lines[at].passed++;
		at = flow_map_next(m, at);
	}
	line = &m->lines[at];
	line->low[i] = (uint32_t)key;
	line->high[i] = (uint32_t)(key >> 32);
	line->number[i] = number + 1;
}

void flow_map_remove(struct flow_map *m, uint64_t key)
{
	uint64_t at = flow_map_home(m, key);
	struct flow_map_line *line;

	if (flow_map_find(m, key) == FLOW_MAP_NONE)
		return;
	while (!flow_map_in_line(&m->lines[at], key)) {
		m->lines[at].passed--;
		at = flow_map_next(m, at);
	}
	line = &m->lines[at];
	for (unsigned i = 0; i < FLOW_MAP_LANES; i++)
		if (line->low[i] == (uint32_t)key && line->high[i] == (uint32_t)(key >> 32))
			line->number[i] = 0;
}
