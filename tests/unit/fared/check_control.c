/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket: replies, pipelining, descriptors, bounds, and clients that misbehave. */
#include "control.h"

#include <check.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "deferred_close.h"
#include "control_rate.h"
#include "base/clock.h"
#include "base/utf8.h"

static struct ev_loop *loop;
static struct control *control;
static char dir[] = "/tmp/check_control.XXXXXX";
static int n_requests, n_gone, n_with_fd, n_waits;
static bool big_replies;
static int n_told;	       /* events to watchers while a request is answered */
static enum control_role role; /* of the last who asked */

static json_t *on_request(void *arg, struct control_client *client,
			  const struct control_request *request, int fd)
{
	static const char *const names[CONTROL_COMMAND_COUNT] = {[CONTROL_PLANES] = "planes",
								 [CONTROL_PEERS] = "peers",
								 [CONTROL_VERSION] = "version",
								 [CONTROL_WATCH] = "watch",
								 [CONTROL_ATTACH] = "attach"};

	(void)arg;
	n_requests++;
	role = client->role;
	n_with_fd += fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
	if (request->command == CONTROL_WATCH)
		client->watching = true;
	client->finished = request->command == CONTROL_VERSION;
	for (int i = 0; i < n_told; i++) {
		json_t *event = json_pack("{s:i}", "event", i);

		control_send_watchers(control, event);
		json_decref(event);
	}
	if (big_replies)
		return json_pack("{s:b, s:o}", "ok", 1, "fill", json_sprintf("%0*d", 1 << 20, 0));
	return json_pack("{s:b, s:s*}", "ok", 1, "cmd", names[request->command]);
}

static void on_gone(void *arg, const struct control_client *client)
{
	(void)arg;
	(void)client;
	n_gone++;
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	ck_assert_ptr_nonnull(line);
	n_waits += strstr(line, "clients have to wait") != NULL;
}

static const struct control_groups nobody = {(gid_t)-1, (gid_t)-1, (gid_t)-1};

static void setup(void)
{
	static const struct control_handlers handlers = {on_request, on_gone, on_log};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	loop = ev_loop_new(EVFLAG_AUTO);
	n_requests = n_gone = n_with_fd = n_waits = 0;
	big_replies = false;
	n_told = 0;
	ck_assert_int_eq(control_create(&control, loop, dir, geteuid(), &nobody, &handlers, NULL),
			 0);
}

static void teardown(void)
{
	control_destroy(control);
	ev_loop_destroy(loop);
	ck_assert_int_eq(rmdir(dir), 0); /* the socket has been removed */
}

/* Credentials are those of the moment at which a socket is connected. */
#define GROUP	  65534
#define ATTACHERS 64011
#define OPERATORS 64012

static const struct control_groups groups = {GROUP, ATTACHERS, OPERATORS};

static int dial(void);
static int dial_by(const char *name);

/* Also of that group; 0: of no other. */
static int dial_by_of(const char *name, uid_t uid, gid_t also)
{
	int fd;

	ck_assert(!setgroups(also ? 1 : 0, &also) && !setegid(GROUP) && !seteuid(uid));
	fd = dial_by(name);
	ck_assert(!seteuid(0) && !setegid(0) && !setgroups(0, NULL));
	return fd;
}

static int dial_of(uid_t uid, gid_t also)
{
	return dial_by_of(CONTROL_NAME, uid, also);
}

static int dial_as(uid_t uid)
{
	return dial_of(uid, 0);
}

/* A socket that members of GROUP may use. */
static bool setup_for_group(void)
{
	static const struct control_handlers handlers = {on_request, on_gone, on_log};

	if (geteuid() != 0) {
		printf("skipped: only root can be several users\n");
		return false;
	}
	control_destroy(control);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(control_create(&control, loop, dir, 0, &groups, &handlers, NULL), 0);
	return true;
}

/* -1: it may not be used. */
static int dial_by(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	ck_assert_int_eq(errno, EACCES);
	close(fd);
	return -1;
}

static int dial(void)
{
	int fd = dial_by(CONTROL_NAME);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Turns the loop while it has anything to do. */
static void turn(void)
{
	for (int i = 0; i < 20; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

/* Sends text and returns what came back, as a string. */
static const char *talk(int fd, const char *text, size_t length)
{
	static char back[65536];
	ssize_t n;

	ck_assert_int_eq(send(fd, text, length, MSG_NOSIGNAL), (ssize_t)length);
	turn();
	n = recv(fd, back, sizeof(back) - 1, 0);
	back[n < 0 ? 0 : n] = '\0';
	return back;
}

START_TEST(one_line_one_reply)
{
	int fd = dial();
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "%s/" CONTROL_NAME, dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_str_eq(talk(fd, "{\"cmd\":\"planes\"}\n", 17),
			 "{\"ok\":true,\"cmd\":\"planes\"}\n");
	ck_assert_str_eq(talk(fd, "{\"cmd\":", 7), "");
	ck_assert_str_eq(talk(fd, "\"peers\"}\n", 9), "{\"ok\":true,\"cmd\":\"peers\"}\n");
	ck_assert_str_eq(talk(fd, "{\"cmd\":\"planes\"}\n{\"cmd\":\"peers\"}\n", 33),
			 "{\"ok\":true,\"cmd\":\"planes\"}\n{\"ok\":true,\"cmd\":\"peers\"}\n");
	ck_assert_ptr_nonnull(strstr(talk(fd, "nonsense\n", 9), "\"ok\":false"));
	ck_assert_int_eq(n_requests, 4);
	ck_assert_ptr_nonnull(
		strstr(talk(fd, "{\"cmd\":\"version\"}\n{\"cmd\":\"peers\"}\n", 34), "version"));
	ck_assert_int_eq(n_requests, 5); /* told, and gone before the next */
	ck_assert_int_eq(n_gone, 1);
	close(fd);
	turn();
	ck_assert_int_eq(n_gone, 1);
}
END_TEST

/* An error tells of what came in, cut to fit; half a character would cost the client its reply. */
START_TEST(an_error_cut_within_a_character_is_told)
{
	char text[300], *long_text = text + 50;
	json_t *reply;

	for (int cut = 1; cut < 4; cut++) {
		memset(text, 'a', 200);
		snprintf(text + 196, 5, "%s", "\xf0\x9f\x90\xaa");
		text[200 - cut] = '\0';
		reply = control_error(text);
		ck_assert_ptr_nonnull(reply);
		ck_assert_uint_eq(json_string_length(json_object_get(reply, "error")), 196);
		json_decref(reply);
	}
	snprintf(text, sizeof(text), "%s", "whole \xc3\xa4");
	reply = control_error(text);
	ck_assert_str_eq(json_string_value(json_object_get(reply, "error")), text);
	json_decref(reply);
	snprintf(long_text, 20, "%s", "never \xff this");
	reply = control_error(long_text);
	ck_assert_ptr_nonnull(json_string_value(json_object_get(reply, "error")));
	json_decref(reply);
}
END_TEST

/* One that is cut in its midst is told, too. */
START_TEST(what_is_no_character_is_mended)
{
	static const char *const cases[][2] = {{"\"\xc3\" is no", "\"?\" is no"},
					       {"\xe2\x82 \xe2\x82\xac", "?? \xe2\x82\xac"},
					       {"\x80g\xf0\x9f", "?g??"},
					       {"", ""}};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i][0]);
		utf8_mend(text);
		ck_assert_str_eq(text, cases[i][1]);
	}
}
END_TEST

START_TEST(too_long_a_line_ends_it)
{
	static char line[CONTROL_REQUEST_MAX + 100];
	int fd = dial();

	memset(line, 'x', sizeof(line));
	talk(fd, line, sizeof(line));
	ck_assert_int_eq(n_gone, 1);
	close(fd);
}
END_TEST

START_TEST(descriptors_come_with_the_request)
{
	char room[CMSG_SPACE(4 * sizeof(int))] = {0};
	char line[] = "{\"cmd\":\"attach\",\"name\":\"x\"}\n";
	struct iovec iov = {line, strlen(line)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *m = CMSG_FIRSTHDR(&msg);
	int fd = dial(), fds[4] = {0, 0, 0, 0};

	/* four are sent, one is what a request may carry */
	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(m), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(fd, &msg, 0), (ssize_t)iov.iov_len);
	turn();
	ck_assert_int_eq(n_with_fd, 1);
	ck_assert_ptr_nonnull(strstr(talk(fd, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	ck_assert_int_eq(n_with_fd, 1); /* it was the first request's alone */
	close(fd);
}
END_TEST

START_TEST(clients_are_bounded)
{
	int fds[CONTROL_MAX_CLIENTS], extra;
	int most = CONTROL_MAX_CLIENTS - (geteuid() ? CONTROL_KEPT_ROOT : 0);
	char back[200];
	ssize_t n;

	for (int i = 0; i < most; i++) {
		fds[i] = dial();
		turn();
	}
	extra = dial();
	turn();
	n = recv(extra, back, sizeof(back) - 1, 0);
	ck_assert_int_gt(n, 0);
	back[n] = '\0';
	ck_assert_ptr_nonnull(strstr(back, "too many"));
	close(extra);
	close(fds[0]);
	turn();
	extra = dial();
	ck_assert_ptr_nonnull(strstr(talk(extra, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	close(extra);
	for (int i = 1; i < most; i++)
		close(fds[i]);
}
END_TEST

/* What a request brings about is told to who asked, too: before the reply, or it is too much. */
START_TEST(a_watcher_is_told_of_what_it_asks_for)
{
	int fd = dial();

	talk(fd, "{\"cmd\":\"watch\"}\n", 16);
	n_told = 2;
	ck_assert_str_eq(talk(fd, "{\"cmd\":\"peers\"}\n", 16),
			 "{\"event\":0}\n{\"event\":1}\n{\"ok\":true,\"cmd\":\"peers\"}\n");
	n_told = CONTROL_WATCH_BYTES / 10;
	talk(fd, "{\"cmd\":\"peers\"}\n{\"cmd\":\"planes\"}\n", 33);
	ck_assert_int_eq(n_requests, 3);
	ck_assert_int_eq(n_gone, 1);
	close(fd);
}
END_TEST

static bool is_served(int fd)
{
	return strstr(talk(fd, "{\"cmd\":\"planes\"}\n", 17), "planes") != NULL;
}

static bool is_refused(int fd, const char *why)
{
	char back[200];
	ssize_t n;

	turn();
	n = recv(fd, back, sizeof(back) - 1, 0);
	back[n < 0 ? 0 : n] = '\0';
	return strstr(back, why) != NULL;
}

START_TEST(groups_make_roles)
{
	static const struct {
		uid_t uid;
		gid_t also;
		enum control_role role;
	} who[] = {{1001, 0, CONTROL_READER},
		   {1001, ATTACHERS, CONTROL_APPLICATION},
		   {1001, OPERATORS, CONTROL_OPERATOR},
		   {0, 0, CONTROL_OPERATOR}};

	if (!setup_for_group())
		return;
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		int fd = dial_of(who[i].uid, who[i].also);

		ck_assert(is_served(fd));
		ck_assert_int_eq(role, who[i].role);
		close(fd);
	}
}
END_TEST

START_TEST(the_operators_socket_is_theirs)
{
	struct stat st;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/" CONTROL_OPERATE_NAME, dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600); /* there is no such group */
	if (!setup_for_group())
		return;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0660);
	ck_assert_uint_eq(st.st_gid, OPERATORS);
	ck_assert_int_eq(dial_by_of(CONTROL_OPERATE_NAME, 1001, 0), -1);
	ck_assert_int_eq(dial_by_of(CONTROL_OPERATE_NAME, 1001, ATTACHERS), -1);
	fd = dial_by_of(CONTROL_OPERATE_NAME, 1001, OPERATORS);
	ck_assert(is_served(fd));
	ck_assert_int_eq(role, CONTROL_OPERATOR);
	close(fd);
}
END_TEST

START_TEST(users_cannot_lock_one_another_out)
{
	int fds[CONTROL_MAX_CLIENTS + 1], n = 0;
	uid_t uid = 1001;

	if (!setup_for_group())
		return;
	while (n < CONTROL_PER_USER)
		ck_assert(is_served(fds[n++] = dial_as(uid)));
	ck_assert(is_refused(fds[n] = dial_as(uid), "of this user"));
	close(fds[n]);
	while (n < CONTROL_MAX_CLIENTS - CONTROL_KEPT - CONTROL_KEPT_ATTACH)
		ck_assert(is_served(fds[n++] = dial_as(uid + 1)));
	ck_assert(is_refused(fds[n] = dial_as(uid + 2), "too many clients;"));
	close(fds[n]);
	while (n < CONTROL_MAX_CLIENTS - CONTROL_KEPT) /* readers leave places to applications */
		ck_assert(is_served(fds[n++] = dial_of(uid + 2, ATTACHERS)));
	ck_assert(is_refused(fds[n] = dial_of(uid + 2, ATTACHERS), "too many clients;"));
	close(fds[n]);
	while (n < CONTROL_MAX_CLIENTS)
		ck_assert(is_served(fds[n++] = dial())); /* root */
	ck_assert(is_refused(fds[n] = dial(), "too many clients;"));
	close(fds[n]);
	while (n)
		close(fds[--n]);
}
END_TEST

static unsigned turns_in(double seconds);

/* More than CONTROL_RATE_BURST requests at once, of one user over two connections. */
START_TEST(operators_cannot_lock_root_out)
{
	int fds[CONTROL_MAX_CLIENTS - CONTROL_KEPT_ROOT + 1], fd, n = 0;

	if (!setup_for_group())
		return;
	while (n < CONTROL_MAX_CLIENTS - CONTROL_KEPT_ROOT) {
		fds[n++] = dial_of(1001, OPERATORS);
		turn();
	}
	fds[n] = dial_of(1002, OPERATORS);
	ck_assert(is_refused(fds[n++], "too many clients;"));
	fd = dial();
	ck_assert(is_served(fd));
	close(fd);
	while (n)
		close(fds[--n]);
}
END_TEST

START_TEST(a_user_who_asks_too_much_waits)
{
	enum { EACH = CONTROL_RATE_BURST / 2 + 50, LINE = 17 };
	static char back[1 << 16], lines[EACH * LINE + 1];
	int fds[2], other;
	uint64_t from = clock_now_ns(), most; /* at first, and what a slow machine's time brings */

	if (!setup_for_group())
		return;
	for (int i = 0; i < EACH; i++)
		memcpy(lines + i * LINE, "{\"cmd\":\"planes\"}\n", LINE);
	for (int c = 0; c < 2; c++) {
		fds[c] = dial_as(1001);
		turn();
		ck_assert_int_eq(send(fds[c], lines, EACH * LINE, MSG_NOSIGNAL), EACH * LINE);
	}
	for (int idle = 0; idle < 3;) { /* until nothing is answered any more for now */
		int before = n_requests;

		ev_run(loop, EVRUN_NOWAIT);
		idle = n_requests == before ? idle + 1 : 0;
		for (int c = 0; c < 2; c++)
			while (recv(fds[c], back, sizeof(back), 0) > 0)
				idle = 0;
	}
	ck_assert_int_ge(n_requests, CONTROL_RATE_BURST);
	most = CONTROL_RATE_BURST + 1 + CONTROL_RATE_PER_S * (clock_now_ns() - from) / 1000000000;
	ck_assert_uint_le((unsigned)n_requests, most);
	other = dial_as(1002);
	ck_assert(is_served(other));
	close(other);
	other = dial(); /* root */
	for (int i = 0; i < 20; i++)
		ck_assert(is_served(other));
	while (n_requests < 2 * EACH + 21) /* and then come the rest, at the rate */
		ev_run(loop, EVRUN_ONCE);
	for (int c = 0; c < 2; c++)
		close(fds[c]);
	close(other);
}
END_TEST

START_TEST(watchers_are_few_of_each_user)
{
	int fds[CONTROL_WATCH_PER_USER + 2], n = 0;

	if (!setup_for_group())
		return;
	while (n < CONTROL_WATCH_PER_USER)
		ck_assert_ptr_nonnull(
			strstr(talk(fds[n++] = dial_as(1001), "{\"cmd\":\"watch\"}\n", 16),
			       "\"ok\":true"));
	ck_assert_ptr_nonnull(strstr(talk(fds[0], "{\"cmd\":\"watch\"}\n", 16), "\"ok\":true"));
	ck_assert_ptr_nonnull(
		strstr(talk(fds[n++] = dial_as(1001), "{\"cmd\":\"watch\"}\n", 16), "watch;"));
	ck_assert_ptr_nonnull(
		strstr(talk(fds[n++] = dial_as(1002), "{\"cmd\":\"watch\"}\n", 16), "\"ok\":true"));
	while (n)
		close(fds[--n]);
}
END_TEST

/* A watcher that does not read holds 128 KiB of ours at most. */
static size_t backlog_when_dropped(int fd)
{
	json_t *event = json_pack("{s:o}", "fill", json_sprintf("%01000d", 0));
	static char sink[1 << 20];
	size_t told = 0, taken = 0;
	ssize_t n;

	while (!n_gone) {
		control_send_watchers(control, event);
		told += 1013; /* {"fill":"..."} and a newline, less than that */
	}
	while ((n = recv(fd, sink, sizeof(sink), 0)) > 0)
		taken += (size_t)n;
	json_decref(event);
	return told > taken ? told - taken : 0;
}

START_TEST(a_watchers_backlog_is_bounded)
{
	int fd = dial();

	ck_assert_ptr_nonnull(strstr(talk(fd, "{\"cmd\":\"watch\"}\n", 16), "ok"));
	ck_assert_uint_le(backlog_when_dropped(fd), CONTROL_WATCH_BYTES + 2048);
	close(fd);
}
END_TEST

/* Whoever asks, watches or has a table attached stays; whoever merely sits on a place does not. */
START_TEST(idle_clients_are_dropped)
{
	int idle, asks, watches;

	control_set_idle_s(control, 0.4);
	idle = dial();
	asks = dial();
	watches = dial();
	ck_assert_ptr_nonnull(strstr(talk(watches, "{\"cmd\":\"watch\"}\n", 16), "ok"));
	ck_assert_int_eq(send(idle, "{\"cmd\"", 6, 0), 6); /* a part of a request is none */
	for (int i = 0; i < 8; i++) {
		ck_assert(is_served(asks));
		turns_in(0.1);
	}
	ck_assert_int_eq(n_gone, 1);
	ck_assert(is_served(asks));
	ck_assert(is_served(watches));
	close(idle);
	close(asks);
	close(watches);
}
END_TEST

START_TEST(a_client_that_takes_nothing_is_not_served_ahead)
{
	int fd = dial();

	big_replies = true;
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(send(fd, "{\"cmd\":\"planes\"}\n", 17, MSG_NOSIGNAL), 17);
	turn();
	ck_assert_int_eq(n_requests, 1);
	/* and gets all of it once it reads */
	for (int i = 0; n_requests < 50 && i < 100000; i++) {
		static char sink[1 << 16];

		while (recv(fd, sink, sizeof(sink), 0) > 0)
			;
		ev_run(loop, EVRUN_NOWAIT);
	}
	ck_assert_int_eq(n_requests, 50);
	ck_assert_int_eq(n_gone, 0);
	close(fd);
}
END_TEST

/* Probes wait for one reply at most, whoever asks how much at once. */
START_TEST(one_request_a_turn)
{
	enum { EACH = 100, LINE = 17 };
	int fds[2] = {dial(), dial()};
	unsigned n_turns = 0;
	char back[EACH * 64];

	turn();
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < EACH; i++)
			ck_assert_int_eq(send(fds[c], "{\"cmd\":\"planes\"}\n", LINE, 0), LINE);
	while (n_requests < 2 * EACH) {
		int before = n_requests;

		ev_run(loop, EVRUN_NOWAIT);
		ck_assert_int_le(n_requests, before + 1);
		ck_assert_uint_lt(n_turns++, 10 * EACH);
		if (n_requests == EACH) /* the one who came first is not served first */
			ck_assert_int_lt(recv(fds[0], back, sizeof(back), 0), EACH * 28 * 2 / 3);
	}
	ck_assert_int_eq(n_gone, 0);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(a_watcher_that_falls_behind_is_dropped)
{
	json_t *event = json_pack("{s:o}", "fill", json_sprintf("%065536d", 0));
	int fd = dial(), good = dial();

	ck_assert_ptr_nonnull(strstr(talk(fd, "{\"cmd\":\"watch\"}\n", 16), "ok"));
	ck_assert_ptr_nonnull(strstr(talk(good, "{\"cmd\":\"watch\"}\n", 16), "ok"));
	for (int i = 0; i < 100; i++) {
		static char sink[1 << 20];

		control_send_watchers(control, event);
		turn();
		while (recv(good, sink, sizeof(sink), 0) > 0)
			turn();
	}
	ck_assert_int_eq(n_gone, 1);
	ck_assert_ptr_nonnull(strstr(talk(good, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	json_decref(event);
	close(fd);
	close(good);
}
END_TEST

static void on_over(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)w;
	(void)revents;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop that long; how often it turned. */
static unsigned turns_in(double seconds)
{
	unsigned before = ev_iteration(loop);
	ev_timer over;

	ev_timer_init(&over, on_over, seconds, 0.);
	ev_now_update(loop);
	ev_timer_start(loop, &over);
	ev_run(loop, 0);
	ev_timer_stop(loop, &over);
	return ev_iteration(loop) - before;
}

#define LINGER_S 30 /* for as long would close() sleep */

/* A TCP connection whose receiver takes nothing: closing `fd` waits for it. */
struct lingering {
	int fd, receiver;
};

static struct lingering linger(void)
{
	const struct linger on = {1, LINGER_S};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static char fill[1 << 16];
	struct lingering l;

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &length), 0);
	l.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(l.fd, (struct sockaddr *)&at, sizeof(at)), 0);
	l.receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(l.receiver, 0);
	close(listener);
	while (send(l.fd, fill, sizeof(fill), MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(setsockopt(l.fd, SOL_SOCKET, SO_LINGER, &on, sizeof(on)), 0);
	return l;
}

/* Lets go of it: whoever sleeps in close() wakes up. */
static void end_lingering(struct lingering *l)
{
	const struct linger reset = {1, 0};

	setsockopt(l->receiver, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(l->receiver);
}

/* Passes fds beside text, and keeps none of them. */
static void pass(int to, const char *text, const int *fds, size_t n)
{
	char room[CMSG_SPACE(253 * sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *m = CMSG_FIRSTHDR(&msg);

	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(m), fds, n * sizeof(int));
	ck_assert_int_eq(sendmsg(to, &msg, MSG_NOSIGNAL), (ssize_t)iov.iov_len);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Turns the loop; whether that took less than a third of the time that close() would have slept. */
static bool turns_at_once(void)
{
	ev_tstamp before = ev_time();

	turn();
	return ev_time() - before < LINGER_S / 3.;
}

/* All writing ends of a pipe are closed, some by another thread: its reading end says so. */
static void await_end(int reading)
{
	struct pollfd p = {.fd = reading};

	ck_assert_int_eq(poll(&p, 1, LINGER_S / 2 * 1000), 1);
	close(reading);
}

START_TEST(a_descriptor_that_closes_slowly_holds_nothing_up)
{
	struct lingering l = linger();
	int fd = dial(), ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pass(fd, "{\"cmd\":\"planes\"}\n", &l.fd, 1);
	pass(fd, "{\"cmd\":\"peers\"}\n", &ends[1], 1);
	ck_assert(turns_at_once());
	ck_assert_int_eq(n_requests, 2);
	ck_assert_int_eq(n_with_fd, 2);
	end_lingering(&l);
	await_end(ends[0]);
	close(fd);
}
END_TEST

/* Room for one alone would have the kernel close the others as the message is read. */
START_TEST(nor_do_those_beyond_the_first)
{
	struct lingering l = linger();
	int fd = dial(), ends[2], fds[253];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	for (unsigned i = 0; i < 252; i++)
		fds[i] = dup(ends[1]);
	close(ends[1]);
	fds[252] = l.fd;
	pass(fd, "{\"cmd\":\"planes\"}\n", fds, 253);
	ck_assert(turns_at_once());
	ck_assert_int_eq(n_requests, 1);
	end_lingering(&l);
	await_end(ends[0]);
	close(fd);
}
END_TEST

/* A client that is dropped, or refused, with something of that kind still unread in its socket. */
START_TEST(nor_do_those_in_a_socket_that_is_closed)
{
	static char line[CONTROL_REQUEST_MAX + 100];
	struct lingering l = linger();
	int fd = dial();

	memset(line, 'x', sizeof(line));
	ck_assert_int_eq(send(fd, line, sizeof(line), MSG_NOSIGNAL), (ssize_t)sizeof(line));
	pass(fd, "{}\n", &l.fd, 1);
	ck_assert(turns_at_once());
	ck_assert_int_eq(n_gone, 1);
	end_lingering(&l);
	close(fd);
}
END_TEST

/*
 * While something does not close clients' descriptors are not taken without end, nor are they
 * dropped.
 */
START_TEST(clients_wait_while_too_much_is_to_be_closed)
{
	int fd = dial(), other = dial(), operator, ends[2], fds[DEFERRED_CLOSE_FULL];
	struct lingering l = linger();

	ck_assert_ptr_nonnull(strstr(talk(other, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pass(fd, "{\"cmd\":\"planes\"}\n", &l.fd, 1);
	for (unsigned i = 0; i < DEFERRED_CLOSE_FULL; i++)
		fds[i] = dup(ends[1]);
	close(ends[1]);
	pass(fd, "{\"cmd\":\"planes\"}\n", fds, DEFERRED_CLOSE_FULL);
	ck_assert(turns_at_once());
	ck_assert_int_eq(n_requests, 3);
	ck_assert_str_eq(talk(other, "{\"cmd\":\"peers\"}\n", 16), "");
	ck_assert_uint_lt(turns_in(1.5), 20);
	ck_assert_int_eq(n_requests, 3);
	ck_assert_int_eq(n_waits, 1);
	ck_assert_int_eq(n_gone, 0);
	/* operators do not wait, whatever others have passed */
	operator= dial_by(CONTROL_OPERATE_NAME);
	ck_assert_ptr_nonnull(strstr(talk(operator, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	ck_assert_ptr_nonnull(strstr(talk(operator, "{\"cmd\":\"peers\"}\n", 16), "peers"));
	ck_assert_int_eq(n_requests, 5);
	end_lingering(&l);
	await_end(ends[0]);
	while (n_requests < 6)
		ev_run(loop, EVRUN_ONCE);
	close(fd);
	close(other);
	close(operator);
}
END_TEST

/*
 * Who waits to be accepted keeps the listening socket readable, which must not keep the loop busy.
 */
START_TEST(a_shortage_of_descriptors_makes_clients_wait)
{
	int fd, lowest, first = dial();
	struct rlimit all, few;

	ck_assert_ptr_nonnull(strstr(talk(first, "{\"cmd\":\"planes\"}\n", 17), "planes"));
	fd = dial();
	lowest = dup(fd);
	close(lowest);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	few.rlim_cur = (rlim_t)lowest;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_uint_lt(turns_in(1.5), 20); /* with a second try */
	ck_assert_int_eq(n_waits, 1);
	ck_assert_ptr_nonnull(strstr(talk(first, "{\"cmd\":\"peers\"}\n", 16), "peers"));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_int_eq(send(fd, "{\"cmd\":\"planes\"}\n", 17, MSG_NOSIGNAL), 17);
	while (n_requests < 3) /* the next try; the test's own limit of time ends a wait in vain */
		ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(n_waits, 1);
	close(fd);
	close(first);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control");
	TCase *tc = tcase_create("socket");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_line_one_reply);
	tcase_add_test(tc, an_error_cut_within_a_character_is_told);
	tcase_add_test(tc, what_is_no_character_is_mended);
	tcase_add_test(tc, too_long_a_line_ends_it);
	tcase_add_test(tc, descriptors_come_with_the_request);
	tcase_add_test(tc, clients_are_bounded);
	tcase_add_test(tc, groups_make_roles);
	tcase_add_test(tc, the_operators_socket_is_theirs);
	tcase_add_test(tc, users_cannot_lock_one_another_out);
	tcase_add_test(tc, operators_cannot_lock_root_out);
	tcase_add_test(tc, a_watcher_is_told_of_what_it_asks_for);
	tcase_add_test(tc, idle_clients_are_dropped);
	tcase_add_test(tc, a_client_that_takes_nothing_is_not_served_ahead);
	tcase_add_test(tc, one_request_a_turn);
	tcase_add_test(tc, a_user_who_asks_too_much_waits);
	tcase_add_test(tc, watchers_are_few_of_each_user);
	tcase_add_test(tc, a_watchers_backlog_is_bounded);
	tcase_add_test(tc, a_watcher_that_falls_behind_is_dropped);
	tcase_add_test(tc, a_descriptor_that_closes_slowly_holds_nothing_up);
	tcase_add_test(tc, nor_do_those_beyond_the_first);
	tcase_add_test(tc, nor_do_those_in_a_socket_that_is_closed);
	tcase_add_test(tc, clients_wait_while_too_much_is_to_be_closed);
	tcase_add_test(tc, a_shortage_of_descriptors_makes_clients_wait);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
