// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The verifier on hand-written programs, one file each in test/corpus/verify:
// reject/ and accept/ are about safety and are judged without coherence,
// coherence/ holds leaks beside their clean twins. A file says what it
// expects: "# expect: reject CLASS SLOT" or "# expect: accept", or, where the
// length of iterations matters, "# expect: accept iteration N first N
// iter_steps N"; or, where loops of a constant number of iterations matter, "#
// expect: accept constant N", which is the sum of their iterations in a run.
// Rewritten so that it does the same (verify_same.h), a program has the same
// verdict. One that is refused has in it the nearest that is accepted
// (verify_near.h); a leak says by "# flow: KIND" how local data get to the
// decision.
#include "test/unit/unit.h"

#include <dirent.h>

#include "test/unit/verify_image.h"
#include "test/unit/verify_near.h"
#include "test/unit/verify_same.h"

enum { MAX_FILES = 1024, NEAR = 6 /* lines that differ, at most */ };

struct file {
	char path[512];
	char name[128];
	bool coherent;
};

static struct file files[MAX_FILES];
static int nfiles;

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path,
		      ((const struct file *)b)->path);
}

static void list(const char *folder)
{
	const char *top = getenv("TOP");
	char path[256];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/test/corpus/verify/%s",
		 top ? top : ".", folder);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct file *f = &files[nfiles];
		size_t n = strlen(e->d_name);

		if (n < 5 || n > 120 || strcmp(e->d_name + n - 4, ".asm") ||
		    nfiles == MAX_FILES)
			continue;
		snprintf(f->path, sizeof(f->path), "%.250s/%.120s", path,
			 e->d_name);
		snprintf(f->name, sizeof(f->name), "%.120s", e->d_name);
		f->coherent = !strcmp(folder, "coherence");
		nfiles++;
	}
	if (d)
		closedir(d);
}

static char *read_file(const char *path)
{
	static char text[64 << 10];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	ck_assert_msg(f != NULL, "%s cannot be read", path);
	fclose(f);
	text[n] = '\0';
	return text;
}

static const char *word_of(const struct nb_verdict *v,
			   const struct case_image *c, char *word, size_t size)
{
	struct nb_buf b;
	struct nb_json j;
	const char *p;

	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_verdict_json(v, &c->img, 0, &j);
	p = strstr(nb_buf_text(&b), "\"class\":\"");
	snprintf(word, size, "%s", p ? p + 9 : "?");
	word[strcspn(word, "\"")] = '\0';
	nb_buf_fini(&b);
	return word;
}

static void set_options(struct nb_verify_opts *o, const char *text)
{
	const char *line = strstr(text, "# opts:"), *p;
	char opts[128] = "";

	if (!line)
		return;
	snprintf(opts, sizeof(opts), "%.*s", (int)strcspn(line, "\n"), line);
	o->allow_wide_shift = strstr(opts, "wideshift") != NULL;
	p = strstr(opts, "mem=");
	o->plain_mem = p ? (uint32_t)strtoul(p + 4, NULL, 10) : 0;
}

/* What was found, as a line, and the text it would be shown with. */
static void judge(const struct file *f, char *found, size_t size,
		  struct nb_buf *text)
{
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	char *src = read_file(f->path), word[64];
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	set_options(&o, src);
	ck_assert_msg(!case_asm(&c, src, &err), "%s: %s", f->name, err.text);
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s: %s", f->name,
		      err.text);
	if (v->accepted && strstr(src, "# expect: accept iteration"))
		snprintf(found, size,
			 "accept iteration %u first %u iter_steps %u",
			 v->iteration, v->first, v->iter_steps);
	else if (v->accepted && strstr(src, "# expect: accept constant"))
		snprintf(found, size, "accept constant %u",
			 v->constant_iterations);
	else if (v->accepted)
		snprintf(found, size, "accept");
	else
		snprintf(found, size, "reject %s %u",
			 word_of(v, &c, word, sizeof(word)), v->finding.pc);
	nb_verdict_text(v, &c.img, 0, text);
	nb_verdict_free(v);
}

START_TEST(corpus)
{
	struct file *f = &files[_i];
	char want[128] = "", found[128];
	const char *line = strstr(read_file(f->path), "# expect: ");
	struct nb_buf text;

	ck_assert_msg(line != NULL, "%s expects nothing", f->path);
	snprintf(want, sizeof(want), "%.*s", (int)strcspn(line + 10, "\n"),
		 line + 10);
	nb_buf_init(&text, 0);
	judge(f, found, sizeof(found), &text);
	ck_assert_msg(!strcmp(want, found), "%s: want %s, found %s\n%s",
		      f->path, want, found, nb_buf_text(&text));
	/* Words for people: none is empty where something is refused. */
	if (!strncmp(found, "reject", 6)) {
		ck_assert_ptr_nonnull(strstr(nb_buf_text(&text), "required:"));
		ck_assert_ptr_nonnull(strstr(nb_buf_text(&text), "known:"));
	}
	nb_buf_fini(&text);
}
END_TEST

/* The verdict on slots of which @origin says where they come from. */
static void verdict_on(struct case_image *c, const struct nb_verify_opts *o,
		       const uint32_t *origin, char *found, size_t size,
		       uint32_t *walked)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	char word[64];

	ck_assert_msg(!nb_verify(&v, &c->img, 0, o, &err), "%s", err.text);
	*walked = v->stats.insns_walked;
	if (v->accepted)
		snprintf(found, size, "accept");
	else
		snprintf(found, size, "reject %s %u",
			 word_of(v, c, word, sizeof(word)),
			 origin ? origin[v->finding.pc] : v->finding.pc);
	nb_verdict_free(v);
}

/* Where a loop is found to be endless, and what comes first of more that
 * nothing reaches, is a matter of places. */
static bool where_differs(int how, const char *verdict)
{
	return (how == SAME_DEAD && strstr(verdict, "endless_loop")) ||
	       (how == SAME_MOVED && strstr(verdict, "unreachable"));
}

START_TEST(rewritten)
{
	enum { LONG = 20000 };
	static struct case_image was, c;
	static uint32_t origin[CASE_SLOTS];
	const struct file *f = &files[_i];
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	char *src = read_file(f->path), want[128], found[128];
	struct nb_err err = { 0 };
	uint32_t walked, n;
	size_t same;

	set_options(&o, src);
	ck_assert_msg(!case_asm(&was, src, &err), "%s", err.text);
	verdict_on(&was, &o, NULL, want, sizeof(want), &walked);
	/* Of long walks the end is a matter of limits. */
	for (int how = 0; how < NSAMES && walked < LONG; how++) {
		n = same_rewrite((enum same)how, was.slots, was.prog.nslots,
				 c.slots, origin);
		if (!n)
			continue;
		case_init(&c, n);
		verdict_on(&c, &o, origin, found, sizeof(found), &walked);
		same = where_differs(how, want) ? strcspn(want, "0123456789")
						: sizeof(want);
		ck_assert_msg(!strncmp(want, found, same),
			      "%s, rewriting %d: %s, not "
			      "%s",
			      f->path, how, found, want);
	}
}
END_TEST

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
		ck_assert_msg(!differ, "%s is accepted and has a twin",
			      f->path);
		return;
	}
	ck_assert_msg(differ > 0 && differ <= NEAR,
		      "%s: the nearest accepted program differs in %u lines",
		      f->path, differ);
	set_options(&o, src);
	ck_assert_msg(!case_asm(&c, twin, &err), "%s, twin: %s", f->path,
		      err.text);
	verdict_on(&c, &o, NULL, found, sizeof(found), &walked);
	ck_assert_msg(!strcmp(found, "accept"), "%s, twin: %s", f->path, found);
}

START_TEST(nearest)
{
	for (int i = 0; i < nfiles; i++)
		has_twin(&files[i]);
}
END_TEST

/* Counts of leaks by the way that local data takes; each has its clean twin
 * in it (nearest). */
START_TEST(leaks_of_each_kind)
{
	static const char *const kinds[] = {
		"copy",	    "arithmetic", "stack",   "map value",
		"branch",   "loop count", "look-up", "callback",
		"function", "tail call",  "atomic",
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
		while (k < NKINDS &&
		       (strncmp(line, kinds[k], strlen(kinds[k])) ||
			line[strlen(kinds[k])] != '\n'))
			k++;
		ck_assert_msg(k < NKINDS, "%s: flow: %.20s", files[i].path,
			      line);
		count[k]++;
		leaks++;
	}
	ck_assert_uint_ge(leaks, 100);
	for (unsigned k = 0; k < NKINDS; k++)
		ck_assert_msg(count[k] >= 2, "%s: %u leaks", kinds[k],
			      count[k]);
}
END_TEST

START_TEST(corpus_is_there)
{
	unsigned refused = 0;

	for (int i = 0; i < nfiles; i++)
		refused += is_refused(read_file(files[i].path));
	ck_assert_int_ge(nfiles, 800);
	ck_assert_uint_ge(refused, 540);
}
END_TEST

UNIT_MAIN("verify programs", list("reject"); list("accept"); list("coherence");
	  qsort(files, (size_t)nfiles, sizeof(files[0]), by_path);
	  tcase_add_test(tc, corpus_is_there);
	  tcase_add_test(tc, leaks_of_each_kind); tcase_add_test(tc, nearest);
	  tcase_add_loop_test(tc, rewritten, 0, nfiles);
	  tcase_add_loop_test(tc, corpus, 0, nfiles);)
