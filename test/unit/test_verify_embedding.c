// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Is the verifier right? Random programs that it accepts run in the machine of
// test/differential/embedding, which trusts nothing. At each instruction
// registers, stack and what is held must lie inside one of the abstract states
// that the verifier walked there, if it walked exactly. Global
// functions run on any arguments as well as from their callers. And of programs
// accepted as coherent, two runs that differ in local data alone (time, random
// numbers, local maps, addresses) must give the same answer. EMBED_RUNS=N sets
// the number of programs, EMBED_SEED=N the first seed. A second build has small
// budgets, which runs use up (make embed-small). The programs of the corpus and
// of the policies are judged with a place or more changed at random.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/embedding/embed.h"
#include "test/differential/embedding/mutate.h"
#include "test/unit/verify_files.h"

#ifdef NB_SMALL_BUDGETS
enum { RUNS = 3, MAX_INSNS = 4000, PROGRAMS = 2000, CHANGED = 1000 };
#else
enum { RUNS = 3, MAX_INSNS = 20000, PROGRAMS = 3000, CHANGED = 3000 };
#endif

enum { TRIES = 14 };

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

static struct tally {
	uint64_t programs, safe, loose, exactly, coherent, apart, cut;
	uint64_t with[EM_NFEATURES];
} all;

static void judge(uint64_t p)
{
	struct em_trial t = { .max_insns = MAX_INSNS, .times = RUNS };

	all.programs++;
	em_forget();
	if (!em_generate(p * 0x9e3779b97f4a7c15ull, false))
		return;
	ck_assert_msg(em_try(&t, p), "program %llu: %s", (unsigned long long)p, t.why);
	ck_assert_msg(!t.lacks, "a helper that the machine does not have");
	/* Where loops are widened, and near the limits, either walk may come
	 * further: nothing is wrong with that. */
	all.exactly += !t.accepted && t.held;
	all.safe += t.accepted && t.held;
	all.loose += t.accepted && !t.held;
	all.coherent += t.coherent;
	all.apart += t.apart;
	all.cut += t.cut;
	for (int i = 0; t.accepted && t.held && i < EM_NFEATURES; i++)
		all.with[i] += em.ran[i];
}

static void report(void)
{
	typedef unsigned long long ull;

	printf("# %llu programs: %llu accepted and run, and %llu that only "
	       "pass where less matters, %llu that only pass where all does; "
	       "%llu accepted as coherent, where %llu pairs of runs took "
	       "different ways; %llu runs cut short\n",
	       (ull)all.programs, (ull)all.safe, (ull)all.loose, (ull)all.exactly,
	       (ull)all.coherent, (ull)all.apart, (ull)all.cut);
	for (int i = 0; i < EM_NFEATURES; i++)
		printf("# %7llu with %s\n", (unsigned long long)all.with[i], em_feature_words[i]);
	fflush(stdout);
}

TEST(accepted_programs_keep_their_promises)
{
	uint64_t first = setting("EMBED_SEED", 1);
	uint64_t runs = setting("EMBED_RUNS", PROGRAMS);

	for (uint64_t p = first; p < first + runs; p++)
		judge(p);
	printf("# EMBED_SEED=%llu\n", (unsigned long long)first);
	report();
	if (runs < PROGRAMS)
		return;
	ck_assert_msg(all.safe * 2 > runs, "the generator makes too few good ones");
	ck_assert_msg(all.coherent * 5 > runs, "the generator makes too few coherent ones");
	ck_assert_msg(all.exactly * 1000 < runs, "walks for a job refuse what exact ones accept");
	ck_assert_msg(all.cut * 20 < all.safe * RUNS, "too many runs are cut short");
	for (int i = 0; i < EM_NFEATURES; i++)
		ck_assert_msg(all.with[i], "no program with %s", em_feature_words[i]);
}

/* ---- programs that people wrote, changed ---- */

static struct case_image job;

/* Each sample is a file of the corpus, or a program of a policy's image. */
static struct sample {
	const char *file;
	struct nb_image *img;
	uint32_t prog;
} samples[2048];
static uint32_t nsamples;

static void list_policies(void)
{
	const char *b = getenv("B");
	char path[512];
	struct dirent **e;
	int n;

	snprintf(path, sizeof(path), "%s/policies", b ? b : "build/debug");
	n = scandir(path, &e, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		static unsigned char bytes[1 << 20];
		struct nb_image *img;
		struct nb_err err;
		FILE *f;

		snprintf(path, sizeof(path), "%.200s/policies/%.200s", b ? b : "build/debug",
			 e[i]->d_name);
		f = strstr(path, ".policy") ? fopen(path, "rb") : NULL;
		if (f && !nb_image_read(&img, bytes, fread(bytes, 1, sizeof(bytes), f), &err))
			for (uint32_t k = 0; k < img->nprogs; k++)
				samples[nsamples++] = (struct sample){ .img = img, .prog = k };
		if (f)
			fclose(f);
		free(e[i]);
	}
	ck_assert_int_gt(n, 4);
	free(e);
}

/* A sample with @changes places changed goes to job; false: it does not fit. */
static bool change(const struct sample *s, uint32_t changes, struct rng *r)
{
	struct nb_err err;

	if (s->file) {
		if (case_asm(&job, read_file(s->file), &err))
			return false;
	} else {
		const struct nb_prog *p = &s->img->progs[s->prog];

		if (p->nslots > CASE_SLOTS || p->nfuncs > 1)
			return false;
		memcpy(job.slots, p->slots, p->nslots * sizeof(job.slots[0]));
		job.img = *s->img;
		job.prog = *p;
		job.prog.lines = NULL;
		job.prog.nlines = 0;
		job.prog.slots = job.slots;
		job.img.progs = &job.prog;
		job.img.nprogs = 1;
	}
	slots_mutate(job.slots, job.prog.nslots, changes, r);
	return true;
}

/* Replace refused instructions by harmless ones, until the program is accepted. */
static bool repaired(const struct nb_verify_opts *o, struct rng *r)
{
	bool accepted = false, more = true;

	for (int i = 0; i < TRIES && !accepted && more; i++) {
		struct nb_verdict *v;
		struct nb_err err;

		ck_assert_msg(!nb_verify(&v, &job.img, 0, o, &err), "%s", err.text);
		accepted = v->accepted;
		more = !accepted && slots_repair(job.slots, job.prog.nslots, &v->finding, r);
		nb_verdict_free(v);
	}
	return accepted;
}

TEST(changed_programs_keep_their_promises)
{
	uint64_t first = setting("EMBED_SEED", 1), runs = setting("EMBED_RUNS", CHANGED);
	unsigned long long accepted = 0, held = 0, coherent = 0, times = 0, cut = 0, lacking = 0;

	list_files();
	for (int i = 0; i < nfiles; i++)
		if (!strstr(read_file(files[i].path), "mem="))
			samples[nsamples++] = (struct sample){ .file = files[i].path };
	list_policies();
	for (uint64_t p = first; p < first + runs; p++) {
		struct rng r = { p };
		const struct nb_verify_opts o = { .coherence_off = rng_percent(&r, 40),
						  .max_insns = MAX_INSNS };
		struct em_trial t = { .max_insns = MAX_INSNS,
				      .times = RUNS,
				      .unlabelled = o.coherence_off };

		if (!change(&samples[rng_below(&r, nsamples)], rng_below(&r, 6), &r) ||
		    !repaired(&o, &r) || !em_take(&job.img, 0, 0))
			continue;
		ck_assert_msg(em_try(&t, p), "changed program %llu: %s", (unsigned long long)p,
			      t.why);
		accepted += t.accepted;
		held += t.accepted && t.held;
		coherent += t.coherent;
		times += t.runs;
		cut += t.cut;
		lacking += t.lacks;
	}
	printf("# %llu programs changed: %llu accepted, %llu with every state known, %llu "
	       "coherent; %llu runs, %llu cut short; %llu with a helper that the machine lacks\n",
	       (unsigned long long)runs, accepted, held, coherent, times, cut, lacking);
	fflush(stdout);
	if (runs >= CHANGED)
		ck_assert_msg(accepted * 10 > runs * 3 && coherent * 10 > runs,
			      "too few changed programs are accepted");
	ck_assert_msg(cut * 20 <= times, "too many runs of changed programs are cut short");
	ck_assert_msg(lacking * 100 <= accepted, "too many helpers that the machine lacks");
}

UNIT_MAIN("verify embedding")
