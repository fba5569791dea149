/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/test.h"

#include <errno.h>
#include <string.h>

#include "engine/strategy.h"

bool test_is_draft(const struct test *test)
{
	return test->id[0] >= '0' && test->id[0] <= '9';
}

bool test_is_training(const struct test *test)
{
	return test->id[0] == 'T' && test->id[1] >= '0' && test->id[1] <= '9';
}

const char *test_strategy_name(const struct test *test, int i)
{
	return test->strategies ? test->strategies[i] : strategy_name((enum strategy)i);
}

int test_own_strategy(const struct test *test, const char *name)
{
	for (int i = 0; test->strategies && test->strategies[i]; i++)
		if (strcmp(test->strategies[i], name) == 0)
			return i;
	return -ENOENT;
}

bool test_correlated(const struct test *test, const char *kpi)
{
	for (const char *const *at = test->correlated; at && *at; at++)
		if (strcmp(*at, kpi) == 0)
			return true;
	return false;
}

unsigned test_strategy_style(const struct test *test, const char *name, unsigned i)
{
	int place = test_own_strategy(test, name);

	if (place < 0)
		place = strategy_parse(name);
	return place < 0 ? i + 1 : (unsigned)place + 1;
}

const struct kpi *test_kpi(const struct test *test, const char *name)
{
	for (const struct kpi *k = test->kpis; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

bool kpi_is_computed(const struct kpi *kpi)
{
	return strcmp(kpi->name, "model") == 0 || strcmp(kpi->name, "line") == 0;
}

static const struct param *test_param_of(const struct param *list, const char *name)
{
	for (const struct param *p = list; p && p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

const struct param *test_param(const struct test *test, const char *name)
{
	return test_param_of(test->params, name);
}

const struct param *test_axis(const struct test *test, const char *name)
{
	const struct param *param = test_param(test, name);

	return param ? param : test_param_of(test->added, name);
}

static const char *const profile_names[PROFILE_COUNT] = {"quick", "lab", "draft"};

const char *profile_name(enum profile profile)
{
	return profile < PROFILE_COUNT ? profile_names[profile] : "?";
}

int profile_parse(const char *name)
{
	for (int i = 0; i < PROFILE_COUNT; i++)
		if (strcmp(name, profile_names[i]) == 0)
			return i;
	return -ENOENT;
}
