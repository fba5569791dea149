/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection against a scripted daemon on a unix socket. */
#include "connection.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "bgp_await.h"

struct fixture {
	struct ev_loop *loop;
	struct connection *c;
	struct sockaddr_un address;
	int listener, fd;
	char log[512]; /* what the handlers heard, in their order */
	uint64_t deadline_ns, now_ns;
	int greeting; /* what on_connected says */
};

static void heard(struct fixture *f, const char *what, const char *more)
{
	size_t used = strlen(f->log);

	snprintf(f->log + used, sizeof(f->log) - used, "%s%s\n", what, more);
}

static int on_connected(void *arg, int fd, uint64_t now_ns)
{
	struct fixture *f = arg;

	ck_assert_int_ge(fd, 0);
	f->now_ns = now_ns;
	heard(f, "connected", "");
	return f->greeting;
}

static int on_bytes(void *arg, const uint8_t *bytes, size_t n, uint64_t now_ns, const char **reason)
{
	struct fixture *f = arg;
	char text[32] = " ";

	ck_assert_uint_lt(n, sizeof(text) - 1);
	memcpy(text + 1, bytes, n);
	f->now_ns = now_ns;
	heard(f, "bytes", text);
	*reason = "no sense in it";
	return strcmp(text, " nonsense") == 0 ? -EBADMSG : 0;
}

static void on_lost(void *arg, const char *reason, uint64_t now_ns)
{
	struct fixture *f = arg;

	f->now_ns = now_ns;
	heard(f, "lost ", reason);
}

static void on_tick(void *arg, uint64_t now_ns)
{
	struct fixture *f = arg;

	ck_assert_uint_ge(now_ns, f->deadline_ns);
	f->deadline_ns = CONNECTION_NEVER;
	heard(f, "tick", "");
}

static uint64_t settle(void *arg)
{
	struct fixture *f = arg;

	return f->deadline_ns;
}

static const struct connection_handlers handlers = {on_connected, on_bytes, on_lost,
						    on_tick,	  settle,   0.};
static const struct connection_handlers impatient = {on_connected, on_bytes, on_lost,
						     on_tick,	   settle,   0.2};

/* Waits until the handlers heard text, then forgets all they heard. */
static void await(struct fixture *f, const char *text)
{
	ck_assert_msg(await_text(f->loop, f->log, text), "never came: %s\nheard:\n%s", text,
		      f->log);
	f->log[0] = '\0';
}

static void set_up_with(struct fixture *f, const struct connection_handlers *h)
{
	*f = (struct fixture){.deadline_ns = CONNECTION_NEVER, .fd = -1, .listener = -1};
	f->loop = ev_loop_new(0);
	f->address.sun_family = AF_UNIX;
	snprintf(f->address.sun_path, sizeof(f->address.sun_path), "/tmp/check_connection.%d",
		 (int)getpid());
	ck_assert_int_eq(connection_create(&f->c, f->loop, (struct sockaddr *)&f->address,
					   sizeof(f->address), "somebody", h, f),
			 0);
	ck_assert_str_eq(f->log, ""); /* nothing is heard from within */
}

static void set_up(struct fixture *f)
{
	set_up_with(f, &handlers);
}

static void listen_now(struct fixture *f)
{
	f->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
}

static void accept_now(struct fixture *f)
{
	await(f, "connected");
	f->fd = accept(f->listener, NULL, NULL);
	ck_assert_int_ge(f->fd, 0);
}

static void tear_down(struct fixture *f)
{
	connection_destroy(f->c);
	ev_run(f->loop, EVRUN_NOWAIT);
	ck_assert_str_eq(f->log, ""); /* nor after the end */
	ev_loop_destroy(f->loop);
	close(f->fd);
	close(f->listener);
	unlink(f->address.sun_path);
}

START_TEST(again_and_again)
{
	struct fixture f;

	set_up(&f);
	await(&f, "lost connecting to somebody: No such file or directory\n");
	await(&f, "lost connecting to somebody: No such file or directory\n");
	listen_now(&f);
	accept_now(&f);
	ck_assert_int_eq(write(f.fd, "hello", 5), 5);
	await(&f, "bytes hello\n");
	close(f.fd);
	await(&f, "lost reading from somebody: it closed the connection\n");
	accept_now(&f);
	ck_assert_int_eq(write(f.fd, "nonsense", 8), 8);
	await(&f, "bytes nonsense\nlost no sense in it\n");
	close(f.fd);
	accept_now(&f);
	tear_down(&f);
}
END_TEST

/* Who cannot say its greeting has no connection. */
START_TEST(no_greeting)
{
	struct fixture f;

	set_up(&f);
	listen_now(&f);
	f.greeting = -EPIPE;
	await(&f, "connected\nlost connecting to somebody: Broken pipe\n");
	f.greeting = 0;
	accept_now(&f);
	tear_down(&f);
}
END_TEST

/* The deadline is kept, also one that settle() moved, and one from before a loss. */
START_TEST(ticks)
{
	struct fixture f;

	set_up(&f);
	listen_now(&f);
	accept_now(&f);
	f.deadline_ns = f.now_ns + UINT64_C(3600000000000);
	ck_assert_int_eq(write(f.fd, "far", 3), 3);
	await(&f, "bytes far\n");
	f.deadline_ns = f.now_ns + 20000000;
	ck_assert_int_eq(write(f.fd, "near", 4), 4);
	await(&f, "bytes near\ntick\n");
	f.deadline_ns = f.now_ns + 200000000;
	ck_assert_int_eq(write(f.fd, "last", 4), 4);
	await(&f, "bytes last\n");
	close(f.fd);
	await(&f, "tick\n");
	tear_down(&f);
}
END_TEST

/* Who accepts and is to speak first is given up if it does not; once it has spoken it may rest. */
START_TEST(the_silent_are_left)
{
	struct fixture f;

	set_up_with(&f, &impatient);
	listen_now(&f);
	accept_now(&f);
	await(&f, "lost reading from somebody: it says nothing\n");
	close(f.fd);
	accept_now(&f);
	ck_assert_int_eq(write(f.fd, "hello", 5), 5);
	await(&f, "bytes hello\n");
	f.deadline_ns = f.now_ns + 400000000;
	ck_assert_int_eq(write(f.fd, "more", 4), 4);
	await(&f, "bytes more\ntick\n");
	tear_down(&f);
}
END_TEST

START_TEST(too_long_an_address)
{
	struct fixture f = {0};

	ck_assert_int_eq(connection_create(&f.c, NULL, (struct sockaddr *)&f.address,
					   sizeof(struct sockaddr_storage) + 1, "x", &handlers, &f),
			 -EINVAL);
	ck_assert_ptr_null(f.c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("connection");
	TCase *tcase = tcase_create("connection");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, again_and_again);
	tcase_add_test(tcase, no_greeting);
	tcase_add_test(tcase, ticks);
	tcase_add_test(tcase, the_silent_are_left);
	tcase_add_test(tcase, too_long_an_address);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
