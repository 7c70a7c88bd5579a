// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code by name: perf's map of the process and what debuggers are told,
// for programs with functions, source lines and calls. With SYMBOLS_RUN set it
// runs the program once instead, for test/integration/symbols.t to look at.
#include "test/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include "core/exec/jit/chain.h"
#include "core/exec/jit/compile.h"
#include "core/exec/run/code.h"
#include "core/exec/run/exec.h"
#include "core/exec/jit/jit.h"
#include "core/exec/jit/symbols.h"
#include "core/image/image.h"
#include "test/unit/asm.h"

enum { MAX = 64 };

/* The entry calls a function that loops over a callback; that one asks a
 * helper. */
static const char text[] = "mov %r6, 5\nmov %r7, %r10\ncall local f\n"
			   "add %r0, %r6\nexit\n"
			   "f:\nmov %r8, 3\nmov %r1, 2\nlddw func %r2, g\n"
			   "mov %r3, 0\nmov %r4, 0\ncall 181\nexit\n"
			   "g:\nmov %r9, 1\ncall 7\nmov %r0, 0\nexit";

static struct nb_slot slots[MAX];
static const struct nb_func funcs[] = {
	{ .name = "choose", .end = 5 },
	{ .name = "f", .start = 5, .end = 13 },
	{ .name = "g", .start = 13, .end = 17 }
};
static const struct nb_line lines[] = {
	{ 0, 10, 1, "policies/small.bpf.c", "" },
	{ 2, 12, 1, "policies/small.bpf.c", "" },
	{ 5, 4, 1, "policies/small.bpf.c", "" },
	{ 14, 77, 1, "policies/other.h", "" },
};
static const struct nb_prog prog = { .name = "choose",
				     .section = "tuner",
				     .slots = slots,
				     .nslots = 17,
				     .funcs = funcs,
				     .nfuncs = 3,
				     .lines = lines,
				     .nlines = 4 };
static const struct nb_image img = { .name = "small",
				     .progs = &prog,
				     .nprogs = 1 };

static struct nb_exec *compiled(void)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	/* not Check's: there is no test around run_once */
	if (nb_asm(slots, MAX, &n, text, &err) || n != prog.nslots ||
	    nb_exec_new(&x, &img, 0, NULL, NULL, &err) ||
	    nb_exec_compile(x, NULL, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return x;
}

/* ---- perf ---- */

static char path[64];

static const char *map_path(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return path;
}

START_TEST(perf_map_has_every_function)
{
	static const char *const names[] = { "small/choose", "small/choose/f",
					     "small/choose/g" };
	struct nb_exec *x = compiled();
	struct nb_err err = { 0 };
	unsigned long at, size, next;
	char name[100];
	FILE *f;

	unlink(map_path());
	ck_assert_msg(!nb_exec_publish(x, &img, 0, NB_PUBLISH_PERF, &err), "%s",
		      err.text);
	next = (uintptr_t)x->jit->code;
	f = fopen(path, "r");
	ck_assert(f != NULL);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(fscanf(f, "%lx %lx %99s", &at, &size, name),
				 3);
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
END_TEST

START_TEST(perf_map_of_others_is_left_alone)
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
		ck_assert_int_eq(
			nb_exec_publish(x, &img, 0, NB_PUBLISH_PERF, &err),
			NB_E_IO);
		ck_assert(strstr(err.text, path) != NULL);
	}
	f = fopen(other, "r");
	ck_assert(f != NULL && !fgets(line, sizeof(line), f));
	fclose(f);
	unlink(path);
	unlink(other);
	ck_assert(!mkfifo(path, 0600));
	ck_assert_int_eq(nb_exec_publish(x, &img, 0, NB_PUBLISH_PERF, &err),
			 NB_E_IO);
	unlink(path);
	nb_exec_free(x);
}
END_TEST

/* ---- gdb ---- */

/* As a debugger sees it. */
struct entry {
	struct entry *next, *prev;
	const char *file;
	uint64_t size;
};

extern struct {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor;

static const Elf64_Shdr *section(const char *file, const char *name)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)file;
	const Elf64_Shdr *s =
		(const Elf64_Shdr *)(const void *)(file + e->e_shoff);
	const char *names = file + s[e->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < e->e_shnum; i++)
		if (!strcmp(names + s[i].sh_name, name))
			return &s[i];
	return NULL;
}

START_TEST(debuggers_get_an_object_file)
{
	struct nb_exec *x = compiled(), *y = compiled();
	const Elf64_Shdr *tab, *str, *code;
	const char *file;
	uint64_t end = 0;

	ck_assert_uint_eq(__jit_debug_descriptor.version, 1);
	ck_assert(__jit_debug_descriptor.first == NULL);
	ck_assert(!nb_exec_publish(x, &img, 0, NB_PUBLISH_GDB, NULL));
	ck_assert(!nb_exec_publish(y, &img, 0, NB_PUBLISH_GDB, NULL));
	ck_assert(__jit_debug_descriptor.first->next->next == NULL);
	file = __jit_debug_descriptor.first->file;
	ck_assert(!memcmp(file, ELFMAG, SELFMAG));
	code = section(file, ".text");
	ck_assert_uint_eq(code->sh_addr, (uintptr_t)y->jit->code);
	ck_assert_uint_eq(code->sh_size, y->jit->size);
	tab = section(file, ".symtab");
	str = section(file, ".strtab");
	ck_assert_uint_eq(tab->sh_size, 4 * sizeof(Elf64_Sym));
	for (int i = 1; i < 4; i++) {
		const Elf64_Sym *sym =
			(const Elf64_Sym *)(const void *)(file +
							  tab->sh_offset) +
			i;

		ck_assert(!strncmp(file + str->sh_offset + sym->st_name,
				   "small/choose", 12));
		ck_assert_uint_eq(sym->st_value, end);
		end += sym->st_size;
	}
	ck_assert_uint_eq(end, y->jit->size);
	/* in any order, and with what is left still there */
	nb_exec_free(x);
	ck_assert(__jit_debug_descriptor.first->file == file);
	ck_assert(__jit_debug_descriptor.first->next == NULL);
	nb_exec_interpret_again(y);
	ck_assert(__jit_debug_descriptor.first == NULL);
	nb_exec_free(y);
}
END_TEST

START_TEST(interpreted_programs_have_no_code_to_name)
{
	struct nb_exec *x = compiled();

	nb_exec_interpret_again(x);
	ck_assert(!nb_exec_publish(x, &img, 0, NB_PUBLISH_GDB, NULL));
	ck_assert(__jit_debug_descriptor.first == NULL);
	nb_exec_free(x);
}
END_TEST

/* ---- frames ---- */

/* libgcc's: the same unwinder that exceptions use. */
void __register_frame(void *begin);
void __deregister_frame(void *begin);

enum { MOST_FRAMES = 64 };

static struct walk {
	uintptr_t ip[MOST_FRAMES];
	unsigned n;
} walked;

static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;

	if (w->n == MOST_FRAMES)
		return _URC_END_OF_STACK;
	w->ip[w->n++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* In the place of a helper. */
static uint64_t walk(struct nb_run *run, uint64_t r1, uint64_t r2, uint64_t r3,
		     uint64_t r4, uint64_t r5)
{
	(void)run, (void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	walked.n = 0;
	_Unwind_Backtrace(step, &walked);
	return walked.n;
}

static bool inside(const struct nb_jit *j, uintptr_t ip)
{
	return ip > (uintptr_t)j->code && ip <= (uintptr_t)j->code + j->size;
}

/* From the helper through @j, and @above if there is one, to whoever called:
 * the frames there are the same as without machine code. */
static void check_walk(const struct walk *here, const struct nb_jit *j,
		       const struct nb_jit *above)
{
	unsigned i = 0, code = 0;

	while (i < walked.n && !inside(j, walked.ip[i]))
		i++;
	for (; i < walked.n && inside(j, walked.ip[i]); i++)
		code++;
	ck_assert_uint_ne(code, 0);
	for (; above && i < walked.n && inside(above, walked.ip[i]); i++)
		code++;
	ck_assert(!above || code > 1);
	/* the first one is this test itself, in another place */
	ck_assert_uint_eq(walked.n - i, here->n);
	for (unsigned k = 1; k < here->n; k++)
		ck_assert_uint_eq(walked.ip[i + k], here->ip[k]);
}

static void *frames_of(unsigned nth)
{
	struct entry *e = __jit_debug_descriptor.first;
	const Elf64_Shdr *s;

	while (nth--)
		e = e->next;
	s = section(e->file, ".eh_frame");
	ck_assert_uint_ne(s->sh_size, 0);
	return (void *)(uintptr_t)(e->file + s->sh_offset);
}

/* A leaf of the machine's own, local calls, what a chain adds. */
static const char *const walkers[] = {
	"call 5\nexit",
	"stdw [%r10-8], 1\nmov %r6, 5\nmov %r9, 7\ncall 5\n"
	"exit",
	"call local +1\nexit\nmov %r7, 3\ncall 5\nexit"
};

static struct nb_slot walker_slots[16];
static const struct nb_func walker_func = { .name = "f" };
static struct nb_prog walker_prog = { .name = "walker",
				      .section = "tuner",
				      .slots = walker_slots,
				      .funcs = &walker_func,
				      .nfuncs = 1 };
static const struct nb_image walker_img = { .name = "w",
					    .progs = &walker_prog,
					    .nprogs = 1 };

static struct nb_exec *walker(const char *program)
{
	nb_helper_fn *fn = walk;
	struct nb_err err;
	struct nb_exec *x;
	size_t n;

	ck_assert(!nb_asm(walker_slots, 16, &n, program, &err));
	walker_prog.nslots = (uint32_t)n;
	ck_assert(!nb_exec_new(&x, &walker_img, 0, NULL, NULL, &err));
	for (size_t pc = 0; pc < n; pc++)
		if (x->code[pc].op == NB_OP_CALL_HELPER)
			memcpy(&x->code[pc].imm, &fn, sizeof(fn));
	return x;
}

START_TEST(frames_can_be_left)
{
	for (unsigned i = 0; i < 3; i++) {
		struct nb_exec *x = walker(walkers[i]);
		struct walk here = { { 0 }, 0 };
		struct nb_err err;
		void *frames;

		ck_assert(!nb_exec_compile(x, NULL, &err));
		ck_assert(!nb_exec_publish(x, &walker_img, 0, NB_PUBLISH_GDB,
					   &err));
		frames = frames_of(0);
		__register_frame(frames);
		_Unwind_Backtrace(step, &here);
		ck_assert_uint_gt(nb_exec_run(x, NULL, 0), 2);
		check_walk(&here, x->jit, NULL);
		__deregister_frame(frames);
		nb_exec_free(x);
	}
}
END_TEST

START_TEST(frames_of_a_chain_can_be_left)
{
	const struct nb_chain_shape shape = { 16, 0 };
	struct nb_exec *x[2] = { walker(walkers[0]), walker(walkers[1]) };
	struct nb_chain_prog link[2] = { { .x = x[0], .runs = true },
					 { .x = x[1], .runs = true } };
	uint64_t ctx[2] = { 0 }, overrides[2] = { 0 };
	struct walk here = { { 0 }, 0 };
	struct nb_chain *c;
	struct nb_err err;
	struct nb_jit chain = { .code = NULL };
	void *frames[2];

	ck_assert(!nb_chain_new(&c, link, 2, &shape, &err));
	ck_assert(!nb_chain_publish(c, NB_PUBLISH_GDB, &err));
	ck_assert(!nb_exec_publish(x[1], &walker_img, 0, NB_PUBLISH_GDB, &err));
	/* the chain lies behind its last program */
	chain.code = x[1]->jit->code + x[1]->jit->size;
	chain.size = nb_chain_compiled(c) + 16;
	for (unsigned i = 0; i < 2; i++) {
		frames[i] = frames_of(i);
		__register_frame(frames[i]);
	}
	_Unwind_Backtrace(step, &here);
	ck_assert_int_eq(nb_chain_run(c, ctx, overrides), -1);
	check_walk(&here, x[1]->jit, &chain);
	for (unsigned i = 0; i < 2; i++)
		__deregister_frame(frames[i]);
	nb_chain_free(c);
	nb_exec_free(x[0]);
	nb_exec_free(x[1]);
}
END_TEST

/* Published by both, so that tools outside can look. */
static int run_once(void)
{
	struct nb_exec *x = compiled();
	unsigned long turns = strtoul(getenv("SYMBOLS_RUN"), NULL, 0);
	uint64_t r0 = 0;

	if (nb_exec_publish(x, &img, 0, NB_PUBLISH_PERF | NB_PUBLISH_GDB, NULL))
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
	puts("1..0 # SKIP symbols: no compiler for this machine");
	return 0;
}

UNIT_MAIN("symbols", if (!nb_jit_available()) return skipped();
	  if (getenv("SYMBOLS_RUN")) return run_once();
	  tcase_add_test(tc, perf_map_has_every_function);
	  tcase_add_test(tc, perf_map_of_others_is_left_alone);
	  tcase_add_test(tc, debuggers_get_an_object_file);
	  tcase_add_test(tc, frames_can_be_left);
	  tcase_add_test(tc, frames_of_a_chain_can_be_left);
	  tcase_add_test(tc, interpreted_programs_have_no_code_to_name);)
