/* SPDX-License-Identifier: BSD-2-Clause */
/* The shell against a scripted bgpd on a loopback socket: pieces of messages, garbage, loss,
 * return. */
#include "bmp_source.h"

#include <ev.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bgp_await.h"
#include "bgp_record.h"
#include "own_net.h"

#define N0   "198.18.0.0"
#define N2   "198.18.1.0"
#define P2   "198.19.0.2"
#define UNIT "47f42400"

#define BGPD	 ((uid_t)64001)
#define STRANGER ((uid_t)65534)

struct fixture {
	struct record r;
	struct ev_loop *loop;
	struct bmp_source *s;
	struct sockaddr_in address;
	struct sockaddr_storage to; /* the same, as bmp_source_create() takes it */
	int listener;
	int fd; /* the scripted bgpd's end */
	struct bytes b;
};

/* Runs the loop until `text` stands in `in`; fails if that takes too long. */
static void await(struct fixture *f, const char *in, const char *text)
{
	ck_assert_msg(await_text(f->loop, in, text),
		      "never came: %s\npaths:\n%sstates:\n%slogs:\n%s", text, f->r.paths,
		      f->r.states, f->r.logs);
}

static void listen_on(struct fixture *f)
{
	socklen_t length = sizeof(f->address);
	int on = 1;

	f->listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(f->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
	ck_assert_int_eq(getsockname(f->listener, (struct sockaddr *)&f->address, &length), 0);
	memcpy(&f->to, &f->address, sizeof(f->address));
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	record_init(&f->r);
	f->fd = -1;
	f->loop = ev_loop_new(0);
	f->address.sin_family = AF_INET;
	f->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_on(f);
}

static void start(struct fixture *f, uint64_t stale_ns)
{
	ck_assert_int_eq(bmp_source_create(&f->s, f->loop, &f->to, BGPD, stale_ns, &f->r.config,
					   &f->r.handlers, &f->r),
			 0);
	ck_assert_str_eq(f->r.states, ""); /* no callback from within */
}

/* It has said nothing yet, and so counts for nothing. */
static void accept_one(struct fixture *f)
{
	struct pollfd in = {.fd = f->listener, .events = POLLIN};

	f->r.states[0] = '\0';
	while (poll(&in, 1, 1) == 0)
		ev_run(f->loop, EVRUN_NOWAIT);
	f->fd = accept(f->listener, NULL, NULL);
	ck_assert_int_ge(f->fd, 0);
	ck_assert_ptr_null(strstr(f->r.states, "syncing"));
}

static void send_part(struct fixture *f, size_t from, size_t n)
{
	ck_assert_int_eq(write(f->fd, f->b.p + from, n), (ssize_t)n);
}

static void hang_up(struct fixture *f)
{
	close(f->fd);
	f->fd = -1;
	f->b.n = 0;
	f->r.paths[0] = f->r.states[0] = '\0';
}

static void end(struct fixture *f)
{
	bmp_source_destroy(f->s);
	if (f->fd >= 0)
		close(f->fd);
	if (f->listener >= 0)
		close(f->listener);
	ev_loop_destroy(f->loop);
}

START_TEST(learns_in_pieces)
{
	struct fixture f;
	size_t half;

	begin(&f);
	start(&f, 60000000000ull);
	accept_one(&f);
	bmp_peer_up(&f.b, N0, 20, true);
	bmp_route(&f.b, N0, P2, UNIT);
	half = f.b.n;
	bmp_route(&f.b, N0, P2, "00000000");
	/* byte by byte up to the middle of the second route; the loop runs in between */
	for (size_t i = 0; i < half + 60; i++) {
		send_part(&f, i, 1);
		ev_run(f.loop, EVRUN_NOWAIT);
	}
	await(&f, f.r.paths, P2 " 0/0 up 1000000\n");
	ck_assert_ptr_null(strstr(f.r.paths, "up 0\n"));
	send_part(&f, half + 60, f.b.n - half - 60);
	await(&f, f.r.paths, P2 " 0/0 up 0\n");
	await(&f, f.r.states, "up\n"); /* by quiet: there was no End-of-RIB */
	ck_assert_uint_eq(f.r.n_paths, 2);
	end(&f);
}
END_TEST

START_TEST(garbage_then_a_good_stream)
{
	struct fixture f;

	begin(&f);
	start(&f, 60000000000ull);
	accept_one(&f);
	bmp_peer_up(&f.b, N0, -1, false);
	bmp_route(&f.b, N0, P2, UNIT);
	hex(&f.b, "47455420 2f20 4854"); /* not BMP */
	send_part(&f, 0, f.b.n);
	await(&f, f.r.states, "down\n");
	expect_paths(&f.r, P2
		     " 0/0 up stale 1000000\n"); /* learned and lost within one wake: one event */
	hang_up(&f);
	accept_one(&f);
	bmp_peer_up(&f.b, N0, -1, false);
	bmp_route(&f.b, N0, P2, UNIT);
	bmp_end_of_rib(&f.b, N0, false);
	bmp_end_of_rib(&f.b, N0, true);
	send_part(&f, 0, f.b.n);
	await(&f, f.r.states, "up\n");
	expect_paths(&f.r, P2 " 0/0 up 1000000\n");
	end(&f);
}
END_TEST

START_TEST(loss_is_stale_then_gone)
{
	struct fixture f;

	begin(&f);
	start(&f, 300000000ull);
	accept_one(&f);
	bmp_peer_up(&f.b, N2, 20, true);
	bmp_route(&f.b, N2, P2, UNIT);
	send_part(&f, 0, f.b.n);
	await(&f, f.r.paths, P2 " 0/1 up 1000000\n");
	ck_assert_str_eq(f.r.states, "syncing\n");
	f.r.states[0] = '\0';
	close(f.listener); /* nobody to return to */
	f.listener = -1;
	hang_up(&f);
	await(&f, f.r.paths, P2 " 0/1 up stale 1000000\n");
	await(&f, f.r.paths, P2 " 0/1 gone\n");
	ck_assert_ptr_nonnull(strstr(f.r.states, "down\n"));
	ck_assert_ptr_null(strstr(f.r.states, "syncing\n"));
	end(&f);
}
END_TEST

START_TEST(waits_for_a_bgpd_that_starts_later)
{
	struct fixture f;

	begin(&f);
	close(f.listener);
	start(&f, 1000000000ull);
	await(&f, f.r.states, "down\n"); /* refused */
	listen_on(&f);
	accept_one(&f);
	end(&f);
}
END_TEST

/* The whole table of a large fabric in one burst: 1,000 peers, read in many pieces. */
START_TEST(a_large_table)
{
	struct fixture f;
	char peer[32];

	begin(&f);
	start(&f, 1000000000ull);
	accept_one(&f);
	bmp_peer_up(&f.b, N0, 20, true);
	send_part(&f, 0, f.b.n);
	for (unsigned i = 2; i < 1002; i++) {
		f.b.n = 0;
		snprintf(peer, sizeof(peer), "198.19.%u.%u", i >> 8, i & 255);
		bmp_route(&f.b, N0, peer, UNIT);
		send_part(&f, 0, f.b.n);
		f.r.paths[0] = '\0';
		ev_run(f.loop, EVRUN_NOWAIT);
	}
	f.b.n = 0;
	bmp_route(&f.b, N0, "198.19.200.1", UNIT);
	send_part(&f, 0, f.b.n);
	await(&f, f.r.paths, "198.19.200.1 0/0 up");
	ck_assert_uint_eq(f.r.n_paths, 1001);
	end(&f);
}
END_TEST

/*
 * A process of that user accepts one connection, sends what is in f->b, and holds on to it until
 * *until is closed; then it says whether it met a reset.
 */
static pid_t teach_as(struct fixture *f, uid_t uid, int *until)
{
	int ends[2];
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (!child) {
		char byte;

		close(ends[1]);
		f->fd = setresuid(uid, uid, uid) ? -1 : accept(f->listener, NULL, NULL);
		close(f->listener);
		if (f->fd < 0 || write(f->fd, f->b.p, f->b.n) != (ssize_t)f->b.n ||
		    read(ends[0], &byte, 1) != 0)
			_exit(2);
		_exit(recv(f->fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET);
	}
	close(ends[0]);
	*until = ends[1];
	return child;
}

static bool met_a_reset(pid_t child, int until)
{
	int status;

	close(until);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* Any local user may listen while bgpd is down. Its routes are refused, and bgpd can bind again. */
START_TEST(only_bgpds_user_is_accepted)
{
	struct fixture f;
	int until, off = 0;
	pid_t child;

	if (geteuid() != 0) {
		puts("skipped: it takes root to become somebody else");
		return;
	}
	begin(&f);
	bmp_peer_up(&f.b, N0, -1, false);
	bmp_route(&f.b, N0, P2, UNIT);
	setsockopt(f.listener, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
	child = teach_as(&f, STRANGER, &until);
	close(f.listener);
	start(&f, 60000000000ull);
	await(&f, f.r.states, "down\n");
	ck_assert_str_eq(f.r.states, "down\n");
	ck_assert_str_eq(f.r.paths, "");
	listen_on(&f); /* though the stranger does not close what it accepted */
	ck_assert(met_a_reset(child, until));
	child = teach_as(&f, BGPD, &until);
	await(&f, f.r.paths, P2 " 0/0 up 1000000\n");
	ck_assert(!met_a_reset(child, until));
	end(&f);
}
END_TEST

static void source_ports(unsigned first, unsigned last)
{
	char range[32];

	snprintf(range, sizeof(range), "%u %u", first, last);
	ck_assert(own_net_write("/proc/sys/net/ipv4/ip_local_port_range", range));
}

/* The one source port that the kernel can choose is bgpd's own. */
START_TEST(is_not_connected_to_itself)
{
	struct fixture f;

	begin(&f);
	close(f.listener);
	source_ports(ntohs(f.address.sin_port), ntohs(f.address.sin_port));
	start(&f, 1000000000ull);
	await(&f, f.r.states, "down\n");
	ck_assert_str_eq(f.r.states, "down\n");
	source_ports(32768, 60999);
	listen_on(&f);
	accept_one(&f);
	end(&f);
}
END_TEST

START_TEST(refuses_what_it_cannot_connect_to)
{
	struct sockaddr_storage odd = {.ss_family = AF_UNIX};
	struct bmp_source *s;
	struct record r;

	record_init(&r);
	ck_assert_int_eq(
		bmp_source_create(&s, EV_DEFAULT, &odd, BGPD, 1, &r.config, &r.handlers, &r),
		-EAFNOSUPPORT);
	ck_assert_ptr_null(s);
	bmp_source_destroy(NULL);
}
END_TEST

RUN_TESTS_IN(own_net, "bmp_source", learns_in_pieces, garbage_then_a_good_stream,
	     loss_is_stale_then_gone, waits_for_a_bgpd_that_starts_later, a_large_table,
	     only_bgpds_user_is_accepted, is_not_connected_to_itself,
	     refuses_what_it_cannot_connect_to)
