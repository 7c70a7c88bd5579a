// SPDX-License-Identifier: MIT
// Is the verifier right? Random programs that it accepts run in the machine of
// test/embed, which trusts nothing. At each instruction registers, stack and
// what is held must lie inside one of the abstract states that the verifier
// walked there, if it walked with opts.exact. Global functions run on any
// arguments as well as from their callers. And of programs accepted as
// coherent, two runs that differ in local data alone (time, random numbers,
// local maps, addresses) must give the same answer.
// EMBED_RUNS=N sets the number of programs, EMBED_SEED=N the first seed.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/embed/embed.h"

enum { MAX_STEPS = 30000, RUNS = 3, PAIRS = 2 };

/* What one walk says of a program. */
struct said {
	bool yes;
	uint32_t lap, first, numbers;
};

static uint64_t cut;
static struct said said; /* of the program at hand, as it is in a job */

static void dump(uint64_t program, const char *what)
{
	char text[128];

	printf("# program %llu, slot %u: %s\n", (unsigned long long)program,
	       em.pc, what);
	for (uint32_t i = 0; i < em_prog.n; i++) {
		if (em_prog.insns[i].kind == NB_KIND_LDDW_HI)
			continue;
		for (uint32_t f = 0; f < em_prog.nfuncs; f++)
			if (em_prog.funcs[f].start == i)
				printf("# %s%s:\n", em_prog.funcs[f].name,
				       em_prog.funcs[f].linkage ? ", global"
								: "");
		nb_disasm(text, sizeof(text), &em_prog.insns[i], NULL, NULL);
		printf("#   %u: %s\n", i, text);
	}
	fflush(stdout);
}

static void lost(uint64_t program)
{
	for (unsigned r = 0; r < NB_NREGS; r++)
		printf("#   r%u %llx%s\n", r,
		       (unsigned long long)em_top()->reg[r],
		       em_top()->written >> r & 1 ? "" : " unset");
	em_dump_states();
	dump(program, "outside every state walked here");
	ck_abort_msg("state not embedded");
}

/* false: cut short, because it is long or takes more than there is. */
static bool run(uint64_t program, bool check)
{
	bool more = true;

	while (more) {
		if (check && !em_embedded())
			lost(program);
		if (em.steps++ == MAX_STEPS)
			em.over = true;
		if (!em.over)
			more = em_step();
		if (em.over) {
			cut++;
			return false;
		}
		if (em.lap > said.lap || em.first > said.first) {
			dump(program, "a longer lap than the verdict's");
			ck_abort_msg("laps of %u and %u instructions, not %u "
				     "and %u",
				     em.lap, em.first, said.lap, said.first);
		}
		if (em.fault) {
			dump(program, em.fault);
			ck_abort_msg("an accepted program faults: %s",
				     em.fault);
		}
	}
	return true;
}

static struct said walk(bool coherence_off, bool watch)
{
	struct nb_verify_opts o = { .coherence_off = coherence_off,
				    .max_insns = 20000,
				    .exact = watch,
				    .observe = watch ? em_observe : NULL };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	struct said s;

	ck_assert_msg(!nb_verify(&v, &em_prog.img, 0, &o, &err), "%s",
		      err.text);
	s = (struct said){ v->accepted, v->lap, v->first, v->numbers };
	ck_assert(s.yes || v->finding.cls != NB_FIND_NONE);
	if (!s.yes && getenv("EMBED_REFUSALS"))
		printf("# refused at %u: %u %s | %s\n", v->finding.pc,
		       v->finding.cls, v->finding.required, v->finding.known);
	nb_verdict_free(v);
	return s;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

static struct tally {
	uint64_t programs, safe, loose, exactly, coherent, apart;
	uint64_t with[EM_NFEATURES];
} all;

/* The program at hand, and its global functions. */
static void run_all(uint64_t p, bool check)
{
	const struct said job = said;

	memset(em.ran, 0, sizeof(em.ran));
	for (uint64_t k = 0; k < RUNS; k++) {
		em_prepare(p * 131 + k, p * 17 + k);
		run(p, check);
	}
	said.lap = said.first = UINT32_MAX; /* of the program alone */
	for (uint32_t f = 1; f < em_prog.nfuncs; f++)
		for (uint64_t k = 0; em_prog.funcs[f].linkage && k < 2; k++) {
			em_prepare_alone(f, p * 57 + k, p * 19 + k);
			run(p, check);
		}
	said = job;
	for (int i = 0; check && i < EM_NFEATURES; i++)
		all.with[i] += em.ran[i];
}

/* A run of all ranks' data and of one rank's own. */
static bool answer(uint64_t p, uint64_t coherent, uint64_t local,
		   uint8_t out[20])
{
	em_prepare(coherent, local);
	em.steady = true;
	if (!run(p, false))
		return false;
	memcpy(out, em.ctx + 68, 12);
	memcpy(out + 12, &em.frames[0].reg[0], 8);
	return true;
}

static void compare_ranks(uint64_t p)
{
	for (uint64_t k = 0; k < PAIRS; k++) {
		uint8_t a[20], b[20];
		uint32_t steps;

		if (!answer(p, p + k, p * 7 + k, a))
			continue;
		steps = em.steps;
		if (!answer(p, p + k, p * 11 + 1000 + k, b))
			continue;
		all.apart += steps != em.steps;
		if (!memcmp(a, b, sizeof(a)))
			continue;
		dump(p, "two ranks disagree");
		ck_abort_msg("a coherent program answers differently");
	}
}

/*
 * One program: walked so that every state of every run is among those walked;
 * then as it is walked for a job, where what did not matter may lie outside
 * of every state and only faults, lengths and answers show.
 */
static void judge(uint64_t p)
{
	struct said exact, job;
	bool coherent;

	all.programs++;
	em_forget();
	if (!em_generate(p * 0x9e3779b97f4a7c15ull))
		return;
	exact = walk(true, true);
	job = walk(false, false);
	coherent = job.yes;
	if (!coherent)
		job = walk(true, false);
	if (!job.yes) {
		/* Where loops are widened, and near the limits, either walk
		 * may come further: nothing is wrong with that. */
		all.exactly += exact.yes;
		return;
	}
	said = job;
	em_numbers = exact.yes && exact.numbers > job.numbers ? exact.numbers
							      : job.numbers;
	all.safe += exact.yes;
	all.loose += !exact.yes;
	run_all(p, exact.yes);
	all.coherent += coherent;
	if (coherent)
		compare_ranks(p);
}

static void report(void)
{
	typedef unsigned long long ull;

	printf("# %llu programs: %llu accepted and run, and %llu that only "
	       "pass where less matters, %llu that only pass where all does; "
	       "%llu accepted as coherent, where %llu pairs of runs took "
	       "different ways; %llu runs cut short\n",
	       (ull)all.programs, (ull)all.safe, (ull)all.loose,
	       (ull)all.exactly, (ull)all.coherent, (ull)all.apart, (ull)cut);
	for (int i = 0; i < EM_NFEATURES; i++)
		printf("# %7llu with %s\n", (unsigned long long)all.with[i],
		       em_feature_words[i]);
	fflush(stdout);
}

START_TEST(accepted_programs_keep_their_promises)
{
	uint64_t first = setting("EMBED_SEED", 1);
	uint64_t runs = setting("EMBED_RUNS", 6000);

	for (uint64_t p = first; p < first + runs; p++)
		judge(p);
	report();
	if (runs < 6000)
		return;
	ck_assert_msg(all.safe * 2 > runs,
		      "the generator makes too few good ones");
	ck_assert_msg(all.coherent * 5 > runs,
		      "the generator makes too few coherent ones");
	ck_assert_msg(all.exactly * 1000 < runs,
		      "walks for a job refuse what exact ones accept");
	ck_assert_msg(cut * 20 < all.safe * RUNS,
		      "too many runs are cut short");
	for (int i = 0; i < EM_NFEATURES; i++)
		ck_assert_msg(all.with[i], "no program with %s",
			      em_feature_words[i]);
}
END_TEST

UNIT_MAIN("verify embedding",
	  tcase_add_test(tc, accepted_programs_keep_their_promises);)
