// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_H
#define NB_TEST_UNIT_H

#include <check.h>
#include <stdlib.h>

/* Sanitizers see a fault the first time it happens: they need a tenth of the repetitions. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIMES(n) ((n) / 10)
#else
#define TIMES(n) (n)
#endif

/*
 * One libcheck program a module. A test runs because it is defined:
 *
 *	TEST(name) { … }
 *	TEST_EACH(name, from, to) { … }		for each _i from @from up to, but not, @to
 *	TEST_SIGNAL(name, signal) { … }		ends by that signal
 *
 * The bounds are read after the set-up, so they may be what it has found; a test whose @to is its
 * @from does not run. test_<module>.c ends with UNIT_MAIN("module"), or with
 * UNIT_MAIN_WITH("module", set-up;), where tc is the TCase.
 *
 * Check prints TAP when CK_TAP_LOG_FILE_NAME=- is set; test/run does.
 */
struct unit_test {
	const TTest *const *test;
	int signal;
	int (*from)(void), (*to)(void);
	struct unit_test *next;
};

/* In the order of the file: constructors of one file run so. */
static struct unit_test *unit_tests, **unit_tests_end = &unit_tests;

// clang-format off
#define UNIT_TEST(name, by, first, end)                                        \
	static const TTest *name;                                              \
	static int unit_from_##name(void)                                      \
	{                                                                      \
		return (int)(first);                                           \
	}                                                                      \
	static int unit_to_##name(void)                                        \
	{                                                                      \
		return (int)(end);                                             \
	}                                                                      \
	__attribute__((constructor)) static void unit_add_##name(void)         \
	{                                                                      \
		static struct unit_test test = { &name, by, unit_from_##name,  \
						 unit_to_##name, NULL };       \
                                                                               \
		*unit_tests_end = &test;                                       \
		unit_tests_end = &test.next;                                   \
	}                                                                      \
	START_TEST(name)
#define TEST(name) UNIT_TEST(name, 0, 0, 1)
#define TEST_EACH(name, from, to) UNIT_TEST(name, 0, from, to)
#define TEST_SIGNAL(name, by) UNIT_TEST(name, by, 0, 1)
// clang-format on

static inline int unit_run(const char *name, TCase *tc, enum fork_status how)
{
	Suite *s = suite_create(name);
	SRunner *sr;
	int failed;

	for (const struct unit_test *t = unit_tests; t; t = t->next)
		tcase_add_loop_test_raise_signal(tc, *t->test, t->signal, t->from(), t->to());
	tcase_set_timeout(tc, 0); /* the suite has a limit */
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	if (how != CK_FORK_GETENV)
		srunner_set_fork_status(sr, how);
	srunner_run_all(sr, getenv("CK_TAP_LOG_FILE_NAME") ? CK_SILENT : CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// clang-format off
#define UNIT_MAIN(name) UNIT_MAIN_WITH(name, )
#define UNIT_MAIN_WITH(name, set_up) UNIT_MAIN_HOW(name, CK_FORK_GETENV, set_up)
/* All tests in this process. */
#define UNIT_MAIN_IN_ONE(name, set_up) UNIT_MAIN_HOW(name, CK_NOFORK, set_up)
#define UNIT_MAIN_HOW(name, how, set_up)                                       \
	int main(void)                                                         \
	{                                                                      \
		TCase *tc = tcase_create(name);                                \
                                                                               \
		set_up                                                         \
		return unit_run(name, tc, how);                                \
	}
// clang-format on

#endif
