/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/export.h"

static struct rows *rows;
static char dir[] = "/tmp/check_export.XXXXXX";

static void add(const char *test, const char *param, const char *level, unsigned trial,
		const char *kpi, double value, unsigned n)
{
	struct row row = {.trial = trial, .n = 1, .n_params = 1, .value = value};

	strcpy(row.test, test);
	strcpy(row.strategy, "fare-spray");
	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], param, level), 0);
	if (n) {
		row.hist = malloc(sizeof(*row.hist));
		hist_init(row.hist);
		for (unsigned i = 0; i < n; i++)
			hist_add(row.hist, (uint64_t)value);
		row.value = NAN;
	} else if (isnan(value)) {
		row.missing = strdup("nothing was seen");
	}
	ck_assert_int_eq(rows_add(rows, &row), 0);
	free(row.hist);
	free(row.missing);
}

static const char *written(const char *name)
{
	static char text[8192];
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	unlink(path);
	return text;
}

START_TEST(transfers_as_nixlbench_has_them)
{
	const char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add("5.1", "size", "64K", 0, "KV_xfer_bandwidth", 2000, 0);
	add("5.1", "size", "64K", 1, "KV_xfer_bandwidth", 4000, 0);
	add("5.1", "size", "1M", 0, "KV_xfer_bandwidth", NAN, 0);
	add("5.2", "size", "1M", 0, "KV_xfer_latency", 64000, 500);
	add("5.2", "size", "4M", 0, "KV_xfer_latency", 64000, 5);
	add("5.3", "pairs", "2", 0, "KV_xfer_bandwidth", 7, 0);
	ck_assert_int_eq(export_write(rows, "GPUs, \"NICs\"", dir), 0);
	text = written("transfers.csv");
	ck_assert_str_eq(
		text, "Block Size (B),Batch Size,B/W (GB/Sec),Avg Lat. (us),Avg Prep (us),"
		      "P99 Prep (us),Avg Post (us),P99 Post (us),Avg Tx (us),P99 Tx (us),"
		      "test,strategy,params,medium,emulated\r\n"
		      "65536,1,3,,,,,,,,5.1,fare-spray,size=64K,,\"GPUs, \"\"NICs\"\"\"\r\n"
		      "1048576,1,,64,,,,,64,64,5.2,fare-spray,size=1M,,\"GPUs, \"\"NICs\"\"\"\r\n"
		      "4194304,1,,64,,,,,64,,5.2,fare-spray,size=4M,,\"GPUs, \"\"NICs\"\"\"\r\n");
	ck_assert_ptr_null(written("serving.csv"));
	rows_close(rows);
}
END_TEST

START_TEST(services_as_inferencex_has_them)
{
	const char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add("11.1", "batch", "8", 0, "TPS_output", 600, 0);
	add("11.1", "batch", "8", 0, "TPS_per_GPU", 300, 0);
	add("11.1", "batch", "8", 0, "TTFT", 128e6, 40);
	add("11.1", "batch", "8", 1, "TTFT", 128e6, 40);
	ck_assert_int_eq(export_write(rows, "GPUs, \"NICs\"", dir), 0);
	text = written("serving.csv");
	ck_assert_msg(strstr(text, "\r\n600,,300,0.128") != NULL, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, ",11.1,fare-spray,batch=8,,\"GPUs, \"\"NICs\"\"\"\r\n"));
	ck_assert_ptr_null(strstr(strstr(text, "\r\n") + 2,
				  "11.1,fare-spray,batch=8,,\"GPUs, \"\"NICs\"\"\"\r\n6"));
	ck_assert_ptr_null(written("transfers.csv"));
	rows_close(rows);
}
END_TEST

START_TEST(a_directory_that_is_not_there)
{
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add("5.1", "size", "64K", 0, "KV_xfer_bandwidth", 2000, 0);
	ck_assert_int_lt(export_write(rows, NULL, "/nonexistent"), 0);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export");
	TCase *tcase = tcase_create("export");
	SRunner *runner = srunner_create(suite);
	int failed;

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(tcase, transfers_as_nixlbench_has_them);
	tcase_add_test(tcase, services_as_inferencex_has_them);
	tcase_add_test(tcase, a_directory_that_is_not_there);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	rmdir(dir);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
