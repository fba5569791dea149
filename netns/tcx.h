/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcx.h - BPF programs at a device, each found again by its name.
 *
 * Owns nothing: the kernel keeps a program and its map with the device. In: instructions; devices
 * of the namespace that the calling thread is in. Out: programs attached, and descriptors that the
 * caller closes. Needs Linux 6.6; uses bpf(2) itself. Descriptors, 0 or -errno.
 */
#ifndef TCX_H
#define TCX_H

#include <linux/bpf.h>
#include <stdint.h>

#define TCX_NEXT (-1) /* go on */
#define TCX_DROP 2

/* Linux 6.6; the header may be older. */
enum tcx_hook { TCX_INGRESS = 46, TCX_EGRESS = 47 };

int tcx_make_array(const char *name, unsigned value_bytes, unsigned entries);
/* The same, for mmap(2). */
int tcx_make_shared_array(const char *name, unsigned value_bytes, unsigned entries);
int tcx_make_ring(const char *name, unsigned bytes);
int tcx_load(const char *name, const struct bpf_insn *program, unsigned n);
/* After what of that name was attached there before is gone. -EOPNOTSUPP: no tcx here. */
int tcx_attach(const char *dev, enum tcx_hook hook, const char *name, int program);
/* 0 also if nothing of that name is attached. */
int tcx_detach(const char *dev, enum tcx_hook hook, const char *name);
/* The map that the program of that name uses first, 0, or next. -ENOENT: it is not attached. */
int tcx_map(const char *dev, enum tcx_hook hook, const char *name, unsigned which);
int tcx_map_read(int map, uint32_t key, void *value);
int tcx_map_write(int map, uint32_t key, const void *value);

#endif
