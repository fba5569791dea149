/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose failure it is: each status of a completion, and each errno of a provider's call. */
#include <check.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "qp/failures.h"
#include "qp/provider.h"

static const struct {
	int status;
	enum failure failure;
	int error;
} completions[] = {
	{IBV_WC_SUCCESS, FAILURE_NONE, 0},
	{IBV_WC_LOC_LEN_ERR, FAILURE_PATH, -EMSGSIZE},
	{IBV_WC_LOC_QP_OP_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_LOC_EEC_OP_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_LOC_PROT_ERR, FAILURE_MESSAGE, -EINVAL},
	{IBV_WC_WR_FLUSH_ERR, FAILURE_FLUSH, -ECANCELED},
	{IBV_WC_MW_BIND_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_BAD_RESP_ERR, FAILURE_PATH, -EPROTO},
	{IBV_WC_LOC_ACCESS_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_REM_INV_REQ_ERR, FAILURE_MESSAGE, -EACCES},
	{IBV_WC_REM_ACCESS_ERR, FAILURE_MESSAGE, -EACCES},
	{IBV_WC_REM_OP_ERR, FAILURE_PATH, -EREMOTEIO},
	{IBV_WC_RETRY_EXC_ERR, FAILURE_PATH, -ETIMEDOUT},
	{IBV_WC_RNR_RETRY_EXC_ERR, FAILURE_PATH, -ETIMEDOUT},
	{IBV_WC_LOC_RDD_VIOL_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_REM_INV_RD_REQ_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_REM_ABORT_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_INV_EECN_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_INV_EEC_STATE_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_FATAL_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_RESP_TIMEOUT_ERR, FAILURE_PATH, -ETIMEDOUT},
	{IBV_WC_GENERAL_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_TM_ERR, FAILURE_PATH, -EIO},
	{IBV_WC_TM_RNDV_INCOMPLETE, FAILURE_PATH, -EIO},
	{IBV_WC_TM_RNDV_INCOMPLETE + 1, FAILURE_PATH, -EIO}, /* of a library to come */
	{-1, FAILURE_PATH, -EIO},
};

START_TEST(each_completion_has_its_row)
{
	int error = 1;

	ck_assert_int_eq(failure_of_completion((unsigned)completions[_i].status, &error),
			 completions[_i].failure);
	ck_assert_int_eq(error, completions[_i].error);
}
END_TEST

/* What verbs hands up is cast, not translated. */
START_TEST(names_are_those_of_verbs)
{
	ck_assert_int_eq((int)QP_WC_SUCCESS, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq((int)QP_WC_LOC_LEN_ERR, (int)IBV_WC_LOC_LEN_ERR);
	ck_assert_int_eq((int)QP_WC_LOC_PROT_ERR, (int)IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq((int)QP_WC_FLUSH_ERR, (int)IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq((int)QP_WC_BAD_RESP_ERR, (int)IBV_WC_BAD_RESP_ERR);
	ck_assert_int_eq((int)QP_WC_REM_INV_REQ_ERR, (int)IBV_WC_REM_INV_REQ_ERR);
	ck_assert_int_eq((int)QP_WC_REM_ACCESS_ERR, (int)IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq((int)QP_WC_REM_OP_ERR, (int)IBV_WC_REM_OP_ERR);
	ck_assert_int_eq((int)QP_WC_RETRY_EXC_ERR, (int)IBV_WC_RETRY_EXC_ERR);
	ck_assert_int_eq((int)QP_WC_RNR_RETRY_EXC_ERR, (int)IBV_WC_RNR_RETRY_EXC_ERR);
}
END_TEST

static const struct {
	int err;
	enum failure post, call;
} errnos[] = {
	{0, FAILURE_NONE, FAILURE_NONE},
	{-EAGAIN, FAILURE_AGAIN, FAILURE_AGAIN},
	{-ENOBUFS, FAILURE_AGAIN, FAILURE_AGAIN},
	{-ENOMEM, FAILURE_AGAIN, FAILURE_PATH},
	{-EINTR, FAILURE_AGAIN, FAILURE_AGAIN},
	{-ENOTCONN, FAILURE_AGAIN, FAILURE_AGAIN},
	{-EINVAL, FAILURE_MESSAGE, FAILURE_PATH},
	{-EACCES, FAILURE_MESSAGE, FAILURE_PATH},
	{-EADDRINUSE, FAILURE_PATH, FAILURE_PORT},
	{-EMSGSIZE, FAILURE_PATH, FAILURE_PATH},
	{-ENODEV, FAILURE_PATH, FAILURE_PATH},
	{-EIO, FAILURE_PATH, FAILURE_PATH},
	{-EOPNOTSUPP, FAILURE_PATH, FAILURE_PATH},
	{-ENETUNREACH, FAILURE_PATH, FAILURE_PATH}, /* not in the table */
	{-EPERM, FAILURE_PATH, FAILURE_PATH},
	{-4095, FAILURE_PATH, FAILURE_PATH},
};

START_TEST(each_errno_has_its_row)
{
	ck_assert_int_eq(failure_of_post(errnos[_i].err), errnos[_i].post);
	ck_assert_int_eq(failure_of_call(errnos[_i].err), errnos[_i].call);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("failures");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(t, each_completion_has_its_row, 0,
			    (int)(sizeof(completions) / sizeof(completions[0])));
	tcase_add_test(t, names_are_those_of_verbs);
	tcase_add_loop_test(t, each_errno_has_its_row, 0,
			    (int)(sizeof(errnos) / sizeof(errnos[0])));
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
