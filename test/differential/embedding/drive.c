// SPDX-License-Identifier: MIT
// The program at hand is judged, and run if it is accepted: first walked so
// that every state of every run is among those walked (exact), then as
// it is for a job, where what did not matter may lie outside of every state
// and only faults, lengths and answers show.
#include "test/differential/embedding/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/state/subsume.h"
#include "core/bpf/verify/verify.h"

enum { MAX_STEPS = 30000, MOST_OUT = EM_OUTPUTS + 8 };

uint32_t em_iter_steps;

/* What one walk says of a program, and of each slot (NB_AUX_*). */
struct said {
	bool yes;
	uint32_t iteration, first, iter_steps;
	uint8_t aux[EM_SLOTS];
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

/* What the machine code relies on, of the instruction that the machine is at. */
static const char *denied(const struct said *said, uint64_t divisor)
{
	const struct nb_insn *in = &em_prog.insns[em.pc];
	uint8_t aux = said->aux[em.pc];
	bool divides = in->fn == NB_FN_DIV || in->fn == NB_FN_MOD || in->fn == NB_FN_SDIV ||
		       in->fn == NB_FN_SMOD;

	if (!(aux & NB_AUX_REACHED))
		return "a slot that no path reaches";
	if (in->kind == NB_KIND_ALU && divides && aux & NB_AUX_NONZERO &&
	    !(in->width == 64 ? divisor : (uint32_t)divisor))
		return "a divisor that is never 0 is 0";
	return NULL;
}

static const char *denied_jump(const struct said *said, uint32_t at)
{
	const struct nb_insn *in = &em_prog.insns[at];
	bool taken = em.pc != at + 1;

	if (in->kind != NB_KIND_JMP || !in->off ||
	    said->aux[at] & (taken ? NB_AUX_BRANCH_TAKEN : NB_AUX_BRANCH_FALLS))
		return NULL;
	return taken ? "a jump that no path takes" : "a jump that all paths take";
}

/* One instruction, held against what is said of it; the same as em_step. */
static bool step_said(const struct said *said)
{
	const struct nb_insn *in = &em_prog.insns[em.pc];
	uint32_t at = em.pc;
	bool reg = in->operand == NB_OPND_REG, more;
	const char *why;

	why = denied(said, reg ? em_top()->reg[in->src] : (uint64_t)in->imm);
	more = em_step();
	if (!why && more)
		why = denied_jump(said, at);
	return why ? em_fault(why) : more;
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
			more = said ? step_said(said) : em_step();
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

/*
 * Prune a path only if an explored state subsumes the whole state, imprecise
 * scalars included. The walked states then contain every state of every run.
 */
static bool all_values;

bool __real_nb_state_subsumes(const struct nb_saved *old, const struct nb_state *st,
			      const struct nb_live *live, struct nb_subsume *in);
bool __wrap_nb_state_subsumes(const struct nb_saved *old, const struct nb_state *st,
			      const struct nb_live *live, struct nb_subsume *in);

bool __wrap_nb_state_subsumes(const struct nb_saved *old, const struct nb_state *st,
			      const struct nb_live *live, struct nb_subsume *in)
{
	in->all = in->all || all_values;
	return __real_nb_state_subsumes(old, st, live, in);
}

/* false: it could not be judged. */
static bool walk(struct em_trial *t, bool coherence_off, bool watch, struct said *said)
{
	struct nb_verify_opts o = { .coherence_off = coherence_off,
				    .max_insns = t->max_insns,
				    .plain_mem = em_prog.plain,
				    .observe = watch ? em_observe : NULL };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	all_values = watch;
	said->yes = false;
	if (nb_verify(&v, &em_prog.img, t->prog, &o, &err)) {
		snprintf(t->why, sizeof(t->why), "%s", err.text);
		return false;
	}
	said->yes = v->accepted;
	said->iteration = v->runs.iteration;
	said->first = v->runs.first;
	said->iter_steps = v->runs.iter_steps;
	if (v->accepted)
		memcpy(said->aux, v->aux, em_prog.n);
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
		static uint8_t a[MOST_OUT], b[MOST_OUT];
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
	static struct said exact, job;

	job.yes = false;
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

bool em_runs_clean(uint64_t seed, uint32_t times)
{
	for (uint64_t k = 0; k < times; k++) {
		em_prepare(seed * 131 + k, seed * 17 + k);
		while (!em.over && em.steps++ < MAX_STEPS && em_step())
			;
		if (em.fault)
			return false;
	}
	return true;
}
