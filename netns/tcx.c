/* SPDX-License-Identifier: BSD-2-Clause */
#include "tcx.h"

#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it since 6.6, for PROG_ATTACH and PROG_DETACH. */
struct attach {
	uint32_t ifindex, program, type, flags, replace, relative;
	uint64_t revision;
};

struct query {
	uint32_t ifindex, type, flags, attach_flags;
	uint64_t ids;
	uint32_t count, unused;
	uint64_t id_flags, link_ids, link_flags, revision;
};

static int call(int command, void *attributes, unsigned size)
{
	long rc = syscall(SYS_bpf, command, attributes, size);

	return rc < 0 ? -errno : (int)rc;
}

static int tcx_make(union bpf_attr a, const char *name)
{
	snprintf(a.map_name, sizeof(a.map_name), "%s", name);
	return call(BPF_MAP_CREATE, &a, sizeof(a));
}

static union bpf_attr tcx_array(unsigned value_bytes, unsigned entries, unsigned flags)
{
	return (union bpf_attr){.map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = sizeof(uint32_t),
				.value_size = value_bytes,
				.max_entries = entries,
				.map_flags = flags};
}

int tcx_make_array(const char *name, unsigned value_bytes, unsigned entries)
{
	return tcx_make(tcx_array(value_bytes, entries, 0), name);
}

int tcx_make_shared_array(const char *name, unsigned value_bytes, unsigned entries)
{
	return tcx_make(tcx_array(value_bytes, entries, BPF_F_MMAPABLE), name);
}

int tcx_make_ring(const char *name, unsigned bytes)
{
	return tcx_make((union bpf_attr){.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = bytes},
			name);
}

int tcx_load(const char *name, const struct bpf_insn *program, unsigned n)
{
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SCHED_CLS,
			    .insn_cnt = n,
			    .insns = (uintptr_t)program,
			    .license = (uintptr_t) "Dual BSD/GPL"};

	snprintf(a.prog_name, sizeof(a.prog_name), "%s", name);
	return call(BPF_PROG_LOAD, &a, sizeof(a));
}

static int open_id(int command, uint32_t id)
{
	union bpf_attr a = {.prog_id = id};

	return call(command, &a, sizeof(a));
}

#define MAPS 2 /* of a program, at most */

/* Whether it has that name; maps are then the ids of those that it has. */
static bool tcx_is_named(int program, const char *name, uint32_t maps[MAPS])
{
	struct bpf_prog_info info = {.nr_map_ids = MAPS, .map_ids = (uintptr_t)maps};
	union bpf_attr a = {.info = {.bpf_fd = (uint32_t)program,
				     .info_len = sizeof(info),
				     .info = (uintptr_t)&info}};

	return !call(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) && !strcmp(info.name, name);
}

/* An open descriptor; -ENOENT. */
static int tcx_find(const char *dev, enum tcx_hook hook, const char *name, uint32_t maps[MAPS])
{
	uint32_t ids[16];
	struct query q = {.ifindex = if_nametoindex(dev),
			  .type = hook,
			  .ids = (uintptr_t)ids,
			  .count = sizeof(ids) / sizeof(*ids)};
	int rc = q.ifindex ? call(BPF_PROG_QUERY, &q, sizeof(q)) : -ENODEV;

	for (uint32_t i = 0; !rc && i < q.count; i++) {
		int program = open_id(BPF_PROG_GET_FD_BY_ID, ids[i]);

		if (program >= 0 && tcx_is_named(program, name, maps))
			return program;
		if (program >= 0)
			close(program);
	}
	return rc ? rc : -ENOENT;
}

int tcx_detach(const char *dev, enum tcx_hook hook, const char *name)
{
	uint32_t maps[MAPS];
	int program = tcx_find(dev, hook, name, maps), rc;
	struct attach a = {
		.ifindex = if_nametoindex(dev), .program = (uint32_t)program, .type = hook};

	if (program < 0)
		return program == -ENOENT || program == -EINVAL ? 0 : program;
	rc = call(BPF_PROG_DETACH, &a, sizeof(a));
	close(program);
	return rc;
}

int tcx_attach(const char *dev, enum tcx_hook hook, const char *name, int program)
{
	struct attach a = {
		.ifindex = if_nametoindex(dev), .program = (uint32_t)program, .type = hook};
	int rc = a.ifindex ? tcx_detach(dev, hook, name) : -ENODEV;

	if (!rc)
		rc = call(BPF_PROG_ATTACH, &a, sizeof(a));
	return rc == -EINVAL ? -EOPNOTSUPP : rc;
}

int tcx_map(const char *dev, enum tcx_hook hook, const char *name, unsigned which)
{
	uint32_t maps[MAPS] = {0};
	int program = tcx_find(dev, hook, name, maps);

	if (program < 0)
		return program;
	close(program);
	return open_id(BPF_MAP_GET_FD_BY_ID, maps[which]);
}

static int tcx_map_call(int command, int map, uint32_t key, uintptr_t value)
{
	union bpf_attr a = {.map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = value};

	return call(command, &a, sizeof(a));
}

int tcx_map_read(int map, uint32_t key, void *value)
{
	return tcx_map_call(BPF_MAP_LOOKUP_ELEM, map, key, (uintptr_t)value);
}

int tcx_map_write(int map, uint32_t key, const void *value)
{
	return tcx_map_call(BPF_MAP_UPDATE_ELEM, map, key, (uintptr_t)value);
}
