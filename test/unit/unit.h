// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_H
#define NB_TEST_UNIT_H

#include <check.h>
#include <stdlib.h>

/*
 * One libcheck program a module. test_<module>.c defines its START_TESTs and
 * ends with
 *
 *	UNIT_MAIN("module", tcase_add_test(tc, first); tcase_add_test(tc, …);)
 *
 * Check prints TAP when CK_TAP_LOG_FILE_NAME=- is set; test/run does.
 */
// clang-format off
#define UNIT_MAIN(name, adds)                                                  \
	int main(void)                                                         \
	{                                                                      \
		Suite *s = suite_create(name);                                 \
		TCase *tc = tcase_create(name);                                \
		SRunner *sr;                                                   \
		int failed;                                                    \
                                                                               \
		tcase_set_timeout(tc, 0); /* the suite has a limit */          \
		adds suite_add_tcase(s, tc);                                   \
		sr = srunner_create(s);                                        \
		srunner_run_all(sr, getenv("CK_TAP_LOG_FILE_NAME") ? CK_SILENT \
								   : CK_NORMAL); \
		failed = srunner_ntests_failed(sr);                            \
		srunner_free(sr);                                              \
		return failed ? EXIT_FAILURE : EXIT_SUCCESS;                   \
	}
// clang-format on

#endif
