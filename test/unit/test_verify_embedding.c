// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Is the verifier right? Random programs that it accepts run in the machine of
// test/differential/embedding, which trusts nothing. At each instruction
// registers, stack and what is held must lie inside one of the abstract states
// that the verifier walked there, if it walked with opts.exact. Global
// functions run on any arguments as well as from their callers. And of programs
// accepted as coherent, two runs that differ in local data alone (time, random
// numbers, local maps, addresses) must give the same answer. EMBED_RUNS=N sets
// the number of programs, EMBED_SEED=N the first seed. A second build has small
// budgets, which runs use up (make embed-small).
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/embedding/embed.h"

#ifdef NB_SMALL_BUDGETS
enum { RUNS = 3, MAX_INSNS = 4000, PROGRAMS = 2000 };
#else
enum { RUNS = 3, MAX_INSNS = 20000, PROGRAMS = 6000 };
#endif

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
	if (!em_generate(p * 0x9e3779b97f4a7c15ull))
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

UNIT_MAIN("verify embedding")
