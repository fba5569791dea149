/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pull.c - a read: bytes of the peer's memory come into this process; the peer does nothing.
 *
 *   owner:     pull serve            prints what to type at the reader; ends when that has gone
 *   reader:    pull fetch ADDRESS
 *
 * Build: cc pull.c $(pkg-config --cflags --libs libfare)    (example.h lies beside it)
 */
#include "example.h"

#define BYTES (1u << 20)

static void serve(struct fare_domain *domain, uint8_t *memory)
{
	memset(memory, 42, BYTES);
	print_address(domain, "pull fetch");
	while (next_event(domain).kind != FARE_EVENT_CLOSED)
		; /* reads raise no event here, but they need this loop with "soft" */
}

static void fetch(struct fare_domain *domain, uint8_t *memory, struct fare_mr *mr,
		  const struct fare_address *peer)
{
	struct fare_read read = {.data = memory, .mr = mr, .length = BYTES};
	struct fare_group *group;
	struct offer offer;

	check(fare_group_open_to(&group, domain, peer, NULL), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_CONNECTED) {
			offer = take_offer(group, BYTES);
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

int main(int argc, char **argv)
{
	bool fetching = argc == 3 && !strcmp(argv[1], "fetch");
	uint8_t *memory = calloc(1, BYTES);
	struct offer offer = {(uintptr_t)memory, BYTES, 0};
	struct fare_domain_options options = {
		.accept = !fetching, .on_request = answer_with_offer, .on_request_arg = &offer};
	struct fare_domain *domain;
	struct fare_address peer = {{0}};
	struct fare_mr *mr;
	struct fare *fare;

	if (!fetching && (argc != 2 || strcmp(argv[1], "serve"))) {
		fprintf(stderr, "usage: pull serve | fetch ADDRESS\n");
		return 2;
	}
	if (fetching)
		peer = parse_address(argv[2]);
	domain = open_domain(&fare, options);
	check(fare_mr_register(&mr, domain, memory, BYTES, fetching ? 0 : FARE_REMOTE_READ),
	      "memory");
	offer.rkey = fare_mr_rkey(mr);
	if (fetching)
		fetch(domain, memory, mr, &peer);
	else
		serve(domain, memory);
	fare_domain_close(domain);
	fare_detach(fare);
	free(memory);
	return 0;
}
