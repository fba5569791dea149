/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/failures.h"

#include <errno.h>
#include <stddef.h>

#include "qp/provider.h"

/* IBV_WC_RESP_TIMEOUT_ERR: this end has no name for it */
#define RESP_TIMEOUT ((enum qp_wc_status)20)

/* What is not here is the path's, -EIO. */
static const struct {
	enum qp_wc_status status;
	enum failure failure;
	int error;
} completions[] = {
	{QP_WC_SUCCESS, FAILURE_NONE, 0},
	/* the packet is above a device's MTU: another device may carry it */
	{QP_WC_LOC_LEN_ERR, FAILURE_PATH, -EMSGSIZE},
	/* the memory here is not what it was */
	{QP_WC_LOC_PROT_ERR, FAILURE_MESSAGE, -EINVAL},
	{QP_WC_FLUSH_ERR, FAILURE_FLUSH, -ECANCELED},
	{QP_WC_BAD_RESP_ERR, FAILURE_PATH, -EPROTO},
	{QP_WC_REM_INV_REQ_ERR, FAILURE_MESSAGE, -EACCES},
	/* a key that the peer does not know, or beyond its region */
	{QP_WC_REM_ACCESS_ERR, FAILURE_MESSAGE, -EACCES},
	{QP_WC_REM_OP_ERR, FAILURE_PATH, -EREMOTEIO}, /* the peer's device could not */
	{QP_WC_RETRY_EXC_ERR, FAILURE_PATH, -ETIMEDOUT},
	{QP_WC_RNR_RETRY_EXC_ERR, FAILURE_PATH, -ETIMEDOUT},
	{RESP_TIMEOUT, FAILURE_PATH, -ETIMEDOUT},
};

/* What is not here is the path's. */
static const struct {
	int err;
	enum failure post, call;
} errnos[] = {
	{0, FAILURE_NONE, FAILURE_NONE},
	{-EAGAIN, FAILURE_AGAIN, FAILURE_AGAIN},  /* a key is asked for; a socket is full */
	{-ENOBUFS, FAILURE_AGAIN, FAILURE_AGAIN}, /* a queue is full */
	{-ENOMEM, FAILURE_AGAIN, FAILURE_PATH},
	{-EINTR, FAILURE_AGAIN, FAILURE_AGAIN},
	{-ENOTCONN, FAILURE_AGAIN, FAILURE_AGAIN}, /* the QP has ended, and its status says so */
	{-EINVAL, FAILURE_MESSAGE, FAILURE_PATH},  /* the memory here is not what it was */
	{-EACCES, FAILURE_MESSAGE, FAILURE_PATH},  /* the peer has no such region */
	{-EADDRINUSE, FAILURE_PATH, FAILURE_PORT},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum failure failure_of_completion(unsigned status, int *error)
{
	for (size_t i = 0; i < COUNT(completions); i++) {
		if (completions[i].status != status)
			continue;
		*error = completions[i].error;
		return completions[i].failure;
	}
	*error = -EIO;
	return FAILURE_PATH;
}

enum failure failure_of_post(int err)
{
	for (size_t i = 0; i < COUNT(errnos); i++)
		if (errnos[i].err == err)
			return errnos[i].post;
	return FAILURE_PATH;
}

enum failure failure_of_call(int err)
{
	for (size_t i = 0; i < COUNT(errnos); i++)
		if (errnos[i].err == err)
			return errnos[i].call;
	return FAILURE_PATH;
}
