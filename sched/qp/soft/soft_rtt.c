/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_rtt.h"

#define DOUBLINGS_MAX 16 /* far beyond any limit, and no overflow */

void soft_rtt_init(struct soft_rtt *rtt, uint64_t timeout_ns, unsigned retry_cnt)
{
	*rtt = (struct soft_rtt){.first_ns = timeout_ns,
				 .give_up_ns = timeout_ns * (retry_cnt + 1),
				 .retry_cnt = retry_cnt};
}

void soft_rtt_measured(struct soft_rtt *rtt, uint64_t rtt_ns)
{
	uint64_t error = rtt_ns > rtt->srtt_ns ? rtt_ns - rtt->srtt_ns : rtt->srtt_ns - rtt_ns;

	rtt->doublings = rtt->raised = 0;
	rtt_ns = rtt_ns ? rtt_ns : 1;
	if (!rtt->srtt_ns) { /* RFC 6298 2.2 */
		rtt->srtt_ns = rtt_ns;
		rtt->rttvar_ns = rtt_ns / 2;
		return;
	}
	rtt->rttvar_ns += error / 4 - rtt->rttvar_ns / 4; /* 2.3 */
	rtt->srtt_ns += rtt_ns / 8 - rtt->srtt_ns / 8;
	if (!rtt->srtt_ns)
		rtt->srtt_ns = 1;
}

void soft_rtt_back_off(struct soft_rtt *rtt)
{
	rtt->doublings += rtt->doublings < DOUBLINGS_MAX;
}

uint64_t soft_rtt_usual_ns(const struct soft_rtt *rtt)
{
	return rtt->srtt_ns + 4 * rtt->rttvar_ns;
}

static uint64_t base_ns(const struct soft_rtt *rtt)
{
	uint64_t usual = soft_rtt_usual_ns(rtt), least = rtt->first_ns;

	if (!rtt->srtt_ns)
		return rtt->first_ns << rtt->raised;
	/* the clock's granularity (G of RFC 6298) is nanoseconds: far below the least time-out */
	if (least > SOFT_RTT_MIN_NS)
		least = SOFT_RTT_MIN_NS;
	return (usual > least ? usual : least) << rtt->raised;
}

void soft_rtt_answered(struct soft_rtt *rtt)
{
	if (rtt->doublings && base_ns(rtt) * 2 < rtt->give_up_ns)
		rtt->raised++;
	rtt->doublings = 0;
}

void soft_rtt_new_path(struct soft_rtt *rtt)
{
	rtt->doublings = rtt->raised = 0;
}

uint64_t soft_rtt_timeout_ns(const struct soft_rtt *rtt)
{
	uint64_t base = base_ns(rtt), doubled = base << rtt->doublings;
	uint64_t most = base > rtt->first_ns ? base : rtt->first_ns;

	return doubled < most ? doubled : most;
}

uint64_t soft_rtt_deadline_ns(const struct soft_rtt *rtt, uint64_t progress_ns, uint64_t now_ns)
{
	uint64_t next = now_ns + soft_rtt_timeout_ns(rtt), end = progress_ns + rtt->give_up_ns;

	return rtt->doublings >= rtt->retry_cnt && end > now_ns && end < next ? end : next;
}

bool soft_rtt_gives_up(const struct soft_rtt *rtt, uint64_t progress_ns, uint64_t now_ns)
{
	return rtt->doublings >= rtt->retry_cnt && now_ns >= progress_ns + rtt->give_up_ns;
}
