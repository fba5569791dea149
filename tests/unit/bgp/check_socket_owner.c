/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections over the loopback device of a namespace of our own, and who is at their other end. */
#include "socket_owner.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bgp_test.h"
#include "own_net.h"

#define OTHER_UID ((uid_t)64001)

struct fixture {
	int listener, ours, theirs;
};

/* Connected, and not accepted yet. */
static void begin(struct fixture *f, const char *address)
{
	struct sockaddr_storage at = {0};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
	socklen_t length = sizeof(at);

	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	f->listener = socket(at.ss_family, SOCK_STREAM, 0);
	f->ours = socket(at.ss_family, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
	ck_assert_int_eq(getsockname(f->listener, (struct sockaddr *)&at, &length), 0);
	ck_assert_int_eq(connect(f->ours, (struct sockaddr *)&at, length), 0);
	ck_assert(socket_owner_is_local(f->ours));
}

static void end(struct fixture *f)
{
	close(f->listener);
	close(f->ours);
}

static void of_ourselves(const char *address)
{
	struct fixture f;
	uid_t uid = 77;

	begin(&f, address);
	ck_assert_int_eq(socket_owner_uid(f.ours, &uid), -ENOTCONN); /* not accepted yet */
	f.theirs = accept(f.listener, NULL, NULL);
	ck_assert_int_eq(socket_owner_uid(f.ours, &uid), 0);
	ck_assert_uint_eq(uid, geteuid());
	close(f.theirs); /* the listener is still there, and does not count */
	uid = 77;
	ck_assert_int_eq(socket_owner_uid(f.ours, &uid), -ENOTCONN);
	ck_assert_uint_eq(uid, 77);
	end(&f);
}

START_TEST(only_who_has_accepted_is_at_the_other_end)
{
	of_ourselves("127.0.0.1");
	of_ourselves("::1");
	of_ourselves("::ffff:127.0.0.1");
}
END_TEST

/* After a reset there is only the listener, which may be another user's than the connection was. */
START_TEST(a_listener_does_not_count)
{
	const struct linger reset = {.l_onoff = 1};
	struct fixture f;
	uid_t uid;

	begin(&f, "127.0.0.1");
	f.theirs = accept(f.listener, NULL, NULL);
	ck_assert_int_eq(write(f.theirs, "routes", 6), 6);
	ck_assert_int_eq(setsockopt(f.theirs, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(f.theirs);
	ck_assert_int_ne(socket_owner_uid(f.ours, &uid), 0);
	end(&f);
}
END_TEST

START_TEST(another_user_is_told_from_us)
{
	struct fixture f;
	int status, done[2];
	uid_t uid = 77;
	pid_t child;
	char byte;

	if (geteuid() != 0) {
		puts("skipped: it takes root to become somebody else");
		return;
	}
	begin(&f, "127.0.0.1");
	ck_assert_int_eq(pipe(done), 0);
	child = fork();
	if (!child) {
		close(done[1]);
		f.theirs = setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
				   ? -1
				   : accept(f.listener, NULL, NULL);
		_exit(f.theirs < 0 || write(f.theirs, "x", 1) != 1 || read(done[0], &byte, 1) != 0);
	}
	ck_assert_int_eq(recv(f.ours, &byte, 1, 0), 1); /* so it has been accepted */
	ck_assert_int_eq(socket_owner_uid(f.ours, &uid), 0);
	ck_assert_uint_eq(uid, OTHER_UID);
	close(done[0]);
	close(done[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	end(&f);
}
END_TEST

START_TEST(what_is_no_connection_is_an_error)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uid_t uid;

	ck_assert_int_lt(socket_owner_uid(fd, &uid), 0);
	ck_assert(socket_owner_is_local(fd)); /* so that it is asked for */
	close(fd);
}
END_TEST

static void has_connections(const char *expected)
{
	struct socket_owner_connections all;
	char text[200] = "";

	ck_assert_int_eq(socket_owner_link_local(&all), 0);
	for (size_t i = 0; i < all.n; i++) {
		const struct socket_owner_connection *c = &all.rows[i];
		const struct in6_addr at = addr("fe80::1");
		size_t n = strlen(text);

		ck_assert(IN6_ARE_ADDR_EQUAL(&c->local, &at));
		ck_assert(IN6_ARE_ADDR_EQUAL(&c->remote, &at));
		ck_assert(c->local_port == 1790 || c->remote_port == 1790);
		snprintf(text + n, sizeof(text) - n, "%s%c ", c->dev,
			 c->local_port == 1790 ? 'a' : 'c');
	}
	socket_owner_free(&all);
	ck_assert_str_eq(text, expected);
}

/* One end of a pair of links, whose ends all have the same address; sockets are bound to theirs. */
START_TEST(a_connection_is_over_its_device_alone)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6, .sin6_addr = addr("fe80::1"), .sin6_port = htons(1790)};
	struct fixture f;

	if (system("ip link add d0 up type veth peer name p0 && ip link set p0 up && "
		   "ip link add d1 up type veth peer name p1 && ip link set p1 up && "
		   "ip addr add fe80::1/64 dev d0 nodad && ip addr add fe80::1/64 dev d1 nodad")) {
		puts("skipped: no veth can be made");
		return;
	}
	has_connections("");
	at.sin6_scope_id = if_nametoindex("d0");
	f.listener = socket(AF_INET6, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f.listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(f.listener, 1), 0);
	f.ours = socket(AF_INET6, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(f.ours, (struct sockaddr *)&at, sizeof(at)), 0);
	has_connections("d0c "); /* the other end is not accepted */
	f.theirs = accept(f.listener, NULL, NULL);
	close(f.theirs);
	has_connections(""); /* half closed is no connection any more */
	end(&f);
}
END_TEST

/* On all addresses of both families, of IPv4, or on that one. */
static void is_found(const char *bound_to, const char *address)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(7784)};
	struct socket_owner owner;
	struct in6_addr wanted, other;
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	ck_assert_int_eq(inet_pton(AF_INET6, bound_to, &at.sin6_addr), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, address, &wanted), 1);
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:127.0.0.9", &other), 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(socket_owner_of_port(&wanted, 7784, &owner), 0);
	ck_assert_uint_eq(owner.uid, geteuid());
	ck_assert_int_eq(owner.pid, 0);
	socket_owner_find_process(&owner);
	ck_assert_int_eq(owner.pid, getpid());
	ck_assert_int_gt(strlen(owner.name), 0);
	ck_assert_int_eq(socket_owner_of_port(&wanted, 7785, &owner), -ENOENT);
	if (!IN6_IS_ADDR_UNSPECIFIED(&at.sin6_addr))
		ck_assert_int_eq(socket_owner_of_port(&other, 7784, &owner), -ENOENT);
	close(fd);
	ck_assert_int_eq(socket_owner_of_port(&wanted, 7784, &owner), -ENOENT);
}

START_TEST(who_holds_a_port_is_found)
{
	is_found("::", "::ffff:127.0.0.1");
	is_found("::", "::1");
	is_found("::ffff:127.0.0.1", "::ffff:127.0.0.1");
	is_found("::1", "::1");
}
END_TEST

RUN_TESTS_IN(own_net, "socket_owner", who_holds_a_port_is_found,
	     only_who_has_accepted_is_at_the_other_end, a_listener_does_not_count,
	     another_user_is_told_from_us, what_is_no_connection_is_an_error,
	     a_connection_is_over_its_device_alone)
