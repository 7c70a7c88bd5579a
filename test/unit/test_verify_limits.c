// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The verifier's limits: functions, open ways, memory. However little memory
// it may take, its answer is the right one or that memory was too little.
#include "test/unit/unit.h"

#include "test/unit/verify_image.h"

static struct case_image c;

static enum nb_finding_class class_of(const struct nb_verify_opts *o)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	enum nb_finding_class cls;

	ck_assert_msg(!nb_verify(&v, &c.img, 0, o, &err), "%s", err.text);
	cls = v->accepted ? NB_FIND_NONE : v->finding.cls;
	ck_assert(v->accepted == (cls == NB_FIND_NONE));
	nb_verdict_free(v);
	return cls;
}

/* A program that calls @n - 1 functions, one after the other. */
static void functions(uint32_t n)
{
	struct nb_slot *s = c.slots;
	uint32_t at = 0;

	for (uint32_t i = 0; i + 1 < n; i++, at++)
		s[at] = (struct nb_slot){ 0x85, 0x10, 0, (int32_t)(n + 1 + 2 * i - at - 1) };
	s[at++] = (struct nb_slot){ 0xb7, 0, 0, 0 };
	s[at++] = (struct nb_slot){ 0x95, 0, 0, 0 };
	for (uint32_t i = 0; i + 1 < n; i++) {
		s[at++] = (struct nb_slot){ 0xb7, 0, 0, 0 };
		s[at++] = (struct nb_slot){ 0x95, 0, 0, 0 };
	}
	case_init(&c, at);
}

TEST(too_many_functions)
{
	functions(256);
	ck_assert_int_eq(class_of(NULL), NB_FIND_NONE);
	functions(257);
	ck_assert_int_eq(class_of(NULL), NB_FIND_FUNCS);
}

/* A policy's budget counts what its earlier programs took. */
TEST(policy_steps)
{
	struct nb_verify_opts o = { .policy_insns = 10, .policy_spent = 8 };
	struct nb_err err = { 0 };

	ck_assert_msg(!case_asm(&c, "mov %r0, 0\nadd %r0, 0\nexit", &err), "%s", err.text);
	ck_assert_int_eq(class_of(&o), NB_FIND_POLICY_WORK);
	o.policy_spent = 7;
	ck_assert_int_eq(class_of(&o), NB_FIND_NONE);
}

/* As many slots as a program may have, and one more. */
TEST(too_many_slots)
{
	const uint32_t n = NB_IMAGE_MAX_SLOTS;
	struct nb_slot *s = calloc(n + 1, sizeof(*s));
	struct nb_verdict *v = NULL;

	ck_assert_ptr_nonnull(s);
	for (uint32_t i = 0; i < n; i++)
		s[i] = (struct nb_slot){ 0xb7, 0, 0, (int32_t)i };
	/* there and back: jumps beyond 16 bits */
	s[0] = (struct nb_slot){ 0x06, 0, 0, (int32_t)n - 3 };
	s[n - 2] = (struct nb_slot){ 0x06, 0, 0, 2 - (int32_t)n };
	s[n - 3] = (struct nb_slot){ 0x05, 0, 1, 0 };
	s[n - 1] = s[n] = (struct nb_slot){ 0x95, 0, 0, 0 };
	case_init(&c, n);
	c.prog.slots = s;
	ck_assert_int_eq(class_of(NULL), NB_FIND_NONE);
	case_init(&c, n + 1);
	c.prog.slots = s;
	ck_assert(!nb_verify(&v, &c.img, 0, NULL, NULL));
	ck_assert_int_eq(v->finding.cls, NB_FIND_ENCODING);
	ck_assert_str_eq(v->finding.required, "1 to 131072 slots");
	nb_verdict_free(v);
	free(s);
}

/* A refused program with a may_goto is walked four times, an accepted one once. */
TEST(walks_share_their_memory)
{
	enum { N = 30000 };
	struct nb_slot *s = calloc(N + 4, sizeof(*s));
	uint64_t memory[2];

	ck_assert_ptr_nonnull(s);
	for (uint32_t i = 0; i < N + 2; i++)
		s[i] = (struct nb_slot){ 0xb7, 0, 0, 0 };
	s[N] = (struct nb_slot){ 0xe5, 0, 1, 0 };
	s[N + 3] = (struct nb_slot){ 0x95, 0, 0, 0 };
	case_init(&c, N + 4);
	c.prog.slots = s;
	for (int bad = 0; bad < 2; bad++) {
		struct nb_verdict *v = NULL;

		s[N + 2] = bad ? (struct nb_slot){ 0xbf, 0x50, 0, 0 } : s[0];
		ck_assert(!nb_verify(&v, &c.img, 0, NULL, NULL));
		ck_assert_int_eq(v->accepted, !bad);
		memory[bad] = v->stats.memory;
		nb_verdict_free(v);
	}
	ck_assert_uint_lt(memory[1], memory[0] + 4 * N);
	free(s);
}

/* @n tests of an unknown number, each of which may leave. */
static struct nb_slot *ways(uint32_t n)
{
	struct nb_slot *s = calloc(n + 3, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	s[0] = (struct nb_slot){ 0x79, 0x12, 8, 0 };
	for (uint32_t i = 1; i <= n; i++)
		s[i] = (struct nb_slot){ 0x15, 2, (int16_t)(n - i), 0 };
	for (uint32_t i = 1; i <= n; i++)
		s[i].imm = (int32_t)i;
	s[n + 1] = (struct nb_slot){ 0xb7, 0, 0, 0 };
	s[n + 2] = (struct nb_slot){ 0x95, 0, 0, 0 };
	case_init(&c, n + 3);
	c.prog.slots = s;
	return s;
}

TEST(too_many_open_ways)
{
	struct nb_slot *s = ways(8192);

	ck_assert_int_eq(class_of(NULL), NB_FIND_NONE);
	free(s);
	s = ways(8193);
	ck_assert_int_eq(class_of(NULL), NB_FIND_COMPLEXITY);
	free(s);
}

static const struct {
	const char *what, *text;
	enum nb_finding_class cls;
} programs[] = {
	{ "a loop with ways that stay open",
	  "mov %r6, %r1\nmov %r7, 0\nl:\nldxdw %r3, [%r6+8]\n"
	  "jeq %r3, 5, m\nmov %r8, 0\nm:\nadd %r7, 1\njlt %r7, 40, l\n"
	  "mov %r0, 0\nexit",
	  NB_FIND_NONE },
	{ "a leak by what is not written",
	  "ldxw %r2, [%r1+64]\nstdw [%r10-8], 1\njeq %r2, 0, +1\n"
	  "stdw [%r10-8], 2\nldxdw %r3, [%r10-8]\njne %r3, 1, +1\n"
	  "stw [%r1+76], 4\nmov %r0, 0\nexit",
	  NB_FIND_LOCAL_CONTROL },
	{ "a leak by a callee",
	  "mov %r6, %r1\nldxw %r1, [%r1+64]\ncall local f\n"
	  "stxw [%r6+76], %r0\nmov %r0, 0\nexit\nf:\njeq %r1, 0, z\n"
	  "mov %r0, 1\nexit\nz:\nmov %r0, 2\nexit",
	  NB_FIND_LOCAL_OUTPUT },
	{ "a read outside behind an iterator's loop",
	  "ldxw %r3, [%r1+28]\nmov %r6, %r1\nmov %r1, %r10\n"
	  "add %r1, -8\nmov %r2, 0\ncall 0x10001\nn:\nmov %r1, %r10\n"
	  "add %r1, -8\ncall 0x10002\njne %r0, 0, n\nmov %r1, %r10\n"
	  "add %r1, -8\ncall 0x10003\nldxw %r0, [%r6+104]\nexit",
	  NB_FIND_CTX_NEWER },
	{ "a read outside behind a callback's turns",
	  "mov %r6, %r1\nldxw %r1, [%r6+28]\nlddw func %r2, f\n"
	  "mov %r3, 0\nmov %r4, 0\ncall 181\nldxw %r0, [%r6+104]\nexit\n"
	  "f:\nmov %r0, 0\nexit",
	  NB_FIND_CTX_NEWER },
	{ "a bound that is not there",
	  "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\n"
	  "lddw map %r1, @counts\ncall 1\njeq %r0, 0, o\n"
	  "ldxdw %r1, [%r0]\njgt %r1, 64, o\nadd %r0, %r1\n"
	  "ldxb %r2, [%r0]\no:\nmov %r0, 0\nexit",
	  NB_FIND_MAP_BOUNDS },
};

TEST_EACH(little_memory, 0, sizeof(programs) / sizeof(programs[0]))
{
	struct nb_err err = { 0 };
	bool enough = false;

	ck_assert_msg(!case_asm(&c, programs[_i].text, &err), "%s", err.text);
	ck_assert_int_eq(class_of(NULL), programs[_i].cls);
	for (size_t max = 64; max < 400000; max += max < 60000 ? 64 : 1024) {
		struct nb_verify_opts o = { .max_memory = max };
		enum nb_finding_class cls = class_of(&o);

		if (cls == programs[_i].cls) {
			enough = true;
			continue;
		}
		ck_assert_msg(cls == NB_FIND_MEMORY, "%s: class %d within %zu bytes",
			      programs[_i].what, (int)cls, max);
	}
	ck_assert_msg(enough, "%s: no limit was enough", programs[_i].what);
}

UNIT_MAIN("verify limits")
