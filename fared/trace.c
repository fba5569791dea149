/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

void trace_begin(struct trace *t, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		 uint32_t count)
{
	t->running = true;
	t->over = false;
	t->gpu = gpu;
	t->plane = plane;
	t->peer = *peer;
	t->count = count;
	t->n_sent = t->n_answered = t->n_missed = t->n = 0;
}

void trace_stop(struct trace *t)
{
	t->running = false;
}

/* Where the next line goes; NULL: there is no room. */
static struct trace_line *trace_next_line(struct trace *t)
{
	if (t->n == TRACE_ROOM) {
		t->n_missed++;
		return NULL;
	}
	return &t->lines[t->n++];
}

/* What was under way when the trace began is not of it. */
static bool is_of_before(const struct trace *t, const struct prober_trace *probe)
{
	return probe->kind == PROBER_TRACE_ANSWERED &&
	       (!t->n_sent || probe->at_ns - probe->rtt_ns < t->first_sent_ns);
}

/*
 * The last probe may be answered until the next one leaves: then, or with its answer, the trace is
 * over.
 */
static void count_probe(struct trace *t, const struct prober_trace *probe)
{
	bool sent = probe->kind == PROBER_TRACE_SENT;

	if (sent && t->n_sent == t->count) {
		t->over = true;
		return;
	}
	if (sent && !t->n_sent)
		t->first_sent_ns = probe->at_ns;
	if (sent && ++t->n_sent == t->count)
		t->last_sequence = probe->sequence;
	if (!sent)
		t->n_answered++;
	if (!sent && t->n_sent == t->count && probe->sequence == t->last_sequence)
		t->over = true;
}

void trace_probe(struct trace *t, const struct prober_trace *probe)
{
	uint32_t n_sent = t->n_sent;
	struct trace_line *line;

	if (!t->running || t->over || is_of_before(t, probe))
		return;
	count_probe(t, probe);
	if (probe->kind == PROBER_TRACE_SENT && t->n_sent == n_sent)
		return;
	line = trace_next_line(t);
	if (line)
		*line = (struct trace_line){.probe = *probe};
}

void trace_change(struct trace *t, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		  const struct probe_fsm_change *change, uint64_t now_ns)
{
	struct trace_line *line;

	if (!t->running || t->over || gpu != t->gpu || plane != t->plane ||
	    !IN6_ARE_ADDR_EQUAL(peer, &t->peer))
		return;
	line = trace_next_line(t);
	if (line)
		*line = (struct trace_line){.is_change = true,
					    .at_ns = now_ns,
					    .from = change->old_state,
					    .to = change->new_state,
					    .reason = change->reason};
}

/* ---- as JSON ------------------------------------------------------------- */

static json_t *known(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *line_json(const struct trace_line *l, uint64_t now_ns, uint64_t wall_ns)
{
	const struct prober_trace *p = &l->probe;
	uint64_t at_ns = l->is_change ? l->at_ns : p->at_ns;
	json_int_t wall = (json_int_t)(wall_ns - (now_ns - at_ns));
	json_t *json;

	if (l->is_change)
		return json_pack("{s:s, s:I, s:I, s:s, s:s, s:s}", "what", "state", "mono_ns",
				 (json_int_t)at_ns, "wall_ns", wall, "from",
				 probe_state_name(l->from), "to", probe_state_name(l->to), "reason",
				 l->reason ? l->reason : "");
	json = json_pack("{s:s, s:I, s:I, s:I, s:i, s:o, s:o, s:i, s:b, s:s}", "what",
			 p->kind == PROBER_TRACE_SENT ? "sent" : "answered", "sequence",
			 (json_int_t)p->sequence, "mono_ns", (json_int_t)at_ns, "wall_ns", wall,
			 "local_sub_port", (int)p->local_sub_port, "remote_sub_port",
			 known(p->remote_sub_port), "reply_sub_port", known(p->reply_sub_port),
			 "source_port", (int)p->source_port, "counts", p->counts, "state",
			 probe_state_name(p->state));
	if (json && p->kind == PROBER_TRACE_ANSWERED)
		json_object_set_new(json, "rtt_ns", json_integer((json_int_t)p->rtt_ns));
	return json;
}

static void hand_out(json_t *json, void (*on_line)(void *arg, const json_t *line), void *arg)
{
	if (json)
		on_line(arg, json);
	json_decref(json);
}

void trace_flush(struct trace *t, uint64_t now_ns, uint64_t wall_ns,
		 void (*on_line)(void *arg, const json_t *line), void *arg)
{
	uint32_t n = t->n, missed = t->n_missed;

	if (!t->running)
		return;
	t->n = t->n_missed = 0;
	for (uint32_t i = 0; i < n; i++)
		hand_out(line_json(&t->lines[i], now_ns, wall_ns), on_line, arg);
	if (missed)
		hand_out(json_pack("{s:s, s:I}", "what", "missed", "n", (json_int_t)missed),
			 on_line, arg);
	if (!t->over)
		return;
	t->running = false;
	hand_out(json_pack("{s:s, s:I, s:I}", "what", "end", "sent", (json_int_t)t->n_sent,
			   "answered", (json_int_t)t->n_answered),
		 on_line, arg);
}
