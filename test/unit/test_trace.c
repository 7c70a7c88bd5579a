// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The trace ring and its formats, and the helper bodies that lean on them.
#include "test/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/exec/run/trace.h"
#include "core/bpf/map/ops.h"

/* ---- formats ------------------------------------------------------------ */

static int format(char out[128], const char *fmt, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arg[3] = { a, b, c };

	return nb_trace_format(out, 128, fmt, strlen(fmt) + 1, arg, 3);
}

TEST(formats_print_as_the_kernel_documents)
{
	static const struct {
		const char *fmt;
		uint64_t arg;
		const char *text;
	} row[] = {
		{ "", 0, "" },
		{ "plain", 0, "plain" },
		{ "%%", 0, "%" },
		{ "a%%b", 0, "a%b" },
		{ "%d", UINT64_MAX, "-1" },
		{ "%d", 0x1ffffffffull, "-1" },
		{ "%d", 0x80000000, "-2147483648" },
		{ "%i", 5, "5" },
		{ "%u", UINT64_MAX, "4294967295" },
		{ "%x", 0xdeadbeefcafe, "beefcafe" },
		{ "%ld", UINT64_MAX, "-1" },
		{ "%lu", UINT64_MAX, "18446744073709551615" },
		{ "%lx", 0xdeadbeefcafe, "deadbeefcafe" },
		{ "%lld", 1ull << 63, "-9223372036854775808" },
		{ "%lli", 7, "7" },
		{ "%llu", 1ull << 32, "4294967296" },
		{ "%llx", UINT64_MAX, "ffffffffffffffff" },
		{ "%p", 0x1000, "0x1000" },
		{ "%p", 0, "0x0" },
		{ "%c", 'Q', "Q" },
		{ "[%c]", 0x100 + 'z', "[z]" },
	};
	char out[128];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int n = format(out, row[i].fmt, row[i].arg, 0, 0);

		ck_assert_str_eq(out, row[i].text);
		ck_assert_int_eq(n, (int)strlen(row[i].text));
	}
	ck_assert_int_eq(format(out, "%u-%u-%u", 1, 2, 3), 5);
	ck_assert_str_eq(out, "1-2-3");
}

TEST(other_formats_are_refused)
{
	static const char *const bad[] = {
		"%",   "%s",  "%l",  "%ll",	 "%lll",	  "%llld", "%5d", "%-d", "%02x",
		"%hd", "%zu", "%f",  "%lp",	 "%lc",		  "%l%",   "%n",  "%*d", "x %",
		"%X",  "%o",  "%\n", "%d%d%d%d", "ok %u then %s", "%#x",   "% d", "%.3d"
	};
	char out[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(format(out, bad[i], 1, 2, 3) == -EINVAL, "%s", bad[i]);
		ck_assert_str_eq(out, "");
	}
}

TEST(format_needs_no_terminator_and_stops_at_one)
{
	const uint64_t arg[3] = { 42, 0, 0 };
	char out[16], fmt[4] = { 'x', '%', 'u', 'y' };

	ck_assert_int_eq(nb_trace_format(out, 16, fmt, 3, arg, 3), 3);
	ck_assert_str_eq(out, "x42");
	ck_assert_int_eq(nb_trace_format(out, 16, fmt, 2, arg, 3), -EINVAL);
	ck_assert_int_eq(nb_trace_format(out, 16, fmt, 0, arg, 3), 0);
	ck_assert_str_eq(out, "");
	fmt[1] = '\0';
	ck_assert_int_eq(nb_trace_format(out, 16, fmt, 4, arg, 3), 1);
	ck_assert_str_eq(out, "x");
}

TEST(output_is_cut_to_its_size)
{
	const uint64_t arg[3] = { UINT64_MAX, UINT64_MAX, 0 };
	char out[9] = "........";

	ck_assert_int_eq(nb_trace_format(out, 8, "ab%llu%llu", 11, arg, 3), 42);
	ck_assert_str_eq(out, "ab18446");
	ck_assert_int_eq(nb_trace_format(out, 1, "ab", 3, arg, 3), 2);
	ck_assert_str_eq(out, "");
	out[0] = 'k';
	ck_assert_int_eq(nb_trace_format(out, 0, "ab", 3, arg, 3), 2);
	ck_assert_int_eq(out[0], 'k');
}

TEST(numbers_print_as_in_libc)
{
	uint64_t s = 12345;
	char out[128], want[128];

	for (int i = 0; i < 20000; i++) {
		s = s * 6364136223846793005u + 1442695040888963407u;
		uint64_t v = s >> (s >> 58);

		format(out, "%d %u %x", v, v, v);
		snprintf(want, sizeof(want), "%d %u %x", (int)v, (unsigned)v, (unsigned)v);
		ck_assert_str_eq(out, want);
		format(out, "%lld %lu %llx", v, v, v);
		snprintf(want, sizeof(want), "%" PRId64 " %" PRIu64 " %" PRIx64, (int64_t)v, v, v);
		ck_assert_str_eq(out, want);
	}
}

/* ---- the ring ----------------------------------------------------------- */

static void put(struct nb_trace *t, const char *s)
{
	nb_trace_put(t, s, strlen(s));
}

TEST(lines_come_back_in_order_with_number_and_time)
{
	struct nb_trace *t = nb_trace_new();
	struct nb_trace_line line;
	struct timespec now;
	uint64_t before, after;

	clock_gettime(CLOCK_REALTIME, &now);
	before = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	ck_assert_uint_eq(nb_trace_next(t), 0);
	ck_assert(!nb_trace_read(t, 0, &line));
	put(t, "first");
	put(t, "second");
	clock_gettime(CLOCK_REALTIME, &now);
	after = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	ck_assert_uint_eq(nb_trace_next(t), 2);
	ck_assert(nb_trace_read(t, 0, &line));
	ck_assert_str_eq(line.text, "first");
	ck_assert_uint_eq(line.number, 0);
	ck_assert_uint_ge(line.time_ns, before);
	ck_assert_uint_le(line.time_ns, after);
	ck_assert(nb_trace_read(t, 1, &line));
	ck_assert_str_eq(line.text, "second");
	ck_assert(!nb_trace_read(t, 2, &line));
	ck_assert(!nb_trace_read(t, UINT64_MAX, &line));
	nb_trace_free(t);
}

TEST(newest_lines_overwrite_the_oldest)
{
	struct nb_trace *t = nb_trace_new();
	struct nb_trace_line line;
	char text[32];

	for (int i = 0; i < 3 * NB_TRACE_LINES + 5; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		put(t, text);
	}
	for (uint64_t n = 0; n < 3 * NB_TRACE_LINES + 5; n++) {
		bool there = nb_trace_read(t, n, &line);

		ck_assert_int_eq(there, n >= 2 * NB_TRACE_LINES + 5);
		if (!there)
			continue;
		snprintf(text, sizeof(text), "line %d", (int)n);
		ck_assert_str_eq(line.text, text);
	}
	nb_trace_free(t);
}

TEST(lines_are_cut_and_cleaned)
{
	struct nb_trace *t = nb_trace_new();
	struct nb_trace_line line;
	char text[300], want[NB_TRACE_TEXT];

	memset(text, 'a', sizeof(text));
	nb_trace_put(t, text, sizeof(text));
	memset(want, 'a', sizeof(want));
	want[sizeof(want) - 1] = '\0';
	ck_assert(nb_trace_read(t, 0, &line));
	ck_assert_str_eq(line.text, want);
	put(t, "\x1b[31mred\x7f\xff one\ttwo\nthree\n");
	ck_assert(nb_trace_read(t, 1, &line));
	ck_assert_str_eq(line.text, "?[31mred?? one two three");
	nb_trace_put(t, "a\0b", 3);
	ck_assert(nb_trace_read(t, 2, &line));
	ck_assert_str_eq(line.text, "a?b");
	put(t, "");
	ck_assert(nb_trace_read(t, 3, &line));
	ck_assert_str_eq(line.text, "");
	put(t, "\n");
	ck_assert(nb_trace_read(t, 4, &line));
	ck_assert_str_eq(line.text, "");
	nb_trace_free(t);
	nb_trace_free(NULL);
}

/* A writer asks for the time between drawing its number and its slot. */
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

static _Thread_local struct nb_trace *overtaken;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	struct nb_trace *ring = overtaken;

	overtaken = NULL;
	for (int i = 0; ring && i < NB_TRACE_LINES; i++)
		put(ring, "newer");
	return __real_clock_gettime(clock, t);
}

TEST(writer_that_was_overtaken_drops_its_line)
{
	struct nb_trace *t = nb_trace_new();
	struct nb_trace_line line;

	put(t, "first");
	overtaken = t;
	put(t, "late");
	ck_assert_uint_eq(nb_trace_next(t), NB_TRACE_LINES + 2);
	ck_assert(!nb_trace_read(t, 1, &line));
	for (uint64_t n = 2; n < NB_TRACE_LINES + 2; n++) {
		ck_assert(nb_trace_read(t, n, &line));
		ck_assert_str_eq(line.text, "newer");
	}
	put(t, "next");
	ck_assert(nb_trace_read(t, NB_TRACE_LINES + 2, &line));
	ck_assert_str_eq(line.text, "next");
	nb_trace_free(t);
}

enum { WRITERS = 4, EACH = 5000 };

static void *write_lines(void *t)
{
	char text[32];

	for (int i = 0; i < EACH; i++) {
		snprintf(text, sizeof(text), "%d %d", i, 3 * i);
		put(t, text);
	}
	return NULL;
}

TEST(every_line_of_many_writers_has_a_number)
{
	struct nb_trace *t = nb_trace_new();
	pthread_t thread[WRITERS];
	struct nb_trace_line line;
	int there = 0, a, b;

	for (int i = 0; i < WRITERS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, write_lines, t), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(nb_trace_next(t), WRITERS * EACH);
	for (uint64_t n = 0; n < WRITERS * EACH; n++) {
		if (!nb_trace_read(t, n, &line))
			continue;
		ck_assert_int_eq(sscanf(line.text, "%d %d", &a, &b), 2);
		ck_assert_int_eq(3 * a, b);
		there++;
	}
	/* A line is dropped only if its writer stood still for a round. */
	ck_assert_int_le(there, NB_TRACE_LINES);
	ck_assert_int_ge(there, NB_TRACE_LINES - WRITERS);
	nb_trace_free(t);
}

/* ---- helper bodies ------------------------------------------------------ */

static uint64_t call(int32_t id, struct nb_run *run, const void *a, const void *b, const void *c,
		     uint64_t d)
{
	nb_helper_fn *fn = nb_helper_body(id);

	ck_assert(fn != NULL);
	return fn(run, (uintptr_t)a, (uintptr_t)b, (uintptr_t)c, d, 0);
}

TEST(every_row_has_a_body_and_nothing_else)
{
	size_t n, found = 0;
	const struct nb_helper_spec *h = nb_spec_helpers(&n);

	/* but those that engines execute themselves */
	for (size_t i = 0; i < n; i++)
		ck_assert((nb_helper_body(h[i].id) != NULL) == (h[i].effect != NB_EFFECT_CALLS));
	for (int32_t id = -1000; id < 0x21000; id++)
		found += nb_helper_body(id) != NULL;
	ck_assert_uint_eq(found, n - 2);
	ck_assert(nb_helper_body(INT32_MAX) == NULL);
	ck_assert(nb_helper_body(INT32_MIN) == NULL);
}

TEST(map_helpers_answer_as_the_map)
{
	const struct nb_map_def def = { "h", NB_MAP_HASH, 8, 8, 1, 0 };
	struct nb_run run = { .trace = NULL, .cpu = UINT32_MAX };
	uint64_t one = 1, two = 2, v = 77;
	struct nb_map *m;

	ck_assert_int_eq(nb_map_new(&m, &def, NULL), 0);
	ck_assert_uint_eq(call(1, &run, m, &one, NULL, 0), 0);
	ck_assert_int_eq((int64_t)call(2, &run, m, &one, &v, NB_EXIST), -ENOENT);
	ck_assert_int_eq((int64_t)call(2, &run, m, &one, &v, 0), 0);
	ck_assert_int_eq((int64_t)call(2, &run, m, &one, &v, NB_NOEXIST), -EEXIST);
	ck_assert_int_eq((int64_t)call(2, &run, m, &two, &v, 0), -E2BIG);
	ck_assert_int_eq((int64_t)call(2, &run, m, &two, &v, 9), -EINVAL);
	ck_assert_uint_eq(call(1, &run, m, &one, NULL, 0), (uintptr_t)nb_map_lookup(m, &one, 0));
	ck_assert_int_eq((int64_t)call(3, &run, m, &one, NULL, 0), 0);
	ck_assert_int_eq((int64_t)call(3, &run, m, &one, NULL, 0), -ENOENT);
	ck_assert_uint_eq(run.cpu, UINT32_MAX); /* nobody asked */
	nb_map_put(m);
}

TEST(percpu_helpers_use_the_run_s_cpu)
{
	const struct nb_map_def def = { "p", NB_MAP_PERCPU_ARRAY, 4, 8, 2, 0 };
	uint32_t one = 1, cpu = nb_ncpus() - 1;
	struct nb_run run = { .trace = NULL, .cpu = cpu }, fresh = { .cpu = UINT32_MAX };
	uint64_t v = 77;
	struct nb_map *m;

	ck_assert_int_eq(nb_map_new(&m, &def, NULL), 0);
	ck_assert_int_eq((int64_t)call(2, &run, m, &one, &v, 0), 0);
	ck_assert_uint_eq(call(1, &run, m, &one, NULL, 0), (uintptr_t)nb_map_lookup(m, &one, cpu));
	memcpy(&v, nb_map_lookup(m, &one, cpu), 8);
	ck_assert_uint_eq(v, 77);
	ck_assert_uint_ne(call(1, &fresh, m, &one, NULL, 0), 0);
	ck_assert_uint_lt(fresh.cpu, nb_ncpus());
	nb_map_put(m);
}

TEST(cpu_is_asked_for_once_a_run)
{
	struct nb_run run = { .trace = NULL, .cpu = UINT32_MAX }, fixed = { .cpu = nb_ncpus() - 1 },
		      outside = { .cpu = nb_ncpus() };
	uint64_t cpu = call(8, &run, NULL, NULL, NULL, 0);

	ck_assert_uint_lt(cpu, nb_ncpus());
	ck_assert_uint_eq(run.cpu, cpu);
	ck_assert_uint_eq(call(8, &fixed, NULL, NULL, NULL, 0), nb_ncpus() - 1);
	ck_assert_uint_lt(call(8, &outside, NULL, NULL, NULL, 0), nb_ncpus());
}

TEST(time_is_monotonic)
{
	struct nb_run run = { .trace = NULL, .cpu = UINT32_MAX };
	struct timespec t;
	uint64_t last = call(5, &run, NULL, NULL, NULL, 0), now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	ck_assert_uint_ge(now, last);
	ck_assert_uint_lt(now - last, 10000000000u);
	for (int i = 0; i < 1000; i++) {
		now = call(5, &run, NULL, NULL, NULL, 0);
		ck_assert_uint_ge(now, last);
		last = now;
	}
}

/* Each of 32 bits is set about half the time, and hardly any value repeats. */
TEST(random_numbers_fill_32_bits)
{
	enum { N = 20000 };
	struct nb_run run = { .trace = NULL, .cpu = UINT32_MAX };
	int set[64] = { 0 }, same = 0;
	uint64_t last = 0;

	for (int i = 0; i < N; i++) {
		uint64_t x = call(7, &run, NULL, NULL, NULL, 0);

		for (int b = 0; b < 64; b++)
			set[b] += (int)(x >> b & 1);
		same += x == last;
		last = x;
	}
	for (int b = 0; b < 32; b++) {
		ck_assert_int_gt(set[b], N * 45 / 100);
		ck_assert_int_lt(set[b], N * 55 / 100);
		ck_assert_int_eq(set[b + 32], 0);
	}
	ck_assert_int_le(same, 3);
}

TEST(trace_printk_writes_a_line)
{
	static const char fmt[] = "size %llu chan %d\n";
	struct nb_run run = { .trace = nb_trace_new(), .cpu = UINT32_MAX };
	struct nb_trace_line line;
	nb_helper_fn *print = nb_helper_body(6);

	ck_assert_int_eq(
		(int64_t)print(&run, (uintptr_t)fmt, sizeof(fmt), 1ull << 40, (uint64_t)-3, 0), 27);
	ck_assert(nb_trace_read(run.trace, 0, &line));
	ck_assert_str_eq(line.text, "size 1099511627776 chan -3");
	ck_assert_int_eq((int64_t)print(&run, (uintptr_t) "%s", 3, 0, 0, 0), -EINVAL);
	ck_assert_uint_eq(nb_trace_next(run.trace), 1);
	nb_trace_free(run.trace);
	run.trace = NULL;
	ck_assert_int_eq((int64_t)print(&run, (uintptr_t)fmt, sizeof(fmt), 0, 0, 0), -EINVAL);
}

UNIT_MAIN("trace")
