// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Which generations read times: the clock is read for these only.
#include "test/unit/unit.h"

#include <stddef.h>
#include <stdio.h>

#include "core/defs/ctx.h"
#include "core/bpf/generation/gen.h"
#include "core/ncclbpf.h"
#include "test/unit/asm.h"

enum { SLOTS = 32, PROGS = 2 };

struct text {
	enum nb_hook hook;
	const char *text;
	uint32_t second; /* where its second function begins; 0: it has none */
};

static void image_of(struct nb_buf *out, const struct text *t, uint32_t n)
{
	static const char *const names[PROGS] = { "first", "second" };
	struct nb_slot slots[PROGS][SLOTS];
	struct nb_func funcs[PROGS][2];
	struct nb_prog progs[PROGS];
	struct nb_err err = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t half = t[i].second;
		size_t size;

		ck_assert_msg(!nb_asm(slots[i], SLOTS, &size, t[i].text, &err), "%s", err.text);
		funcs[i][0] = (struct nb_func){ .name = "f", .end = half ? half : (uint32_t)size };
		funcs[i][1] = (struct nb_func){ .name = "g", .start = half, .end = (uint32_t)size };
		progs[i] = (struct nb_prog){ .name = names[i],
					     .section = nb_spec_hook(t[i].hook)->word,
					     .hook = t[i].hook,
					     .slots = slots[i],
					     .nslots = (uint32_t)size,
					     .funcs = funcs[i],
					     .nfuncs = half ? 2 : 1 };
	}
	nb_buf_init(out, 0);
	ck_assert_msg(
		!nb_image_write(out,
				&(struct nb_image){ .name = "timed", .progs = progs, .nprogs = n },
				&err),
		"%s", err.text);
}

/* The hooks of a generation of these programs that read times. */
static uint32_t timed(const struct text *t, uint32_t n)
{
	struct nb_policy *p;
	struct nb_err err = { 0 };
	struct nb_gen *g;
	struct nb_buf b;
	uint32_t bits, hooks = 0;

	image_of(&b, t, n);
	ck_assert_msg(!nb_policy_new(&p, b.data, b.size, NULL, &err), "%s", err.text);
	nb_buf_fini(&b);
	ck_assert_msg(!nb_gen_new(&g, &p, 1, NULL, &err), "%s", err.text);
	for (uint32_t i = 0; i < n; i++)
		hooks |= 1u << t[i].hook;
	ck_assert_uint_eq(g->hooks, hooks);
	bits = g->timed;
	nb_gen_put(g);
	nb_policy_put(p);
	return bits;
}

static uint32_t done(const char *text, uint32_t second)
{
	uint32_t bits = timed(&(struct text){ NB_HOOK_VERBS_DONE, text, second }, 1);

	ck_assert_uint_eq(bits & ~(1u << NB_HOOK_VERBS_DONE), 0);
	return bits != 0;
}

/* As numbers in the texts. */
_Static_assert(offsetof(struct ncclbpf_verbs_done, now_ns) == 8 &&
		       offsetof(struct ncclbpf_verbs_done, ns) == 16 &&
		       offsetof(struct ncclbpf_verbs_done, bytes) == 24 &&
		       offsetof(struct ncclbpf_verbs_post, bytes) == 24,
	       "offsets of the context");

TEST(a_program_that_reads_a_time_is_timed)
{
	ck_assert(!done("mov %r0, 0\nexit\n", 0));
	ck_assert(!done("ldxdw %r2, [%r1+24]\nmov %r0, 0\nexit\n", 0));
	ck_assert(done("ldxdw %r2, [%r1+16]\nmov %r0, 0\nexit\n", 0));
	ck_assert(done("ldxdw %r2, [%r1+8]\nmov %r0, 0\nexit\n", 0));
	/* only its low half */
	ck_assert(done("ldxw %r2, [%r1+16]\nmov %r0, 0\nexit\n", 0));
}

TEST(also_by_another_pointer_on_one_path_or_in_a_function)
{
	ck_assert(done("mov %r6, %r1\nadd %r6, 24\n"
		       "ldxdw %r2, [%r6-8]\nmov %r0, 0\nexit\n",
		       0));
	ck_assert(done("ldxdw %r2, [%r1+24]\njne %r2, 7, skip\n"
		       "ldxdw %r2, [%r1+16]\nskip:\nmov %r0, 0\nexit\n",
		       0));
	/* a path that no run takes */
	ck_assert(!done("mov %r2, 1\njeq %r2, 1, skip\n"
			"ldxdw %r2, [%r1+16]\nskip:\nmov %r0, 0\nexit\n",
			0));
	ck_assert(done("call local g\nmov %r0, 0\nexit\n"
		       "g:\nldxdw %r0, [%r1+16]\nexit\n",
		       3));
	ck_assert(!done("call local g\nmov %r0, 0\nexit\n"
			"g:\nldxdw %r0, [%r1+24]\nexit\n",
			3));
}

TEST(each_hook_by_itself)
{
	static const char plain[] = "ldxdw %r2, [%r1+24]\nmov %r0, 0\nexit\n",
			  reads[] = "ldxdw %r2, [%r1+16]\nmov %r0, 0\nexit\n";
	const struct text one[] = { { NB_HOOK_VERBS_POST, plain, 0 },
				    { NB_HOOK_VERBS_DONE, reads, 0 } },
			  same[] = { { NB_HOOK_VERBS_POST, plain, 0 },
				     { NB_HOOK_VERBS_POST, reads, 0 } };

	ck_assert_uint_eq(timed(one, 2), 1u << NB_HOOK_VERBS_DONE);
	ck_assert_uint_eq(timed(same, 2), 1u << NB_HOOK_VERBS_POST);
}

/* Nothing is known of programs that were not verified. */
TEST(an_unverified_policy_is_timed)
{
	const struct text t = { NB_HOOK_VERBS_DONE, "mov %r0, 0\nexit\n", 0 };
	struct nb_policy *p;
	struct nb_err err = { 0 };
	struct nb_image *img;
	struct nb_gen *g;
	struct nb_buf b;

	image_of(&b, &t, 1);
	ck_assert(!nb_image_read(&img, b.data, b.size, &err));
	nb_buf_fini(&b);
	ck_assert(!nb_policy_make(&p, img, NULL, NULL, 0, &err));
	ck_assert(!nb_gen_new(&g, &p, 1, NULL, &err));
	ck_assert_uint_eq(g->timed, 1u << NB_HOOK_VERBS_DONE);
	nb_gen_put(g);
	nb_policy_put(p);
}

UNIT_MAIN("timed")
