/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/transport/session.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/interrupt.h"
#include "suite/derive.h"
#include "suite/trial.h"

#define PATIENCE_S   300 /* in all, for cores that are too far apart */
#define MAX_FAILURES 64

/* A point at which a peer's library failed: it would fail again, after as long. */
struct failure {
	const struct transport_method *method;
	size_t bytes;
	char why[TRANSPORT_WHY_BYTES];
};

struct session {
	struct transport_net net;
	const struct transport_method *method[TRANSPORT_MAX_METHODS];
	unsigned n_methods, n_failures;
	struct failure failure[MAX_FAILURES];
	/* left; while there is none, cores may be as far apart as they like */
	double patience_s;
};

void session_close(void *state)
{
	struct session *s = state;

	transport_net_down(&s->net);
	free(s);
}

static int session_open(struct trial *t, struct session **out)
{
	struct session *s = *t->state;

	*out = s;
	if (s)
		return 0;
	if (geteuid()) {
		fprintf(stderr, "farebench: %s needs root: it makes network namespaces\n",
			t->test->id);
		return -EPERM;
	}
	s = *t->state = *out = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->patience_s = PATIENCE_S;
	s->n_methods = transport_methods(s->method);
	return transport_net_up(&s->net, TRANSPORT_PLANES);
}

/* Methods that need more than this machine's kernel and ourselves may fail without failing us. */
static bool is_foreign(const struct transport_method *m)
{
	return !strncmp(m->name, "ofi-", 4) || !strncmp(m->name, "ucx-", 4);
}

static bool is_far(const struct session *s, const struct trial *t, double handover_ns)
{
	double max_ns = trial_number(t, "max_handover");

	return max_ns > 0 && handover_ns > max_ns && s->patience_s > 0;
}

/* A host moves cores every few seconds. */
static void await_near(struct session *s, const struct trial *t)
{
	double start = clock_now_s(), left = s->patience_s;

	while (!interrupt_pending() && is_far(s, t, transport_handover_ns())) {
		clock_pause_ns(50000000);
		s->patience_s = left - (clock_now_s() - start);
	}
}

static int check_bytes(const struct trial *t, const struct session_how *how)
{
	double bytes = trial_number(t, "bytes");

	if (bytes >= TRANSPORT_MIN_BYTES && bytes <= TRANSPORT_MAX_BYTES && how->qps >= 1 &&
	    how->qps <= TRANSPORT_MAX_QPS)
		return 0;
	fprintf(stderr, "farebench: %s: 8 bytes to 64M and 1 to %d QPs are expected\n", t->test->id,
		TRANSPORT_MAX_QPS);
	return -EINVAL;
}

/* Why this method is not measured so; NULL: it is. */
static const char *cannot(const struct session *s, const struct transport_method *m,
			  const struct session_how *how, size_t bytes)
{
	if (!m)
		return "its library was not there when this was built, or does not load";
	if (m->is_probe && !how->latency)
		return "it is for latency alone";
	if (m->reads && how->latency)
		return "it is for goodput alone";
	if (how->qps > 1 && !m->many_qps)
		return "it has one QP or connection";
	if (how->block && !m->fd)
		return "it can only spin";
	for (unsigned i = 0; i < s->n_failures; i++)
		if (s->failure[i].method == m && s->failure[i].bytes == bytes)
			return s->failure[i].why;
	return NULL;
}

static const struct transport_method *method_of(const struct session *s, const struct trial *t)
{
	for (unsigned i = 0; i < s->n_methods; i++)
		if (strcmp(s->method[i]->name, trial_text(t, "method")) == 0)
			return s->method[i];
	return NULL;
}

/* What a method that failed means for the run. */
static int session_judge(struct session *s, struct trial *t, const struct transport_case *c,
			 const struct transport_outcome *out, int err)
{
	if (err != -EOPNOTSUPP && !is_foreign(c->method))
		return err;
	if (s->n_failures < MAX_FAILURES) {
		struct failure *failure = &s->failure[s->n_failures++];

		failure->method = c->method;
		failure->bytes = c->bytes;
		snprintf(failure->why, sizeof(failure->why), "%s",
			 err == -EOPNOTSUPP ? "not on this machine" : out->why);
	}
	trial_missing(t, NULL, "%s", err == -EOPNOTSUPP ? "not on this machine" : out->why);
	return 0;
}

int session_measure(struct trial *t, const struct session_how *how, struct transport_outcome *out,
		    bool *measured)
{
	struct session *s;
	int err = check_bytes(t, how);
	const char *why;

	*measured = false;
	if (!err)
		err = session_open(t, &s);
	if (err)
		return err;
	struct transport_case c = {.method = method_of(s, t),
				   .bytes = (size_t)trial_number(t, "bytes"),
				   .qps = how->qps,
				   .seconds = t->seconds,
				   .latency = how->latency,
				   .block = how->block};

	why = cannot(s, c.method, how, c.bytes);
	if (why) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	err = c.method->n_planes ? transport_net_publish(&s->net, c.method->n_planes) : 0;
	if (err)
		return err;
	await_near(s, t);
	double before = transport_handover_ns();

	err = transport_run(&s->net, &c, out);
	if (err)
		return session_judge(s, t, &c, out, err);
	out->handover_ns = fmax(before, transport_handover_ns());
	if (is_far(s, t, out->handover_ns))
		t->again = "the ends' cores were too far apart (max_handover)";
	*measured = true;
	return 0;
}

int session_goodput(struct trial *t, const struct session_how *how)
{
	struct transport_outcome out;
	bool measured;
	int err = session_measure(t, how, &out, &measured);

	if (err || !measured)
		return err;
	trial_value(t, "goodput", out.goodput_bps / 1e9, out.n);
	trial_value(t, "cpu", out.cpu_s_per_gb, out.n);
	if (out.handover_ns >= 0)
		trial_value(t, "handover", out.handover_ns, 1);
	return 0;
}

/* The median of raw's goodput where the row stands, over one QP. */
static double ceiling_of(const struct rows *rows, const struct row *at)
{
	struct row_param param[ROWS_MAX_PARAMS];

	memcpy(param, at->param, sizeof(param));
	for (unsigned i = 0; i < at->n_params; i++)
		if (strcmp(param[i].name, "method") == 0)
			row_param_set(&param[i], "method", transport_raw.name);
		else if (strcmp(param[i].name, "qps") == 0)
			row_param_set(&param[i], "qps", "1");
	return derive_median(rows, at->test, "", "goodput", at->n_params, param, 0.5);
}

int session_derive(const struct test *test, struct rows *rows)
{
	const struct rows_filter filter = {.test = test->id, .kpi = "goodput", .strategy = ""};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);

		err = derive_value(
			rows, &row, "of_ceiling",
			derive_median(rows, test->id, "", "goodput", row.n_params, row.param, 0.5) /
				ceiling_of(rows, &row));
	}
	return err;
}
