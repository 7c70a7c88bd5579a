// SPDX-License-Identifier: MIT
// The program at hand is judged, and run if it is accepted: first walked so
// that every state of every run is among those walked (opts.exact), then as
// it is for a job, where what did not matter may lie outside of every state
// and only faults, lengths and answers show.
#include "test/differential/embedding/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/verify.h"

enum { MAX_STEPS = 30000, MOST_OUT = EM_CTX + 8 };

uint32_t em_iter_steps;

/* What one walk says of a program. */
struct said {
	bool yes;
	uint32_t iteration, first, iter_steps;
};

static void dump(const char *what)
{
	char text[128];

	printf("# slot %u: %s\n", em.pc, what);
	for (uint32_t i = 0; i < em_prog.n; i++) {
		if (em_prog.insns[i].kind == NB_KIND_LDDW_HI)
			continue;
		for (uint32_t f = 0; f < em_prog.nfuncs; f++)
			if (em_prog.funcs[f].start == i)
				printf("# %s:\n", em_prog.funcs[f].name);
		nb_disasm(text, sizeof(text), &em_prog.insns[i], NULL, NULL);
		printf("#   %u: %s\n", i, text);
	}
	fflush(stdout);
}

static bool failed(struct em_trial *t, const char *why)
{
	snprintf(t->why, sizeof(t->why), "slot %u: %s", em.pc, why);
	dump(why);
	return false;
}

static bool lost(struct em_trial *t)
{
	for (unsigned r = 0; r < NB_NREGS; r++)
		printf("#   r%u %llx%s\n", r, (unsigned long long)em_top()->reg[r],
		       em_top()->written >> r & 1 ? "" : " unset");
	em_dump_states();
	return failed(t, "outside every state walked here");
}

enum end { RIGHT, WRONG, CUT };

/* CUT: it is long or takes more than there is. @said: NULL: of no length. */
static enum end run(struct em_trial *t, const struct said *said, bool check)
{
	bool more = true;

	t->runs++;
	while (more) {
		if (check && !em_embedded())
			return lost(t), WRONG;
		if (em.steps++ == (t->max_steps ? t->max_steps : MAX_STEPS))
			em.over = true;
		if (!em.over)
			more = em_step();
		if (em.over) {
			t->lacks |= em.lacks;
			t->cut++;
			return CUT;
		}
		if (said && (em.iteration > said->iteration || em.first > said->first))
			return failed(t, "a longer iteration than the verdict's"), WRONG;
		if (em.fault)
			return failed(t, em.fault), WRONG;
	}
	return RIGHT;
}

/* false: it could not be judged. */
static bool walk(struct em_trial *t, bool coherence_off, bool watch, struct said *said)
{
	struct nb_verify_opts o = { .coherence_off = coherence_off,
				    .max_insns = t->max_insns,
				    .allow_wide_shift = t->wide_shift,
				    .plain_mem = em_prog.plain,
				    .exact = watch,
				    .observe = watch ? em_observe : NULL };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	if (nb_verify(&v, &em_prog.img, t->prog, &o, &err)) {
		snprintf(t->why, sizeof(t->why), "%s", err.text);
		return false;
	}
	*said = (struct said){ v->accepted, v->iteration, v->first, v->iter_steps };
	if (!v->accepted && getenv("EMBED_REFUSALS"))
		printf("# refused at %u: %u %s | %s\n", v->finding.pc, v->finding.cls,
		       v->finding.required, v->finding.known);
	nb_verdict_free(v);
	return true;
}

static bool run_all(struct em_trial *t, const struct said *job, uint64_t seed)
{
	for (uint64_t k = 0; k < t->times; k++) {
		em_prepare(seed * 131 + k, seed * 17 + k);
		if (run(t, job, t->held) == WRONG)
			return false;
	}
	return true;
}

/* What a run of the program has. */
static void bound_run(const struct said *job)
{
	em.budget = nb_loop_limit(job->iteration, NB_MAY_GOTO_PASSES);
	em.iterations = nb_loop_limit(job->iteration, NB_MAX_ITERATIONS);
}

/* A run of all ranks' data and of one rank's own; its answer. */
static enum end answer(struct em_trial *t, const struct said *job, uint64_t coherent,
		       uint64_t local, uint8_t *out)
{
	enum end end;
	uint32_t n;

	memset(out, 0, MOST_OUT);
	em_prepare(coherent, local);
	bound_run(job);
	end = run(t, job, false);
	n = em_outputs(out);
	memcpy(out + n, &em.frames[0].reg[0], 8);
	return end;
}

static bool compare_ranks(struct em_trial *t, const struct said *job, uint64_t p)
{
	for (uint64_t k = 0; k < 2; k++) {
		uint8_t a[MOST_OUT], b[MOST_OUT];
		enum end end = answer(t, job, p + k, p * 7 + k, a);
		uint32_t steps = em.steps;

		if (end == RIGHT)
			end = answer(t, job, p + k, p * 11 + 1000 + k, b);
		if (end == WRONG)
			return false;
		if (end == CUT)
			continue;
		t->apart += steps != em.steps;
		if (memcmp(a, b, sizeof(a)))
			return failed(t, "two ranks disagree");
	}
	return true;
}

bool em_try(struct em_trial *t, uint64_t seed)
{
	const bool watched = em_prog.hook->coherent && !em_prog.plain;
	struct said exact, job = { 0 };

	t->why[0] = '\0';
	t->runs = t->cut = t->apart = 0;
	t->accepted = t->coherent = t->lacks = false;
	memset(em.ran, 0, sizeof(em.ran));
	if (!walk(t, true, true, &exact) || (!t->unlabelled && !walk(t, false, false, &job)))
		return false;
	t->held = exact.yes;
	t->coherent = job.yes && watched;
	if (!job.yes && !walk(t, true, false, &job))
		return false;
	t->accepted = job.yes;
	if (!job.yes)
		return true;
	em_iter_steps =
		t->held && exact.iter_steps > job.iter_steps ? exact.iter_steps : job.iter_steps;
	return run_all(t, &job, seed) && (!t->coherent || compare_ranks(t, &job, seed));
}
