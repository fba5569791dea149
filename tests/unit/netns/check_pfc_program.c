/* SPDX-License-Identifier: BSD-2-Clause */
/* check_pfc_program.c - programs of a switch's port count, pause and drop as pfc_buffer does. */
#include "pfc_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf_run.h"
#include "pfc.h"
#include "tcx.h"

#define PACKETS 20000

static struct pfc_maps maps;
static int enters, leaves;

/* Runs have no tc_index: the slot's number, and 1, is the packet's mark. */
static int load(struct bpf_code *c)
{
	int program;

	bpf_run_replace(c, (struct bpf_insn)LOAD(BPF_W, R1, R6, SKB(tc_index)),
			(struct bpf_insn)LOAD(BPF_W, R1, R6, SKB(mark)));
	program = tcx_load("check", c->insn, c->n);
	ck_assert_int_ge(program, 0);
	return program;
}

static void set_up(void)
{
	struct bpf_code c;

	ck_assert_int_eq(pfc_maps_create(1, &maps), 0);
	pfc_program_egress(&c, &maps);
	enters = load(&c);
	pfc_program_ingress(&c, 0, false, NULL, &maps);
	leaves = load(&c);
}

static void tear_down(void)
{
	close(enters);
	close(leaves);
	pfc_maps_close(&maps);
}

static const struct pfc_limits limits[] = {
	{.xoff_bytes = 20000, .xon_bytes = 10000, .limit_bytes = 32000}, /* it seldom drops */
	{.xoff_bytes = 20000, .xon_bytes = 10000, .limit_bytes = 20000}, /* no headroom */
	{.xoff_bytes = 3000, .xon_bytes = 0, .limit_bytes = 3500},
};

/* More come than go until they are stopped, as by a neighbour; then the queue drains. */
START_TEST(a_port_pauses_and_drops_as_the_rule)
{
	const struct pfc_limits *lim = &limits[_i];
	const struct pfc_slot empty = {.xoff_bytes = lim->xoff_bytes,
				       .xon_bytes = lim->xon_bytes,
				       .limit_bytes = lim->limit_bytes};
	uint16_t fifo[1024];
	unsigned head = 0, tail = 0, stopped = 0, pauses = 0;
	uint64_t drops = 0;
	struct pfc_buffer rule = {0};

	ck_assert_int_eq(tcx_map_write(maps.slots, 0, &empty), 0);
	srand(1);
	for (unsigned i = 0; i < PACKETS; i++) {
		bool comes = head == tail || (!stopped && rand() % 3), wanted = rule.wants_pause;
		unsigned bytes = comes ? 60 + (unsigned)rand() % 1455 : fifo[head % 1024];
		char packet[1514] = {[12] = 8, [14] = 0x45};
		struct pfc_slot slot;
		int rc = bpf_run(comes ? enters : leaves, packet, bytes, 1);

		if (!comes) {
			pfc_buffer_leave(&rule, lim, bytes);
			head++;
			ck_assert_int_eq(rc, TCX_NEXT);
		} else if (pfc_buffer_enter(&rule, lim, bytes)) {
			fifo[tail++ % 1024] = (uint16_t)bytes;
			ck_assert_int_eq(rc, TCX_NEXT);
		} else {
			drops++;
			ck_assert_int_eq(rc, TCX_DROP);
		}
		ck_assert_int_eq(tcx_map_read(maps.slots, 0, &slot), 0);
		ck_assert_int_eq(slot.bytes, rule.bytes);
		ck_assert_int_eq(slot.xoff, rule.wants_pause);
		ck_assert_uint_eq(slot.drops, drops);
		pauses += rule.wants_pause && !wanted;
		/* the neighbour stops some packets later */
		stopped = rule.wants_pause ? stopped || rand() % 8 == 0 : 0;
	}
	printf("limit %lld: %u pauses, %llu drops\n", (long long)lim->limit_bytes, pauses,
	       (unsigned long long)drops);
	ck_assert_uint_gt(pauses, 100);
	ck_assert(drops > 100 || lim->limit_bytes == 32000);
}
END_TEST

START_TEST(what_no_port_counts_passes)
{
	char packet[100] = {[12] = 8, [14] = 0x45};
	struct pfc_slot slot, empty = {.limit_bytes = 0};

	ck_assert_int_eq(tcx_map_write(maps.slots, 0, &empty), 0);
	ck_assert_int_eq(bpf_run(enters, packet, sizeof(packet), 0), TCX_NEXT);
	ck_assert_int_eq(bpf_run(leaves, packet, sizeof(packet), 0), TCX_NEXT);
	ck_assert_int_eq(tcx_map_read(maps.slots, 0, &slot), 0);
	ck_assert_mem_eq(&slot, &empty, sizeof(slot));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pfc_program");
	TCase *t = tcase_create("pfc_program");
	SRunner *r;
	int failed = pfc_maps_create(1, &maps);

	if (failed == -EPERM) {
		puts("skipped: no BPF program can be loaded here (root)");
		return 77;
	}
	pfc_maps_close(&maps);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_port_pauses_and_drops_as_the_rule, 0, 3);
	tcase_add_test(t, what_no_port_counts_passes);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
