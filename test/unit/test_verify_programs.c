// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The verifier on hand-written programs, one file each in test/corpus/verify
// (verify_files.h). A file says what it expects: "# expect: reject CLASS SLOT"
// or "# expect: accept", or, where the length of iterations matters, "# expect:
// accept iteration N first N iter_steps N"; or, where loops of a constant
// number of iterations matter, "# expect: accept constant N", which is the sum
// of their iterations in a run. One that is refused has in it the nearest that
// is accepted (verify_near.h); a leak says by "# flow: KIND" how local data get
// to the decision. test_verify_rewritten.c rewrites them.
#include "test/unit/verify_files.h"
#include "test/unit/verify_near.h"

enum { NEAR = 6 /* lines that differ, at most */ };

/* What was found, as a line, and the text it would be shown with. */
static void judge(const struct file *f, char *found, size_t size, struct nb_buf *text)
{
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	char *src = read_file(f->path), word[64];
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	set_options(&o, src);
	ck_assert_msg(!case_asm(&c, src, &err), "%s: %s", f->name, err.text);
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s: %s", f->name, err.text);
	if (v->accepted && strstr(src, "# expect: accept iteration"))
		snprintf(found, size, "accept iteration %u first %u iter_steps %u",
			 v->runs.iteration, v->runs.first, v->runs.iter_steps);
	else if (v->accepted && strstr(src, "# expect: accept constant"))
		snprintf(found, size, "accept constant %u", v->runs.constant_iterations);
	else if (v->accepted)
		snprintf(found, size, "accept");
	else
		snprintf(found, size, "reject %s %u", word_of(v, &c, word, sizeof(word)),
			 v->finding.pc);
	nb_verdict_text(v, &c.img, 0, text);
	nb_verdict_free(v);
}

TEST_EACH(corpus, 0, nfiles)
{
	struct file *f = &files[_i];
	char want[128] = "", found[128];
	const char *line = strstr(read_file(f->path), "# expect: ");
	struct nb_buf text;

	ck_assert_msg(line != NULL, "%s expects nothing", f->path);
	snprintf(want, sizeof(want), "%.*s", (int)strcspn(line + 10, "\n"), line + 10);
	nb_buf_init(&text, 0);
	judge(f, found, sizeof(found), &text);
	ck_assert_msg(!strcmp(want, found), "%s: want %s, found %s\n%s", f->path, want, found,
		      nb_buf_text(&text));
	/* Words for people: none is empty where something is refused. */
	if (!strncmp(found, "reject", 6)) {
		ck_assert_ptr_nonnull(strstr(nb_buf_text(&text), "required:"));
		ck_assert_ptr_nonnull(strstr(nb_buf_text(&text), "known:"));
	}
	nb_buf_fini(&text);
}

static bool is_refused(const char *text)
{
	return strstr(text, "# expect: reject") != NULL;
}

/* Beside the refused program of @f stands one that is accepted, and is near. */
static void has_twin(const struct file *f)
{
	static char twin[64 << 10];
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	const char *src = read_file(f->path);
	struct nb_err err = { 0 };
	unsigned differ = near_twin(twin, sizeof(twin), src);
	char found[128];
	uint32_t walked;

	if (!is_refused(src)) {
		ck_assert_msg(!differ, "%s is accepted and has a twin", f->path);
		return;
	}
	ck_assert_msg(differ > 0 && differ <= NEAR,
		      "%s: the nearest accepted program differs in %u lines", f->path, differ);
	set_options(&o, src);
	ck_assert_msg(!case_asm(&c, twin, &err), "%s, twin: %s", f->path, err.text);
	verdict_on(&c, &o, NULL, found, sizeof(found), &walked);
	ck_assert_msg(!strcmp(found, "accept"), "%s, twin: %s", f->path, found);
}

TEST(nearest)
{
	for (int i = 0; i < nfiles; i++)
		has_twin(&files[i]);
}

/* Counts of leaks by the way that local data takes; each has its clean twin
 * in it (nearest). */
TEST(leaks_of_each_kind)
{
	static const char *const kinds[] = {
		"copy",	      "arithmetic", "stack",	"map value", "branch",
		"loop count", "look-up",    "callback", "function",  "atomic",
	};
	enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };
	unsigned count[NKINDS] = { 0 }, leaks = 0;

	for (int i = 0; i < nfiles; i++) {
		const char *src = read_file(files[i].path), *line;
		unsigned k = 0;

		if (!files[i].coherent || !is_refused(src))
			continue;
		line = strstr(src, "\n# flow: ");
		ck_assert_msg(line != NULL, "%s: no flow", files[i].path);
		line += strlen("\n# flow: ");
		while (k < NKINDS && (strncmp(line, kinds[k], strlen(kinds[k])) ||
				      line[strlen(kinds[k])] != '\n'))
			k++;
		ck_assert_msg(k < NKINDS, "%s: flow: %.20s", files[i].path, line);
		count[k]++;
		leaks++;
	}
	ck_assert_uint_ge(leaks, 100);
	for (unsigned k = 0; k < NKINDS; k++)
		ck_assert_msg(count[k] >= 2, "%s: %u leaks", kinds[k], count[k]);
}

TEST(corpus_is_there)
{
	unsigned refused = 0;

	for (int i = 0; i < nfiles; i++)
		refused += is_refused(read_file(files[i].path));
	ck_assert_int_ge(nfiles, 700);
	ck_assert_uint_ge(refused, 510);
}

/* One process for all of them: with sanitizers, 700 ends of processes cost more than the tests. */
UNIT_MAIN_IN_ONE("verify programs", list_files();)
