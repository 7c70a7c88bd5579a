// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// State embedding on programs that people wrote: those of the corpora that are
// accepted, the policies of the tree, what the fuzzers keep, and, where they
// are there, the programs of bpf_conformance. Each runs in the machine of
// test/differential/embedding with every state held against the walk; see
// test_verify_embedding.c for random programs.
#include "test/unit/unit.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/load/object.h"
#include "test/differential/embedding/embed.h"
#include "test/unit/verify_image.h"
#include "test/unit/verify_near.h"

enum { MOST = 1 << 20, TIMES = 4, FEW = 2, ROOM = 100000 };

static unsigned char bytes[MOST + 1];
static size_t nbytes;

static struct tally {
	unsigned programs, accepted, held, coherent, no_room, lacking;
	unsigned runs, cut;
} tally;

static const char *setting(const char *name, const char *otherwise)
{
	const char *s = getenv(name);

	return s ? s : otherwise;
}

static bool read_bytes(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		return false;
	nbytes = fread(bytes, 1, MOST, f);
	bytes[nbytes] = 0;
	fclose(f);
	return true;
}

static void try_one(const char *path, const struct nb_image *img, uint32_t prog, uint32_t plain,
		    struct em_trial t)
{
	tally.programs++;
	if (!em_take(img, prog, plain)) {
		tally.no_room++;
		return;
	}
	t.prog = prog;
	t.max_insns = ROOM;
	t.times = strstr(path, ".bpf.o") ? FEW : TIMES;
	ck_assert_msg(em_try(&t, 1 + tally.programs), "%s, program %u: %s", path, prog, t.why);
	tally.accepted += t.accepted;
	tally.held += t.accepted && t.held;
	tally.coherent += t.coherent;
	tally.lacking += t.lacks;
	tally.runs += t.runs;
	tally.cut += t.cut;
}

typedef void file_fn(const char *path);

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* @fn for each file of @folder whose name ends in @end. */
static unsigned each(const char *top, const char *folder, const char *end, file_fn *fn)
{
	char path[1024];
	struct dirent **e = NULL;
	unsigned done = 0;
	int n;

	snprintf(path, sizeof(path), "%s/%s", top, folder);
	n = scandir(path, &e, NULL, by_name);
	for (int i = 0; i < n; i++) {
		size_t size = strlen(e[i]->d_name), tail = strlen(end);

		if (size > tail && !strcmp(e[i]->d_name + size - tail, end)) {
			snprintf(path, sizeof(path), "%s/%s/%s", top, folder, e[i]->d_name);
			ck_assert_msg(read_bytes(path), "%s", path);
			fn(path);
			done++;
		}
		free(e[i]);
	}
	free(e);
	return done;
}

static void report(const char *what)
{
	const struct tally *t = &tally;

	printf("# %s: %u programs, %u accepted, %u of them with every state "
	       "known, %u coherent; %u runs, %u cut short; %u that the machine "
	       "has no room for, %u with a helper it lacks\n",
	       what, t->programs, t->accepted, t->held, t->coherent, t->runs, t->cut, t->no_room,
	       t->lacking);
	fflush(stdout);
}

/* ---- assembled ones ---- */

static void assembled(const char *path)
{
	static struct case_image c;
	static char twin[MOST];
	const char *text = accepted_program(twin, sizeof(twin), (const char *)bytes), *opts, *mem;
	struct em_trial t = { 0 };
	struct nb_err err;

	ck_assert_msg(!case_asm(&c, text, &err), "%s: %s", path, err.text);
	opts = strstr(text, "# opts:");
	mem = opts ? strstr(opts, "mem=") : NULL;
	/* those in accept/ need not be coherent */
	t.unlabelled = !strstr(path, "/coherence/");
	try_one(path, &c.img, 0, mem ? (uint32_t)strtoul(mem + 4, NULL, 10) : 0, t);
}

TEST(corpus_of_the_verifier)
{
	const char *top = setting("TOP", ".");

	ck_assert_uint_gt(each(top, "test/corpus/verify/accept", ".asm", assembled), 120);
	ck_assert_uint_gt(each(top, "test/corpus/verify/coherence", ".asm", assembled), 80);
	each(top, "test/corpus/verify/reject", ".asm", assembled);
	report("corpus of the verifier");
	ck_assert_uint_gt(tally.held, 500);
}

/* ---- compiled ones ---- */

static void object(const char *path)
{
	struct nb_image *img = NULL;
	struct nb_err err = { 0 };
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_image(&out, bytes, nbytes, "test", &err), "%s: %s", path,
		      err.text);
	ck_assert_msg(!nb_image_read(&img, out.data, out.size, &err), "%s: %s", path, err.text);
	nb_buf_fini(&out);
	for (uint32_t i = 0; i < img->nprogs; i++)
		try_one(path, img, i, 0, (struct em_trial){ 0 });
	nb_image_free(img);
}

TEST(policies)
{
	const char *b = setting("B", "build/debug");

	ck_assert_uint_gt(each(b, "policies", ".bpf.o", object), 4);
	each(b, "test/corpus/answers", ".bpf.o", object);
	each(b, "test/corpus/events", ".bpf.o", object);
	report("policies");
	ck_assert_uint_eq(tally.accepted, tally.programs - tally.no_room);
}

TEST(corpus_of_policies)
{
	const char *b = setting("B", "build/debug");

	ck_assert_uint_gt(each(b, "test/corpus/accept", ".bpf.o", object), 25);
	report("corpus of policies");
	ck_assert_uint_gt(tally.held, 25);
}

/* ---- what the fuzzers keep ---- */

static void slots(const char *path)
{
	static struct case_image c;
	uint32_t n = (uint32_t)(nbytes / NB_SLOT_SIZE);
	struct em_trial t = { 0 };

	if (nbytes < 9)
		return;
	t.unlabelled = bytes[0] & 1;
	n = (uint32_t)((nbytes - 1) / NB_SLOT_SIZE);
	n = n > 512 ? 512 : n;
	memcpy(c.slots, bytes + 1, n * sizeof(c.slots[0]));
	case_init(&c, n);
	try_one(path, &c.img, 0, 0, t);
}

TEST(corpus_of_the_fuzzers)
{
	const char *top = setting("TOP", ".");

	each(top, "test/corpus/fuzz/verify", "", slots);
	each(top, "test/corpus/fuzz/jit", "", slots);
	report("corpus of the fuzzers");
	ck_assert_uint_gt(tally.accepted, 20);
}

/* ---- bpf_conformance ---- */

/* The lines of a section, "" where there is none. */
static void section(const char *name, char *to, size_t size)
{
	const char *at = (const char *)bytes;
	size_t n = 0, len = strlen(name);
	bool in = false;

	while (*at) {
		size_t line = strcspn(at, "\n");
		const char *word = at + 3;

		if (!strncmp(at, "-- ", 3))
			in = !strncmp(word, name, len) && strcspn(word, " \r\n") == len;
		else if (in && n + line + 2 < size) {
			memcpy(to + n, at, line);
			n += line;
			to[n++] = '\n';
		}
		at += line + (at[line] == '\n');
	}
	to[n] = '\0';
}

static void conformance(const char *path)
{
	static char text[1 << 16], mem[1 << 14];
	static struct case_image c;
	struct em_trial t = { .unlabelled = true };
	uint32_t digits = 0;
	struct nb_err err;

	section("asm", text, sizeof(text));
	section("mem", mem, sizeof(mem));
	if (!text[0] || case_asm(&c, text, &err))
		return;
	for (const char *p = mem; *p; p++)
		digits += strspn(p, "0123456789abcdefABCDEF") != 0;
	try_one(path, &c.img, 0, digits ? digits / 2 : 8, t);
}

TEST(programs_of_bpf_conformance)
{
	const char *shared = setting("SHARED", "../shared");

	if (!each(shared, "conformance/tests", ".data", conformance)) {
		puts("# no data files in ../shared/conformance");
		return;
	}
	report("bpf_conformance");
	ck_assert_uint_gt(tally.held, 200);
}

UNIT_MAIN("verify corpora")
