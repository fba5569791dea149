/* SPDX-License-Identifier: BSD-2-Clause */
/* What libfabric's log is told where memory cannot be registered. */
#include <stdarg.h>
#include <sys/resource.h>

#include "ofi_pair.h"

static char said[512];
static unsigned n_said;

/* libfabric's own, for this program */
int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		   enum fi_log_subsys subsys)
{
	(void)prov, (void)subsys;
	return level == FI_LOG_WARN;
}

__attribute__((format(printf, 6, 7))) void fi_log(const struct fi_provider *prov,
						  enum fi_log_level level,
						  enum fi_log_subsys subsys, const char *func,
						  int line, const char *fmt, ...)
{
	va_list args;

	(void)prov, (void)level, (void)subsys, (void)func, (void)line;
	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	n_said++;
}

START_TEST(a_region_that_is_refused_is_said)
{
	struct fid_mr *mr;
	struct end e;

	open_end(&e, 1, NULL, NULL, 0, NULL);
	ck_assert_int_eq(fi_mr_reg(e.domain, said, 0, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
			 -FI_EINVAL);
	ck_assert_uint_eq(n_said, 1);
	ck_assert_str_eq(said, "a region cannot be registered: Invalid argument\n");
	/* a program that goes on is told once a second */
	ck_assert_int_eq(fi_mr_reg(e.domain, said, 0, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
			 -FI_EINVAL);
	ck_assert_uint_le(n_said, 2);
	close_end(&e);
}
END_TEST

START_TEST(a_limit_of_locked_memory_is_named)
{
	const struct rlimit low = {8 << 20, 8 << 20};
	struct ofi_domain *d;
	struct end e;

	open_end(&e, 1, NULL, NULL, 0, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	d = ofi_domain_of(e.domain);
	ofi_lock(d);
	d->env.provider = "verbs";
	ofi_peers_log_memory(d, "a connection cannot be opened", -ENOMEM);
	d->env.provider = NULL;
	ofi_unlock(d);
	ck_assert_ptr_nonnull(strstr(said, "a connection cannot be opened: "));
	ck_assert_ptr_nonnull(strstr(said, "RLIMIT_MEMLOCK (ulimit -l) is 8192 KiB"));
	close_end(&e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_domain");
	TCase *tc = tcase_create("core");
	int skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_region_that_is_refused_is_said);
	tcase_add_test(tc, a_limit_of_locked_memory_is_named);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
