/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/tcp_flows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define TCP_FLOWS_PACE_NS  5000000
#define TCP_FLOWS_POLL_MS  50
#define TCP_FLOWS_ACCEPT_S 15 /* without a further connection: the sender has failed */

struct tcp_flows {
	struct pollfd fds[TCP_FLOWS_MAX];
	uint64_t last_ns[TCP_FLOWS_MAX], gap_ns;
	char buffer[65536];
};

static int tcp_flows_address(const char *text, uint16_t port, struct sockaddr_in *out)
{
	*out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	return inet_pton(AF_INET, text, &out->sin_addr) == 1 ? 0 : -EINVAL;
}

static void tcp_flows_close(const struct tcp_flows *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (f->fds[i].fd >= 0)
			close(f->fds[i].fd);
}

/* ---- the receiver ---------------------------------------------------------- */

static int tcp_flows_listen(const char *address, uint16_t port, unsigned n)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	const struct timeval patience = {.tv_sec = TCP_FLOWS_ACCEPT_S};
	struct sockaddr_in at;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	err = tcp_flows_address(address, port, &at);
	if (!err && (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, (int)n)))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void tcp_flows_gap(struct tcp_flows *f, unsigned i, uint64_t now)
{
	if (f->last_ns[i] && now - f->last_ns[i] > f->gap_ns)
		f->gap_ns = now - f->last_ns[i];
}

static void tcp_flows_take(struct tcp_flows *f, unsigned i, uint64_t now,
			   struct tcp_flows_received *out)
{
	ssize_t n = recv(f->fds[i].fd, f->buffer, sizeof(f->buffer), MSG_DONTWAIT);
	uint64_t bin = (now - out->from_ns) / TCP_FLOWS_BIN_NS;

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN) {
			close(f->fds[i].fd);
			f->fds[i].fd = -1;
		}
		return;
	}
	tcp_flows_gap(f, i, now);
	f->last_ns[i] = now;
	if (bin < out->n_bins)
		out->bytes[bin] += (uint64_t)n;
}

/* One that received nothing from the beginning counts from the beginning. */
static void tcp_flows_read(struct tcp_flows *f, unsigned n, double seconds,
			   struct tcp_flows_received *out)
{
	uint64_t now = out->from_ns, end = now + (uint64_t)(seconds * 1e9), ended_ns;

	while (now < end) {
		poll(f->fds, n, TCP_FLOWS_POLL_MS);
		now = clock_now_ns();
		for (unsigned i = 0; i < n; i++)
			if (f->fds[i].fd >= 0 && f->fds[i].revents)
				tcp_flows_take(f, i, now, out);
	}
	ended_ns = f->gap_ns;
	for (unsigned i = 0; i < n; i++) {
		if (!f->last_ns[i])
			f->last_ns[i] = out->from_ns;
		tcp_flows_gap(f, i, now);
	}
	out->gap_is_open = f->gap_ns > ended_ns;
}

int tcp_flows_receive(const char *address, uint16_t port, unsigned n, double seconds,
		      struct tcp_flows_received *out)
{
	int listener = n <= TCP_FLOWS_MAX ? tcp_flows_listen(address, port, n) : -E2BIG;
	struct tcp_flows f = {0};
	unsigned accepted = 0;
	int err = listener < 0 ? listener : 0;

	*out = (struct tcp_flows_received){.n_bins = (size_t)(seconds * 1e9) / TCP_FLOWS_BIN_NS};
	if (out->n_bins > TCP_FLOWS_BINS_MAX)
		out->n_bins = TCP_FLOWS_BINS_MAX;
	for (; !err && accepted < n; accepted++) {
		f.fds[accepted] = (struct pollfd){accept(listener, NULL, NULL), POLLIN, 0};
		if (f.fds[accepted].fd < 0)
			err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
	out->from_ns = clock_now_ns();
	out->from_s = (double)clock_ns(CLOCK_REALTIME) / 1e9;
	if (!err)
		tcp_flows_read(&f, n, seconds, out);
	out->longest_gap_ms = (double)f.gap_ns / 1e6;
	tcp_flows_close(&f, accepted);
	if (listener >= 0)
		close(listener);
	return err;
}

/* ---- the sender ------------------------------------------------------------ */

static int tcp_flows_connect(const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)from, sizeof(*from)) &&
	    !connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void tcp_flows_write(struct tcp_flows *f, unsigned n, double seconds, size_t pace)
{
	uint64_t end = clock_now_ns() + (uint64_t)(seconds * 1e9);

	while (clock_now_ns() < end) {
		if (pace)
			clock_pause_ns(TCP_FLOWS_PACE_NS);
		else
			poll(f->fds, n, TCP_FLOWS_POLL_MS);
		for (unsigned i = 0; i < n; i++)
			send(f->fds[i].fd, f->buffer, pace ? pace : sizeof(f->buffer),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

int tcp_flows_send(const char *from, const char *to, uint16_t port, unsigned n, double seconds,
		   size_t pace)
{
	struct sockaddr_in a, b;
	struct tcp_flows f = {0};
	unsigned connected = 0;
	int err = n <= TCP_FLOWS_MAX ? tcp_flows_address(from, 0, &a) : -E2BIG;

	if (!err)
		err = tcp_flows_address(to, port, &b);
	for (; !err && connected < n; connected++) {
		f.fds[connected] = (struct pollfd){tcp_flows_connect(&a, &b), POLLOUT, 0};
		err = f.fds[connected].fd < 0 ? f.fds[connected].fd : 0;
	}
	if (!err)
		tcp_flows_write(&f, n, seconds, pace);
	tcp_flows_close(&f, connected);
	return err;
}
