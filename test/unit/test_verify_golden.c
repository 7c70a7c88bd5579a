// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The words of every class of rejection, whole. A program of the corpus with
// the line "golden" in a comment (# golden, // golden) has its text with
// notes and its JSON in test/corpus/golden/verify/<program>.txt and .json; a
// RULE of core/defs/rules.h that none of them meets fails, and so does a row
// that no program of the corpus breaks. GOLDEN=record in
// the environment writes the files (make golden).
#include "test/unit/unit.h"

#include <dirent.h>

#include "core/load/object.h"
#include "core/bpf/verify/report/refuse.h"
#include "core/bpf/verify/report/say.h"
#include "test/unit/verify_image.h"

enum { MAX_FILES = 2048, MAX_BYTES = 1 << 20 };

struct file {
	char path[512], name[128];
	bool coherent, object, golden;
};

static struct file files[MAX_FILES];
static int nfiles, ngolden; /* golden ones first */
static bool met[NB_NFINDINGS], broken[NB_NRULES];

/* Classes that no program of the corpus can meet, and why. */
static const struct {
	enum nb_finding_class cls;
	const char *why;
} unmet[] = {
	{ NB_FIND_ENCODING, "the assembler writes none; see test_verify.c" },
	{ NB_FIND_FUNCS, "over 256 functions; the image reader is first" },
	{ NB_FIND_MEMORY, "depends on a limit; see test_verify.c" },
	{ NB_FIND_POLICY_WORK, "of many programs; see test_policy_budget.c" },
};

/* Rules that no program of the corpus can break, and why. */
static const struct {
	enum nb_rule rule;
	const char *why;
} unbroken[] = {
	{ NB_RULE_ENCODING, "the assembler writes none; see test_verify.c" },
	{ NB_RULE_SLOTS, "the image reader is first" },
	{ NB_RULE_MAP_INDEX, "the image reader is first" },
	{ NB_RULE_FUNCS, "over 256 functions; the image reader is first" },
	{ NB_RULE_CTX_PADDING, "contexts have none" },
	{ NB_RULE_PATHS, "thousands of branches in a row" },
	{ NB_RULE_LOOP_PATHS, "thousands of branches in a row" },
	{ NB_RULE_COMPLEXITY, "depends on a limit; see test_verify_worst.c" },
	{ NB_RULE_POLICY_WORK, "of many programs; see test_policy_budget.c" },
	{ NB_RULE_MEMORY, "depends on a limit; see test_verify.c" },
	{ NB_RULE_MEMORY_STATES, "depends on a limit; see test_verify.c" },
};

static const char *top(void)
{
	return getenv("TOP") ? getenv("TOP") : ".";
}

static char *read_file(const char *path, size_t *size)
{
	static char bytes[MAX_BYTES];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes) - 1, f) : 0;

	if (f)
		fclose(f);
	bytes[n] = '\0';
	if (size)
		*size = n;
	return f ? bytes : NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->golden != y->golden)
		return x->golden ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool marked(const char *path)
{
	const char *text = read_file(path, NULL);

	return text && (strstr(text, "\n# golden\n") || strstr(text, "\n// golden\n"));
}

static void list(const char *folder, const char *suffix)
{
	char path[300];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%.200s/%.60s", top(), folder);
	d = opendir(path);
	while (d && (e = readdir(d)) && nfiles < MAX_FILES) {
		struct file *f = &files[nfiles];
		size_t n = strlen(e->d_name), k = strlen(suffix);

		if (n <= k || n > 100 || strcmp(e->d_name + n - k, suffix) != 0)
			continue;
		snprintf(f->path, sizeof(f->path), "%s/%.100s", path, e->d_name);
		f->golden = marked(f->path);
		ngolden += f->golden;
		snprintf(f->name, sizeof(f->name), "%.*s", (int)(n - k), e->d_name);
		f->object = suffix[1] == 'b';
		f->coherent = f->object || strstr(folder, "coherence");
		nfiles++;
	}
	if (d)
		closedir(d);
}

/* ---- the two kinds of program ---- */

static struct nb_line lines[CASE_SLOTS];
static char line_text[CASE_SLOTS][128];

/* Lines of the assembler file, its words spelled out, as line records: one an instruction. */
static void add_lines(struct case_image *c, const struct file *f, char *text)
{
	uint32_t pc = 0, n = 0, number = 0;

	for (char *at = text, *end; *at; at = end) {
		size_t size = strcspn(at, "#\n");

		number++;
		end = at + strcspn(at, "\n");
		end += *end == '\n';
		while (size && strchr(" \t", at[size - 1]))
			size--;
		if (!size || at[size - 1] == ':' || pc >= c->prog.nslots)
			continue;
		snprintf(line_text[n], sizeof(line_text[n]), "%.*s", (int)(size < 120 ? size : 120),
			 at);
		lines[n] = (struct nb_line){ pc, number, 1, f->name, line_text[n] };
		pc += c->slots[pc].opcode == 0x18 ? 2 : 1;
		n++;
	}
	ck_assert_uint_eq(pc, c->prog.nslots);
	c->prog.lines = lines;
	c->prog.nlines = n;
}

static void set_options(struct nb_verify_opts *o, const char *text)
{
	const char *line = strstr(text, "# opts:"), *p;
	char opts[128] = "";

	if (!line)
		return;
	snprintf(opts, sizeof(opts), "%.*s", (int)strcspn(line, "\n"), line);
	p = strstr(opts, "mem=");
	o->plain_mem = p ? (uint32_t)strtoul(p + 4, NULL, 10) : 0;
}

struct words {
	struct nb_buf text, json;
	enum nb_rule rule;
};

/* The verdict's words; its class. */
static enum nb_finding_class judge(const struct nb_image *img, const struct nb_verify_opts *o,
				   struct words *w)
{
	enum nb_finding_class cls = NB_FIND_NONE;
	struct nb_verdict *v;
	struct nb_json j;

	for (uint32_t i = 0; i < img->nprogs && cls == NB_FIND_NONE; i++) {
		ck_assert(!nb_verify(&v, img, i, o, NULL));
		cls = v->finding.cls;
		w->rule = v->finding.rule;
		if (cls != NB_FIND_NONE) {
			nb_verdict_text(v, img, i, &w->text);
			nb_buf_str(&w->text, "  notes:\n");
			nb_verdict_notes(v, img, i, &w->text);
			nb_json_init(&j, &w->json);
			nb_verdict_json(v, img, i, &j);
			nb_buf_char(&w->json, '\n');
		}
		nb_verdict_free(v);
	}
	return cls;
}

static enum nb_finding_class judge_asm(const struct file *f, struct words *w)
{
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	static char whole[64 << 10];
	char *text = read_file(f->path, NULL);
	struct nb_err err = { 0 };

	set_options(&o, text);
	ck_assert_msg(!case_asm(&c, text, &err), "%s: %s", f->name, err.text);
	case_text(whole, sizeof(whole), text);
	add_lines(&c, f, whole);
	return judge(&c.img, &o, w);
}

/* NB_NFINDINGS: there is no compiled object. */
static enum nb_finding_class judge_object(const struct file *f, struct words *w)
{
	enum nb_finding_class cls;
	struct nb_err err = { 0 };
	struct nb_image *img;
	struct nb_buf image;
	char path[600];
	size_t size;
	char *bytes;

	snprintf(path, sizeof(path), "%s/test/corpus/reject/%s.bpf.o",
		 getenv("B") ? getenv("B") : "build/debug", f->name);
	bytes = read_file(path, &size);
	if (!bytes)
		return NB_NFINDINGS;
	nb_buf_init(&image, 0);
	ck_assert_msg(!nb_object_image(&image, bytes, size, f->name, &err), "%s: %s", f->name,
		      err.text);
	ck_assert_msg(!nb_image_read(&img, image.data, image.size, &err), "%s: %s", f->name,
		      err.text);
	cls = judge(img, NULL, w);
	nb_image_free(img);
	nb_buf_fini(&image);
	return cls;
}

/* Whatever is refused: where, what was wanted, what was known, and what to do
 * about it; of a policy in C the source line with a caret. */
static void whole(const struct file *f, const char *text)
{
	static const char *const parts[] = { "  insn:     ", "\n  required: ", "\n  known:    ",
					     "\n  hint:     " };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ck_assert_msg(strstr(text, parts[i]) != NULL, "%s: no \"%s\" in\n%s", f->name,
			      parts[i], text);
	ck_assert_msg(!f->object || strstr(text, "^\n"), "%s: no caret in\n%s", f->name, text);
}

/* ---- golden files ---- */

static void compare(const struct file *f, const char *suffix, const struct nb_buf *is)
{
	const char *record = getenv("GOLDEN");
	char path[512], *want;
	FILE *to;

	snprintf(path, sizeof(path), "%s/test/corpus/golden/verify/%s.%s", top(), f->name, suffix);
	if (record && !strcmp(record, "record")) {
		to = fopen(path, "w");
		ck_assert_msg(to != NULL, "%s cannot be written", path);
		fwrite(is->data, 1, is->size, to);
		fclose(to);
	}
	want = read_file(path, NULL);
	ck_assert_msg(want != NULL, "no %s: make golden", path);
	ck_assert_msg(!strcmp(want, nb_buf_text(is)),
		      "%s: other words (right as they are now? make "
		      "golden)\nwant:\n%s\nfound:\n%s",
		      f->name, want, nb_buf_text(is));
}

static enum nb_finding_class judge_file(const struct file *f, struct words *w)
{
	nb_buf_init(&w->text, 0);
	nb_buf_init(&w->json, 0);
	return f->object ? judge_object(f, w) : judge_asm(f, w);
}

TEST_EACH(words, 0, ngolden)
{
	const struct file *f = &files[_i];
	struct words w;
	enum nb_finding_class cls = judge_file(f, &w);

	ck_assert_msg(cls != NB_FIND_NONE, "%s is accepted", f->name);
	if (cls == NB_NFINDINGS) {
		printf("# %s: no object, words not compared\n", f->name);
	} else {
		whole(f, nb_buf_text(&w.text));
		compare(f, "txt", &w.text);
		compare(f, "json", &w.json);
	}
	nb_buf_fini(&w.text);
	nb_buf_fini(&w.json);
}

TEST(every_class_has_its_words)
{
	char missing[2048] = "";

	for (int i = 0; i < ngolden; i++) {
		struct words w;
		enum nb_finding_class cls = judge_file(&files[i], &w);

		if (cls < NB_NFINDINGS)
			met[cls] = true;
		nb_buf_fini(&w.text);
		nb_buf_fini(&w.json);
	}
	for (size_t i = 0; i < sizeof(unmet) / sizeof(unmet[0]); i++)
		met[unmet[i].cls] = true;
	for (unsigned c = 1; c < NB_NFINDINGS; c++)
		if (!met[c])
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 " %s", nb_finding_words(c)->word);
	ck_assert_msg(!*missing,
		      "no golden words for:%s (write \"# golden\" into a "
		      "program of the corpus that meets it, then make golden)",
		      missing);
}

/* Return the first word in braces in @text that has no row in words.h, or NULL. */
static const char *unknown_word(const char *text)
{
	static const char *const word[] = {
#define WORD(name, facts, text) #name "}",
#include "core/bpf/verify/report/words.h"
	};

	while ((text = strchr(text, '{'))) {
		size_t n = strspn(++text, "abcdefghijklmnopqrstuvwxyz_"), i = 0;

		while (i < sizeof(word) / sizeof(word[0]) && strncmp(text, word[i], n + 1))
			i++;
		if (n && text[n] == '}' && i == sizeof(word) / sizeof(word[0]))
			return text;
	}
	return NULL;
}

/* A word in braces that nothing fills would be shown as it stands. */
TEST(templates_name_known_words)
{
	static const char *const rows[][4] = {
#define LOCAL(name, text, hint) { #name, text, "", hint },
#include "core/defs/local_sources.h"
#define RULE(name, word, text, required, known, hint) { #name, required, known, hint },
#define VARIANT(name, class, required, known, hint) { #name, required, known, hint },
#include "core/defs/rules.h"
	};

	ck_assert_str_eq(unknown_word("a {r} and {nothing}"), "nothing}");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned k = 1; k < 4; k++) {
			const char *bad = unknown_word(rows[i][k]);

			ck_assert_msg(!bad, "%s: {%s: no such word", rows[i][0], bad ? bad : "");
		}
}

TEST(every_rule_is_broken_by_a_program)
{
	static const char *const rows[] = {
#define RULE(name, ...) #name,
#define VARIANT(name, ...) #name,
#include "core/defs/rules.h"
	};
	char missing[4096] = "";
	bool objects = true;

	for (int i = 0; i < nfiles; i++) {
		struct words w;
		enum nb_finding_class cls = judge_file(&files[i], &w);

		if (cls == NB_NFINDINGS)
			objects = false;
		else if (cls != NB_FIND_NONE)
			broken[w.rule] = true;
		nb_buf_fini(&w.text);
		nb_buf_fini(&w.json);
	}
	for (size_t i = 0; i < sizeof(unbroken) / sizeof(unbroken[0]); i++) {
		ck_assert_msg(!broken[unbroken[i].rule], "%s is broken after all",
			      rows[unbroken[i].rule]);
		broken[unbroken[i].rule] = true;
	}
	for (unsigned i = 0; objects && i < NB_NRULES; i++)
		if (!broken[i])
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 " %s", rows[i]);
	ck_assert_msg(!*missing,
		      "no program of the corpus breaks:%s (write one, or say in "
		      "this file why there is none)",
		      missing);
}

/* A golden file whose program is gone says nothing. */
TEST(every_golden_file_has_its_program)
{
	char path[300];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%.200s/test/corpus/golden/verify", top());
	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		struct file key = { .golden = true };
		size_t n = strcspn(e->d_name, ".");

		if (*e->d_name == '.' || !strcmp(e->d_name, "README.md"))
			continue;
		snprintf(key.name, sizeof(key.name), "%.*s", (int)n, e->d_name);
		ck_assert_msg(bsearch(&key, files, (size_t)nfiles, sizeof(key), by_name),
			      "%s/%s: no program is marked so", path, e->d_name);
	}
	closedir(d);
}

UNIT_MAIN_WITH("verify golden", list("test/corpus/verify/reject", ".asm");
	       list("test/corpus/verify/coherence", ".asm"); list("test/corpus/reject", ".bpf.c");
	       qsort(files, (size_t)nfiles, sizeof(files[0]), by_name);)
