/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/dgram.h"
#include "soft_sock.h"

#define RENEW_NS  100000000u /* a device that is gone may stay so: not looked for more often */
#define OWN_TRIES 64
#define BURST_MS  4u
#define BURST_MIN (8u << 10)
/* in the send buffer: what a slow link carries while the sender waits for a core */
#define QUEUE_BURSTS 2u

void soft_sockets_init(struct soft_sockets *sockets, const struct qp_endpoint_attr *attr)
{
	memset(sockets, 0, sizeof(*sockets));
	sockets->attr = attr;
	sockets->epoll_fd = -1;
}

static struct soft_socket *soft_sockets_find(struct soft_sockets *sockets,
					     struct soft_socket_key key)
{
	struct soft_socket *s;

	HASH_FIND(hh, sockets->by_key, &key, sizeof(key), s);
	return s;
}

static bool is_of_pool(struct soft_socket_key key)
{
	return key.plane != QP_ANY_PLANE && key.port >= FARE_SOURCE_PORT_FIRST &&
	       key.port < FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS;
}

static const char *device_of(const struct soft_sockets *sockets, struct soft_socket_key key)
{
	return key.plane == QP_ANY_PLANE ? NULL : sockets->attr->dev[key.plane][key.sub_port];
}

static int open_fd(const struct soft_sockets *sockets, struct soft_socket *s)
{
	int fd = soft_sock_open_tx(&sockets->attr->address, s->key.port, device_of(sockets, s->key),
				   (uint8_t)s->key.dscp, s->tx_bytes);

	if (fd < 0)
		return fd;
	s->fd = fd;
	return 0;
}

static int open_new(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
		    struct soft_socket **out)
{
	struct soft_socket *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->key = key;
	s->tx_bytes = tx_bytes;
	err = open_fd(sockets, s);
	if (err) {
		free(s);
		return err;
	}
	soft_link_init(&s->waiting);
	HASH_ADD(hh, sockets->by_key, key, sizeof(s->key), s);
	if (!s->hh.tbl) {
		close(s->fd);
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

uint32_t soft_sockets_burst_bytes(const struct soft_sockets *sockets, struct soft_socket_key key)
{
	uint64_t bps = key.plane == QP_ANY_PLANE ? 0 : sockets->attr->bps[key.plane][key.sub_port];
	uint64_t bytes = bps / 8 * BURST_MS / 1000;

	return !bps || bytes > UINT32_MAX ? UINT32_MAX
	       : bytes < BURST_MIN	  ? BURST_MIN
					  : (uint32_t)bytes;
}

static int get(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
	       struct soft_socket **out)
{
	uint32_t most = soft_sockets_burst_bytes(sockets, key);
	struct soft_socket *s = soft_sockets_find(sockets, key);
	int err = 0;

	tx_bytes = tx_bytes / QUEUE_BURSTS < most ? tx_bytes : most * QUEUE_BURSTS;
	if (!s)
		err = open_new(sockets, key, tx_bytes, &s);
	if (err)
		return err;
	if (s->tx_bytes < tx_bytes) {
		s->tx_bytes = tx_bytes;
		dgram_set_buffer(s->fd, SO_SNDBUF, (int)s->tx_bytes);
	}
	s->users++;
	*out = s;
	return 0;
}

static unsigned users_of(struct soft_sockets *sockets, struct soft_socket_key key)
{
	const struct soft_socket *s = soft_sockets_find(sockets, key);

	return s ? s->users : 0;
}

/*
 * The port of the pool with the fewest users; from a random one on, so that runs differ. If others
 * on this host have all of them, which any local user can bring about, a port beyond the pool.
 */
static int get_of_pool(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
		       struct soft_socket **out)
{
	bool refused[FARE_SOURCE_PORTS] = {false};
	uint16_t start;

	if (soft_sock_random(&start, sizeof(start)))
		return -EIO;
	for (unsigned tries = 0; tries < FARE_SOURCE_PORTS; tries++) {
		unsigned best = 0, fewest = UINT32_MAX;
		int err;

		for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++) {
			unsigned k = (start + i) % FARE_SOURCE_PORTS, users;

			key.port = (uint16_t)(FARE_SOURCE_PORT_FIRST + k);
			users = refused[k] ? UINT32_MAX : users_of(sockets, key);
			if (users < fewest) {
				fewest = users;
				best = k;
			}
		}
		key.port = (uint16_t)(FARE_SOURCE_PORT_FIRST + best);
		err = get(sockets, key, tx_bytes, out);
		if (err != -EADDRINUSE)
			return err;
		refused[best] = true;
	}
	return soft_sockets_get_own(sockets, key, tx_bytes, out);
}

int soft_sockets_get(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
		     struct soft_socket **out)
{
	if (key.plane == QP_ANY_PLANE)
		key.sub_port = 0;
	if (key.port)
		return get(sockets, key, tx_bytes, out);
	if (key.plane == QP_ANY_PLANE)
		return soft_sockets_get_own(sockets, key, tx_bytes, out);
	return get_of_pool(sockets, key, tx_bytes, out);
}

int soft_sockets_get_own(struct soft_sockets *sockets, struct soft_socket_key key,
			 uint32_t tx_bytes, struct soft_socket **out)
{
	int err = -EADDRINUSE;

	if (key.plane == QP_ANY_PLANE)
		key.sub_port = 0;
	for (unsigned i = 0; i < OWN_TRIES && err == -EADDRINUSE; i++) {
		err = soft_sock_random_port(&key.port);
		if (!err && (is_of_pool(key) || users_of(sockets, key)))
			err = -EADDRINUSE;
		if (!err)
			err = get(sockets, key, tx_bytes, out);
	}
	return err;
}

static void soft_sockets_destroy(struct soft_sockets *sockets, struct soft_socket *s)
{
	HASH_DEL(sockets->by_key, s);
	soft_sockets_clear_full(sockets, s);
	close(s->fd);
	free(s);
}

void soft_sockets_put(struct soft_sockets *sockets, struct soft_socket *s)
{
	if (s && !--s->users && !is_of_pool(s->key))
		soft_sockets_destroy(sockets, s);
}

void soft_sockets_fini(struct soft_sockets *sockets)
{
	struct soft_socket *s, *next;

	HASH_ITER (hh, sockets->by_key, s, next)
		soft_sockets_destroy(sockets, s);
}

void soft_sockets_leave(const struct soft_sockets *sockets)
{
	const struct soft_socket *s, *next;

	HASH_ITER (hh, sockets->by_key, s, next)
		close(s->fd);
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
