/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * patience.h - how long a test waits for what must come. It only ends a test that would hang: a
 * busy machine may take its time.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#define PATIENCE_S 60

#endif
