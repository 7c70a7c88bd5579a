// SPDX-License-Identifier: MIT
// Hunts for programs that the verifier accepts and should not: random ones,
// and mutations of the corpus and of the policies. What is accepted runs in
// the shadow interpreter on random inputs. Promises held against the runs:
// no fault, no more steps than the verifier walked, what the verdict says of
// a slot (reached, ways of a jump, divisors) is so, and for judged coherence:
// two runs that share what is coherent and nothing else give the same outputs
// and the same r0.
//
//   ORACLE_SEED=n       first seed; the default is the time
//   ORACLE_SECONDS=n    how long to go on after the programs (default 0)
//   ORACLE_PROGRAMS=n   how many programs, from fixed seeds
//   ORACLE_ONLY=seed    just the program of that seed, with steps printed
//
// Arguments: the folder of the verifier's corpus, then policy images.
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

#include "test/differential/oracle/gen.h"
#include "test/differential/oracle/shadow.h"
#include "core/bpf/verify/report/say.h"
#include "test/unit/verify_image.h"

enum {
	FIXED = 3000, /* programs from fixed seeds */
	TRIES = 14,
	RUNS = 6,
	MAX_SEEDS = 512,
	MAX_STEPS = 4000000,
	TURNS_STEPS = 100000,
	SHOWN = 5
};

/* A program to begin with. */
struct sample {
	const struct nb_image *img;
	uint32_t prog;
	char name[64];
};

static struct sample samples[MAX_SEEDS];
static uint32_t nsamples;

enum kind { RANDOM, MUTATED, CORPUS, NKINDS };

static const char *const kind_names[] = { "random programs", "random programs, mutated",
					  "corpus and policies, mutated" };

struct tally {
	uint64_t programs, verified, accepted, runs, steps, pairs, cut;
	uint64_t broken;
};

static struct tally tallies[NKINDS];
static uint64_t refusals[NB_NFINDINGS];

/* The program at hand: what verifier and shadow look at. */
struct job {
	struct nb_slot slots[NB_IMAGE_MAX_SLOTS];
	struct nb_insn insns[NB_IMAGE_MAX_SLOTS];
	struct nb_func funcs[NB_IMAGE_MAX_FUNCS];
	struct nb_prog prog;
	struct nb_image img;
	struct nb_verify_opts opts;
	enum kind kind;
	uint64_t seed;
	int64_t pool[SH_POOL];
	uint32_t npool;
	bool may_goto, turns; /* more steps than were walked */
};

static struct job job;
static struct shadow *shadow;

/* ---- samples ------------------------------------------------------------- */

static struct case_image *asm_image(const char *path)
{
	static char text[64 << 10];
	struct case_image *c = malloc(sizeof(*c));
	FILE *f = fopen(path, "r");
	struct nb_err err;
	size_t n;

	if (!f || !c) {
		free(c);
		if (f)
			fclose(f);
		return NULL;
	}
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (!strstr(text, "# opts: held") && !strstr(text, "mem=") && !case_asm(c, text, &err) &&
	    c->prog.nslots && !c->prog.lines)
		return c;
	free(c);
	return NULL;
}

static void add_sample(const struct nb_image *img, uint32_t prog, const char *name)
{
	if (nsamples == MAX_SEEDS)
		return;
	samples[nsamples].img = img;
	samples[nsamples].prog = prog;
	snprintf(samples[nsamples++].name, 64, "%.60s", name);
}

static void add_folder(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(names[i]->d_name);
		struct case_image *c;
		char file[1024];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.' &&
		    (len < 4 || strcmp(names[i]->d_name + len - 4, ".asm"))) {
			add_folder(file);
		} else if (names[i]->d_name[0] != '.') {
			c = asm_image(file);
			if (c)
				add_sample(&c->img, 0, names[i]->d_name);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void add_image(const char *path)
{
	static unsigned char bytes[1 << 20];
	FILE *f = fopen(path, "rb");
	struct nb_image *img;
	struct nb_err err;
	size_t n;

	if (!f)
		return;
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	if (nb_image_read(&img, bytes, n, &err)) {
		printf("# %s: %s\n", path, err.text);
		return;
	}
	for (uint32_t i = 0; i < img->nprogs; i++)
		add_sample(img, i, img->progs[i].name);
}

/* ---- a program -------------------------------------------------------------
 */

static void use_sample(struct job *j, const struct sample *s)
{
	j->img = *s->img;
	j->prog = s->img->progs[s->prog];
	memcpy(j->slots, j->prog.slots, j->prog.nslots * sizeof(struct nb_slot));
	memcpy(j->funcs, j->prog.funcs, j->prog.nfuncs * sizeof(struct nb_func));
	j->prog.lines = NULL;
	j->prog.nlines = 0;
	j->prog.slots = j->slots;
	j->prog.funcs = j->funcs;
	j->img.progs = &j->prog;
	j->img.nprogs = 1;
}

static void use_random(struct job *j, struct rng *r)
{
	static struct case_image frame;
	const struct gen_opts o = { .maps = case_maps,
				    .nmaps = CASE_PLAIN,
				    .tuner = true,
				    .ctx_size = 80,
				    .max_stmts = 4 + rng_below(r, 22) };

	case_init(&frame, gen_program(j->slots, &o, r));
	j->img = frame.img;
	j->prog = frame.prog;
	j->funcs[0] = frame.func;
	j->prog.slots = j->slots;
	j->prog.funcs = j->funcs;
	j->img.progs = &j->prog;
}

static void make(struct job *j, uint64_t seed)
{
	struct rng r = { seed };

	j->seed = seed;
	j->kind = (enum kind)rng_below(&r, NKINDS);
	if (!nsamples && j->kind == CORPUS)
		j->kind = RANDOM;
	memset(&j->opts, 0, sizeof(j->opts));
	j->opts.coherence_off = rng_percent(&r, 40);
	j->opts.max_insns = 20000;
	if (j->kind == CORPUS)
		use_sample(j, &samples[rng_below(&r, nsamples)]);
	else
		use_random(j, &r);
	if (j->kind != RANDOM)
		gen_mutate(j->slots, j->prog.nslots, rng_below(&r, 6), &r);
}

static void note_numbers(struct job *j)
{
	j->npool = 0;
	j->may_goto = j->turns = false;
	for (uint32_t pc = 0; pc < j->prog.nslots; pc++) {
		const struct nb_insn *in = &j->insns[pc];

		j->may_goto |= in->kind == NB_KIND_MAY_GOTO;
		j->turns |= in->kind == NB_KIND_CALL && (in->imm == 164 || in->imm == 181);
		if (j->npool < SH_POOL && in->operand == NB_OPND_IMM &&
		    (in->kind == NB_KIND_JMP || in->kind == NB_KIND_ALU ||
		     in->kind == NB_KIND_LDDW))
			j->pool[j->npool++] = in->imm;
	}
}

/* Only helpers that the shadow interpreter has. */
static bool in_reach(const struct job *j)
{
	static const int64_t ids[] = { 1, 2, 3, 5, 6, 7, 8, 12, 164, 181 };

	for (uint32_t pc = 0; pc < j->prog.nslots; pc++) {
		const struct nb_insn *in = &j->insns[pc];
		bool known = in->kind != NB_KIND_CALL || in->fn == NB_FN_LOCAL;

		for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
			known |= in->imm == ids[i];
		if (!known)
			return false;
	}
	return true;
}

/* A verdict of acceptance after some repairs, or NULL. */
static struct nb_verdict *judge(struct job *j, bool repair)
{
	struct tally *t = &tallies[j->kind];
	struct rng r = { j->seed ^ 0x1234567 };
	struct nb_verdict *v;
	struct nb_err err;

	for (int i = 0; i < (repair ? TRIES : 1); i++) {
		if (nb_verify(&v, &j->img, 0, &j->opts, &err)) {
			printf("# seed %" PRIu64 ": %s\n", j->seed, err.text);
			return NULL;
		}
		t->verified++;
		if (v->accepted && !nb_decode(j->insns, j->slots, j->prog.nslots, &err) &&
		    !in_reach(j)) {
			nb_verdict_free(v);
			return NULL;
		}
		if (v->accepted && !nb_decode(j->insns, j->slots, j->prog.nslots, &err)) {
			note_numbers(j);
			return v;
		}
		refusals[v->finding.cls]++;
		if (repair && !gen_repair(j->slots, j->prog.nslots, &v->finding, &r))
			i = TRIES;
		nb_verdict_free(v);
	}
	return NULL;
}

/* ---- promises
 * ----------------------------------------------------------------- */

struct failure {
	enum sh_fault fault; /* SH_OK: incoherent */
	struct sh_input in, other;
	struct sh_result out;
	char why[256];
};

static bool run_once(struct job *j, const struct sh_input *in, struct sh_result *out,
		     struct failure *f)
{
	struct tally *t = &tallies[j->kind];

	shadow_run(shadow, &j->img, &j->prog, j->insns, in, out);
	t->runs++;
	t->steps += out->steps;
	if (!out->fault)
		return true;
	/* Many passes of a may_goto: nothing is promised so early. */
	if (out->fault == SH_STEPS &&
	    (in->max_steps == MAX_STEPS || in->max_steps == TURNS_STEPS)) {
		t->cut++;
		return true;
	}
	f->fault = out->fault;
	f->in = *in;
	f->out = *out;
	snprintf(f->why, sizeof(f->why), "%s: slot %u: %s", shadow_fault_word(out->fault), out->pc,
		 out->why);
	return false;
}

static bool same_answer(const struct job *j, const struct sh_result *a, const struct sh_result *b,
			char *why, size_t size)
{
	const struct nb_hook_spec *h = nb_spec_hook(j->prog.hook);

	if (a->r0 != b->r0) {
		snprintf(why, size, "incoherent: r0 0x%" PRIx64 " and 0x%" PRIx64, a->r0, b->r0);
		return false;
	}
	for (size_t i = 0; i < h->nfields; i++) {
		const struct nb_field_spec *f = &h->fields[i];

		if (f->access != NB_OUT || !memcmp(a->ctx + f->off, b->ctx + f->off, f->size))
			continue;
		snprintf(why, size, "incoherent: ctx->%s", f->name);
		return false;
	}
	return true;
}

/* false: a promise does not hold. */
static bool hold(struct job *j, const struct nb_verdict *v, unsigned runs, struct failure *f)
{
	struct rng r = { j->seed * 3 + 1 };

	for (unsigned i = 0; i < runs; i++) {
		struct sh_input in = { .coherent = rng_next(&r),
				       .local = rng_next(&r),
				       .passes = rng_below(&r, 12),
				       .pool = j->pool,
				       .npool = j->npool,
				       .aux = v->aux,
				       .returns_any = j->opts.coherence_off };
		struct sh_result a, b;

		in.max_steps = v->stats.insns_walked;
		if (j->may_goto)
			in.max_steps *= in.passes + 1;
		if (j->turns)
			in.max_steps = TURNS_STEPS;
		if (in.max_steps > MAX_STEPS)
			in.max_steps = MAX_STEPS;
		if (!run_once(j, &in, &a, f))
			return false;
		if (j->opts.coherence_off || a.fault)
			continue;
		f->other = in;
		in.local = rng_next(&r);
		tallies[j->kind].pairs++;
		if (!run_once(j, &in, &b, f))
			return false;
		if (b.fault)
			continue;
		if (!same_answer(j, &a, &b, f->why, sizeof(f->why))) {
			f->fault = SH_OK;
			f->in = in;
			return false;
		}
	}
	return true;
}

/* ---- failures
 * ----------------------------------------------------------------- */

static bool still_fails(struct job *j, enum sh_fault fault, struct failure *f)
{
	struct nb_verdict *v = judge(j, false);
	bool fails;

	if (!v)
		return false;
	fails = !hold(j, v, 60, f) && f->fault == fault;
	nb_verdict_free(v);
	return fails;
}

/* Replace what is not needed by jumps to the next slot. */
static void shrink(struct job *j, struct failure *f)
{
	const struct nb_slot nop = { 0x05, 0, 0, 0 };
	struct failure g;
	bool again = true;

	for (int round = 0; again && round < 6; round++) {
		again = false;
		for (uint32_t pc = j->prog.nslots; pc-- > 0;) {
			struct nb_slot was = j->slots[pc], high = nop;
			bool wide = was.opcode == 0x18;

			if (!memcmp(&was, &nop, sizeof(nop)) || gen_is_high(j->slots, pc))
				continue;
			j->slots[pc] = nop;
			if (wide) {
				high = j->slots[pc + 1];
				j->slots[pc + 1] = nop;
			}
			if (still_fails(j, f->fault, &g)) {
				*f = g;
				again = true;
				continue;
			}
			j->slots[pc] = was;
			if (wide)
				j->slots[pc + 1] = high;
		}
	}
}

static const char *map_name(void *arg, uint32_t index)
{
	const struct nb_image *img = arg;

	return index < img->nmaps ? img->maps[index].name : NULL;
}

static void print_program(struct job *j)
{
	const struct nb_slot nop = { 0x05, 0, 0, 0 };
	char text[128];

	for (uint32_t pc = 0; pc < j->prog.nslots; pc++) {
		if (!memcmp(&j->slots[pc], &nop, sizeof(nop)) || j->insns[pc].op == NB_OP_LDDW_HI)
			continue;
		nb_disasm(text, sizeof(text), &j->insns[pc], map_name, &j->img);
		printf("#   %3u: %s\n", pc, text);
	}
}

static void report(struct job *j, struct failure *f)
{
	struct failure g = *f;
	struct nb_verdict *v;
	struct sh_result out;

	printf("# accepted and wrong: seed %" PRIu64 " (%s%s): %s\n", j->seed, kind_names[j->kind],
	       j->opts.coherence_off ? "" : ", coherence", f->why);
	shrink(j, &g);
	v = judge(j, false);
	if (!v)
		return;
	printf("# shrunk: %s; %u slots\n", g.why, j->prog.nslots);
	print_program(j);
	g.in.trace = true;
	g.in.aux = v->aux;
	printf("# steps:\n");
	shadow_run(shadow, &j->img, &j->prog, j->insns, &g.in, &out);
	if (g.fault == SH_OK) {
		printf("# steps of the other rank:\n");
		g.other.trace = true;
		g.other.aux = v->aux;
		shadow_run(shadow, &j->img, &j->prog, j->insns, &g.other, &out);
	}
	fflush(stdout);
	nb_verdict_free(v);
}

/* ---- the hunt
 * ----------------------------------------------------------------- */

static void one(uint64_t seed)
{
	struct tally *t;
	struct nb_verdict *v;
	struct failure f;

	make(&job, seed);
	t = &tallies[job.kind];
	t->programs++;
	v = judge(&job, true);
	if (!v)
		return;
	t->accepted++;
	if (!hold(&job, v, RUNS, &f)) {
		t->broken++;
		if (tallies[0].broken + tallies[1].broken + tallies[2].broken <= SHOWN)
			report(&job, &f);
	}
	nb_verdict_free(v);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

static void print_refusals(void)
{
	printf("# refusals on the way:");
	for (int i = 1; i < NB_NFINDINGS; i++)
		if (refusals[i])
			printf(" %s %" PRIu64, nb_finding_words(i)->word, refusals[i]);
	printf("\n");
}

static int summary(void)
{
	unsigned n = 0, failed = 0;

	for (int k = 0; k < NKINDS; k++) {
		const struct tally *t = &tallies[k];

		printf("# %s: %" PRIu64 " programs, %" PRIu64 " verified, "
		       "%" PRIu64 " accepted, %" PRIu64 " runs, %" PRIu64 " pairs, %" PRIu64
		       " steps, %" PRIu64 " cut short\n",
		       kind_names[k], t->programs, t->verified, t->accepted, t->runs, t->pairs,
		       t->steps, t->cut);
		printf("%sok %u - %s: what is accepted keeps its promises\n",
		       t->broken ? "not " : "", ++n, kind_names[k]);
		failed += t->broken != 0;
		/* Else the hunt would see too little. */
		if (t->programs < 100)
			continue;
		printf("%sok %u - %s: over 30 %% are accepted\n",
		       t->accepted * 10 > t->programs * 3 ? "" : "not ", ++n, kind_names[k]);
		failed += t->accepted * 10 <= t->programs * 3;
	}
	print_refusals();
	printf("1..%u\n", n);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = number_of("ORACLE_SEED", (uint64_t)time(NULL) << 20);
	uint64_t only = number_of("ORACLE_ONLY", 0), last = 0;
	double end = now() + (double)number_of("ORACLE_SECONDS", 0);

	shadow = shadow_new();
	if (!shadow)
		return 70;
	if (argc > 1)
		add_folder(argv[1]);
	for (int i = 2; i < argc; i++)
		add_image(argv[i]);
	printf("# ORACLE_SEED=%" PRIu64 ", %u samples\n", seed, nsamples);
	if (only) {
		one(only);
		return summary();
	}
	for (uint64_t i = 1; i <= number_of("ORACLE_PROGRAMS", FIXED); i++)
		one(i);
	for (; now() < end; seed++) {
		one(seed);
		if (++last % 500000 == 0) {
			printf("# %" PRIu64 " programs\n", last);
			fflush(stdout);
		}
	}
	return summary();
}
