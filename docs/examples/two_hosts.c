/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two_hosts.c - libfare in a hundred lines: one GPU writes into another's memory over all planes at
 * once.
 *
 *   receiver:  two_hosts receive
 *              prints what the sender needs, then each message that arrives
 *   sender:    two_hosts send PEER ADDRESS KEY [COUNT]
 *              PEER: the receiver's loopback, as IPv6 or ::ffff:a.b.c.d
 *
 * Build: cc two_hosts.c $(pkg-config --cflags --libs libfare)    (example.h lies beside it)
 */
#include <arpa/inet.h>

#include "example.h"

#define MESSAGE_BYTES (4u << 20)

static int receive(struct fare_domain *domain, uint8_t *memory, struct fare_mr *mr)
{
	printf("two_hosts send PEER 0x%llx 0x%x\n", (unsigned long long)(uintptr_t)memory,
	       fare_mr_rkey(mr));
	fflush(stdout);
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_RECEIVED) { /* all of it is in place, exactly once */
			struct fare_write reply = {.flags = FARE_WRITE_NOTIFY, .tag = e.tag};

			printf("message %u: %llu bytes, the first says %u\n", e.tag,
			       (unsigned long long)e.bytes, memory[0]);
			/* read: the sender may write to the memory again */
			check(fare_group_write(e.group, &reply), "reply");
		}
		if (e.kind == FARE_EVENT_CLOSED)
			return 0;
	}
}

static int send_all(struct fare_domain *domain, uint8_t *memory, struct fare_mr *mr, char **argv,
		    unsigned count)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_write write = {.data = memory,
				   .mr = mr,
				   .length = MESSAGE_BYTES,
				   .flags = FARE_WRITE_NOTIFY,
				   .remote_addr = strtoull(argv[3], NULL, 0),
				   .rkey = (uint32_t)strtoul(argv[4], NULL, 0)};
	struct fare_group_stats stats;
	unsigned n_connected = 0, n_written = 0, n_completed = 0, n_replies = 0;
	struct fare_group *group;
	struct in6_addr peer;

	if (inet_pton(AF_INET6, argv[2], &peer) != 1)
		check(-22, argv[2]);
	check(fare_group_open(&group, domain, &peer, &options), "open");
	for (;;) {
		struct fare_event e = next_event(domain);

		if (e.kind == FARE_EVENT_CLOSED)
			check(e.status ? e.status : -103, "group");
		if (e.kind == FARE_EVENT_COMPLETED)
			check(e.status, "write");
		/*
		 * COMPLETED says that the memory here may be used again; the receiver's reply, that
		 * the memory there may. They come in any order.
		 */
		n_completed += e.kind == FARE_EVENT_COMPLETED;
		n_replies += e.kind == FARE_EVENT_RECEIVED;
		n_connected += e.kind == FARE_EVENT_CONNECTED;
		if (!n_connected || n_completed < n_written || n_replies < n_written)
			continue;
		if (n_written == count)
			break;
		write.tag = n_written++;
		memset(memory, (int)write.tag, MESSAGE_BYTES);
		check(fare_group_write(group, &write), "write");
	}
	fare_group_stats(group, &stats);
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		if (stats.plane_bytes[p])
			printf("plane %u carried %llu bytes\n", p,
			       (unsigned long long)stats.plane_bytes[p]);
	fare_group_close(group);
	return 0;
}

int main(int argc, char **argv)
{
	struct fare_domain_options options = {.accept = true};
	uint8_t *memory = calloc(1, MESSAGE_BYTES);
	bool sending = argc >= 5 && !strcmp(argv[1], "send");
	struct fare_domain *domain;
	struct fare *fare;
	struct fare_mr *mr;
	int rc;

	if (!sending && (argc != 2 || strcmp(argv[1], "receive"))) {
		fprintf(stderr, "usage: two_hosts receive | send PEER ADDRESS KEY [COUNT]\n");
		return 2;
	}
	domain = open_domain(&fare, options);
	check(fare_mr_register(&mr, domain, memory, MESSAGE_BYTES, sending ? 0 : FARE_REMOTE_WRITE),
	      "memory");
	rc = sending ? send_all(domain, memory, mr, argv, argc > 5 ? (unsigned)atoi(argv[5]) : 10)
		     : receive(domain, memory, mr);
	fare_domain_close(domain);
	fare_detach(fare);
	free(memory);
	return rc;
}
