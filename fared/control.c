/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "deferred_close.h"
#include "control_listener.h"
#include "control_rate.h"
#include "base/utf8.h"

#define PAUSE_S	   1. /* so long clients wait where there are no descriptors, or too many */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(10))

enum { FOR_ALL, FOR_OPERATORS, LISTENERS };

struct listener {
	struct control *control;
	struct control_listener socket;
	bool for_operators;
	ev_io accept;
};

struct client {
	struct control *control; /* NULL: free slot */
	struct control_client who;
	bool by_operate_socket;
	int fd;
	int passed_fd; /* came with the request being read; -1: none */
	ev_io rx, tx;
	ev_timer slow;
	ev_timer idle; /* since it connected, or its last reply left */
	char in[CONTROL_REQUEST_MAX + 1];
	size_t in_length;
	char *out;
	size_t out_length, out_sent;
	bool is_answered;     /* its request is being answered: it is sent more, and not dropped */
	const char *drop_why; /* it is dropped after that, and why; NULL: it stays */
};

struct control {
	struct ev_loop *loop;
	struct control_handlers handlers;
	void *arg;
	struct control_groups groups;
	double idle_s;
	struct listener listeners[LISTENERS];
	ev_timer again; /* active: clients that are to wait do, until then */
	ev_timer turn;	/* active: a request waits, for the next turn of the loop or its rate */
	unsigned next;	/* the client whose turn it is */
	bool has_said;	/* that they wait */
	struct control_rate rate;
	struct deferred_close *closing;
	struct client clients[CONTROL_MAX_CLIENTS];
};

json_t *control_error(const char *text)
{
	char whole[CONTROL_REQUEST_MAX];
	json_t *reply;

	/* it may cite what a client or a file said, cut to fit */
	snprintf(whole, sizeof(whole), "%s", text);
	utf8_trim(whole);
	reply = json_pack("{s:b, s:s}", "ok", 0, "error", whole);
	return reply ? reply : json_pack("{s:b, s:s}", "ok", 0, "error", "(not UTF-8)");
}

/* The client is sent it at once. Closing may take longer: what it passed may be queued in there. */
static void hang_up(struct control *control, int fd)
{
	shutdown(fd, SHUT_RDWR);
	deferred_close_take(control->closing, fd);
}

static void control_drop(struct client *c, const char *why)
{
	struct control *control = c->control;
	char line[160];

	if (why) {
		snprintf(line, sizeof(line), "client dropped pid=%d uid=%u reason=\"%s\"",
			 (int)c->who.pid, (unsigned)c->who.uid, why);
		control->handlers.on_log(control->arg, LOG_INFO, line);
	}
	control->handlers.on_gone(control->arg, &c->who);
	ev_io_stop(control->loop, &c->rx);
	ev_io_stop(control->loop, &c->tx);
	ev_timer_stop(control->loop, &c->slow);
	ev_timer_stop(control->loop, &c->idle);
	hang_up(control, c->fd);
	deferred_close_take(control->closing, c->passed_fd);
	free(c->out);
	c->control = NULL;
}

/* ---- out ----------------------------------------------------------------- */

/* One line, from malloc(); NULL: no memory, or a text in it is not UTF-8. */
static char *line_of(const json_t *json, size_t *length)
{
	size_t n = json ? json_dumpb(json, NULL, 0, DUMP_FLAGS) : 0;
	char *line = n ? malloc(n + 1) : NULL;

	if (!line)
		return NULL;
	json_dumpb(json, line, n, DUMP_FLAGS);
	line[n] = '\n';
	*length = n + 1;
	return line;
}

static bool append(struct client *c, const char *line, size_t length)
{
	size_t kept = c->out_length - c->out_sent;
	char *grown;

	if (kept)
		memmove(c->out, c->out + c->out_sent, kept);
	c->out_length = kept;
	c->out_sent = 0;
	grown = realloc(c->out, kept + length);
	if (!grown)
		return false;
	c->out = grown;
	memcpy(c->out + kept, line, length);
	c->out_length = kept + length;
	return true;
}

/* Sends what the socket takes. While something is left nothing is read. false: the client is gone.
 */
static bool flush(struct client *c)
{
	struct control *control = c->control;

	while (c->out_sent < c->out_length) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_length - c->out_sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			control_drop(c, NULL);
			return false;
		}
		if (n < 0) {
			ev_io_stop(control->loop, &c->rx);
			ev_io_start(control->loop, &c->tx);
			if (!ev_is_active(&c->slow))
				ev_timer_again(control->loop, &c->slow);
			return true;
		}
		c->out_sent += (size_t)n;
		ev_timer_stop(control->loop, &c->slow); /* it takes something: not dead */
	}
	free(c->out);
	c->out = NULL;
	c->out_length = c->out_sent = 0;
	ev_io_stop(control->loop, &c->tx);
	ev_timer_again(control->loop, &c->idle);
	return true;
}

static bool has_request(const struct client *c)
{
	return !c->out && memchr(c->in, '\n', c->in_length);
}

/* In so many seconds, or before. */
static void await_turn(struct control *control, double seconds)
{
	if (ev_is_active(&control->turn) &&
	    ev_timer_remaining(control->loop, &control->turn) <= seconds)
		return;
	ev_timer_stop(control->loop, &control->turn);
	ev_timer_set(&control->turn, seconds, 0.);
	ev_timer_start(control->loop, &control->turn);
}

/* Next for a client: its reply leaves; or its request waits for its turn; or it is read. */
static void go_on(struct client *c)
{
	struct control *control = c->control;

	if (c->out)
		return;
	if (!has_request(c) && c->in_length == sizeof(c->in)) {
		control_drop(c, "request too long");
	} else if (has_request(c)) {
		ev_io_stop(control->loop, &c->rx);
		await_turn(control, 0.);
	} else {
		ev_io_start(control->loop, &c->rx);
	}
}

/* A client whose last reply has left, if that is what on_request asked for. */
static bool dropped_when_sent(struct client *c)
{
	if (!c->who.finished || c->out)
		return false;
	control_drop(c, NULL);
	return true;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct client *c = w->data;

	(void)loop;
	(void)revents;
	if (flush(c) && !dropped_when_sent(c))
		go_on(c);
}

static void on_slow(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	control_drop(w->data, "takes no data");
}

/* Watching and an attached table are uses of a connection on which nothing more is asked. */
static void on_idle(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct client *c = w->data;

	(void)revents;
	if (c->who.watching || c->who.tracing || c->who.attached >= 0)
		ev_timer_stop(loop, w);
	else if (!c->out)
		control_drop(c, "asks nothing");
}

/* While its own request is answered, others hold on to it: control_answer() drops it then. */
static void drop_or_mark(struct client *c, const char *why)
{
	if (c->is_answered)
		c->drop_why = why;
	else
		control_drop(c, why);
}

/* line NULL: no memory for it. */
static void control_send_line(struct client *c, const char *line, size_t length)
{
	if (c->drop_why)
		return;
	if (line && c->out_length - c->out_sent + length > CONTROL_WATCH_BYTES)
		drop_or_mark(c, "too far behind");
	else if (!line || !append(c, line, length))
		drop_or_mark(c, "out of memory");
	else if (!c->is_answered && flush(c) && !dropped_when_sent(c))
		go_on(c);
}

void control_send_watchers(struct control *control, const json_t *event)
{
	size_t length = 0;
	char *line = NULL;

	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++) {
		struct client *c = &control->clients[i];

		if (!c->control || !c->who.watching)
			continue;
		if (!line)
			line = line_of(event, &length);
		control_send_line(c, line, length);
	}
	free(line);
}

void control_send(struct control *control, struct control_client *client, const json_t *json)
{
	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++) {
		struct client *c = &control->clients[i];
		size_t length = 0;
		char *line;

		if (!c->control || &c->who != client)
			continue;
		line = line_of(json, &length);
		control_send_line(c, line, length);
		free(line);
	}
}

/* ---- in ------------------------------------------------------------------ */

static bool may_watch(const struct client *c)
{
	const struct control *control = c->control;
	unsigned n = 0;

	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++)
		n += control->clients[i].control && control->clients[i].who.watching &&
		     control->clients[i].who.uid == c->who.uid;
	return c->who.watching || c->who.role == CONTROL_OPERATOR || n < CONTROL_WATCH_PER_USER;
}

static json_t *reply_to(struct client *c, const char *line, size_t length)
{
	struct control *control = c->control;
	struct control_request request;
	char why[200];

	if (control_request_parse(line, length, &request, why, sizeof(why)))
		return control_error(why);
	if (request.command == CONTROL_WATCH && !may_watch(c))
		return control_error("too many clients of this user watch; end one and try again");
	return control->handlers.on_request(control->arg, &c->who, &request, c->passed_fd);
}

static bool control_answer(struct client *c, const char *request, size_t request_length)
{
	size_t length = 0;
	json_t *reply;
	char *line;

	c->is_answered = true;
	reply = reply_to(c, request, request_length);
	c->is_answered = false;
	line = line_of(reply, &length);
	if (!c->drop_why && (!line || !append(c, line, length)))
		c->drop_why = "out of memory";
	deferred_close_take(c->control->closing, c->passed_fd);
	c->passed_fd = -1;
	free(line);
	json_decref(reply);
	if (c->drop_why) {
		control_drop(c, c->drop_why);
		return false;
	}
	return flush(c) && !dropped_when_sent(c);
}

/* Answers the first line in the buffer. */
static void take_request(struct client *c)
{
	char line[CONTROL_REQUEST_MAX + 1], *end = memchr(c->in, '\n', c->in_length);
	size_t length = (size_t)(end - c->in);

	memcpy(line, c->in, length);
	c->in_length -= length + 1;
	memmove(c->in, end + 1, c->in_length);
	if (control_answer(c, line, length))
		go_on(c);
}

/* 0: it is answered now. */
static uint64_t must_wait_ns(struct control *control, const struct client *c)
{
	return c->who.role == CONTROL_OPERATOR
		       ? 0
		       : control_rate_take(&control->rate, c->who.uid, clock_now_ns());
}

/*
 * One request in each turn of the loop, clients in turn. So probes wait for one reply at most,
 * however many clients ask; and those of a user who has asked too much wait.
 */
static void on_turn(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct control *control = w->data;
	uint64_t shortest = UINT64_MAX;

	(void)loop;
	(void)revents;
	for (unsigned i = 0; i < CONTROL_MAX_CLIENTS; i++) {
		struct client *c = &control->clients[control->next];
		uint64_t wait;

		control->next = (control->next + 1) % CONTROL_MAX_CLIENTS;
		if (!c->control || !has_request(c))
			continue;
		wait = must_wait_ns(control, c);
		if (wait) {
			shortest = wait < shortest ? wait : shortest;
			continue;
		}
		await_turn(control, 0.); /* there may be more */
		take_request(c);
		return;
	}
	if (shortest != UINT64_MAX)
		await_turn(control, (double)shortest / 1e9);
}

/* Keeps the first descriptor of a request and has the rest closed. */
static void take_descriptors(struct client *c, struct msghdr *msg)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m; m = CMSG_NXTHDR(msg, m)) {
		size_t n;

		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(m) + i * sizeof(fd), sizeof(fd));
			if (c->passed_fd < 0)
				c->passed_fd = fd;
			else
				deferred_close_take(c->control->closing, fd);
		}
	}
}

/* Who waits stays readable to us, and would have the loop turn for nothing. */
static void pause_reading(struct control *control, ev_io *w, const char *why)
{
	char line[200];

	ev_io_stop(control->loop, w);
	if (!ev_is_active(&control->again))
		ev_timer_again(control->loop, &control->again);
	if (control->has_said)
		return;
	control->has_said = true;
	snprintf(line, sizeof(line), "clients have to wait: %s", why);
	control->handlers.on_log(control->arg, LOG_WARNING, line);
}

/* Former clients' descriptors are still to be closed: reading brings more. */
static bool waits_for_closer(struct control *control, ev_io *w)
{
	if (!deferred_close_is_full(control->closing))
		return false;
	pause_reading(control, w,
		      "what former ones have passed does not close (a lingering socket, a hung "
		      "file system); "
		      "see /proc/PID/fd and end its owner");
	return true;
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct control *control = w->data;

	(void)revents;
	/* who operates need not wait for what others have passed */
	ev_io_start(loop, &control->listeners[FOR_OPERATORS].accept);
	if (deferred_close_is_full(control->closing))
		return;
	ev_timer_stop(loop, w);
	for (int i = 0; i < LISTENERS; i++)
		ev_io_start(loop, &control->listeners[i].accept);
	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++)
		if (control->clients[i].control)
			go_on(&control->clients[i]);
}

/*
 * There is room for all that a message can bring: what does not fit the kernel would close here and
 * now.
 */
static void control_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct client *c = w->data;
	char room[CMSG_SPACE(CONTROL_MAX_PASSED * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {c->in + c->in_length, sizeof(c->in) - c->in_length};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n;

	(void)loop;
	(void)revents;
	if (!c->by_operate_socket && waits_for_closer(c->control, w))
		return;
	n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		control_drop(c, NULL);
		return;
	}
	take_descriptors(c, &msg);
	c->in_length += (size_t)n;
	go_on(c);
}

/* ---- who ----------------------------------------------------------------- */

static void start_client(struct control *control, struct client *c, int fd,
			 const struct control_client *who)
{
	*c = (struct client){.control = control, .who = *who, .fd = fd, .passed_fd = -1};
	ev_io_init(&c->rx, control_on_readable, fd, EV_READ);
	ev_io_init(&c->tx, on_writable, fd, EV_WRITE);
	ev_timer_init(&c->slow, on_slow, 0., CONTROL_SLOW_S);
	ev_timer_init(&c->idle, on_idle, 0., control->idle_s);
	c->rx.data = c->tx.data = c->slow.data = c->idle.data = c;
	ev_timer_again(control->loop, &c->idle);
	ev_io_start(control->loop, &c->rx);
}

static void control_refuse(struct control *control, int fd, const char *why)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "{\"ok\":false,\"error\":\"%s\"}\n", why);

	send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	hang_up(control, fd);
	snprintf(line, sizeof(line), "client refused reason=\"%s\"", why);
	control->handlers.on_log(control->arg, LOG_INFO, line);
}

/* So many places are not for it. */
static unsigned kept_from(const struct control_client *who)
{
	switch (who->role) {
	case CONTROL_OPERATOR:
		return who->uid ? CONTROL_KEPT_ROOT : 0;
	case CONTROL_APPLICATION:
		return CONTROL_KEPT;
	case CONTROL_READER:
		break;
	}
	return CONTROL_KEPT + CONTROL_KEPT_ATTACH;
}

/* A free place that it may have, or NULL and why not. */
static struct client *find_place(struct control *control, const struct control_client *who,
				 const char **why)
{
	unsigned n_free = 0, n_own = 0;
	struct client *place = NULL;

	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++) {
		struct client *c = &control->clients[i];

		n_own += c->control && c->who.uid == who->uid;
		n_free += !c->control;
		if (!c->control && !place)
			place = c;
	}
	*why = NULL;
	if (n_free <= kept_from(who))
		*why = "too many clients; close one and try again";
	else if (who->role != CONTROL_OPERATOR && n_own >= CONTROL_PER_USER)
		*why = "too many clients of this user; close one and try again";
	return *why ? NULL : place;
}

static bool is_shortage(int rc)
{
	return rc == EMFILE || rc == ENFILE || rc == ENOBUFS || rc == ENOMEM;
}

/* The next connection; -1: none, or none can be had now. */
static int accept_next(struct listener *listener)
{
	int fd = accept4(listener->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char why[120];

	if (fd >= 0) {
		listener->control->has_said = false;
	} else if (is_shortage(errno)) {
		snprintf(why, sizeof(why), "%s; raise LimitNOFILE= or ulimit -n, see fared(8)",
			 strerror(errno));
		pause_reading(listener->control, &listener->accept, why);
	}
	return fd;
}

static void on_accept(struct ev_loop *loop, ev_io *w, int revents)
{
	struct listener *listener = w->data;
	struct control *control = listener->control;
	struct control_client who;
	struct client *place;
	const char *refusal;
	int fd;

	(void)loop;
	(void)revents;
	if (!listener->for_operators && waits_for_closer(control, w))
		return;
	fd = accept_next(listener);
	if (fd < 0)
		return;
	if (!control_listener_admit(fd, &control->groups, &who) ||
	    (listener->for_operators && who.role != CONTROL_OPERATOR)) {
		control_refuse(
			control, fd,
			"permission denied: only root, the daemon's user and members of its group "
			"may ask");
		return;
	}
	place = find_place(control, &who, &refusal);
	if (!place) {
		control_refuse(control, fd, refusal);
		return;
	}
	start_client(control, place, fd, &who);
	place->by_operate_socket = listener->for_operators;
}

/* ---- life ---------------------------------------------------------------- */

static int open_listener(struct control *c, int i, const char *run_dir, const char *name, uid_t uid,
			 gid_t gid)
{
	struct listener *listener = &c->listeners[i];
	int rc = control_listener_open(&listener->socket, run_dir, name, uid, gid);

	if (rc)
		return rc;
	listener->control = c;
	listener->for_operators = i == FOR_OPERATORS;
	ev_io_init(&listener->accept, on_accept, listener->socket.fd, EV_READ);
	listener->accept.data = listener;
	ev_io_start(c->loop, &listener->accept);
	return 0;
}

int control_create(struct control **out, struct ev_loop *loop, const char *run_dir, uid_t uid,
		   const struct control_groups *groups, const struct control_handlers *handlers,
		   void *arg)
{
	struct control *c = calloc(1, sizeof(*c));
	int rc;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->loop = loop;
	c->handlers = *handlers;
	c->arg = arg;
	c->groups = *groups;
	c->idle_s = CONTROL_IDLE_S;
	ev_timer_init(&c->again, on_again, 0., PAUSE_S);
	ev_init(&c->turn, on_turn);
	c->again.data = c->turn.data = c;
	rc = deferred_close_create(&c->closing);
	if (!rc)
		rc = open_listener(c, FOR_ALL, run_dir, CONTROL_NAME, uid, groups->read);
	if (!rc)
		rc = open_listener(c, FOR_OPERATORS, run_dir, CONTROL_OPERATE_NAME, uid,
				   groups->operate);
	if (rc) {
		control_destroy(c);
		return rc;
	}
	*out = c;
	return 0;
}

void control_set_idle_s(struct control *c, double idle_s)
{
	c->idle_s = idle_s;
}

void control_destroy(struct control *c)
{
	if (!c)
		return;
	for (int i = 0; i < CONTROL_MAX_CLIENTS; i++)
		if (c->clients[i].control)
			control_drop(&c->clients[i], NULL);
	for (int i = 0; i < LISTENERS; i++) {
		if (!c->listeners[i].control)
			continue;
		ev_io_stop(c->loop, &c->listeners[i].accept);
		control_listener_close(&c->listeners[i].socket);
	}
	ev_timer_stop(c->loop, &c->again);
	ev_timer_stop(c->loop, &c->turn);
	deferred_close_destroy(c->closing);
	free(c);
}
