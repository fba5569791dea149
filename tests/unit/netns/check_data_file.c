/* SPDX-License-Identifier: BSD-2-Clause */
/* The lookup of topologies and drill plans by name: the current directory first, then the data
 * directory. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_file.h"

static char here[64], folder[64];
static char path[PATH_MAX], error[DATA_FILE_ERROR_MAX], before[PATH_MAX];

static void touch(const char *dir, const char *name)
{
	char at[PATH_MAX];
	FILE *f;

	snprintf(at, sizeof(at), "%s/%s", dir, name);
	f = fopen(at, "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
	strcpy(here, "/tmp/check_data_file_here_XXXXXX");
	strcpy(folder, "/tmp/check_data_file_data_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(here));
	ck_assert_ptr_nonnull(mkdtemp(folder));
	touch(here, "mine.yaml");
	touch(here, "both.yaml");
	touch(folder, "both.yaml");
	touch(folder, "installed.yaml");
	ck_assert_int_eq(chdir(here), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(unlink("mine.yaml") || unlink("both.yaml"), 0);
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(unlink("both.yaml") || unlink("installed.yaml"), 0);
	ck_assert_int_eq(chdir(before), 0);
	ck_assert_int_eq(rmdir(here) || rmdir(folder), 0);
}

START_TEST(a_name_is_joined_to_the_folder)
{
	char most[PATH_MAX];

	ck_assert_int_eq(data_file_in("/d/topologies", "4x4x2.yaml", path), 0);
	ck_assert_str_eq(path, "/d/topologies/4x4x2.yaml");
	ck_assert_int_eq(data_file_in("/d", "a/b", path), -EINVAL);
	ck_assert_int_eq(data_file_in("/d", "../b", path), -EINVAL);
	ck_assert_int_eq(data_file_in("/d", "", path), -EINVAL);
	memset(most, 'a', sizeof(most));
	most[PATH_MAX - 1] = '\0';
	ck_assert_int_eq(data_file_in("/d", most, path), -ENAMETOOLONG);
	most[PATH_MAX - 4] = '\0'; /* with "/d/" it fills the path */
	ck_assert_int_eq(data_file_in("/d", most, path), 0);
	ck_assert_uint_eq(strlen(path), PATH_MAX - 1);
}
END_TEST

START_TEST(the_current_directory_comes_first)
{
	ck_assert_int_eq(data_file_find(folder, "mine.yaml", path, error), 0);
	ck_assert_str_eq(path, "mine.yaml");
	ck_assert_int_eq(data_file_find(folder, "both.yaml", path, error), 0);
	ck_assert_str_eq(path, "both.yaml");
}
END_TEST

START_TEST(a_name_that_is_not_here_is_found_in_the_folder)
{
	char wanted[PATH_MAX];

	snprintf(wanted, sizeof(wanted), "%s/installed.yaml", folder);
	ck_assert_int_eq(data_file_find(folder, "installed.yaml", path, error), 0);
	ck_assert_str_eq(path, wanted);
}
END_TEST

START_TEST(a_path_is_taken_as_it_is)
{
	ck_assert_int_eq(data_file_find(folder, "./installed.yaml", path, error), 0);
	ck_assert_str_eq(path, "./installed.yaml");
	ck_assert_int_eq(data_file_find(folder, "/no/such.yaml", path, error), 0);
	ck_assert_str_eq(path, "/no/such.yaml");
}
END_TEST

START_TEST(an_error_names_both_places)
{
	char most[PATH_MAX + 1];

	ck_assert_int_eq(data_file_find(folder, "none.yaml", path, error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "none.yaml: no such file in the current directory"));
	ck_assert_ptr_nonnull(strstr(error, folder));
	ck_assert_int_eq(data_file_find(folder, "", path, error), -ENOENT);
	memset(most, 'a', sizeof(most));
	most[PATH_MAX] = '\0';
	ck_assert_int_eq(data_file_find(folder, most, path, error), -ENAMETOOLONG);
	most[PATH_MAX - 1] = '\0';
	ck_assert_int_eq(data_file_find(folder, most, path, error), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("data_file");
	TCase *tcase = tcase_create("lookup");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_name_is_joined_to_the_folder);
	tcase_add_test(tcase, the_current_directory_comes_first);
	tcase_add_test(tcase, a_name_that_is_not_here_is_found_in_the_folder);
	tcase_add_test(tcase, a_path_is_taken_as_it_is);
	tcase_add_test(tcase, an_error_names_both_places);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
