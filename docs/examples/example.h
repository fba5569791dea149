/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * example.h - what the examples have in common: errors, the wait for an event, addresses as text,
 * and a domain opened as the environment says.
 *
 * $FARE_RUN_DIR: the daemon's run directory (default /run/fared). $FARE_PROVIDER: "soft" or
 * "verbs". $FARE_KEY_FILE: only a peer with the same key can connect; without it the network is
 * trusted.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <fare.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function of libfare says 0 or more, or -errno. */
static inline void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

/* The next event, however long it takes: everything happens within fare_domain_poll(). */
static inline struct fare_event next_event(struct fare_domain *domain)
{
	struct pollfd p = {.fd = fare_domain_fd(domain), .events = POLLIN};
	struct fare_event event;
	int n;

	while (!(n = fare_domain_poll(domain, &event, 1)))
		poll(&p, 1, -1);
	check(n, "poll");
	return event;
}

/* The first local GPU's domain; options that the environment does not name are the caller's. */
static inline struct fare_domain *open_domain(struct fare **fare,
					      struct fare_domain_options options)
{
	struct fare_domain *domain;

	options.provider = getenv("FARE_PROVIDER");
	options.key_file = getenv("FARE_KEY_FILE");
	options.trusted_network = !options.key_file;
	check(fare_attach(fare, getenv("FARE_RUN_DIR")), "attach");
	check(fare_domain_open(&domain, *fare, 0, &options), "domain");
	return domain;
}

/* "PROGRAM COMMAND ADDRESS": what to type at the other end. */
static inline void print_address(const struct fare_domain *domain, const char *command)
{
	struct fare_address own;

	fare_domain_address(domain, &own);
	printf("%s ", command);
	for (int i = 0; i < FARE_ADDRESS_BYTES; i++)
		printf("%02x", own.bytes[i]);
	printf("\n");
	fflush(stdout);
}

static inline struct fare_address parse_address(const char *text)
{
	struct fare_address out;
	bool good = strlen(text) == 2 * FARE_ADDRESS_BYTES;

	for (int i = 0; good && i < FARE_ADDRESS_BYTES; i++)
		good = sscanf(text + 2 * i, "%2hhx", &out.bytes[i]) == 1;
	check(good ? 0 : -EINVAL, "ADDRESS");
	return out;
}

/*
 * push and pull: what the owner of memory says of it in its answer to a peer that wants a group, so
 * that no other connection is needed. Both ends have the same byte order.
 */
struct offer {
	uint64_t addr, bytes;
	uint32_t rkey;
};

/* fare_domain_options.on_request; arg: the struct offer. */
static inline int answer_with_offer(void *arg, struct fare_request *request)
{
	memcpy(request->reply, arg, sizeof(struct offer));
	request->reply_bytes = sizeof(struct offer);
	return 0;
}

/* Once the group is CONNECTED: the peer's memory, which has room for so many bytes. */
static inline struct offer take_offer(const struct fare_group *group, uint64_t bytes)
{
	struct offer offer;
	size_t n;
	const void *said = fare_group_private(group, &n);

	check(n == sizeof(offer) ? 0 : -EPROTO, "the peer's answer");
	memcpy(&offer, said, sizeof(offer));
	check(offer.bytes >= bytes ? 0 : -EMSGSIZE, "the peer's memory");
	return offer;
}

#endif
