/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

START_TEST(width_counts_characters)
{
	ck_assert_uint_eq(table_width(""), 0);
	ck_assert_uint_eq(table_width("abc"), 3);
	ck_assert_uint_eq(table_width("na\xc3\xafve"), 5);
	ck_assert_uint_eq(table_width("e\xcc\x81"), 1);		       /* a combining accent */
	ck_assert_uint_eq(table_width("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* two wide ones */
}
END_TEST

START_TEST(invalid_bytes_count_one_each)
{
	ck_assert_uint_eq(table_width("\xff\xfe"), 2);
	ck_assert_uint_eq(table_width("a\xe2\x82"), 3); /* cut short: does not run past the end */
	ck_assert_uint_eq(table_width("\x80"), 1);
	ck_assert_uint_eq(table_width("\xf0"), 1);
}
END_TEST

START_TEST(columns_align)
{
	static const char *const headers[] = {"name", "value"};
	struct table *table;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(table_create(&table, 2, headers), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){"na\xc3\xafve", "1"}), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){"x", "1000"}), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){NULL, "-2"}), 0);
	table_print(table, file);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "na\xc3\xafve      1\n"));
	ck_assert_ptr_nonnull(strstr(text, "x       1000\n"));
	ck_assert_ptr_nonnull(strstr(text, "          -2\n"));
	free(text);
	table_destroy(table);
}
END_TEST

/* What stands behind a line break stands below, and makes no column wider than it must. */
START_TEST(lines_of_a_cell)
{
	static const char *const headers[] = {"a", "b"};
	struct table *table;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(table_create(&table, 2, headers), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){"1.5\n[1, 2]\nn=7", "x"}), 0);
	table_print(table, file);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "\n   1.5  x\n[1, 2]  \n   n=7  \n"));
	free(text);
	table_destroy(table);
}
END_TEST

static size_t widest_line(const char *text)
{
	size_t widest = 0;

	while (*text) {
		char line[1024];
		size_t n = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		widest = table_width(line) > widest ? table_width(line) : widest;
		text += n + (text[n] == '\n');
	}
	return widest;
}

/* Words stay whole where they fit; nothing is lost. */
START_TEST(wide_tables_are_broken)
{
	static const char *const headers[] = {"item", "value", "n"};
	struct table *table;
	char words[400] = "", word[201];
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (unsigned i = 0; i < 60; i++)
		strcat(words, i ? " w\xc3\xafrd" : "first");
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	ck_assert_int_eq(table_create(&table, 3, headers), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){"a", words, "1\nof 2"}), 0);
	ck_assert_int_eq(table_row(table, (const char *const[]){"b", word, "2"}), 0);
	table_print(table, file);
	fclose(file);
	ck_assert_uint_eq(widest_line(text), 100);
	ck_assert_ptr_nonnull(strstr(text, "first"));
	ck_assert_ptr_nonnull(strstr(text, "of 2\n"));
	ck_assert_ptr_null(strstr(text, "w\n"));
	for (size_t i = 0, n = 0, x = 0; i <= size; i++) {
		n += !strncmp(text + i, "w\xc3\xafrd", 5);
		x += text[i] == 'x';
		if (i == size) {
			ck_assert_uint_eq(n, 59);
			ck_assert_uint_eq(x, 200);
		}
	}
	free(text);
	table_destroy(table);
}
END_TEST

START_TEST(no_columns_is_refused)
{
	struct table *table;

	ck_assert_int_eq(table_create(&table, 0, NULL), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table");
	TCase *tcase = tcase_create("table");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, width_counts_characters);
	tcase_add_test(tcase, invalid_bytes_count_one_each);
	tcase_add_test(tcase, columns_align);
	tcase_add_test(tcase, lines_of_a_cell);
	tcase_add_test(tcase, wide_tables_are_broken);
	tcase_add_test(tcase, no_columns_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
