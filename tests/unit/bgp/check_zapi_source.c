/* The shell against a scripted zebra on a unix socket. */
#include "zapi_source.h"

#include <ev.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bgp_await.h"
#include "bgp_record.h"

#define P2 "198.19.0.2"

struct fixture {
	struct record r;
	struct ev_loop *loop;
	struct zapi_source *s;
	struct sockaddr_un address;
	int listener, fd;
};

static void await(struct fixture *f, const char *in, const char *text)
{
	ck_assert_msg(await_text(f->loop, in, text), "never came: %s\npaths:\n%sstates:\n%slogs:\n%s", text,
		      f->r.paths, f->r.states, f->r.logs);
}

static void expect_greeting(struct fixture *f)
{
	uint8_t got[64];
	struct bytes want = {.n = 0};

	hex(&want, "0013fe06000000000012 17 0000 00000000 00 00"
		   "000efe0600000000000b 01 09 0000 000efe0600000000000b 02 09 0000");
	ck_assert_int_eq(recv(f->fd, got, want.n, MSG_WAITALL), (ssize_t)want.n);
	ck_assert_mem_eq(got, want.p, want.n);
}

START_TEST(learns_loses_and_learns_again)
{
	struct fixture f = {.fd = -1};
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);

	record_init(&f.r);
	f.loop = ev_loop_new(0);
	f.address.sun_family = AF_UNIX;
	snprintf(f.address.sun_path, sizeof(f.address.sun_path), "/tmp/check_zapi_source.%d",
		 (int)getpid());
	ck_assert_int_eq(zapi_source_create(&f.s, f.loop, f.address.sun_path, "8.4.4", &f.r.config,
					    &f.r.handlers, &f.r),
			 0);
	ck_assert_str_eq(f.r.states, "");
	await(&f, f.r.states, "down\n"); /* nobody is there yet */

	f.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f.listener, (struct sockaddr *)&f.address, sizeof(f.address)), 0);
	ck_assert_int_eq(listen(f.listener, 4), 0);
	await(&f, f.r.states, "syncing\n");
	f.fd = accept(f.listener, NULL, NULL);
	expect_greeting(&f);
	for (size_t i = 0; i < 181; i++) { /* the IPv4 route, byte by byte */
		ck_assert_int_eq(write(f.fd, data + i, 1), 1);
		ev_run(f.loop, EVRUN_NOWAIT);
	}
	await(&f, f.r.paths, P2 " 0/0 up relative 50\n");
	await(&f, f.r.states, "up\n");
	f.r.states[0] = f.r.paths[0] = '\0';
	close(f.fd);
	await(&f, f.r.paths, P2 " 0/0 up stale relative 50\n");
	await(&f, f.r.states, "syncing\n"); /* back by itself; and now zebra teaches nothing */
	f.fd = accept(f.listener, NULL, NULL);
	expect_greeting(&f);
	await(&f, f.r.paths, P2 " 0/0 gone\n");

	zapi_source_destroy(f.s);
	close(f.fd);
	close(f.listener);
	unlink(f.address.sun_path);
	ev_loop_destroy(f.loop);
	free(data);
}
END_TEST

START_TEST(refuses_an_unknown_version)
{
	struct zapi_source *s;
	struct record r;

	record_init(&r);
	ck_assert_int_eq(
		zapi_source_create(&s, EV_DEFAULT, "/nowhere", "12.1", &r.config, &r.handlers, &r),
		-EPROTONOSUPPORT);
	ck_assert_ptr_null(s);
	ck_assert_ptr_nonnull(strstr(r.logs, "FRR version \"12.1\" is not known"));
	zapi_source_destroy(NULL);
}
END_TEST

RUN_TESTS("zapi_source", learns_loses_and_learns_again, refuses_an_unknown_version)
