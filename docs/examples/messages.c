/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.c - messages: requests and replies of up to 4096 bytes, in the order in which they were
 * sent, without registered memory.
 *
 *   server:    messages serve              prints its address, then repeats what it is sent
 *   client:    messages ask ADDRESS TEXT...
 *
 * $FARE_RUN_DIR: the daemon's run directory (default /run/fared). $FARE_KEY_FILE: only a peer with
 * the same key can connect; without it the network is trusted.
 *
 * Build: cc messages.c $(pkg-config --cflags --libs libfare)
 */
#include <errno.h>
#include <fare.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 256

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "messages: %s: %s\n", what, strerror(-err));
	exit(1);
}

static struct fare_event next_event(struct fare_domain *domain)
{
	struct pollfd p = {.fd = fare_domain_fd(domain), .events = POLLIN};
	struct fare_event event;
	int n;

	while (!(n = fare_domain_poll(domain, &event, 1)))
		poll(&p, 1, -1);
	check(n, "poll");
	return event;
}

static void serve(struct fare_domain *domain)
{
	struct fare_address own;

	fare_domain_address(domain, &own);
	printf("messages ask ");
	for (int i = 0; i < FARE_ADDRESS_BYTES; i++)
		printf("%02x", own.bytes[i]);
	printf(" TEXT...\n");
	fflush(stdout);
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_MESSAGE) { /* e.data: until the next poll; copied here */
			struct fare_send reply = {
				.data = e.data, .length = (uint32_t)e.bytes, .tag = e.tag};

			printf("message %u: %.*s\n", e.tag, (int)e.bytes, (const char *)e.data);
			check(fare_group_send(e.group, &reply), "reply");
		}
		if (e.kind == FARE_EVENT_CLOSED)
			return;
	}
}

static void ask(struct fare_domain *domain, const struct fare_address *peer, char **texts,
		unsigned n)
{
	/* the server's half of the group takes message_bytes and in_order from these options */
	struct fare_group_options options = {.message_bytes = MESSAGE_BYTES, .in_order = true};
	unsigned n_sent = 0, n_completed = 0, n_replies = 0;
	bool connected = false;
	struct fare_group *group;

	check(fare_group_open_to(&group, domain, peer, &options), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		connected |= e.kind == FARE_EVENT_CONNECTED;
		if (e.kind == FARE_EVENT_COMPLETED) {
			check(e.status, "send");
			n_completed++;
		}
		if (e.kind == FARE_EVENT_MESSAGE) {
			n_replies++;
			printf("reply %u: %.*s\n", e.tag, (int)e.bytes, (const char *)e.data);
		}
		if (e.kind == FARE_EVENT_CLOSED) {
			check(e.status, "group");
			fare_group_close(group);
			return;
		}
		while (connected && n_sent < n) {
			struct fare_send send = {.data = texts[n_sent],
						 .length = (uint32_t)strlen(texts[n_sent]),
						 .tag = n_sent};
			int err = fare_group_send(group, &send);

			if (err == -ENOBUFS) /* as many are outstanding as there may be */
				break;
			check(err, "send"); /* -EMSGSIZE: longer than message_bytes */
			n_sent++;
		}
		if (n_completed == n && n_replies == n)
			fare_group_disconnect(group);
	}
}

static int parse_address(const char *text, struct fare_address *out)
{
	if (strlen(text) != 2 * FARE_ADDRESS_BYTES)
		return -EINVAL;
	for (int i = 0; i < FARE_ADDRESS_BYTES; i++)
		if (sscanf(text + 2 * i, "%2hhx", &out->bytes[i]) != 1)
			return -EINVAL;
	return 0;
}

int main(int argc, char **argv)
{
	bool asking = argc >= 4 && !strcmp(argv[1], "ask");
	const char *key_file = getenv("FARE_KEY_FILE");
	struct fare_domain_options options = {.provider = getenv("FARE_PROVIDER"),
					      .accept = !asking,
					      .key_file = key_file,
					      .trusted_network = !key_file};
	struct fare_domain *domain;
	struct fare_address peer;
	struct fare *fare;

	if (!asking && (argc != 2 || strcmp(argv[1], "serve"))) {
		fprintf(stderr, "usage: messages serve | ask ADDRESS TEXT...\n");
		return 2;
	}
	check(asking ? parse_address(argv[2], &peer) : 0, "ADDRESS");
	check(fare_attach(&fare, getenv("FARE_RUN_DIR")), "attach");
	check(fare_domain_open(&domain, fare, 0, &options), "domain");
	if (asking)
		ask(domain, &peer, argv + 3, (unsigned)argc - 3);
	else
		serve(domain);
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}
