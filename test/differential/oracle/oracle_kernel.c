// SPDX-License-Identifier: MIT
// Verdicts side by side with the kernel's: the same random programs and
// mutated corpus programs, the same maps, a context that is only read, and
// coherence off on our side. What the kernel refuses and we accept must fall
// under an exception named below, or it fails the test. What the kernel
// accepts and we refuse is counted by finding: that list is about precision.
//
//   ORACLE_SEED=n       first seed; the default is the time
//   ORACLE_SECONDS=n    how long to go on after the programs (default 0)
//   ORACLE_PROGRAMS=n   how many programs, from fixed seeds
//   ORACLE_ONLY=seed    just the program of that seed
//   ORACLE_SHOWN=n      most programs printed
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

#include "core/bpf/verify/report/say.h"
#include "test/differential/embedding/embed.h"
#include "test/differential/embedding/mutate.h"
#include "test/differential/oracle/kernel.h"
#include "test/unit/verify_image.h"
#include "test/unit/verify_near.h"

enum { FIXED = 1500, MAX_SAMPLES = 2048, TRIES = 6, SHOWN = 8, RUNS = 60, MAX_WALK = 20000 };

/*
 * Where we accept and the kernel does not, on purpose. @text: in the kernel's
 * reason. @runs: a refusal for bounds, which our ranges are tighter for: the
 * program must also keep within bounds in the machine that trusts nothing
 * (test/differential/embedding).
 */
#define BROKE_OFF "(broke off)"

static const struct exception {
	const char *name, *text;
	bool runs;
} exceptions[] = {
	/* The tuner's outputs may be written, a raw tracepoint's context not.
	 */
	{ "outputs", "invalid bpf_context access off=68 size=4", false },
	{ "outputs", "invalid bpf_context access off=72 size=4", false },
	{ "outputs", "invalid bpf_context access off=76 size=4", false },
	{ "outputs", "invalid bpf_context access off=72 size=8", false },
	/* A moved context pointer, as long as the sum is a constant. */
	{ "context pointer moved", "dereference of modified ctx ptr", false },
	{ "context pointer moved", "negative offset ctx ptr", false },
	/* It wants BTF for these, before it asks what they do. */
	{ "no BTF", "missing btf func_info", true },
	/* It rewrites accesses to the context, which we do not. */
	{ "context or other memory at one instruction",
	  "same insn cannot be used with different pointers", false },
	{ "a frame returned that lives on", "cannot return stack pointer to the caller", true },
	{ "tighter ranges: value access", "invalid access to map value", true },
	{ "tighter ranges: negative minimum", "min value is negative", true },
	{ "tighter ranges: minimum", "min value is outside", true },
	{ "tighter ranges: maximum", "max value is outside", true },
	{ "tighter ranges: unbounded", "unbounded m", true },
	{ "tighter ranges: moved pointer", "math between", true },
	{ "tighter ranges: moved pointer", "pointer be out of bounds", true },
	{ "tighter ranges: moved pointer", "pointer offset", true },
	{ "tighter ranges: alignment", "misaligned value access", true },
	{ "tighter ranges: alignment", "misaligned stack access", true },
	{ "tighter ranges: stack", "variable-offset read", true },
	{ "tighter ranges: stack", "variable-offset write", true },
	/* It wants the frame pointer on the left of a constant only. */
	{ "frame pointer minus a number", "subtraction from stack pointer prohibited", true },
	{ "tighter ranges: loop", "infinite loop detected", true },
	/* The kernel says this if it reaches its limit before our time limit ends the load. */
	{ "a loop without end for it", "jumps is too complex", true },
	/* Any frame's address in an older frame: for us, the callee's own. */
	{ "an older frame's address in that frame",
	  "cannot spill pointers to stack into stack frame of the caller", true },
	/* A constant key within bounds that it does not see, or a comparison
	 * with a register that is 0. */
	{ "a look-up that is not NULL", "invalid mem access 'map_value_or_null'", true },
	/* Its log ends with a step of the walk: it broke off, as it does with
	 * long loops, and has no complaint. See broke_off. */
	{ "the kernel broke off", BROKE_OFF, true },
};

enum { NEXCEPTIONS = sizeof(exceptions) / sizeof(exceptions[0]) };

static uint64_t excused[NEXCEPTIONS], stricter[NB_NFINDINGS];
static uint64_t tried, both_take, both_refuse, we_stricter, we_laxer;
static uint64_t unexplained, undecided, dead, weak, shown = SHOWN;

static struct case_image *samples[MAX_SAMPLES];
static uint32_t nsamples, chosen;
static struct case_image job;
static struct kernel kernel;

/* Coherent maps are as others here: the kernel knows no such thing. */
static struct nb_map_spec maps[CASE_MAPS];

/* Helpers with numbers of our own the kernel cannot judge. */
static bool calls_ours(const struct case_image *c)
{
	enum { CALL = 0x85, OURS = 0x10000 };

	for (uint32_t i = 0; i < c->prog.nslots; i++)
		if (c->slots[i].opcode == CALL && !c->slots[i].regs && c->slots[i].imm >= OURS)
			return true;
	return false;
}

static void add_sample(const char *text)
{
	struct case_image *c = malloc(sizeof(*c));
	struct nb_err err;

	if (c && !strstr(text, "# opts:") && !case_asm(c, text, &err) && !calls_ours(c) &&
	    nsamples < MAX_SAMPLES)
		samples[nsamples++] = c;
	else
		free(c);
}

/* A refused program, and the accepted one in the same file. */
static void add_file(const char *path)
{
	static char text[64 << 10], twin[64 << 10];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	if (!n)
		return;
	add_sample(text);
	if (near_twin(twin, sizeof(twin), text))
		add_sample(twin);
}

static void add_folder(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char file[1024];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (strstr(names[i]->d_name, ".asm"))
			add_file(file);
		else if (names[i]->d_name[0] != '.')
			add_folder(file);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void init_job(uint32_t n)
{
	case_init(&job, n);
	job.img.maps = maps;
}

static void make(uint64_t seed)
{
	struct rng r = { seed };
	uint32_t n;

	chosen = MAX_SAMPLES;
	if (nsamples && rng_percent(&r, 40)) {
		const struct case_image *s;

		chosen = rng_below(&r, nsamples);
		s = samples[chosen];

		n = s->prog.nslots;
		memcpy(job.slots, s->slots, n * sizeof(struct nb_slot));
		slots_mutate(job.slots, n, rng_below(&r, 4), &r);
	} else {
		em_generate(seed, true);
		n = em_prog.n;
		memcpy(job.slots, em_prog.slots, n * sizeof(struct nb_slot));
		if (rng_percent(&r, 40))
			slots_mutate(job.slots, n, 1 + rng_below(&r, 3), &r);
	}
	init_job(n);
}

static void print_program(void)
{
	static struct nb_insn insns[CASE_SLOTS];
	struct nb_err err;
	char text[128];

	if (nb_decode(insns, job.slots, job.prog.nslots, &err))
		return;
	for (uint32_t pc = 0; pc < job.prog.nslots; pc++) {
		if (insns[pc].op == NB_OP_LDDW_HI)
			continue;
		nb_disasm(text, sizeof(text), &insns[pc], NULL, NULL);
		printf("#   %3u: %s\n", pc, text);
	}
}

/* True if runs with random inputs break no promise. */
static bool runs_agree(uint64_t seed)
{
	return em_take(&job.img, 0, 0) && em_runs_clean(seed, RUNS);
}

/* True if our verifier proves that no path reaches the slot that the kernel refuses. */
static bool dead_here(const struct nb_verdict *v)
{
	int64_t slot = kernel_slot(&kernel);

	return slot >= 0 && slot < job.prog.nslots && !(v->aux[slot] & NB_AUX_REACHED);
}

/*
 * Results that the kernel forgets and we follow: divisions, shifts by a
 * register, byte swaps, negation; a register compared with itself, an address
 * with NULL. What it says of ways behind them, types of registers included,
 * need not hold.
 */
static bool closed(const struct nb_insn *in, uint8_t aux)
{
	const uint8_t both = NB_AUX_BRANCH_TAKEN | NB_AUX_BRANCH_FALLS;
	bool self = in->operand == NB_OPND_REG && in->src == in->dst;
	bool null = in->operand == NB_OPND_IMM && !in->imm &&
		    (in->fn == NB_FN_JEQ || in->fn == NB_FN_JNE);

	return (self || null) && aux & NB_AUX_REACHED && (aux & both) != both;
}

static bool weak_numbers(const struct nb_verdict *v)
{
	static struct nb_insn insns[CASE_SLOTS];
	struct nb_err err;

	if (nb_decode(insns, job.slots, job.prog.nslots, &err))
		return false;
	for (uint32_t pc = 0; pc < job.prog.nslots; pc++) {
		const struct nb_insn *in = &insns[pc];

		if (in->kind == NB_KIND_JMP && closed(in, v->aux[pc]))
			return true;
		/* Half of a spilled number is forgotten, too. */
		if (in->kind == NB_KIND_LOAD && !in->traits && in->src == NB_R10 && in->width < 64)
			return true;
		if (in->kind != NB_KIND_ALU)
			continue;
		switch ((int)in->fn) {
		case NB_FN_DIV:
		case NB_FN_MOD:
		case NB_FN_SDIV:
		case NB_FN_SMOD:
		case NB_FN_NEG:
		case NB_FN_BE:
		case NB_FN_BSWAP:
			return true;
		case NB_FN_LSH:
		case NB_FN_RSH:
		case NB_FN_ARSH:
			if (in->operand == NB_OPND_REG)
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* The whole line is a step: "12: (07) r1 += 1 ...". */
static bool broke_off(const char *reason)
{
	unsigned slot, opcode;
	int len = 0;

	return sscanf(reason, "%u: (%2x) %n", &slot, &opcode, &len) == 2 && len;
}

static void laxer(const struct nb_verdict *v, uint64_t seed)
{
	char reason[256];

	kernel_reason(&kernel, reason, sizeof(reason));
	if (broke_off(reason))
		snprintf(reason, sizeof(reason), BROKE_OFF);
	we_laxer++;
	if (dead_here(v) && runs_agree(seed)) {
		dead++;
		return;
	}
	for (int i = 0; i < NEXCEPTIONS; i++) {
		if (!strstr(reason, exceptions[i].text))
			continue;
		if (exceptions[i].runs && !runs_agree(seed))
			break;
		excused[i]++;
		return;
	}
	if (weak_numbers(v) && runs_agree(seed)) {
		weak++;
		return;
	}
	if (++unexplained > shown)
		return;
	printf("# we accept, the kernel says at slot %" PRId64 ": %s (error %d, seed %" PRIu64
	       ")\n",
	       kernel_slot(&kernel), reason, kernel.error, seed);
	print_program();
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Samples that the kernel walks for seconds are not chosen again. */
static void drop_slow(double start)
{
	if (now() - start < 0.1 || chosen >= nsamples)
		return;
	free(samples[chosen]);
	samples[chosen] = samples[--nsamples];
	chosen = MAX_SAMPLES;
}

static void one(uint64_t seed, bool say)
{
	struct rng r = { seed ^ 0x777 };
	const struct nb_verify_opts o = { .coherence_off = true, .max_insns = MAX_WALK };
	struct nb_verdict *v;
	struct nb_err err;
	char text[256];

	make(seed);
	for (int i = 0; i < TRIES; i++) {
		int theirs;
		double start = now();
		bool more;

		if (nb_verify(&v, &job.img, 0, &o, &err)) {
			printf("# seed %" PRIu64 ": %s\n", seed, err.text);
			unexplained++;
			return;
		}
		/* Long walks are a matter of patience, and take seconds. */
		theirs = v->finding.cls == NB_FIND_COMPLEXITY
				 ? -1
				 : kernel_judge(&kernel, job.slots, job.prog.nslots);
		drop_slow(start);
		tried++;
		if (theirs < 0) {
			undecided++;
		} else if (v->accepted && theirs) {
			both_take++;
		} else if (v->accepted) {
			laxer(v, seed);
		} else if (theirs) {
			we_stricter++;
			stricter[v->finding.cls]++;
		} else {
			both_refuse++;
		}
		if (say && theirs >= 0 && v->accepted != theirs) {
			printf("# ours: %s %u %s; kernel: %s\n",
			       nb_finding_words(v->finding.cls)->word, v->finding.pc,
			       v->accepted ? "" : v->finding.known,
			       theirs ? "takes it" : kernel_reason(&kernel, text, sizeof(text)));
			print_program();
		}
		more = !v->accepted && slots_repair(job.slots, job.prog.nslots, &v->finding, &r);
		nb_verdict_free(v);
		if (!more)
			break;
	}
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* ---- the corpus as it is ------------------------------------------------- */

/*
 * Findings about things that the kernel does not know, or takes from those
 * who may load programs at all.
 */
static const struct {
	enum nb_finding_class cls;
	const char *why;
} ours_alone[] = {
	{ NB_FIND_MAP_COHERENT, "coherent maps" },
	{ NB_FIND_CTX_NEWER, "another context" },
	{ NB_FIND_CTX_FIELD, "another context" },
	{ NB_FIND_CTX_BOUNDS, "another context" },
	{ NB_FIND_RET_POINTER, "the privileged may return addresses" },
	{ NB_FIND_STACK_UNINIT, "the privileged may read unwritten stack" },
	{ NB_FIND_STACK_PARTIAL, "the privileged may take addresses apart" },
	{ NB_FIND_STACK_DEPTH, "its frames may lie in memory of their own" },
	{ NB_FIND_HELPER, "other helpers" },
	{ NB_FIND_ARG_SCALAR, "the privileged may pass addresses as numbers" },
	{ NB_FIND_NULLABLE, "look-ups by a constant key in an array" },
	{ NB_FIND_NULL_ARITH, "look-ups by a constant key in an array" },
	{ NB_FIND_NOT_POINTER, "the fields of a map may be read" },
	{ NB_FIND_POINTER_STORE,
	  "addresses may stand somewhere in the stack, if nobody says where" },
	{ NB_FIND_PTR_OP, "negated and swapped addresses are numbers" },
	{ NB_FIND_RESERVE_SIZE, "records of 512 MiB and more" },
	/* Of this it may lose patience, see kernel_judge. */
	{ NB_FIND_COMPLEXITY, "long walks" },
};

static bool is_ours_alone(enum nb_finding_class cls)
{
	for (size_t i = 0; i < sizeof(ours_alone) / sizeof(ours_alone[0]); i++)
		if (ours_alone[i].cls == cls)
			return true;
	return false;
}

/* Each case of the corpus, unchanged; returns how many surprise. */
static unsigned corpus(void)
{
	const struct nb_verify_opts o = { .coherence_off = true };
	unsigned surprises = 0;

	for (uint32_t i = 0; i < nsamples; i++) {
		struct nb_verdict *v;
		struct nb_err err;
		uint64_t was;
		int theirs;

		job.prog.nslots = samples[i]->prog.nslots;
		memcpy(job.slots, samples[i]->slots, job.prog.nslots * sizeof(struct nb_slot));
		init_job(job.prog.nslots);
		theirs = kernel_judge(&kernel, job.slots, job.prog.nslots);
		if (nb_verify(&v, &job.img, 0, &o, &err))
			continue;
		was = unexplained;
		if (theirs == 0 && v->accepted)
			laxer(v, i);
		surprises += unexplained != was;
		if (theirs == 1 && !v->accepted && !is_ours_alone(v->finding.cls)) {
			printf("# only the kernel accepts (%s):\n",
			       nb_finding_words(v->finding.cls)->word);
			print_program();
			surprises++;
		}
		nb_verdict_free(v);
	}
	return surprises;
}

/* ---- encodings -------------------------------------------------------------
 */

/* r2 is a number or points to a stack slot that was written; so are others. */
static uint32_t around(struct nb_slot insn, bool pointer)
{
	struct nb_slot *s = job.slots;
	uint32_t n = 0;

	s[n++] = (struct nb_slot){ 0x7a, 10, -16, 5 };
	for (uint8_t reg = 0; reg < 10; reg++)
		if (reg != 1)
			s[n++] = (struct nb_slot){ 0xb7, reg, 0, 3 };
	if (pointer) {
		s[n++] = (struct nb_slot){ 0xbf, 0xa2, 0, 0 };
		s[n++] = (struct nb_slot){ 0x07, 2, 0, -16 };
	}
	s[n++] = insn;
	if (insn.opcode == 0x18)
		s[n++] = (struct nb_slot){ 0, 0, 0, 0 };
	s[n++] = (struct nb_slot){ 0xb7, 0, 0, 0 };
	s[n++] = (struct nb_slot){ 0x95, 0, 0, 0 };
	return n;
}

static bool encoding_differs(struct nb_slot insn, bool pointer)
{
	/* Jumps back are endless here, and refused at any limit. */
	const struct nb_verify_opts o = { .coherence_off = true, .max_insns = 1000 };
	uint64_t was = unexplained;
	struct nb_verdict *v;
	struct nb_err err;

	init_job(around(insn, pointer));
	if (nb_verify(&v, &job.img, 0, &o, &err))
		return true;
	if (v->accepted && kernel_judge(&kernel, job.slots, job.prog.nslots) == 0)
		laxer(v, insn.opcode);
	nb_verdict_free(v);
	return unexplained != was;
}

/* Every opcode with fields at their edges: no more is taken than it takes. */
static unsigned encodings(void)
{
	static const int16_t offs[] = { 0, 1, 2, 8, 16, 32, -1, -16 };
	static const uint8_t regs[] = { 0x02, 0x32, 0x12, 0xb2, 0x52, 0xa2, 0x0a, 0x0b };
	static const int32_t imms[] = { 0,     1,     2,    16,	  32,	 64,   0x40, 0x41,
					0x50,  0x51,  0xa0, 0xa1, 0xe0,	 0xe1, 0xf0, 0xf1,
					0x100, 0x110, -1,   8,	  0x101, 63 };
	unsigned bad = 0;

	for (int op = 0; op < 256; op++)
		for (size_t r = 0; r < sizeof(regs); r++)
			for (size_t f = 0; f < sizeof(offs) / 2; f++)
				for (size_t i = 0; i < sizeof(imms) / 4; i++) {
					struct nb_slot s = { (uint8_t)op, regs[r], offs[f],
							     imms[i] };

					bad += encoding_differs(s, false);
					bad += encoding_differs(s, true);
				}
	return bad;
}

static int summary(void)
{
	printf("# %" PRIu64 " verdicts: both accept %" PRIu64 ", both refuse %" PRIu64
	       ", we are stricter %" PRIu64 ", kernel is stricter %" PRIu64 ", no verdict %" PRIu64
	       "\n",
	       tried, both_take, both_refuse, we_stricter, we_laxer, undecided);
	if (weak)
		printf("# kernel stricter: behind a division, a shift by a "
		       "register or the like: %" PRIu64 "\n",
		       weak);
	if (dead)
		printf("# kernel stricter: tighter ranges: dead code here: "
		       "%" PRIu64 "\n",
		       dead);
	for (int i = 0; i < NEXCEPTIONS; i++)
		if (excused[i])
			printf("# kernel stricter: %s (\"%s\"): %" PRIu64 "\n", exceptions[i].name,
			       exceptions[i].text, excused[i]);
	for (int i = 1; i < NB_NFINDINGS; i++)
		if (stricter[i])
			printf("# we stricter: %s: %" PRIu64 "\n", nb_finding_words(i)->word,
			       stricter[i]);
	printf("%sok 1 - nothing accepted that the kernel refuses without a "
	       "named reason (%" PRIu64 ")\n",
	       unexplained ? "not " : "", unexplained);
	printf("%sok 2 - enough programs were judged by both\n",
	       both_take > tried / 10 ? "" : "not ");
	return unexplained || both_take <= tried / 10;
}

int main(int argc, char **argv)
{
	uint64_t seed = number_of("ORACLE_SEED", (uint64_t)time(NULL) << 20);
	uint64_t only = number_of("ORACLE_ONLY", 0);
	double end = now() + (double)number_of("ORACLE_SECONDS", 0);
	unsigned n, bad;
	int rc;

	memcpy(maps, case_maps, sizeof(maps));
	for (int i = 0; i < CASE_MAPS; i++)
		maps[i].tags = 0;
	shown = number_of("ORACLE_SHOWN", SHOWN);
	rc = kernel_open(&kernel, maps, CASE_MAPS);
	if (rc < 0) {
		printf("1..0 # SKIP verdicts as the kernel's: bpf() is not "
		       "permitted\n# %s\n",
		       strerror(-rc));
		return 0;
	}
	if (argc > 1)
		add_folder(argv[1]);
	printf("# ORACLE_SEED=%" PRIu64 ", %u samples\n", seed, nsamples);
	if (only) {
		one(only, true);
		return summary();
	}
	n = corpus();
	bad = n || nsamples < 1000;
	printf("%sok 3 - each case of the corpus as the kernel, or for a named "
	       "reason (%u cases)\n",
	       bad ? "not " : "", nsamples);
	n = encodings();
	printf("%sok 4 - no encoding accepted that the kernel refuses\n1..4\n", n ? "not " : "");
	bad += n;
	for (uint64_t i = 1; i <= number_of("ORACLE_PROGRAMS", FIXED); i++)
		one(i, false);
	for (; now() < end; seed++)
		one(seed, false);
	kernel_close(&kernel);
	return summary() || bad;
}
