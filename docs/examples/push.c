/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * push.c - a write with notification: bytes of this process come into the peer's memory, and the
 * peer is told.
 *
 *   receiver:  push receive          prints its address, then what arrives
 *   sender:    push send ADDRESS
 *
 * The receiver names its memory in its answer to the sender's request, so that no other connection
 * is needed. Both ends have the same byte order.
 *
 * $FARE_RUN_DIR: the daemon's run directory (default /run/fared). $FARE_KEY_FILE: only a peer with
 * the same key can connect; without it the network is trusted.
 *
 * Build: cc push.c $(pkg-config --cflags --libs libfare)
 */
#include <errno.h>
#include <fare.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)

/* What the receiver says of its memory. */
struct offer {
	uint64_t addr, bytes;
	uint32_t rkey;
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "push: %s: %s\n", what, strerror(-err));
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

/* A sender wants a group: it is accepted, and told where to write. */
static int on_request(void *arg, struct fare_request *request)
{
	struct fare_mr *const *mr = arg;
	const struct offer offer = {fare_mr_addr(*mr), BYTES, fare_mr_rkey(*mr)};

	memcpy(request->reply, &offer, sizeof(offer));
	request->reply_bytes = sizeof(offer);
	return 0;
}

static void receive(struct fare_domain *domain, const uint8_t *memory)
{
	struct fare_address own;

	fare_domain_address(domain, &own);
	printf("push send ");
	for (int i = 0; i < FARE_ADDRESS_BYTES; i++)
		printf("%02x", own.bytes[i]);
	printf("\n");
	fflush(stdout);
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_RECEIVED) /* all of it is in place */
			printf("tag %u: %llu bytes, the first is %u\n", e.tag,
			       (unsigned long long)e.bytes, memory[0]);
		if (e.kind == FARE_EVENT_CLOSED)
			return;
	}
}

static void send_it(struct fare_domain *domain, uint8_t *memory, struct fare_mr *mr,
		    const struct fare_address *peer)
{
	struct fare_write write = {
		.data = memory, .mr = mr, .length = BYTES, .flags = FARE_WRITE_NOTIFY, .tag = 1};
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_group *group;
	struct offer offer;
	const void *said;
	size_t n;

	memset(memory, 42, BYTES);
	check(fare_group_open_to(&group, domain, peer, &options), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_CONNECTED) {
			said = fare_group_private(group, &n);
			check(n == sizeof(offer) ? 0 : -EPROTO, "the receiver's answer");
			memcpy(&offer, said, sizeof(offer));
			check(offer.bytes >= BYTES ? 0 : -EMSGSIZE, "the receiver's memory");
			write.remote_addr = offer.addr;
			write.rkey = offer.rkey;
			check(fare_group_write(group, &write), "write");
		}
		if (e.kind == FARE_EVENT_COMPLETED) { /* placed: memory is ours again */
			check(e.status, "write");
			fare_group_disconnect(group);
		}
		if (e.kind == FARE_EVENT_CLOSED) {
			check(e.status, "group");
			fare_group_close(group);
			return;
		}
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
	bool sending = argc == 3 && !strcmp(argv[1], "send");
	const char *key_file = getenv("FARE_KEY_FILE");
	uint8_t *memory = calloc(1, BYTES);
	struct fare_domain *domain;
	struct fare_address peer;
	struct fare_mr *mr = NULL;
	struct fare *fare;
	struct fare_domain_options options = {.provider = getenv("FARE_PROVIDER"),
					      .accept = !sending,
					      .on_request = on_request,
					      .on_request_arg = &mr,
					      .key_file = key_file,
					      .trusted_network = !key_file};

	if (!sending && (argc != 2 || strcmp(argv[1], "receive"))) {
		fprintf(stderr, "usage: push receive | send ADDRESS\n");
		return 2;
	}
	check(sending ? parse_address(argv[2], &peer) : 0, "ADDRESS");
	check(fare_attach(&fare, getenv("FARE_RUN_DIR")), "attach");
	check(fare_domain_open(&domain, fare, 0, &options), "domain");
	check(fare_mr_register(&mr, domain, memory, BYTES, sending ? 0 : FARE_REMOTE_WRITE),
	      "memory");
	if (sending)
		send_it(domain, memory, mr, &peer);
	else
		receive(domain, memory);
	fare_domain_close(domain);
	fare_detach(fare);
	free(memory);
	return 0;
}
