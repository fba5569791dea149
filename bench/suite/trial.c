/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/trial.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_CLOCK_SHARE 0.1 /* of a time: the error that is let pass */

static const struct row_param *trial_param(const struct trial *t, const char *name)
{
	for (unsigned i = 0; i < t->n_params; i++)
		if (strcmp(t->param[i].name, name) == 0)
			return &t->param[i];
	fprintf(stderr, "farebench: test %s declares no parameter %s\n", t->test->id, name);
	abort();
}

double trial_number(const struct trial *t, const char *param)
{
	return trial_param(t, param)->number;
}

const char *trial_text(const struct trial *t, const char *param)
{
	return trial_param(t, param)->text;
}

unsigned trial_count(const struct trial *t, const char *param)
{
	return (unsigned)trial_param(t, param)->number;
}

void trial_fill_row(const struct trial *t, struct row *row, const char *kpi)
{
	snprintf(row->test, sizeof(row->test), "%s", t->test->id);
	snprintf(row->strategy, sizeof(row->strategy), "%s", t->strategy_name);
	snprintf(row->kpi, sizeof(row->kpi), "%s", kpi);
	row->n_params = t->n_params;
	memcpy(row->param, t->param, sizeof(row->param));
	row->trial = t->number;
}

/* The next row, with what it belongs to; NULL: no memory, which is kept in t->err. */
static struct row *trial_row(struct trial *t, const char *kpi)
{
	struct row *row;

	if (t->n_rows == t->room) {
		unsigned room = t->room ? 2 * t->room : 32;
		struct row *grown = realloc(t->row, room * sizeof(*grown));

		if (!grown) {
			t->err = -ENOMEM;
			return NULL;
		}
		t->row = grown;
		t->room = room;
	}
	row = &t->row[t->n_rows++];
	memset(row, 0, sizeof(*row));
	trial_fill_row(t, row, kpi);
	row->value = NAN;
	return row;
}

void trial_value(struct trial *t, const char *kpi, double value, uint64_t n)
{
	struct row *row = trial_row(t, kpi);

	if (!row)
		return;
	row->value = value;
	row->n = n;
	if (!isfinite(value))
		row->missing = strdup("not a number: nothing of it was seen in this trial");
}

void trial_value_asked(struct trial *t, const char *kpi, double value, uint64_t n)
{
	if (test_kpi(t->test, kpi))
		trial_value(t, kpi, value, n);
}

void trial_hist(struct trial *t, const char *kpi, const struct hist *hist)
{
	struct row *row;

	if (hist->n == 0) {
		trial_missing(t, kpi, "nothing that was due in the time measured was seen to end");
		return;
	}
	row = trial_row(t, kpi);
	if (!row)
		return;
	row->hist = malloc(sizeof(*row->hist));
	if (row->hist)
		*row->hist = *hist;
	else
		t->err = -ENOMEM;
	row->n = hist->n;
}

/* False, and the row says so: the clocks' error is too large for times like this. */
static bool trial_clocks_suffice(struct trial *t, const char *kpi, double typical_ns)
{
	if (t->clock_error_ns <= typical_ns * TRIAL_CLOCK_SHARE)
		return true;
	trial_missing(t, kpi, "the hosts' clocks agree within %.1f us only, for times of %.1f us",
		      t->clock_error_ns / 1e3, typical_ns / 1e3);
	return false;
}

void trial_one_way(struct trial *t, const char *kpi, const struct hist *hist)
{
	if (!hist->n || trial_clocks_suffice(t, kpi, hist_quantile(hist, 0.5)))
		trial_hist(t, kpi, hist);
}

void trial_one_way_value(struct trial *t, const char *kpi, double value, uint64_t n,
			 double typical_ns)
{
	if (n == 0 || trial_clocks_suffice(t, kpi, typical_ns))
		trial_value(t, kpi, value, n);
}

void trial_p99(struct trial *t, const char *kpi, const struct hist *hist, double scale)
{
	if (hist_carries(hist, 0.99))
		trial_one_way_value(t, kpi, hist_quantile(hist, 0.99) * scale, hist->n,
				    hist_quantile(hist, 0.5));
	else
		trial_no_p99(t, kpi);
}

void trial_no_p99(struct trial *t, const char *kpi)
{
	trial_missing(t, kpi, "a trial had fewer than the %d measurements that carry a P99",
		      100 * HIST_BEYOND);
}

void trial_set_text(struct trial *t, const char *kpi, const char *text)
{
	struct row *row = trial_row(t, kpi);

	if (row && !(row->text = strdup(text)))
		t->err = -ENOMEM;
}

/* kpi NULL: whether it is measured; else whether it is that one. */
static bool is_meant(const struct kpi *k, const char *kpi)
{
	return kpi ? strcmp(k->name, kpi) == 0 : !kpi_is_simulated(k->name);
}

void trial_missing(struct trial *t, const char *kpi, const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	for (const struct kpi *k = t->test->kpis; k->name; k++) {
		struct row *row = is_meant(k, kpi) ? trial_row(t, k->name) : NULL;

		if (row && !(row->missing = strdup(text)))
			t->err = -ENOMEM;
	}
}

void trial_with(struct trial *t, const char *param, const char *text)
{
	unsigned declared = 0;

	for (const struct param *p = t->test->params; p && p->name; p++)
		declared++;
	t->n_params = declared;
	if (text &&
	    (declared == ROWS_MAX_PARAMS || row_param_set(&t->param[t->n_params++], param, text)))
		t->err = -EINVAL;
}

void trial_fini(struct trial *t)
{
	for (unsigned i = 0; i < t->n_rows; i++) {
		free(t->row[i].hist);
		free(t->row[i].text);
		free(t->row[i].missing);
	}
	free(t->row);
	t->row = NULL;
	t->n_rows = t->room = 0;
}

void trial_model(struct trial *t, const char *kpi, double model, const char *why)
{
	const struct kpi *declared = test_kpi(t->test, kpi);
	double measured = NAN;

	for (unsigned i = 0; i < t->n_rows; i++) {
		const struct row *row = &t->row[i];

		if (strcmp(row->kpi, kpi) != 0)
			continue;
		measured = row->hist ? hist_mean(row->hist) *
					       (declared->scale > 0 ? declared->scale : 1)
				     : row->value;
	}
	if (!isfinite(model)) {
		trial_missing(t, "model", "%s", why);
		trial_missing(t, "model_ratio", "%s", why);
		return;
	}
	trial_value(t, "model", model, 1);
	if (isfinite(measured) && model > 0)
		trial_value(t, "model_ratio", measured / model, 1);
	else
		trial_missing(t, "model_ratio",
			      model > 0 ? "%s was not measured" : "%s of an ideal fabric is 0",
			      kpi);
}

void trial_spoil(struct trial *t, const char *why)
{
	trial_fini(t);
	fprintf(stderr, "farebench: %s, trial %u is spoilt: %s\n", t->test->id, t->number + 1, why);
	trial_missing(t, NULL, TRIAL_SPOILT "%s", why);
}

struct traffic_load trial_load(const struct trial *t, const char *name, unsigned qps)
{
	return (struct traffic_load){.name = name,
				     .options = {.strategy = t->strategy, .qps = qps},
				     .seed = t->seed & INT64_MAX};
}

/* What a run tells of the hosts and not of the traffic. */
static int trial_note(struct trial *t, const struct measured *m)
{
	double error_ns;
	int err = fabric_clocks_end(t->fabric, &error_ns);

	t->idle = m->idle;
	t->fabric->paths.deaths += m->books.path_deaths;
	t->path_deaths += m->books.path_deaths;
	t->fabric->paths.rebuilds += m->books.path_rebuilds;
	t->fabric->paths.runs++;
	t->held |= m->held;
	t->clock_error_ns = fmax(t->clock_error_ns, error_ns);
	return err;
}

/* A queue that was taken away meanwhile took its counts along: then nothing is known. */
static int trial_packets(struct trial *t, const struct lab_packets *before, struct measured *out)
{
	struct lab_packets after;
	int err;

	if (t->fabric->hosts)
		return 0;
	err = lab_packets(&t->fabric->lab, &after);
	if (!err && after.sent > before->sent && after.dropped >= before->dropped) {
		out->fabric_sent = after.sent - before->sent;
		out->fabric_dropped = after.dropped - before->dropped;
	}
	return err;
}

int trial_measure(struct trial *t, const struct plan *plan,
		  int (*meanwhile)(void *arg, uint64_t from_ns, uint64_t to_ns), void *arg,
		  struct measured *out)
{
	struct measure measure = {.topo = t->fabric->topo,
				  .plan = plan,
				  .warm_s = t->warm_s,
				  .seconds = t->seconds,
				  .bins = t->bins,
				  .meanwhile = meanwhile,
				  .arg = arg};
	struct lab_packets before;
	uint64_t stall_ns;
	int err = plan->err, stalled;

	memset(out, 0, sizeof(*out));
	if (!err)
		err = fabric_cluster_of(t->fabric, plan_arena_bytes(plan), &t->memory);
	if (!err)
		err = fabric_prepare(t->fabric, t->strategy);
	measure.cluster = t->fabric->cluster;
	if (!err)
		err = fabric_clocks_begin(t->fabric);
	if (!err && !t->fabric->hosts)
		err = lab_packets(&t->fabric->lab, &before);
	if (!err)
		err = measure_run(&measure, out);
	if (!err && (err = trial_packets(t, &before, out)))
		measured_fini(out);
	if (err)
		return err;
	audit_count(&t->counts, out, plan->load, plan->stream);
	stalled = audit_stalled(out, trial_gpus(t), &stall_ns);
	if (stalled >= 0 && !t->is_fault_planned) {
		snprintf(t->why_again, sizeof(t->why_again),
			 "made again: GPU %d stalled for %.0f ms, others did not", stalled,
			 (double)stall_ns / 1e6);
		t->again = t->why_again;
	}
	return trial_note(t, out);
}

unsigned trial_gpus(const struct trial *t)
{
	return t->fabric->topo->n_gpus;
}

unsigned trial_prefill(const struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	unsigned n = (topo->n_gpus + 1) / 2;

	/* a server's GPUs stay together */
	while (n < topo->n_gpus && n > 0 && topo->gpus[n].server == topo->gpus[n - 1].server)
		n++;
	return n < topo->n_gpus ? n : 1;
}

bool trial_guard_is_busy(const struct cpu_idle *idle)
{
	return idle->busiest_core_percent < TRIAL_GUARD_PERCENT;
}

int trial_guard_judge(struct trial_guard *guard, const struct cpu_idle *idle)
{
	if (!trial_guard_is_busy(idle)) {
		guard->in_a_row = 0;
		return 0;
	}
	if (guard->in_a_row == TRIAL_GUARD_IN_A_ROW)
		return -EBUSY;
	guard->in_a_row++;
	guard->repeated++;
	return -EAGAIN;
}
