/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "soft_sock.h"

#define RENEW_NS  100000000u /* a device that is gone may stay so: not looked for more often */
#define OWN_TRIES 64

void soft_sockets_init(struct soft_sockets *sockets, const struct qp_endpoint_attr *attr)
{
	memset(sockets, 0, sizeof(*sockets));
	sockets->attr = attr;
	sockets->epoll_fd = -1;
}

static struct soft_socket **bucket_of(struct soft_sockets *sockets, uint16_t plane,
				      uint16_t sub_port, uint16_t port)
{
	uint32_t key = ((uint32_t)plane * FARE_MAX_SUB_PORTS + sub_port) * FARE_SOURCE_PORTS + port;

	return &sockets->buckets[key % SOFT_SOCKET_BUCKETS];
}

static struct soft_socket *find(struct soft_sockets *sockets, uint16_t plane, uint16_t sub_port,
				uint16_t port)
{
	struct soft_socket *s = *bucket_of(sockets, plane, sub_port, port);

	while (s && (s->plane != plane || s->sub_port != sub_port || s->port != port))
		s = s->next;
	return s;
}

static bool is_of_pool(const struct soft_socket *s)
{
	return s->plane != QP_ANY_PLANE && s->port >= FARE_SOURCE_PORT_FIRST &&
	       s->port < FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS;
}

static const char *device_of(const struct soft_sockets *sockets, const struct soft_socket *s)
{
	return s->plane == QP_ANY_PLANE ? NULL : sockets->attr->dev[s->plane][s->sub_port];
}

static int open_fd(const struct soft_sockets *sockets, struct soft_socket *s)
{
	int fd = soft_sock_open_tx(&sockets->attr->address, &s->port, device_of(sockets, s),
				   s->tx_bytes);

	if (fd < 0)
		return fd;
	s->fd = fd;
	return 0;
}

static int open_new(struct soft_sockets *sockets, const struct soft_socket *wanted,
		    struct soft_socket **out)
{
	struct soft_socket *s = malloc(sizeof(*s)), **bucket;
	int err;

	if (!s)
		return -ENOMEM;
	*s = *wanted;
	err = open_fd(sockets, s);
	if (err) {
		free(s);
		return err;
	}
	soft_link_init(&s->waiting);
	bucket = bucket_of(sockets, s->plane, s->sub_port, s->port);
	s->next = *bucket;
	*bucket = s;
	*out = s;
	return 0;
}

static int get(struct soft_sockets *sockets, const struct soft_socket *wanted,
	       struct soft_socket **out)
{
	struct soft_socket *s = find(sockets, wanted->plane, wanted->sub_port, wanted->port);
	int err = 0;

	if (!s)
		err = open_new(sockets, wanted, &s);
	if (err)
		return err;
	if (s->tx_bytes < wanted->tx_bytes) {
		s->tx_bytes = wanted->tx_bytes;
		soft_sock_set_tx_bytes(s->fd, s->tx_bytes);
	}
	s->users++;
	*out = s;
	return 0;
}

static unsigned users_of(struct soft_sockets *sockets, const struct soft_socket *wanted)
{
	const struct soft_socket *s = find(sockets, wanted->plane, wanted->sub_port, wanted->port);

	return s ? s->users : 0;
}

/* The port of the pool with the fewest users; from a random one on, so that runs differ. */
static int get_of_pool(struct soft_sockets *sockets, struct soft_socket wanted,
		       struct soft_socket **out)
{
	bool refused[FARE_SOURCE_PORTS] = {false};
	uint16_t start;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		return -EIO;
	for (unsigned tries = 0; tries < FARE_SOURCE_PORTS; tries++) {
		unsigned best = 0, fewest = UINT32_MAX;
		int err;

		for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++) {
			unsigned k = (start + i) % FARE_SOURCE_PORTS, users;

			wanted.port = (uint16_t)(FARE_SOURCE_PORT_FIRST + k);
			users = refused[k] ? UINT32_MAX : users_of(sockets, &wanted);
			if (users < fewest) {
				fewest = users;
				best = k;
			}
		}
		wanted.port = (uint16_t)(FARE_SOURCE_PORT_FIRST + best);
		err = get(sockets, &wanted, out);
		if (err != -EADDRINUSE)
			return err;
		refused[best] = true;
	}
	return -EADDRINUSE;
}

int soft_sockets_get(struct soft_sockets *sockets, uint16_t plane, uint16_t sub_port, uint16_t port,
		     uint32_t tx_bytes, struct soft_socket **out)
{
	struct soft_socket wanted = {.plane = plane,
				     .sub_port = plane == QP_ANY_PLANE ? 0 : sub_port,
				     .port = port,
				     .tx_bytes = tx_bytes};

	if (port)
		return get(sockets, &wanted, out);
	if (plane == QP_ANY_PLANE)
		return soft_sockets_get_own(sockets, plane, sub_port, tx_bytes, out);
	return get_of_pool(sockets, wanted, out);
}

int soft_sockets_get_own(struct soft_sockets *sockets, uint16_t plane, uint16_t sub_port,
			 uint32_t tx_bytes, struct soft_socket **out)
{
	struct soft_socket wanted = {.plane = plane,
				     .sub_port = plane == QP_ANY_PLANE ? 0 : sub_port,
				     .tx_bytes = tx_bytes};
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < OWN_TRIES && err == -EADDRINUSE; i++) {
		err = soft_sock_random_port(&wanted.port);
		if (!err && (is_of_pool(&wanted) || users_of(sockets, &wanted)))
			err = -EADDRINUSE;
		if (!err)
			err = get(sockets, &wanted, out);
	}
	return err;
}

static void destroy(struct soft_sockets *sockets, struct soft_socket *s)
{
	struct soft_socket **at = bucket_of(sockets, s->plane, s->sub_port, s->port);

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	soft_sockets_clear_full(sockets, s);
	close(s->fd);
	free(s);
}

void soft_sockets_put(struct soft_sockets *sockets, struct soft_socket *s)
{
	if (s && !--s->users && !is_of_pool(s))
		destroy(sockets, s);
}

void soft_sockets_fini(struct soft_sockets *sockets)
{
	for (unsigned i = 0; i < SOFT_SOCKET_BUCKETS; i++)
		while (sockets->buckets[i])
			destroy(sockets, sockets->buckets[i]);
}

int soft_sockets_set_full(struct soft_sockets *sockets, struct soft_socket *s)
{
	struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.ptr = s};

	if (s->is_full)
		return 0;
	if (epoll_ctl(sockets->epoll_fd, EPOLL_CTL_ADD, s->fd, &event))
		return -errno;
	s->is_full = true;
	sockets->n_full++;
	return 0;
}

void soft_sockets_clear_full(struct soft_sockets *sockets, struct soft_socket *s)
{
	if (!s->is_full)
		return;
	epoll_ctl(sockets->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	s->is_full = false;
	sockets->n_full--;
}

void soft_sockets_renew(struct soft_sockets *sockets, struct soft_socket *s, uint64_t now_ns)
{
	int old = s->fd;

	if (s->is_full || (s->renewed_ns && now_ns - s->renewed_ns < RENEW_NS))
		return;
	s->renewed_ns = now_ns;
	if (!open_fd(sockets, s))
		close(old);
}
