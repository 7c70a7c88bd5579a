// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Notes of accepted programs: each program of test/corpus/verify/notes has
// those of its lines "# note: CLASS SLOT" and no other, and its twin (see
// verify_near.h) has none.
#include "test/unit/unit.h"

#include <dirent.h>

#include "test/unit/verify_image.h"
#include "test/unit/verify_near.h"

enum { MAX_FILES = 256, MAX_BYTES = 16 << 10 };

static char names[MAX_FILES][128];
static int nfiles;

static const char *folder(void)
{
	static char path[400];
	const char *top = getenv("TOP");

	snprintf(path, sizeof(path), "%s/test/corpus/verify/notes", top ? top : ".");
	return path;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void list(void)
{
	DIR *d = opendir(folder());
	struct dirent *e;

	while (d && (e = readdir(d)) && nfiles < MAX_FILES)
		if (strstr(e->d_name, ".asm"))
			snprintf(names[nfiles++], sizeof(names[0]), "%.100s", e->d_name);
	if (d)
		closedir(d);
	qsort(names, (size_t)nfiles, sizeof(names[0]), by_name);
}

static const char *read_file(const char *name)
{
	static char text[MAX_BYTES];
	char path[600];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s cannot be read", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

/* "CLASS SLOT; " for each note of the program, which is accepted. */
static void found(const char *name, const char *text, char *to, size_t size)
{
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = true };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	size_t n = 0;

	*to = '\0';
	ck_assert_msg(!case_asm(&c, text, &err), "%s: %s", name, err.text);
	ck_assert(!nb_verify(&v, &c.img, 0, &o, &err));
	ck_assert_msg(v->accepted, "%s is refused", name);
	for (uint32_t i = 0; i < v->nnotes && n < size; i++) {
		const struct nb_note *note = &v->notes[i];

		ck_assert_msg(*note->text && *note->hint && !strchr(note->text, '{') &&
				      !strchr(note->hint, '{'),
			      "%s: %s; %s", name, note->text, note->hint);
		n += (size_t)snprintf(to + n, size - n, "%s %u; ", note->word, note->pc);
	}
	nb_verdict_free(v);
}

/* The same as the file has it. */
static void wanted(const char *text, char *to, size_t size)
{
	static const char mark[] = "# note: ";
	size_t n = 0;

	*to = '\0';
	while ((text = strstr(text, mark)) && n < size) {
		text += sizeof(mark) - 1;
		n += (size_t)snprintf(to + n, size - n, "%.*s; ", (int)strcspn(text, "\n"), text);
	}
}

TEST_EACH(corpus, 0, nfiles)
{
	static char twin[MAX_BYTES];
	const char *name = names[_i], *text = read_file(name);
	char want[256], is[256];

	wanted(text, want, sizeof(want));
	found(name, text, is, sizeof(is));
	ck_assert_msg(!strcmp(want, is), "%s: want %s, found %s", name, want, is);
	if (!*want)
		return; /* it is a twin itself */
	ck_assert_msg(near_twin(twin, sizeof(twin), text) > 0, "%s: no twin", name);
	found(name, twin, is, sizeof(is));
	ck_assert_msg(!*is, "%s, twin: %s", name, is);
}

TEST(each_class_has_a_program)
{
	static const char *const words[] = {
#define NOTE(name, word, text, hint) word,
#include "core/defs/notes.h"
	};
	bool met[NB_NNOTES] = { false };

	for (int i = 0; i < nfiles; i++) {
		char want[256];

		wanted(read_file(names[i]), want, sizeof(want));
		for (unsigned c = 0; c < NB_NNOTES; c++)
			met[c] |= !strncmp(want, words[c], strlen(words[c]));
	}
	for (unsigned c = 0; c < NB_NNOTES; c++)
		ck_assert_msg(met[c], "no program with a note %s", words[c]);
}

/* The verifier keeps as many stores as a verdict has notes, although each of these has one. */
TEST(many_notes_take_little_memory)
{
	static const int32_t values[] = { 1, 100 };
	static struct case_image c;
	struct nb_verify_opts o = { .coherence_off = true };
	size_t memory[2];

	for (int k = 0; k < 2; k++) {
		struct nb_verdict *v = NULL;
		struct nb_err err = { 0 };

		case_init(&c, CASE_SLOTS);
		for (uint32_t i = 0; i < CASE_SLOTS - 2; i++) /* ctx->algo */
			c.slots[i] = (struct nb_slot){ 0x62, 1, 68, values[k] };
		c.slots[CASE_SLOTS - 2] = (struct nb_slot){ 0xb7, 0, 0, 0 };
		c.slots[CASE_SLOTS - 1] = (struct nb_slot){ 0x95, 0, 0, 0 };
		ck_assert(!nb_verify(&v, &c.img, 0, &o, &err));
		ck_assert(v->accepted);
		ck_assert_uint_eq(v->nnotes, k ? NB_MAX_NOTES : 0);
		memory[k] = v->stats.memory;
		nb_verdict_free(v);
	}
	ck_assert_uint_lt(memory[1] - memory[0], 64 << 10);
}

/* Outputs of these hooks are no answers: to set none is nothing to note. */
TEST(only_answers_are_missed)
{
	static struct case_image c;
	static const enum nb_hook hooks[] = { NB_HOOK_CONTROLLER, NB_HOOK_COLL_DONE };
	struct nb_err err = { 0 };

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		struct nb_verdict *v = NULL;

		ck_assert(!case_asm(&c, "mov %r0, 0\nexit\n", &err));
		c.prog.hook = hooks[i];
		ck_assert(!nb_verify(&v, &c.img, 0, NULL, &err));
		ck_assert(v->accepted);
		ck_assert_uint_eq(v->nnotes, 0);
		nb_verdict_free(v);
	}
}

/* What the header of policies does is not the author's to mend. */
TEST(none_in_the_policy_header)
{
	static struct case_image c;
	static struct nb_line line = { 0, 9, 1, "a/ncclbpf_policy.h", "while (0)" };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	for (int ours = 0; ours < 2; ours++) {
		ck_assert(!case_asm(&c,
				    "mov %r2, 129\nstxw [%r1+76], %r2\n"
				    "mov %r0, 0\nexit\n",
				    &err));
		line.file = ours ? "a/ncclbpf_policy.h" : "a/mine.bpf.c";
		c.prog.lines = &line;
		c.prog.nlines = 1;
		ck_assert(!nb_verify(&v, &c.img, 0, NULL, &err));
		ck_assert(v->accepted);
		ck_assert_uint_eq(v->nnotes, ours ? 0 : 1);
		nb_verdict_free(v);
	}
}

UNIT_MAIN_WITH("verify notes", list();)
