/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * push.c - a write with notification: bytes of this process come into the peer's memory, and the
 * peer gets an event.
 *
 *   receiver:  push receive          prints what to type at the sender, then what arrives
 *   sender:    push send ADDRESS
 *
 * Build: cc push.c $(pkg-config --cflags --libs libfare)    (example.h lies beside it)
 */
#include "example.h"

#define BYTES (1u << 20)

static void receive(struct fare_domain *domain, const uint8_t *memory)
{
	print_address(domain, "push send");
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

	memset(memory, 42, BYTES);
	check(fare_group_open_to(&group, domain, peer, &options), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_CONNECTED) {
			offer = take_offer(group, BYTES);
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

int main(int argc, char **argv)
{
	bool sending = argc == 3 && !strcmp(argv[1], "send");
	uint8_t *memory = calloc(1, BYTES);
	struct offer offer = {(uintptr_t)memory, BYTES, 0};
	struct fare_domain_options options = {
		.accept = !sending, .on_request = answer_with_offer, .on_request_arg = &offer};
	struct fare_domain *domain;
	struct fare_address peer = {{0}};
	struct fare_mr *mr;
	struct fare *fare;

	if (!sending && (argc != 2 || strcmp(argv[1], "receive"))) {
		fprintf(stderr, "usage: push receive | send ADDRESS\n");
		return 2;
	}
	if (sending)
		peer = parse_address(argv[2]);
	domain = open_domain(&fare, options);
	check(fare_mr_register(&mr, domain, memory, BYTES, sending ? 0 : FARE_REMOTE_WRITE),
	      "memory");
	offer.rkey = fare_mr_rkey(mr);
	if (sending)
		send_it(domain, memory, mr, &peer);
	else
		receive(domain, memory);
	fare_domain_close(domain);
	fare_detach(fare);
	free(memory);
	return 0;
}
