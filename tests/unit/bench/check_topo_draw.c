/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check_bench_fabric.h"
#include "topo_draw.h"

static char *drawing_of(const struct topo *topo, int gpu, int plane)
{
	/* static: the compiler takes what a stream writes for the stream itself */
	static char *text;
	static size_t size;
	FILE *file = open_memstream(&text, &size);

	topo_draw(topo, gpu, plane, file);
	fclose(file);
	return text;
}

static unsigned times(const char *text, const char *word)
{
	unsigned n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

START_TEST(a_line_per_sub_port)
{
	struct topo *topo = parsed(fabric(4));
	char *whole, *hurt;

	topo->gpus[1].plane[2].sub_port[0].up = false;
	topo->leaves[3].up = false;
	strcpy(topo->leaves[0].name, "<l0>");
	ck_assert(topo_draw_fits(topo));
	hurt = drawing_of(topo, 1, 2);
	ck_assert_uint_eq(times(hurt, "<line "), 4 * 4 * 2);
	ck_assert_uint_eq(times(hurt, "<rect "), 4 + 4);
	ck_assert_uint_eq(times(hurt, "stroke-dasharray"),
			  1 + 4 * 2); /* and all of the dead leaf's */
	ck_assert_uint_eq(times(hurt, "stroke-width"), 2);
	ck_assert_uint_eq(times(hurt, ">&lt;l0&gt;<"), 1);
	ck_assert_uint_eq(times(hurt, ">198.19.0.2<"), 1);
	topo->gpus[1].plane[2].sub_port[0].up = topo->leaves[3].up = true;
	whole = drawing_of(topo, -1, -1);
	ck_assert_uint_eq(times(whole, "stroke-dasharray"), 0);
	ck_assert_uint_eq(times(whole, "stroke-width"), 0);
	free(whole);
	free(hurt);
	topo_destroy(topo);
}
END_TEST

START_TEST(too_large_to_draw)
{
	struct topo *topo = parsed(fabric(17));

	ck_assert(!topo_draw_fits(topo));
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topo_draw");
	TCase *tcase = tcase_create("topo_draw");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_line_per_sub_port);
	tcase_add_test(tcase, too_large_to_draw);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
