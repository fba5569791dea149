/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pull.c - a read: bytes of the peer's memory come into this process; the peer does nothing.
 *
 *   owner:     pull serve            prints its address; ends when the reader has gone
 *   reader:    pull fetch ADDRESS
 *
 * The owner names its memory in its answer to the reader's request, so that no other connection is
 * needed. Both ends have the same byte order.
 *
 * $FARE_RUN_DIR: the daemon's run directory (default /run/fared). $FARE_KEY_FILE: only a peer with
 * the same key can connect; without it the network is trusted.
 *
 * Build: cc pull.c $(pkg-config --cflags --libs libfare)
 */
#include <errno.h>
#include <fare.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)

/* What the owner says of its memory. */
struct offer {
	uint64_t addr, bytes;
	uint32_t rkey;
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "pull: %s: %s\n", what, strerror(-err));
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

/* A reader wants a group: it is accepted, and told what it may read. */
static int on_request(void *arg, struct fare_request *request)
{
	struct fare_mr *const *mr = arg;
	const struct offer offer = {fare_mr_addr(*mr), BYTES, fare_mr_rkey(*mr)};

	memcpy(request->reply, &offer, sizeof(offer));
	request->reply_bytes = sizeof(offer);
	return 0;
}

static void serve(struct fare_domain *domain, uint8_t *memory)
{
	struct fare_address own;

	memset(memory, 42, BYTES);
	fare_domain_address(domain, &own);
	printf("pull fetch ");
	for (int i = 0; i < FARE_ADDRESS_BYTES; i++)
		printf("%02x", own.bytes[i]);
	printf("\n");
	fflush(stdout);
	while (next_event(domain).kind != FARE_EVENT_CLOSED)
		; /* reads raise no event here, but they need this loop with "soft" */
}

static void fetch(struct fare_domain *domain, uint8_t *memory, struct fare_mr *mr,
		  const struct fare_address *peer)
{
	struct fare_read read = {.data = memory, .mr = mr, .length = BYTES};
	struct fare_group *group;
	struct offer offer;
	const void *said;
	size_t n;

	check(fare_group_open_to(&group, domain, peer, NULL), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_CONNECTED) {
			said = fare_group_private(group, &n);
			check(n == sizeof(offer) ? 0 : -EPROTO, "the owner's answer");
			memcpy(&offer, said, sizeof(offer));
			check(offer.bytes >= BYTES ? 0 : -EMSGSIZE, "the owner's memory");
			read.remote_addr = offer.addr;
			read.rkey = offer.rkey;
			check(fare_group_read(group, &read), "read");
		}
		if (e.kind == FARE_EVENT_COMPLETED) {
			check(e.status, "read");
			printf("%u bytes, the first is %u\n", BYTES, memory[0]);
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
	bool fetching = argc == 3 && !strcmp(argv[1], "fetch");
	const char *key_file = getenv("FARE_KEY_FILE");
	uint8_t *memory = calloc(1, BYTES);
	struct fare_domain *domain;
	struct fare_address peer;
	struct fare_mr *mr = NULL;
	struct fare *fare;
	struct fare_domain_options options = {.provider = getenv("FARE_PROVIDER"),
					      .accept = !fetching,
					      .on_request = on_request,
					      .on_request_arg = &mr,
					      .key_file = key_file,
					      .trusted_network = !key_file};

	if (!fetching && (argc != 2 || strcmp(argv[1], "serve"))) {
		fprintf(stderr, "usage: pull serve | fetch ADDRESS\n");
		return 2;
	}
	check(fetching ? parse_address(argv[2], &peer) : 0, "ADDRESS");
	check(fare_attach(&fare, getenv("FARE_RUN_DIR")), "attach");
	check(fare_domain_open(&domain, fare, 0, &options), "domain");
	check(fare_mr_register(&mr, domain, memory, BYTES, fetching ? 0 : FARE_REMOTE_READ),
	      "memory");
	if (fetching)
		fetch(domain, memory, mr, &peer);
	else
		serve(domain, memory);
	fare_domain_close(domain);
	fare_detach(fare);
	free(memory);
	return 0;
}
