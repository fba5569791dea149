/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_record.h - what one run of farelab knows of a lab that another one made: its lock and its
 * lab.json.
 *
 * Owns /run/farelab/.locks/NAME and /run/farelab/NAME/lab.json. The lock is a file of its own,
 * because the lab's directory comes and goes under it. For lab.c, lab_up.c and faults.c only;
 * single-threaded programs only.
 */
#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include "lab.h"

/* /run/farelab/NAME/file; file "" is the directory itself. */
void lab_record_path(const char *name, const char *file, char path[LAB_PATH_MAX]);

/* operation as for flock(2). The descriptor, or -errno (-EWOULDBLOCK: held by somebody, with
 * LOCK_NB). */
int lab_record_lock(const char *name, int operation);
/* lab_is_gone: nothing of the lab is left, so the lock goes as well. */
void lab_record_unlock(const char *name, int fd, bool lab_is_gone);

int lab_record_write(const struct lab *lab, const char *phase, const pid_t owners[2]);
/* Was it brought up whole, and has nobody who owned it died? out (may be NULL) gets the recorded
 * paths of fared and FRR. */
bool lab_record_up(const char *name, struct lab *out);
bool lab_record_owned(const char *name, pid_t owner);
/*
 * A number that replaces the topology file's, by that file's key: recorded, and read. false: there
 * is none.
 */
int lab_record_set(const char *name, const char *key, unsigned value);
bool lab_record_get(const char *name, const char *key, unsigned *value);
/* "up", "building" (somebody is at it right now) or "dead". */
const char *lab_record_phase(const char *name);

/* Kills, unmounts and removes everything of that name. Under the lock. */
int lab_tear_down(const char *name, bool *found);

#endif
