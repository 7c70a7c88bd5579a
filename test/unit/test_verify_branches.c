// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Refusals of programs that take too many steps to verify: they name the
// branch that multiplies paths, count paths as paths and iterations as
// iterations, and what they advise leads to a program that is accepted.
#include "test/unit/policy_verdict.h"

#define SOURCE "test/corpus/cost/branches_in_loops.bpf.c"

static const struct {
	const char *refused, *accepted;
	const char *known, *hint, *never;
} rows[] = {
	{ "body_in_the_loop", "body_in_a_function", "paths reached its start; the branch that adds",
	  "put the body of the loop into a static __noinline function", "ncclbpf_for" },
	{ "plain_loop", "counted_loop", "paths reached its start",
	  "write the loop with ncclbpf_for", "iterations were verified" },
	{ "long_loop", "short_loop", "iterations were verified", "by a smaller constant",
	  "branch-free" },
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct nb_verify_opts opts = { .max_insns = 100000 };

static uint32_t prog_named(const struct nb_image *img, const char *name)
{
	uint32_t i = 0;

	while (i < img->nprogs && strcmp(img->progs[i].name, name) != 0)
		i++;
	ck_assert_msg(i < img->nprogs, "%s has no program %s", SOURCE, name);
	return i;
}

TEST_EACH(refusal_says_what_to_change, 0, NROWS)
{
	struct nb_image *img = image_of(SOURCE, NULL);
	uint32_t prog = prog_named(img, rows[_i].refused);
	const struct nb_line *line;
	const struct nb_finding *f;
	struct nb_verdict *v;
	struct nb_buf text;

	ck_assert(!nb_verify(&v, img, prog, &opts, NULL));
	nb_buf_init(&text, 0);
	nb_verdict_text(v, img, prog, &text);
	f = &v->finding;
	ck_assert(!v->accepted && f->cls == NB_FIND_COMPLEXITY);
	ck_assert_msg(strstr(f->known, rows[_i].known) && strstr(f->hint, rows[_i].hint) &&
			      !strstr(f->known, rows[_i].never) && !strstr(f->hint, rows[_i].never),
		      "%s", nb_buf_text(&text));
	/* A line of the policy, and of a branch where there are many paths. */
	line = nb_line_of(&img->progs[prog], f->pc);
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(!strcmp(nb_base_name(line->file), "branches_in_loops.bpf.c"), "%s",
		      nb_buf_text(&text));
	ck_assert_msg(!strstr(f->known, "paths") || strstr(nb_buf_text(&text), " if "), "%s",
		      nb_buf_text(&text));
	ck_assert_msg(!strstr(f->known, "ncclbpf_policy.h"), "%s", f->known);
	nb_buf_fini(&text);
	nb_verdict_free(v);
	nb_image_free(img);
}

TEST_EACH(the_changed_program_is_accepted, 0, NROWS)
{
	struct nb_image *img = image_of(SOURCE, NULL);
	struct nb_verdict *v;

	ck_assert(!nb_verify(&v, img, prog_named(img, rows[_i].accepted), &opts, NULL));
	ck_assert_msg(v->accepted, "%s: %s", rows[_i].accepted, v->finding.known);
	nb_verdict_free(v);
	nb_image_free(img);
}

UNIT_MAIN("branches that multiply paths")
