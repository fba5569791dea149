/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failures.h - whose failure it is when a work request or a call of the provider fails (pure).
 *
 * Solely owns: the two tables, of completions and of errnos. In: what a provider hands up. Out:
 * what the caller is to do. Any thread.
 */
#ifndef FAILURES_H
#define FAILURES_H

enum failure {
	FAILURE_NONE,
	/* ended with its QP, for a reason of another one: done again elsewhere */
	FAILURE_FLUSH,
	/* of this QP's path or device: done again elsewhere, the lane ends and is rebuilt */
	FAILURE_PATH,
	/* would come again on every lane: the message fails; the back-off does not grow */
	FAILURE_MESSAGE,
	/* nothing is wrong, or the QP's own status will say what is: tried again later */
	FAILURE_AGAIN,
	/* somebody else has the source port: another port may do */
	FAILURE_PORT,
};

/*
 * Of a work completion (enum qp_wc_status, whose values are those of enum ibv_wc_status). *error:
 * -errno for the message or the lane; 0: it succeeded. A status that is not in the table is the
 * path's.
 */
enum failure failure_of_completion(unsigned status, int *error);
/* Of post: 0 or -errno. An errno not in the table is the path's. */
enum failure failure_of_post(int err);
/* Of qp_create, qp_connect, qp_move, qp_spread, control_send: the same. None is a message's. */
enum failure failure_of_call(int err);

#endif
