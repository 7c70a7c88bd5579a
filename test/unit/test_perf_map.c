// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code by name: perf's map of the process for programs with functions
// and calls. With PERF_RUN=N set it runs the program N times instead, for
// test/integration/perf_map.t to look at.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { MAX = 64 };

/* The entry calls a function that loops over a callback; that one asks a
 * helper. */
static const char text[] = "mov %r6, 5\nmov %r7, %r10\ncall local f\n"
			   "add %r0, %r6\nexit\n"
			   "f:\nmov %r8, 3\nmov %r1, 2\nlddw func %r2, g\n"
			   "mov %r3, 0\nmov %r4, 0\ncall 181\nexit\n"
			   "g:\nmov %r9, 1\ncall 7\nmov %r0, 0\nexit";

static struct nb_slot slots[MAX];
static const struct nb_func funcs[] = { { .name = "choose", .end = 5 },
					{ .name = "f", .start = 5, .end = 13 },
					{ .name = "g", .start = 13, .end = 17 } };
static const struct nb_prog prog = { .name = "choose",
				     .section = "tuner",
				     .slots = slots,
				     .nslots = 17,
				     .funcs = funcs,
				     .nfuncs = 3 };
static const struct nb_image img = { .name = "small", .progs = &prog, .nprogs = 1 };

static struct nb_exec *bound(bool compile)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	/* not Check's: there is no test around run_often */
	if (nb_asm(slots, MAX, &n, text, &err) || n != prog.nslots ||
	    nb_exec_new(&x, &img, 0, NULL, NULL, &err) || (compile && compile_one(x, NULL, &err))) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return x;
}

static struct nb_exec *compiled(void)
{
	return bound(true);
}

/* ---- perf ---- */

static char path[64];

static const char *map_path(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return path;
}

TEST(perf_map_has_every_function)
{
	static const char *const names[] = { "small/choose", "small/choose/f", "small/choose/g" };
	struct nb_exec *x = compiled();
	struct nb_err err = { 0 };
	unsigned long at, size, next;
	char name[100];
	FILE *f;

	unlink(map_path());
	ck_assert_msg(!nb_exec_publish(x, &img, 0, &err), "%s", err.text);
	next = (uintptr_t)x->jit->code;
	f = fopen(path, "r");
	ck_assert(f != NULL);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(fscanf(f, "%lx %lx %99s", &at, &size, name), 3);
		ck_assert_str_eq(name, names[i]);
		ck_assert_uint_eq(at, next);
		next = at + size;
	}
	ck_assert_uint_eq(next, (uintptr_t)x->jit->code + x->jit->size);
	ck_assert_int_eq(fscanf(f, "%99s", name), EOF);
	fclose(f);
	unlink(path);
	nb_exec_free(x);
}

TEST(perf_map_of_others_is_left_alone)
{
	struct nb_exec *x = compiled();
	char other[80], line[10] = "";
	struct nb_err err = { 0 };
	FILE *f;

	snprintf(other, sizeof(other), "%s.other", map_path());
	f = fopen(other, "w");
	ck_assert(f != NULL);
	fclose(f);
	for (int hard = 0; hard < 2; hard++) {
		unlink(path);
		ck_assert(!(hard ? link(other, path) : symlink(other, path)));
		ck_assert_int_eq(nb_exec_publish(x, &img, 0, &err), NB_E_IO);
		ck_assert(strstr(err.text, path) != NULL);
	}
	f = fopen(other, "r");
	ck_assert(f != NULL && !fgets(line, sizeof(line), f));
	fclose(f);
	unlink(path);
	unlink(other);
	ck_assert(!mkfifo(path, 0600));
	ck_assert_int_eq(nb_exec_publish(x, &img, 0, &err), NB_E_IO);
	unlink(path);
	nb_exec_free(x);
}

/* The application may not have changed the action of SIGXFSZ, which ends it. */
TEST(perf_map_keeps_within_the_file_limit)
{
	struct nb_exec *x = compiled();
	struct nb_err err = { 0 };
	struct rlimit was, small = { 0 };
	int rc, published;

	unlink(map_path());
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small.rlim_max = was.rlim_max;
	/* assertions write a file, too */
	rc = setrlimit(RLIMIT_FSIZE, &small);
	published = nb_exec_publish(x, &img, 0, &err);
	rc |= setrlimit(RLIMIT_FSIZE, &was);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(published, NB_E_IO);
	unlink(path);
	nb_exec_free(x);
}

TEST(interpreted_programs_have_no_code_to_name)
{
	struct nb_exec *x = bound(false);

	unlink(map_path());
	ck_assert(!nb_exec_publish(x, &img, 0, NULL));
	ck_assert_int_eq(access(path, F_OK), -1);
	nb_exec_free(x);
}

/* Published, so that perf can look. */
static int run_often(void)
{
	struct nb_exec *x = compiled();
	unsigned long turns = strtoul(getenv("PERF_RUN"), NULL, 0);
	uint64_t r0 = 0;

	if (nb_exec_publish(x, &img, 0, NULL))
		return 1;
	printf("pid %d\n", getpid());
	fflush(stdout);
	while (turns--)
		r0 += nb_exec_run(x, NULL, 0);
	printf("r0 %lu\n", (unsigned long)r0);
	nb_exec_free(x);
	return 0;
}

static int skipped(void)
{
	puts("1..0 # SKIP perf map: no compiler for this machine");
	return 0;
}

UNIT_MAIN_WITH("perf_map", if (!jit_available()) return skipped();
	       if (getenv("PERF_RUN")) return run_often();)
