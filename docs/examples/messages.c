/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.c - messages: requests and replies of up to 4096 bytes, in the order in which they were
 * sent, without registered memory.
 *
 *   server:    messages serve              prints its address, then repeats what it is sent
 *   client:    messages ask ADDRESS TEXT...
 *
 * Build: cc messages.c $(pkg-config --cflags --libs libfare)    (example.h lies beside it)
 */
#include "example.h"

#define MESSAGE_BYTES 256

static void serve(struct fare_domain *domain)
{
	print_address(domain, "messages ask"); /* and TEXT... */
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

int main(int argc, char **argv)
{
	bool asking = argc >= 4 && !strcmp(argv[1], "ask");
	struct fare_domain_options options = {.accept = !asking};
	struct fare_domain *domain;
	struct fare_address peer = {{0}};
	struct fare *fare;

	if (!asking && (argc != 2 || strcmp(argv[1], "serve"))) {
		fprintf(stderr, "usage: messages serve | ask ADDRESS TEXT...\n");
		return 2;
	}
	if (asking)
		peer = parse_address(argv[2]);
	domain = open_domain(&fare, options);
	if (asking)
		ask(domain, &peer, argv + 3, (unsigned)argc - 3);
	else
		serve(domain);
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}
