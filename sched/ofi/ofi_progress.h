/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_progress.h - who polls libfare's domain, and when.
 *
 * The application's calls do, while they come. If none came for a tick (5 ms), the progress thread
 * waits on the domain's descriptor in its place, until the next call. So a process that computes
 * for seconds still acknowledges, answers reads and takes messages (FI_PROGRESS_AUTO), and one that
 * polls all the time shares nothing with the thread but a counter. While the application waits in a
 * call (fi_cq_sread), that call polls, and the thread rests: what arrives wakes one of them.
 */
#ifndef OFI_PROGRESS_H
#define OFI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ofi_domain;

struct ofi_progress {
	pthread_t thread;
	bool has_thread;
	int wake; /* eventfd: to end, or to take over at once */
	_Atomic bool stop;
	_Atomic uint64_t calls;	  /* of the application */
	_Atomic unsigned waiting; /* calls that wait, and poll */
	_Atomic bool rests;	  /* until a call that waited is over */
	uint64_t tick_ns;	  /* when deadlines are looked at next */
};

/* 0 or -errno. Without the lock. */
int ofi_progress_init(struct ofi_domain *domain);
void ofi_progress_fini(struct ofi_domain *domain);

/* In a child of fork(): there is no thread, and nobody is to be woken. */
void ofi_progress_inherit(struct ofi_progress *progress);

/* Under the lock: takes events of libfare's domain, and does what follows. */
void ofi_progress_turn(struct ofi_domain *domain);
/* The same, in a call of the application. */
void ofi_progress_by_application(struct ofi_domain *domain);
/*
 * Around a wait on the domain's descriptor in a call of the application. Without the lock.
 * ofi_progress_most_ms(): wait no longer; -1: no bound.
 */
void ofi_progress_begin_wait(struct ofi_domain *domain);
void ofi_progress_end_wait(struct ofi_domain *domain);
int ofi_progress_most_ms(struct ofi_domain *domain);
/* The application is about to wait on a descriptor: the thread does not wait for the tick. */
void ofi_progress_by_fd(struct ofi_domain *domain);

#endif
