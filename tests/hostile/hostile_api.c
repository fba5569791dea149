/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_api.c - an application that calls every function of fare.h wrongly: NULL, unknown flags,
 * values out of range, sizes that overflow.
 *
 *   hostile_api
 *
 * Each call gives the errno that fare(3) names, and changes nothing. Functions that return no errno
 * give nothing (NULL, 0, false, zeros). Exit 77: not root.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "fare_spray_inline.h"
#include "qp/baseline.h"

#define BYTES 4096u

static struct bed bed;
static struct fare *fare;
static struct fare_domain *domain;
static struct fare_pair *pair;
static struct fare_spray *spray;
static struct fare_flows *flows;
static struct fare_group *group;
static struct fare_mr *mr;
static uint8_t memory[BYTES];
static struct in6_addr peer;
static unsigned wrong;

static void *rubbish = (void *)8; /* *out must be NULL after a failure */

/* text: of the call. */
static void expect(const char *text, long got, long wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "hostile_api: %s: %ld instead of %ld\n", text, got, wanted);
	wrong++;
}

#define GIVES(call, wanted) expect(#call, (long)(call), (long)(wanted))
/* A call that makes an object, with `out` for the object. */
#define MAKES_NOTHING(type, call, wanted)                                                          \
	do {                                                                                       \
		struct type *out = rubbish;                                                        \
		GIVES(call, wanted);                                                               \
		expect(#call ": out", out != NULL, 0);                                             \
	} while (0)

static void call_attach(void)
{
	struct in6_addr address;
	struct fare_paths paths;

	GIVES(fare_attach(NULL, NULL), -EINVAL);
	MAKES_NOTHING(fare, fare_attach(&out, "/nonexistent"), -ENOENT);
	fare_detach(NULL);
	GIVES(fare_n_local_gpus(NULL), 0);
	GIVES(fare_daemon_alive(NULL), false);
	GIVES(fare_local_address(NULL, 0, AF_INET, &address), -EINVAL);
	GIVES(fare_local_address(fare, 0, AF_INET, NULL), -EINVAL);
	GIVES(fare_local_address(fare, 0, 77, &address), -EINVAL);
	GIVES(fare_local_address(fare, 0, 0, &address), -EINVAL);
	GIVES(fare_local_address(fare, UINT32_MAX, AF_INET, &address), -ENOENT);
	GIVES(fare_pair_open(NULL, fare, 0, &peer), -EINVAL);
	MAKES_NOTHING(fare_pair, fare_pair_open(&out, NULL, 0, &peer), -EINVAL);
	MAKES_NOTHING(fare_pair, fare_pair_open(&out, fare, 0, NULL), -EINVAL);
	MAKES_NOTHING(fare_pair, fare_pair_open(&out, fare, 9, &peer), -ENOENT);
	fare_pair_close(NULL);
	GIVES(fare_pair_generation(NULL), 0);
	GIVES(fare_pair_paths(NULL, &paths), -EINVAL);
	GIVES(fare_pair_paths(pair, NULL), -EINVAL);
	GIVES(strlen(fare_verdict_name((enum fare_verdict)77)) > 0, true);
}

static void call_picks(void)
{
	struct fare_flows_options options = {.max_flows = UINT32_MAX};
	struct fare_flow_slot flow;
	struct fare_flows_stats stats = {.binds = 5};
	struct fare_slot slot;

	GIVES(fare_spray_open(NULL, pair), -EINVAL);
	MAKES_NOTHING(fare_spray, fare_spray_open(&out, NULL), -EINVAL);
	fare_spray_close(NULL);
	GIVES(fare_spray_next(NULL, &slot), -EINVAL);
	GIVES(fare_spray_next(spray, NULL), -EINVAL);
	GIVES(fare_spray_next_1(NULL, &slot), -EINVAL);
	GIVES(fare_flows_open(NULL, pair, NULL), -EINVAL);
	MAKES_NOTHING(fare_flows, fare_flows_open(&out, NULL, NULL), -EINVAL);
	MAKES_NOTHING(fare_flows, fare_flows_open(&out, pair, &options), -ENOSPC);
	options = (struct fare_flows_options){.max_flows = UINT32_MAX - 6};
	MAKES_NOTHING(fare_flows, fare_flows_open(&out, pair, &options), -ENOSPC);
	options = (struct fare_flows_options){.slots_per_sub_port = UINT32_MAX};
	MAKES_NOTHING(fare_flows, fare_flows_open(&out, pair, &options), -EINVAL);
	options = (struct fare_flows_options){.slots_per_sub_port = 1u << 29};
	MAKES_NOTHING(fare_flows, fare_flows_open(&out, pair, &options), -EINVAL);
	fare_flows_close(NULL);
	GIVES(fare_flows_pick(NULL, 1, 1, &flow), -EINVAL);
	GIVES(fare_flows_pick(flows, 1, 1, NULL), -EINVAL);
	fare_flows_account(NULL, 1, 1);
	fare_flows_account(flows, 77, UINT64_MAX);
	GIVES(fare_flows_release(NULL, 1), -EINVAL);
	GIVES(fare_flows_release(flows, 77), -ENOENT);
	GIVES(fare_flows_expire(NULL, UINT64_MAX), 0);
	fare_flows_stats(NULL, &stats);
	GIVES(stats.binds, 0);
	fare_flows_stats_sized(flows, NULL, sizeof(stats));
}

static void open_wrongly(struct fare_domain_options options, long wanted)
{
	MAKES_NOTHING(fare_domain, fare_domain_open(&out, fare, 0, &options), wanted);
}

static void call_domain(void)
{
	const struct fare_domain_options trusted = {.trusted_network = true};
	struct fare_event events[2];
	struct fare_address address;
	char fifo[64];

	snprintf(fifo, sizeof(fifo), "%s.fifo", bed.key);
	bed_run("mkfifo -m 600 %s", fifo);
	open_wrongly((struct fare_domain_options){0}, -ENOKEY);
	open_wrongly((struct fare_domain_options){.key_file = ""}, -ENOENT);
	open_wrongly((struct fare_domain_options){.key_file = "/tmp"}, -EINVAL);
	open_wrongly((struct fare_domain_options){.key_file = "/dev/zero"}, -EINVAL);
	open_wrongly((struct fare_domain_options){.key_file = fifo}, -EINVAL);
	open_wrongly((struct fare_domain_options){.trusted_network = true, .family = 77}, -EINVAL);
	open_wrongly((struct fare_domain_options){.trusted_network = true, .path_mtu = 1000},
		     -EINVAL);
	open_wrongly((struct fare_domain_options){.trusted_network = true, .provider = ""},
		     -EPROTONOSUPPORT);
	bed_run("rm -f %s", fifo);
	GIVES(fare_domain_open(NULL, fare, 0, &trusted), -EINVAL);
	MAKES_NOTHING(fare_domain, fare_domain_open(&out, NULL, 0, &trusted), -EINVAL);
	MAKES_NOTHING(fare_domain, fare_domain_open(&out, fare, UINT32_MAX, &trusted), -ENOENT);
	fare_domain_close(NULL);
	GIVES(fare_domain_fd(NULL), -EINVAL);
	GIVES(fare_domain_poll(NULL, events, 2), -EINVAL);
	GIVES(fare_domain_poll(domain, NULL, 2), -EINVAL);
	GIVES(fare_domain_poll(domain, events, -1), -EINVAL);
	GIVES(fare_domain_poll(domain, NULL, 0), 0);
	memset(&address, 1, sizeof(address));
	fare_domain_address(NULL, &address);
	GIVES(address.bytes[0], 0);
	fare_domain_address(domain, NULL);
}

static void call_regions(void)
{
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, NULL, memory, BYTES, 0), -EINVAL);
	GIVES(fare_mr_register(NULL, domain, memory, BYTES, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, domain, NULL, BYTES, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, domain, memory, 0, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, domain, memory, SIZE_MAX, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, domain, (void *)1, SIZE_MAX - 2, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register(&out, domain, memory, BYTES, 0xffff), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_get(&out, NULL, memory, BYTES, 0), -EINVAL);
	GIVES(fare_mr_get(NULL, domain, memory, BYTES, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_get(&out, domain, NULL, BYTES, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_get(&out, domain, memory, SIZE_MAX, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_get(&out, domain, memory, BYTES, 8), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, NULL, 0, 0, BYTES, 0, 0), -EINVAL);
	GIVES(fare_mr_register_dmabuf(NULL, domain, 0, 0, BYTES, 0, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, domain, -1, 0, BYTES, 0, 0), -EBADF);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, domain, 0, 0, 0, 0, 0), -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, domain, 0, UINT64_MAX, BYTES, 0, 0),
		      -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, domain, 0, 0, BYTES, UINT64_MAX, 0),
		      -EINVAL);
	MAKES_NOTHING(fare_mr, fare_mr_register_dmabuf(&out, domain, 0, 0, BYTES, 0, 4), -EINVAL);
	fare_mr_deregister(NULL);
	fare_mr_invalidate(NULL, memory, BYTES);
	fare_mr_invalidate(domain, NULL, SIZE_MAX);
	fare_mr_invalidate(domain, memory, 0);
	GIVES(fare_mr_sync(NULL), -EINVAL);
	GIVES(fare_mr_addr(NULL), 0);
	GIVES(fare_mr_rkey(NULL), 0);
}

static void open_group_wrongly(struct fare_group_options options, long wanted)
{
	MAKES_NOTHING(fare_group, fare_group_open(&out, domain, &peer, &options), wanted);
}

static void call_group_open(void)
{
	struct in6_addr six = {.s6_addr = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, none = {0};
	struct fare_address address = {0};

	open_group_wrongly((struct fare_group_options){.mode = (enum fare_mode)77}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.mode = (enum fare_mode) - 1}, -EINVAL);
	open_group_wrongly(
		(struct fare_group_options){
			.baseline = &(struct fare_baseline){.placement =
								    (enum fare_kernel_placement)9}},
		-EINVAL);
	open_group_wrongly((struct fare_group_options){.qps_per_sub_port = UINT32_MAX}, -EINVAL);
	open_group_wrongly(
		(struct fare_group_options){.mode = FARE_MODE_KERNEL,
					    .baseline = &(struct fare_baseline){.qps = UINT32_MAX}},
		-EINVAL);
	open_group_wrongly((struct fare_group_options){.flows = UINT32_MAX}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.chunk_bytes = UINT32_MAX}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.window_bytes = UINT32_MAX}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.max_messages = FARE_MESSAGES_MAX + 1},
			   -EINVAL);
	open_group_wrongly((struct fare_group_options){.message_bytes = FARE_MESSAGE_MAX + 1},
			   -EINVAL);
	open_group_wrongly((struct fare_group_options){.private_bytes = 10}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.private_data = memory,
						       .private_bytes = FARE_PRIVATE_MAX + 1},
			   -EINVAL);
	open_group_wrongly((struct fare_group_options){.dscp = FARE_DSCP_ZERO + 1}, -EINVAL);
	open_group_wrongly((struct fare_group_options){.service_level = 16}, -EINVAL);
	GIVES(fare_group_open(NULL, domain, &peer, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open(&out, NULL, &peer, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open(&out, domain, NULL, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open(&out, domain, &six, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open(&out, domain, &none, NULL), -EINVAL);
	GIVES(fare_group_open_to(NULL, domain, &address, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open_to(&out, NULL, &address, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open_to(&out, domain, NULL, NULL), -EINVAL);
	MAKES_NOTHING(fare_group, fare_group_open_to(&out, domain, &address, NULL), -EINVAL);
	memset(&address, 0xff, sizeof(address));
	MAKES_NOTHING(fare_group, fare_group_open_to(&out, domain, &address, NULL), -EINVAL);
}

static void call_group(void)
{
	struct fare_group_stats stats = {.timeouts = 5};
	struct in6_addr address;
	size_t bytes = 5;

	fare_group_disconnect(NULL);
	fare_group_close(NULL);
	GIVES(fare_group_private(NULL, &bytes) != NULL, false);
	GIVES(bytes, 0);
	fare_group_private(group, NULL);
	fare_group_peer(NULL, &address);
	GIVES(memcmp(&address, &in6addr_any, sizeof(address)), 0);
	fare_group_peer(group, NULL);
	fare_group_set_context(NULL, memory);
	GIVES(fare_group_context(NULL) != NULL, false);
	fare_group_stats(NULL, &stats);
	GIVES(stats.timeouts, 0);
	fare_group_stats_sized(group, NULL, sizeof(stats));
	fare_group_dump(NULL, 2);
	fare_group_dump(group, -1);
}

static void write_wrongly(struct fare_write write, long wanted)
{
	GIVES(fare_group_write(group, &write), wanted);
	GIVES(fare_group_write_many(group, &write, 1), wanted);
}

static void read_wrongly(struct fare_read read, long wanted)
{
	GIVES(fare_group_read(group, &read), wanted);
}

static void send_wrongly(struct fare_send send, long wanted)
{
	GIVES(fare_group_send(group, &send), wanted);
}

static void call_transfer(void)
{
	const struct fare_piece piece = {memory, mr, BYTES}, half = {memory, mr, UINT64_MAX / 2},
				nowhere = {NULL, mr, 8}, outside = {memory + 1, mr, BYTES};
	const struct fare_piece two[] = {half, half}, many[FARE_PIECES_MAX + 1] = {piece};
	struct {
		struct fare_write write;
		uint8_t newer[8];
	} newer = {.newer = {1}};

	write_wrongly((struct fare_write){.flags = 0xffff}, -EINVAL);
	write_wrongly((struct fare_write){.length = 1}, -EINVAL);
	write_wrongly((struct fare_write){.data = memory, .length = 1}, -EINVAL);
	write_wrongly((struct fare_write){.mr = mr, .length = 1}, -EINVAL);
	write_wrongly((struct fare_write){.data = memory, .mr = mr, .length = BYTES + 1}, -EINVAL);
	write_wrongly((struct fare_write){.data = memory, .mr = mr, .length = UINT64_MAX}, -EINVAL);
	write_wrongly((struct fare_write){.data = memory + 1, .mr = mr, .length = BYTES}, -EINVAL);
	write_wrongly(
		(struct fare_write){
			.data = memory, .mr = mr, .length = 2, .remote_addr = UINT64_MAX},
		-EINVAL);
	write_wrongly((struct fare_write){.n_pieces = 1}, -EINVAL);
	write_wrongly((struct fare_write){.pieces = &piece, .n_pieces = UINT32_MAX}, -EINVAL);
	write_wrongly((struct fare_write){.pieces = many, .n_pieces = FARE_PIECES_MAX + 1},
		      -EINVAL);
	write_wrongly((struct fare_write){.pieces = &piece, .n_pieces = 1, .length = 1}, -EINVAL);
	write_wrongly((struct fare_write){.pieces = &nowhere, .n_pieces = 1}, -EINVAL);
	write_wrongly((struct fare_write){.pieces = &outside, .n_pieces = 1}, -EINVAL);
	write_wrongly((struct fare_write){.pieces = two, .n_pieces = 2}, -EINVAL);
	write_wrongly(
		(struct fare_write){.pieces = &piece, .n_pieces = 1, .remote_addr = UINT64_MAX},
		-EINVAL);
	read_wrongly((struct fare_read){.flags = FARE_WRITE_NOTIFY}, -EINVAL);
	read_wrongly((struct fare_read){.data = memory, .mr = mr, .length = BYTES + 1}, -EINVAL);
	read_wrongly((struct fare_read){.data = memory, .mr = NULL, .length = 1}, -EINVAL);
	read_wrongly(
		(struct fare_read){
			.data = memory, .mr = mr, .length = BYTES, .remote_addr = UINT64_MAX},
		-EINVAL);
	send_wrongly((struct fare_send){.flags = 0xffff}, -EINVAL);
	send_wrongly((struct fare_send){.length = 1}, -EINVAL);
	send_wrongly((struct fare_send){.data = memory, .length = UINT32_MAX}, -EMSGSIZE);
	GIVES(fare_group_write(group, NULL), -EINVAL);
	GIVES(fare_group_write(NULL, &newer.write), -EINVAL);
	GIVES(fare_group_write_many(group, NULL, 3), -EINVAL);
	GIVES(fare_group_write_many(group, NULL, 0), 0);
	GIVES(fare_group_write_many(NULL, &newer.write, 1), -EINVAL);
	GIVES(fare_group_read(group, NULL), -EINVAL);
	GIVES(fare_group_read(NULL, &(struct fare_read){0}), -EINVAL);
	GIVES(fare_group_send(group, NULL), -EINVAL);
	GIVES(fare_group_send(NULL, &(struct fare_send){0}), -EINVAL);
	GIVES(fare_group_write_sized(group, &newer.write, sizeof(newer)), -E2BIG);
}

/* After all that, the group works. */
static void call_rightly(void)
{
	struct fare_send send = {.data = memory, .length = 8, .context = 1};
	uint64_t end = clock_now_ns() + UINT64_C(10000000000);
	struct fare_event e[8];
	int status = 1;

	GIVES(fare_group_send(group, &send), 0);
	while (status == 1 && clock_now_ns() < end) {
		int n = bed_events(domain, e, 8, 5);

		for (int i = 0; i < n; i++)
			if (e[i].kind == FARE_EVENT_COMPLETED && e[i].context == 1)
				status = e[i].status;
	}
	GIVES(status, 0);
}

static void open_all(void)
{
	struct fare_group_options options = {.message_bytes = 64};

	domain = bed_enter(&bed, 0, &fare);
	peer = bed_address(1);
	GIVES(fare_pair_open(&pair, fare, 0, &peer), 0);
	GIVES(fare_spray_open(&spray, pair), 0);
	GIVES(fare_flows_open(&flows, pair, NULL), 0);
	GIVES(fare_mr_register(&mr, domain, NULL, SIZE_MAX, 0), 0); /* all memory */
	fare_mr_deregister(mr);
	GIVES(fare_mr_register(&mr, domain, memory, BYTES, 0), 0);
	GIVES(fare_group_open(&group, domain, &peer, &options), 0);
}

static int application(void *arg)
{
	(void)arg;
	open_all();
	call_attach();
	call_picks();
	call_domain();
	call_regions();
	call_group_open();
	call_group();
	call_transfer();
	call_rightly();
	fare_flows_close(flows);
	fare_spray_close(spray);
	fare_pair_close(pair);
	fare_domain_close(domain);
	fare_detach(fare);
	return wrong != 0;
}

static _Atomic uint64_t *shared;

static int receiver(void *arg)
{
	(void)arg;
	return bed_sink(&bed, 1, BYTES, &shared[0], &shared[1], (_Atomic int *)&shared[2]);
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	int failed;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, receiver, NULL) || bed_start(&bed, 0, application, NULL) ||
		 bed_join(&bed, 0);
	shared[2] = 1;
	failed |= bed_join(&bed, 1);
	bed_destroy(&bed);
	if (!failed)
		puts("hostile_api: ok");
	return failed;
}
