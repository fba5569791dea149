#include <check.h>
#include <stdlib.h>

#include "failover_trial.h"

START_TEST(only_what_traffic_begun_anew_does_not_reach_either_is_the_machines)
{
	struct failover_trial t = {.back_at_all = false, .after_ratio = 0.64, .control_ratio = 0.65};

	ck_assert(failover_trial_slowed(&t));
	t.control_ratio = 0.66; /* 64 of 66: less than 98% */
	ck_assert(!failover_trial_slowed(&t));
	t.control_ratio = 1;
	ck_assert(!failover_trial_slowed(&t));
	t.control_ratio = -1; /* not asked: the weights did not come back either */
	ck_assert(!failover_trial_slowed(&t));
	t = (struct failover_trial){.back_at_all = true, .after_ratio = 1, .control_ratio = -1};
	ck_assert(!failover_trial_slowed(&t));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failover_trial");
	TCase *tcase = tcase_create("failover_trial");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, only_what_traffic_begun_anew_does_not_reach_either_is_the_machines);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
