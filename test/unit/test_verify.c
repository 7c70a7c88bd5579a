// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The verifier's edges: encodings that the assembler does not make, limits,
// allocation failures, options, and the words of its findings, which people
// and scripts read.
#include "test/unit/unit.h"

#include "test/unit/verify_image.h"

static struct case_image c;

static struct nb_verdict *verify(const struct nb_verify_opts *o)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	ck_assert_msg(!nb_verify(&v, &c.img, 0, o, &err), "%s", err.text);
	return v;
}

static struct nb_verdict *verify_text(const char *text, const struct nb_verify_opts *o)
{
	struct nb_err err = { 0 };

	ck_assert_msg(!case_asm(&c, text, &err), "%s", err.text);
	return verify(o);
}

static struct nb_verdict *verify_slots(const struct nb_slot *s, uint32_t n)
{
	memcpy(c.slots, s, n * sizeof(*s));
	case_init(&c, n);
	return verify(NULL);
}

/* ---- encodings ---- */

#define EXIT                  \
	{                     \
		0x95, 0, 0, 0 \
	}
#define R0(k)                 \
	{                     \
		0xb7, 0, 0, k \
	}

static const struct {
	const char *what;
	struct nb_slot slots[4];
	uint32_t n, pc;
} encodings[] = {
	{ "unknown opcode", { R0(0), { 0xff, 0, 0, 0 }, EXIT }, 3, 1 },
	{ "opcode 0", { { 0, 0, 0, 0 }, EXIT }, 2, 0 },
	{ "destination r11", { { 0xb7, 11, 0, 0 }, EXIT }, 2, 0 },
	{ "source r11", { { 0xbf, 0xb0, 0, 0 }, EXIT }, 2, 0 },
	{ "mov with an offset", { { 0xb7, 0, 3, 0 }, EXIT }, 2, 0 },
	{ "mov K with a source", { { 0xb7, 0x10, 0, 0 }, EXIT }, 2, 0 },
	{ "add X with an immediate", { { 0x0f, 0, 0, 5 }, EXIT }, 2, 0 },
	{ "neg with an immediate", { R0(1), { 0x87, 0, 0, 1 }, EXIT }, 3, 1 },
	{ "swap of 24 bits", { R0(1), { 0xdc, 0, 0, 24 }, EXIT }, 3, 1 },
	{ "ja with an immediate", { { 0x05, 0, 0, 1 }, EXIT }, 2, 0 },
	{ "exit with a destination", { R0(0), { 0x95, 1, 0, 0 } }, 2, 1 },
	{ "call with an offset", { { 0x85, 0, 1, 5 }, EXIT }, 2, 0 },
	{ "call of a BTF function", { { 0x85, 0x20, 0, 5 }, EXIT }, 2, 0 },
	{ "call through a register", { R0(0), { 0x8d, 0, 0, 0 }, EXIT }, 3, 1 },
	{ "load with an immediate", { { 0x79, 0x10, 0, 1 }, EXIT }, 2, 0 },
	{ "atomic unknown", { R0(0), { 0xdb, 0x1a, -8, 0x30 }, EXIT }, 3, 1 },
	{ "xchg without fetch", { R0(0), { 0xdb, 0xa, -8, 0xe0 }, EXIT }, 3, 1 },
	{ "atomic of 2 bytes", { R0(0), { 0xcb, 0xa, -8, 0 }, EXIT }, 3, 1 },
	{ "atomic of 1 byte", { R0(0), { 0xd3, 0xa, -8, 0 }, EXIT }, 3, 1 },
	{ "lddw's second slot", { { 0x18, 0, 0, 1 }, R0(1), EXIT }, 3, 0 },
	{ "lddw last", { R0(0), { 0x18, 0, 0, 1 } }, 2, 1 },
	{ "lddw of a variable", { { 0x18, 0x30, 0, 1 }, { 0 }, EXIT }, 3, 0 },
	{ "address space cast", { { 0xbf, 0x10, 1, 0 }, EXIT }, 2, 0 },
	{ "packet load", { { 0x20, 0, 0, 0 }, EXIT }, 2, 0 },
	{ "a map that is not there", { { 0x18, 0x11, 0, 99 }, { 0 }, R0(0), EXIT }, 4, 0 },
	{ "a value of a hash map", { { 0x18, 0x21, 0, 2 }, { 0 }, R0(0), EXIT }, 4, 0 },
};

TEST_EACH(encoding, 0, sizeof(encodings) / sizeof(encodings[0]))
{
	struct nb_verdict *v = verify_slots(encodings[_i].slots, encodings[_i].n);

	ck_assert_msg(!v->accepted, "%s is accepted", encodings[_i].what);
	ck_assert_msg(v->finding.cls == NB_FIND_ENCODING, "%s: class %d", encodings[_i].what,
		      (int)v->finding.cls);
	/* A bad second slot may be told of either slot. */
	ck_assert_msg(v->finding.pc == encodings[_i].pc || v->finding.pc == encodings[_i].pc + 1,
		      "%s: slot %u", encodings[_i].what, v->finding.pc);
	ck_assert(v->finding.known && *v->finding.known);
	nb_verdict_free(v);
}

TEST(no_slots)
{
	struct nb_verdict *v = verify_slots(encodings[0].slots, 0);

	ck_assert(!v->accepted);
	nb_verdict_free(v);
}

/* ---- limits ---- */

TEST(instruction_limit)
{
	const char *text = "mov %r0, 0\nl:\nadd %r0, 1\njlt %r0, 50, l\nexit";
	struct nb_verify_opts o = { .max_insns = 101 };
	struct nb_verdict *v = verify_text(text, &o);

	ck_assert(!v->accepted);
	ck_assert_int_eq(v->finding.cls, NB_FIND_COMPLEXITY);
	ck_assert_uint_eq(v->finding.pc, 1); /* the loop's head */
	nb_verdict_free(v);
	o.max_insns = 102;
	v = verify_text(text, &o);
	ck_assert(v->accepted);
	ck_assert_uint_eq(v->stats.insns_walked, 102);
	nb_verdict_free(v);
}

/* Branches that leave a way open on each of many iterations over a full stack.
 */
static const char *hungry(void)
{
	static char text[16384];
	size_t n = 0;

	for (int i = 1; i <= 64; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "stdw [%%r10-%d], %d\n", i * 8,
				      i);
	snprintf(text + n, sizeof(text) - n,
		 "mov %%r6, %%r1\nmov %%r7, 0\nl:\nldxdw %%r3, [%%r6+8]\n"
		 "jeq %%r3, 5, m\nmov %%r8, 0\nm:\nadd %%r7, 1\n"
		 "jlt %%r7, 100000, l\nmov %%r0, 0\nexit");
	return text;
}

TEST(memory_limit)
{
	struct nb_verify_opts o = { .max_memory = 2 << 20 };
	struct nb_verdict *v = verify_text(hungry(), &o);

	ck_assert(!v->accepted);
	ck_assert_int_eq(v->finding.cls, NB_FIND_MEMORY);
	ck_assert(*v->finding.known);
	ck_assert_uint_lt(v->stats.memory, 3 << 20);
	nb_verdict_free(v);
	/* Even the tables do not fit: still a verdict. */
	o.max_memory = 2000;
	v = verify_text(hungry(), &o);
	ck_assert(!v->accepted);
	ck_assert_int_eq(v->finding.cls, NB_FIND_MEMORY);
	nb_verdict_free(v);
}

TEST(largest_program)
{
	struct nb_slot *s = calloc(NB_IMAGE_MAX_SLOTS, sizeof(*s));
	uint32_t n = NB_IMAGE_MAX_SLOTS;
	struct nb_verdict *v;

	/* Branches on local data, nested in each other: the costly shape. */
	ck_assert_ptr_nonnull(s);
	s[0] = (struct nb_slot){ 0x61, 0x12, 64, 0 };
	for (uint32_t i = 1; i + 2 < n; i++)
		s[i] = (struct nb_slot){ 0x15, 2, 0, (int32_t)i };
	for (uint32_t i = 1; i + 2 < n; i++)
		s[i].imm = (int32_t)i;
	s[n - 2] = (struct nb_slot){ 0xb7, 0, 0, 0 };
	s[n - 1] = (struct nb_slot){ 0x95, 0, 0, 0 };
	for (uint32_t i = 1; i + 2 < n; i++)
		s[i].off = (int16_t)(n - 2 - i - 1 > INT16_MAX ? 1 : n - 2 - i - 1);
	case_init(&c, n);
	c.prog.slots = s;
	c.func.end = n;
	v = verify(NULL);
	ck_assert(v->accepted || v->finding.cls != NB_FIND_NONE);
	/* two walks; other work counts as the instructions that take as long */
	ck_assert_uint_le(v->stats.insns_walked, 2 * (1000000 + 1));
	ck_assert_uint_le(v->stats.work, 2 * (1000000 + 1));
	nb_verdict_free(v);
	free(s);
}

/* ---- options ---- */

TEST(coherence_off)
{
	const char *text = "ldxw %r2, [%r1+64]\nstxw [%r1+76], %r2\n"
			   "mov %r0, 0\nexit";
	struct nb_verify_opts o = { .coherence_off = true };
	struct nb_verdict *v = verify_text(text, NULL);

	ck_assert(!v->accepted);
	ck_assert_int_eq(v->finding.cls, NB_FIND_LOCAL_OUTPUT);
	nb_verdict_free(v);
	v = verify_text(text, &o);
	ck_assert(v->accepted);
	nb_verdict_free(v);
}

TEST(facts_of_slots)
{
	struct nb_verdict *v = verify_text("ldxdw %r2, [%r1+8]\n" /* 0 */
					   "mov %r3, 7\n"	  /* 1 */
					   "div %r2, %r3\n"	  /* 2 */
					   "mod %r3, %r2\n"	  /* 3 */
					   "mov %r0, 0\n"	  /* 4 */
					   "jeq %r0, 1, +1\n"	  /* 5 */
					   "jgt %r2, 9, +0\n"	  /* 6 */
					   "exit",
					   NULL);

	ck_assert(v->accepted);
	ck_assert_uint_eq(v->aux[2], NB_AUX_REACHED | NB_AUX_NONZERO);
	ck_assert_uint_eq(v->aux[3], NB_AUX_REACHED);
	ck_assert_uint_eq(v->aux[5], NB_AUX_REACHED | NB_AUX_BRANCH_FALLS);
	ck_assert_uint_eq(v->aux[6], NB_AUX_REACHED | NB_AUX_BRANCH_TAKEN | NB_AUX_BRANCH_FALLS);
	nb_verdict_free(v);
}

/* That a divisor is not 0 has to hold on each way, also one that a stored
 * state answers for. */
TEST_EACH(divisors_of_both_ways, 0, 4)
{
	static const char *const ops[] = { "div", "mod", "sdiv", "smod" };
	struct nb_verdict *v;
	char text[256];

	snprintf(text, sizeof(text),
		 "ldxdw %%r2, [%%r1+8]\nldxw %%r7, [%%r1+28]\nmov %%r3, 7\n"
		 "jeq %%r7, 3, more\nja s\nmore:\nmov %%r3, 0\ns:\n"
		 "mov %%r7, 0\n"
		 "%s %%r2, %%r3\nmov %%r0, 0\nexit",
		 ops[_i]);
	v = verify_text(text, NULL);
	ck_assert(v->accepted);
	ck_assert_uint_eq(v->aux[7], NB_AUX_REACHED);
	nb_verdict_free(v);
}

TEST(trace_of_states)
{
	struct nb_buf b;
	struct nb_verify_opts o = { .observe = nb_trace_state, .observe_arg = &b };
	struct nb_verdict *v;

	nb_buf_init(&b, 0);
	v = verify_text("ldxdw %r2, [%r1+8]\nand %r2, 7\n"
			"stxdw [%r10-8], %r2\nmov %r0, 0\nexit",
			&o);
	ck_assert(v->accepted);
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&b), "r1: pointer to the context"));
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&b), "r2: number 0 to 7"));
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&b), "r10-8: number 0 to 7"));
	nb_verdict_free(v);
	nb_buf_fini(&b);
}

TEST(no_such_program)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	case_init(&c, 1);
	ck_assert_int_eq(nb_verify(&v, &c.img, 1, NULL, &err), NB_E_BUG);
	ck_assert_ptr_null(v);
	ck_assert(*err.text);
}

/* ---- words ---- */

static const struct nb_line lines[] = {
	{ 0, 30, 2, "policies/size_aware.bpf.c", "\tv = bpf_map_lookup();" },
	{ 6, 31, 2, "policies/size_aware.bpf.c", "\tv->count++;" },
};

static void with_lines(void)
{
	c.prog.lines = lines;
	c.prog.nlines = 2;
	c.img.name = "size_aware";
}

TEST(text_for_people)
{
	static const char want[] =
		"tuner policy size_aware: refused at slot 6 "
		"(size_aware.bpf.c:31): a pointer that may be NULL is dereferenced\n"
		"     31 | \tv->count++;\n"
		"        | \t^\n"
		"  insn:     6: r1 = *(u64 *)(r0 +0)   in decide\n"
		"  required: r0 tested against NULL before it is dereferenced\n"
		"  known:    r0: pointer to a value of map counts, or NULL; "
		"made by bpf_map_lookup_elem(&counts) in line 30\n"
		"  hint:     after line 30 add: if (!v) return 0;\n";
	struct nb_err err = { 0 };
	struct nb_verdict *v;
	struct nb_buf b;

	ck_assert(!case_asm(&c,
			    "stw [%r10-4], 4\nmov %r2, %r10\nadd %r2, -4\n"
			    "lddw map %r1, @counts\ncall 1\n"
			    "ldxdw %r1, [%r0]\nmov %r0, 0\nexit",
			    &err));
	with_lines();
	v = verify(NULL);
	nb_buf_init(&b, 0);
	nb_verdict_text(v, &c.img, 0, &b);
	ck_assert_str_eq(nb_buf_text(&b), want);
	ck_assert_int_eq(nb_verdict_err(v, &c.img, 0, &err), NB_E_VERIFY);
	ck_assert_ptr_nonnull(strstr(err.text, "size_aware.bpf.c:31"));
	ck_assert_ptr_nonnull(strstr(err.text, "required: r0 tested"));
	ck_assert_ptr_nonnull(strstr(err.hint, "if (!v) return 0;"));
	ck_assert_uint_eq(err.at, 6);
	nb_verdict_free(v);
	nb_buf_fini(&b);
}

TEST(json_for_scripts)
{
	struct nb_err err = { 0 };
	struct nb_verdict *v;
	struct nb_json j;
	struct nb_buf b;

	ck_assert(!case_asm(&c, "ldxw %r0, [%r1+104]\nexit", &err));
	with_lines();
	v = verify(NULL);
	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_verdict_json(v, &c.img, 0, &j);
	ck_assert_str_eq(nb_buf_text(&b),
			 "{\"accepted\":false,\"hook\":\"tuner\",\"policy\":"
			 "\"size_aware\",\"program\":\"decide\",\"class\":\"ctx_newer\","
			 "\"text\":\"a context field that this ncclbpf does not have\","
			 "\"pc\":0,\"reg\":1,\"insn\":\"r0 = *(u32 *)(r1 +104)\","
			 "\"required\":\"a field of struct ncclbpf_tuner as this "
			 "ncclbpf has it (104 bytes)\",\"known\":\"field fabric is not "
			 "known to this ncclbpf: the policy was built for a newer "
			 "one\",\"hint\":\"update ncclbpf, or build the policy against "
			 "the older ncclbpf_policy.h\",\"function\":\"decide\",\"file\":"
			 "\"policies/size_aware.bpf.c\",\"line\":30,\"column\":2,"
			 "\"source\":\"\\tv = bpf_map_lookup();\",\"path\":[],"
			 "\"notes\":[],"
			 "\"stats\":{\"insns_walked\":1,\"states_peak\":0,"
			 "\"stack_depth\":0}}");
	nb_verdict_free(v);
	nb_buf_fini(&b);
}

/* What a person should do is said with the numbers of the case. */
static const struct {
	const char *text, *hint;
} hints[] = {
	{ "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\n"
	  "lddw map %r1, @counts\ncall 1\njeq %r0, 0, o\n"
	  "ldxdw %r1, [%r0]\njgt %r1, 8, o\nlsh %r1, 3\nadd %r0, %r1\n"
	  "ldxdw %r2, [%r0]\no:\nmov %r0, 0\nexit",
	  "add: if (index >= 8) return 0;" },
	{ "mov %r0, 0\nadd %r10, 8\nexit", "copy r10 to another register first" },
	{ "ldxdw %r2, [%r1+8]\njsgt %r2, 8, o\nmov %r3, %r10\n"
	  "add %r3, %r2\no:\nmov %r0, 0\nexit",
	  "the number may be negative: use an unsigned type, or test i >= 0 too" },
};

TEST_EACH(hint, 0, sizeof(hints) / sizeof(hints[0]))
{
	struct nb_verdict *v = verify_text(hints[_i].text, NULL);

	ck_assert(!v->accepted);
	ck_assert_str_eq(v->finding.hint, hints[_i].hint);
	nb_verdict_free(v);
}

TEST(path_of_branches)
{
	struct nb_verdict *v = verify_text("ldxdw %r2, [%r1+8]\njeq %r2, 1, a\njeq %r2, 2, b\n"
					   "mov %r0, 0\nexit\na:\nmov %r0, 0\nexit\nb:\n"
					   "ldxdw %r0, [%r2]\nexit",
					   NULL);

	ck_assert(!v->accepted);
	ck_assert_uint_eq(v->finding.npath, 2);
	ck_assert_uint_eq(v->finding.path[0].pc, 1);
	ck_assert_uint_eq(v->finding.path[1].pc, 2);
	ck_assert_str_eq(v->finding.path[0].text, "ctx->bytes != 1");
	ck_assert_str_eq(v->finding.path[1].text, "ctx->bytes == 2");
	ck_assert(!v->finding.path[0].taken && v->finding.path[1].taken);
	nb_verdict_free(v);
}

/* Branches that could not go otherwise count for nothing. */
TEST(path_of_a_counted_loop)
{
	struct nb_verdict *v = verify_text("mov %r2, 0\nl:\nadd %r2, 1\njne %r2, 50, l\n"
					   "ldxdw %r0, [%r2]\nexit",
					   NULL);

	ck_assert(!v->accepted);
	ck_assert_uint_eq(v->finding.npath, 50);
	for (uint32_t i = 0; i < 50; i++)
		ck_assert(!v->finding.path[i].open);
	nb_verdict_free(v);
}

TEST(notes_of_a_value)
{
	struct nb_verdict *v = verify_text("ldxw %r2, [%r1+28]\nand %r2, 15\nlsh %r2, 3\n"
					   "stxdw [%r10-8], %r2\nldxdw %r3, [%r10-8]\n"
					   "ldxdw %r0, [%r3]\nexit",
					   NULL);

	ck_assert(!v->accepted);
	ck_assert_uint_eq(v->finding.nnotes, 5);
	ck_assert_str_eq(v->finding.notes[4].text,
			 "r3 = *(u64 *)(r10 -8); now r3 = (ctx->ranks & 15) * 8, "
			 "number 0 to 120, a multiple of 8");
	nb_verdict_free(v);
}

TEST(the_same_words_every_time)
{
	struct nb_buf a, b;

	nb_buf_init(&a, 0);
	nb_buf_init(&b, 0);
	for (int i = 0; i < 2; i++) {
		struct nb_verdict *v =
			verify_text("call 7\njset %r0, 1, +1\nmov %r1, 0\nexit", NULL);

		nb_verdict_text(v, &c.img, 0, i ? &b : &a);
		nb_verdict_free(v);
	}
	ck_assert_str_eq(nb_buf_text(&a), nb_buf_text(&b));
	nb_buf_fini(&a);
	nb_buf_fini(&b);
}

/* A helper that writes memory, as a harness may lend it: 0 bytes at any place
 * are none, and no state beyond the frame is touched for them. */
static const struct nb_helper_spec *lend(int32_t id)
{
	static const struct nb_helper_spec fill = {
		.id = 9999,
		.name = "fill",
		.arg = { NB_ARG_OUT, NB_ARG_SIZE0 },
	};

	static const struct nb_helper_spec sum = {
		.id = 9998,
		.name = "sum",
		.arg = { NB_ARG_MEM0, NB_ARG_SIZE0, NB_ARG_MEM, NB_ARG_SIZE0 },
	};

	return id == fill.id ? &fill : id == sum.id ? &sum : NULL;
}

const struct nb_helper_spec *__real_nb_spec_helper(int32_t id);
const struct nb_helper_spec *__wrap_nb_spec_helper(int32_t id);

const struct nb_helper_spec *__wrap_nb_spec_helper(int32_t id)
{
	const struct nb_helper_spec *h = __real_nb_spec_helper(id);

	return h ? h : lend(id);
}

static bool sums(const char *how)
{
	struct nb_verdict *v;
	char text[256];
	bool accepted;

	snprintf(text, sizeof(text),
		 "call 7\nstdw [%%r10-8], 0\nmov %%r3, %%r10\n"
		 "add %%r3, -8\nmov %%r4, 8\n%scall 9998\n"
		 "mov %%r0, 0\nexit",
		 how);
	ck_assert(!case_asm(&c, text, NULL));
	v = verify(NULL);
	accepted = v->accepted;
	nb_verdict_free(v);
	return accepted;
}

/* Where NULL may be no memory, it is no other either. */
TEST(helper_reads_no_memory)
{
	ck_assert(sums("mov %r1, 0\nmov %r2, 0\n"));
	ck_assert(sums("mov %r1, %r3\nmov %r2, 8\n"));
	ck_assert(sums("mov %r1, %r3\nmov %r2, %r0\nand %r2, 7\n"));
	ck_assert(!sums("mov %r1, 0\nmov %r2, 1\n"));
	ck_assert(!sums("mov %r1, 0\nmov %r2, %r0\nand %r2, 7\n"));
	ck_assert(!sums("mov %r1, 1\nmov %r2, 0\n"));
	ck_assert(!sums("mov %r1, %r0\nmov %r2, 0\n"));
	ck_assert(!sums("mov %r1, %r3\nmov %r2, 9\n"));
	ck_assert(!sums("mov %r1, 0\nmov %r2, 0\nmov %r3, 0\nmov %r4, 0\n"));
}

static bool fills(const char *size)
{
	struct nb_verdict *v;
	char text[256];
	bool accepted;

	snprintf(text, sizeof(text),
		 "call 7\nmov %%r1, %%r10\nadd %%r1, -8\nand %%r0, 15\n"
		 "%sadd %%r1, %%r0\n%scall 9999\nldxdw %%r0, [%%r10-8]\n"
		 "mov %%r0, 0\nexit",
		 *size == '+' ? "" : "mov %r0, 0\n", *size == '+' ? size + 1 : size);
	ck_assert(!case_asm(&c, text, NULL));
	v = verify(NULL);
	accepted = v->accepted;
	nb_verdict_free(v);
	return accepted;
}

TEST(helper_writes_memory)
{
	ck_assert(fills("mov %r2, 8\n"));
	ck_assert(!fills("mov %r2, 7\n"));
	ck_assert(!fills("mov %r2, 9\n"));
	ck_assert(!fills("mov %r2, 0\n"));
	ck_assert(!fills("+mov %r2, 0\n"));
}

UNIT_MAIN("verify")
