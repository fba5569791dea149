/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP sockets, one connection per QP: length-less messages behind a slot number, small ones
 * gathered into large writes and read through a buffer, large ones read to where they belong.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "micro/transport/method.h"
#include "base/address.h"

#define PORT		9000
#define QUEUE		1024 /* at least the slots */
#define GATHER		64
#define BUFFER_BYTES	(256u << 10)
#define UNSENT_BYTES	(128 << 10) /* tuned: what waits in the socket stays in the cache */
#define RX_BUFFER_BYTES (1 << 20)
#define DIRECT_BYTES	(32u << 10) /* from here on payload is read to its place */

struct tcp_connection {
	int fd;
	unsigned queue[QUEUE];
	uint64_t head, tail; /* messages written, posted */
	size_t written;	     /* of the message at head, its slot number included */
	/* received, not yet understood */
	uint8_t *buffer;
	size_t buffered;
	/* the message that arrives: payload bytes still to come */
	size_t missing;
	unsigned slot;
};

struct tcp_method {
	const struct transport_end *end;
	int epoll_fd;
	uint64_t numbers[QUEUE]; /* slot numbers as they are sent */
	struct tcp_connection connection[TRANSPORT_MAX_QPS];
};

static int method_tcp_set_up(struct tcp_method *t, struct tcp_connection *c)
{
	struct epoll_event event = {.events = EPOLLIN};
	int one = 1, unsent = UNSENT_BYTES, buffer = RX_BUFFER_BYTES;

	if (c->fd < 0)
		return -errno;
	c->buffer = malloc(BUFFER_BYTES);
	if (!c->buffer)
		return -ENOMEM;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (t->end->method->is_tuned) {
		setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
	}
	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) ? -errno : 0;
}

static int tcp_open(struct transport_end *end, void **state)
{
	struct tcp_method *t = calloc(1, sizeof(*t));
	struct in6_addr address = transport_address(end->who ? end->local : end->remote);
	struct sockaddr_storage at;
	socklen_t bytes = address_to_socket(&address, PORT, &at);
	int listener = -1, err = 0;
	int one = 1;
	char byte = 0;

	*state = t;
	if (!t)
		return -ENOMEM;
	t->end = end;
	for (unsigned i = 0; i < QUEUE; i++)
		t->numbers[i] = i;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (end->who) {
		listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (listener < 0 ||
		    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    bind(listener, (struct sockaddr *)&at, bytes) ||
		    listen(listener, TRANSPORT_MAX_QPS))
			return -errno;
	}
	err = transport_exchange(end, &byte, &byte, 1);
	for (unsigned i = 0; !err && i < end->qps; i++) {
		struct tcp_connection *c = &t->connection[i];

		c->fd = end->who ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
				 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!end->who && c->fd >= 0 && connect(c->fd, (struct sockaddr *)&at, bytes))
			err = -errno;
		if (!err)
			err = method_tcp_set_up(t, c);
	}
	if (listener >= 0)
		close(listener);
	return err;
}

/* Writes what is posted; slots that left go to done. */
static int tx(struct tcp_method *t, struct tcp_connection *c, unsigned *done, int max)
{
	struct iovec iov[2 * GATHER];
	size_t whole = sizeof(uint64_t) + t->end->bytes;
	int n_iov = 0, n_done = 0;
	ssize_t n;

	for (uint64_t i = c->head; i < c->tail && n_iov < 2 * GATHER && (int)(i - c->head) < max;
	     i++) {
		unsigned slot = c->queue[i % QUEUE];
		size_t skip = i == c->head ? c->written : 0, inside;

		if (skip < sizeof(uint64_t))
			iov[n_iov++] = (struct iovec){(uint8_t *)&t->numbers[slot] + skip,
						      sizeof(uint64_t) - skip};
		inside = skip > sizeof(uint64_t) ? skip - sizeof(uint64_t) : 0;
		iov[n_iov++] = (struct iovec){t->end->memory + slot * t->end->stride + inside,
					      t->end->bytes - inside};
	}
	if (!n_iov)
		return 0;
	n = sendmsg(c->fd, &(struct msghdr){.msg_iov = iov, .msg_iovlen = (size_t)n_iov},
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (c->written += (size_t)n; c->written >= whole && c->head < c->tail; c->written -= whole)
		done[n_done++] = c->queue[c->head++ % QUEUE];
	return n_done;
}

static uint8_t *method_tcp_place(const struct tcp_method *t, const struct tcp_connection *c)
{
	return t->end->memory + c->slot * t->end->stride + t->end->bytes - c->missing;
}

/* Puts buffered bytes where they belong. */
static int deliver(struct tcp_method *t, struct tcp_connection *c)
{
	size_t at = 0;

	for (;;) {
		size_t n = c->buffered - at;

		if (c->missing) {
			n = n < c->missing ? n : c->missing;
			memcpy(method_tcp_place(t, c), c->buffer + at, n);
			c->missing -= n;
		} else if (n >= sizeof(uint64_t)) {
			uint64_t number;

			memcpy(&number, c->buffer + at, sizeof(number));
			if (number >= t->end->slots)
				return -EBADMSG;
			c->slot = (unsigned)number;
			c->missing = t->end->bytes;
			n = sizeof(number);
		} else {
			break;
		}
		at += n;
		if (!n)
			break;
	}
	memmove(c->buffer, c->buffer + at, c->buffered - at);
	c->buffered -= at;
	return 0;
}

/* Reads once. 1: something came. */
static int rx(struct tcp_method *t, struct tcp_connection *c)
{
	size_t direct = c->missing >= DIRECT_BYTES ? c->missing : 0;
	struct iovec iov[2] = {
		{direct ? method_tcp_place(t, c) : NULL, direct},
		/*
			        * of a large message only the next one's number comes through the
			        * buffer
			        */
		{c->buffer + c->buffered, direct ? sizeof(uint64_t) : BUFFER_BYTES - c->buffered}};
	ssize_t n = recvmsg(c->fd, &(struct msghdr){.msg_iov = iov, .msg_iovlen = 2}, MSG_DONTWAIT);

	if (n <= 0)
		return n == 0 || errno == EAGAIN ? 0 : -errno;
	if ((size_t)n < direct) {
		c->missing -= (size_t)n;
		return 1;
	}
	c->missing -= direct;
	c->buffered += (size_t)n - direct;
	return deliver(t, c) ? -EBADMSG : 1;
}

static int tcp_post(void *state, unsigned slot)
{
	struct tcp_method *t = state;
	struct tcp_connection *c = &t->connection[slot % t->end->qps];
	unsigned done[GATHER];
	int err = 0;

	c->queue[c->tail++ % QUEUE] = slot;
	if (t->end->latency)
		err = tx(t, c, done, GATHER);
	return err < 0 ? err : 0;
}

static int tcp_progress(void *state, unsigned *done, int max)
{
	struct tcp_method *t = state;
	int n_done = 0;

	for (unsigned i = 0; i < t->end->qps; i++) {
		struct tcp_connection *c = &t->connection[i];
		int n = c->head < c->tail && n_done < max ? tx(t, c, done + n_done, max - n_done)
							  : 0;

		if (n < 0)
			return n;
		n_done += n;
		n = t->end->who || t->end->latency ? rx(t, c) : 0;
		if (n < 0)
			return n;
	}
	return n_done;
}

static int tcp_fd(void *state)
{
	struct tcp_method *t = state;

	return t->end->who ? t->epoll_fd : -1; /* the sender waits for room: it may as well look */
}

static void tcp_close(void *state)
{
	struct tcp_method *t = state;

	for (unsigned i = 0; i < t->end->qps; i++) {
		close(t->connection[i].fd);
		free(t->connection[i].buffer);
	}
	close(t->epoll_fd);
	free(t);
}

#define TCP_METHOD                                                                                 \
	.many_qps = true, .open = tcp_open, .post = tcp_post, .progress = tcp_progress,            \
	.fd = tcp_fd, .close = tcp_close

const struct transport_method transport_tcp = {
	.name = "tcp", .what = "TCP sockets, a connection per QP, buffers up to 64 MB", TCP_METHOD};
const struct transport_method transport_tcp_tuned = {
	.name = "tcp-tuned",
	.what = "the same, with little unsent and a buffer that fits a cache",
	.is_tuned = true,
	TCP_METHOD};
