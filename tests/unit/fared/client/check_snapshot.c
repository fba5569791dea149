/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon that ends while it is asked: what was had of it is no snapshot. */
#include "snapshot.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[] = "/tmp/check_snapshotXXXXXX";
static int listener;
static unsigned n_replies; /* before it ends */

/* Each request is a line, and so is each reply. */
static void *answer(void *arg)
{
	static const char *const replies[] = {
		"{\"ok\": true, \"version\": \"1\"}\n",
		"{\"ok\": true, \"planes\": [], \"next_cursor\": null}\n",
		"{\"ok\": true, \"paths\": [{}], \"next_cursor\": 1}\n",
		"{\"ok\": true, \"paths\": [{}], \"next_cursor\": null}\n",
		"{\"ok\": true, \"qps\": [], \"next_cursor\": null}\n",
		"{\"ok\": true, \"counters\": []}\n",
	};
	int fd = accept(listener, NULL, NULL);
	FILE *from = fdopen(fd, "r");
	size_t size = 0;
	char *line = NULL;

	for (unsigned i = 0; i < n_replies && getline(&line, &size, from) > 0; i++)
		ck_assert_int_eq(send(fd, replies[i], strlen(replies[i]), MSG_NOSIGNAL),
				 (ssize_t)strlen(replies[i]));
	free(line);
	fclose(from);
	return arg;
}

static void on_paths(void *arg, const json_t *planes, const json_t *rows)
{
	(void)planes;
	*(size_t *)arg += json_array_size(rows);
}

static int take(unsigned replies, struct snapshot *s, size_t *rows)
{
	const struct snapshot_pages pages = {on_paths, rows};
	pthread_t daemon;
	int rc;

	n_replies = replies;
	*rows = 0;
	ck_assert_int_eq(pthread_create(&daemon, NULL, answer, NULL), 0);
	rc = snapshot_take(s, dir, SNAPSHOT_PATHS | SNAPSHOT_QPS | SNAPSHOT_COUNTERS, 0, &pages);
	pthread_join(daemon, NULL);
	return rc;
}

START_TEST(a_part_is_nothing)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct snapshot s;
	size_t rows;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/control.sock", dir);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	for (unsigned n = 0; n < 6; n++) {
		ck_assert_msg(take(n, &s, &rows) == -EREMOTEIO, "whole after %u replies", n);
		ck_assert(s.why[0] && !s.version && !s.planes && !s.qp_sums && !s.counters);
		snapshot_free(&s);
	}
	ck_assert_int_eq(take(6, &s, &rows), 0);
	ck_assert(!s.why[0] && s.version && s.planes && s.qp_sums && s.counters);
	ck_assert_uint_eq(rows, 2);
	snapshot_free(&s);
	close(listener);
	unlink(at.sun_path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tc = tcase_create("daemon that ends");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_part_is_nothing);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
