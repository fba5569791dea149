/* What arrives and is not meant. */
#include <endian.h>
#include <unistd.h>

#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "soft_pair.h"

/* A well-formed WRITE ONLY with a right ICRC, from an address that qb is not connected to (or is,
 * to prove the rest). */
static void forge(const char *source, bool good_icrc)
{
	struct roce_packet p = {.opcode = ROCE_WRITE_ONLY,
				.ack_req = true,
				.dest_qpn = P->qp_num(qb),
				.psn = P->qp_psn(qa),
				.remote_addr = (uintptr_t)to,
				.rkey = mb.rkey,
				.dma_bytes = 4,
				.payload_bytes = 4};
	struct roce_flow flow = {address(source), address("::ffff:127.0.0.3"), 50505, 4791};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(50505)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), dont_fragment = 2;
	uint8_t bytes[64];
	size_t n = roce_wire_build(&p, bytes);
	uint32_t crc;

	memcpy(bytes + n, "evil", 4);
	crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, bytes + n, 4, 0) ^ !good_icrc);
	memcpy(bytes + n + 4, &crc, 4);
	memcpy(&at.sin_addr, flow.source.s6_addr + 12, 4);
	ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, 10 /* IP_MTU_DISCOVER */, &dont_fragment, 4),
			 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	at.sin_port = htons(4791);
	memcpy(&at.sin_addr, flow.destination.s6_addr + 12, 4);
	ck_assert_int_eq(sendto(fd, bytes, n + 8, 0, (struct sockaddr *)&at, sizeof(at)),
			 (int)n + 8);
	close(fd);
}

START_TEST(strangers_write_nothing)
{
	struct qp_stats s;

	open_default();
	forge("::ffff:127.0.0.9", true);
	RUN_UNTIL((P->endpoint_stats(b, &s), s.rx_dropped == 1));
	ck_assert_uint_eq(s.icrc_errors, 0);
	forge("::ffff:127.0.0.2", false);
	RUN_UNTIL((P->endpoint_stats(b, &s), s.icrc_errors == 1));
	ck_assert_uint_eq(to[0], 0);
	/* the same packet from the right address lands: so the refusals above had the reasons they
	 * claim */
	forge("::ffff:127.0.0.2", true);
	RUN_UNTIL(to[0] == 'e');
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_rx");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_test(t, strangers_write_nothing);
	suite_add_tcase(s, t);
	return run_suite(s);
}
