// SPDX-License-Identifier: MIT
#ifndef NB_TEST_ARM64_CHECK_H
#define NB_TEST_ARM64_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * As much of libcheck as our unit tests use, for machines that it is not
 * packaged for when compiling across: a process for each test, TAP on
 * standard output, CK_RUN_TEST=name for one test.
 */
typedef struct {
	const char *text;
	void (*fn)(int);
} TTest;

typedef struct tcase {
	const char *name;
	unsigned timeout, n;
	const char *test[128];
	void (*fn[128])(int);
} TCase;
typedef struct tcase Suite;
typedef struct tcase SRunner;

enum { CK_SILENT, CK_NORMAL };
enum fork_status { CK_FORK_GETENV };

#define START_TEST(name)                                       \
	static void name##_fn(int _i);                         \
	static const TTest name##_test = { #name, name##_fn }; \
	static const TTest *name = &name##_test;               \
	static void name##_fn(__attribute__((unused)) int _i)

#define ck_abort_msg(...)                                \
	do {                                             \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		putchar('\n');                           \
		fflush(stdout);                          \
		_exit(1);                                \
	} while (0)
#define ck_assert_msg(good, ...)                   \
	do {                                       \
		if (!(good))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)
#define ck_assert(good) ck_assert_msg(good, "%s", #good)
#define CK_COMPARE(type, fmt, a, op, b)                                                        \
	do {                                                                                   \
		type ck_a = (type)(a), ck_b = (type)(b);                                       \
		ck_assert_msg(ck_a op ck_b, "%s " #op " %s: %" fmt " and %" fmt, #a, #b, ck_a, \
			      ck_b);                                                           \
	} while (0)
#define ck_assert_uint_eq(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_uint_ne(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, !=, b)
#define ck_assert_uint_gt(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, >, b)
#define ck_assert_uint_ge(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, >=, b)
#define ck_assert_uint_lt(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, <, b)
#define ck_assert_uint_le(a, b) CK_COMPARE(uintmax_t, PRIuMAX, a, <=, b)
#define ck_assert_int_eq(a, b) CK_COMPARE(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_int_ge(a, b) CK_COMPARE(intmax_t, PRIdMAX, a, >=, b)
#define ck_assert_int_ne(a, b) CK_COMPARE(intmax_t, PRIdMAX, a, !=, b)
#define ck_assert_str_eq(a, b) ck_assert_msg(!strcmp(a, b), "%s: %s", #a, a)
#define ck_assert_ptr_null(a) ck_assert((a) == NULL)
#define ck_assert_ptr_nonnull(a) ck_assert((a) != NULL)

static TCase ck_case;

/* None of the tests that run here is in a loop, or ends by a signal. */
#define tcase_add_loop_test_raise_signal(tc, which, by, from, to) \
	((tc)->test[(tc)->n] = (which)->text, (tc)->fn[(tc)->n++] = (which)->fn)
#define srunner_set_fork_status(sr, how) ((void)(sr))
#define suite_create(text) (ck_case.name = (text), &ck_case)
#define tcase_create(text) (&ck_case)
#define tcase_set_timeout(tc, seconds) ((tc)->timeout = (unsigned)(seconds))
#define suite_add_tcase(s, tc) ((void)(s), (void)(tc))
#define srunner_create(s) (s)
#define srunner_free(s) ((void)(s))

static unsigned ck_failed;

static inline void ck_one(const TCase *tc, unsigned i, unsigned number)
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(tc->timeout);
		tc->fn[i](0);
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		ck_failed++;
		printf("# status %#x\n", (unsigned)status);
	}
	printf("%s %u - arm64: %s: %s\n", status ? "not ok" : "ok", number, tc->name, tc->test[i]);
}

static inline void srunner_run_all(TCase *tc, int mode)
{
	const char *only = getenv("CK_RUN_TEST");
	unsigned n = 0;

	(void)mode;
	for (unsigned i = 0; i < tc->n; i++)
		if (!only || !strcmp(only, tc->test[i]))
			ck_one(tc, i, ++n);
	printf("1..%u\n", n);
}

#define srunner_ntests_failed(sr) ((void)(sr), (int)ck_failed)

#endif
