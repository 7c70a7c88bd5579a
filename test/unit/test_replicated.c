// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Random policies with replicated maps on three ranks of one communicator, through the
// plugin's own calls: NCCL's profiler reports each call of a collective, a program on
// profiler/coll_api changes the state, and a tuner program answers from it. The ranks
// run ahead of each other and differ in all local data: contents of local maps, CPU,
// time, random numbers, addresses, registration of buffers, and one of them interprets
// the programs in a process of its own. Meanwhile fences fail and generations change. After
// each call the ranks must have the same generation and the same state, and after the
// same calls the same answer to the same question. One process, one thread, no waits.
// REPLICATED_PROGRAMS=N sets the number of programs on profiler/coll_api that are made,
// REPLICATED_SEED=N the first (make replicated).
#include "test/unit/tuner_job.h"

#include <inttypes.h>

#include "core/bpf/verify/verify.h"
#include "core/job/segment/agree.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/pools.h"
#include "test/differential/embedding/embed.h"
#include "test/differential/embedding/rng.h"
#include "test/fakes/host/prof.h"

enum {
	PROGRAMS = 10000,
	RANKS = 3,
	PROCS = 2, /* ranks 0 and 1 are in one process, rank 2 in another */
	DRIFT = 6, /* calls that a rank may be ahead of the last one */
	KEPT = 32, /* calls that the comparison remembers */
	CPUS = 4,
	VERSIONS = 2, /* of a policy, with other contents of a coherent map */
	ROUNDS = 5,   /* calls of each rank between two changes */
	STATE = 512,  /* bytes that are compared: more than the map has */
	PAIRED = 4,   /* programs on profiler/coll_api for each tuner program */
	MAX_INSNS = 20000,
	MAX_RUN = 1 << 17, /* weighted instructions of a run: what takes longer is left out */
	CHANNELS = 1 << 20 /* of an answer that no rank has */
};

static struct tally {
	uint64_t programs, refused, slow, tuners, tuners_refused, accepted, stores;
	/* what the ranks did */
	uint64_t calls, compared, decisions, answers;
	/* faults and changes */
	uint64_t exchanged, kept, emptied, recovered, aborted, skipped, repeated;
	uint64_t grouped, restarted, interpreted, flipped, found, overwritten, missed;
} all;

static struct rng rnd;

/* Check writes each of its assertions to a file: too slow for each call. */
#define must(yes, ...)                             \
	do {                                       \
		if (!(yes))                        \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* Time passes only where somebody waits. */
uint64_t __wrap_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void)
{
	static uint64_t ns = 1000000000;

	return ns += 1000000;
}

/* The CPU on which a rank runs: another one at each call. */
static uint32_t cpu;

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
	return (int)cpu;
}

/* ---- a policy in both processes ---- */

struct part {
	struct nb_slot slots[EM_SLOTS];
	struct nb_func funcs[EM_FUNCS];
	struct nb_prog prog;
	struct nb_policy_effort effort;
	uint8_t aux[EM_SLOTS];
};

struct life {
	struct nb_policy *policy[PROCS];
	struct nb_gen *gen[VERSIONS][PROCS];
	uint32_t first, last; /* numbers of its generations */
	uint64_t seed;
};

static struct part part[2]; /* a call's program, and a decision's */
static struct life lives[2], *now = &lives[0], *before = &lives[1];
static int process;

/* The generations of the other process are those of this one from now on. */
static void enter(int p)
{
	process = p;
	for (int i = 0; i < 2; i++)
		for (int v = 0; v < VERSIONS; v++)
			nb_gens.kept[i * VERSIONS + v] = lives[i].gen[v][p];
}

static bool is_slow(const struct nb_run_bounds *runs)
{
	return nb_runs_path(runs, runs->iteration) + nb_runs_loops(runs, runs->iteration) > MAX_RUN;
}

/* True if all calls name helpers and all addresses maps, also where no path leads. */
static bool is_bound(void)
{
	for (uint32_t i = 0; i < em_prog.n; i++) {
		const struct nb_insn *in = &em_prog.insns[i];

		if (nb_insn_calls_helper(in)
			    ? !nb_spec_helper((int32_t)in->imm)
			    : nb_insn_names_map(in) && (uint32_t)in->imm >= em_nmaps)
			return false;
	}
	return true;
}

/* Keep the program for all ranks if the verifier accepts it. Returns true if it does. */
static bool keep_part(struct part *to, const char *name)
{
	const struct nb_verify_opts o = { .max_insns = MAX_INSNS };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	bool yes;

	must(!nb_verify(&v, &em_prog.img, 0, &o, &err), "%s", err.text);
	all.slow += v->accepted && is_slow(&v->runs);
	yes = v->accepted && !is_slow(&v->runs) && is_bound();
	if (yes) {
		memcpy(to->slots, em_prog.slots, em_prog.n * sizeof(to->slots[0]));
		memcpy(to->funcs, em_prog.funcs, em_prog.nfuncs * sizeof(to->funcs[0]));
		memcpy(to->aux, v->aux, em_prog.n);
		to->effort = (struct nb_policy_effort){ v->stats, v->runs };
		to->prog = em_prog.prog;
		to->prog.name = name;
		to->prog.slots = to->slots;
		to->prog.funcs = to->funcs;
	}
	nb_verdict_free(v);
	return yes;
}

static bool make_call_program(uint64_t seed)
{
	all.programs++;
	if (em_generate_for(seed * 0x9e3779b97f4a7c15ull, NB_HOOK_COLL_API) &&
	    keep_part(&part[0], "call"))
		return true;
	all.refused++;
	return false;
}

static void make_tuner_program(uint64_t seed)
{
	while (!em_generate_for(seed++ * 0xd1342543de82ef95ull, NB_HOOK_TUNER) ||
	       !keep_part(&part[1], "decide"))
		all.tuners_refused++;
	all.tuners++;
}

static struct nb_gen *bind(struct nb_policy *p)
{
	struct nb_err err = { 0 };
	struct nb_gen *g;

	must(!nb_gen_new(&g, &p, 1, NULL, &err), "%s", err.text);
	return g;
}

static struct nb_policy *policy_of(const struct nb_buf *b, bool interpret)
{
	struct nb_err err = { 0 };
	struct nb_policy *p;
	struct nb_image *img;
	const struct nb_policy_effort effort[2] = { part[0].effort, part[1].effort };

	must(!nb_image_read(&img, b->data, b->size, &err), "%s", err.text);
	must(!nb_policy_make(&p, img, effort, NULL, 0, &err), "%s", err.text);
	for (int i = 0; i < 2; i++) {
		p->aux[i] = malloc(img->progs[i].nslots);
		must(p->aux[i], "no memory");
		memcpy(p->aux[i], part[i].aux, img->progs[i].nslots);
	}
	p->interpret = interpret;
	p->max_run = 2 * MAX_RUN;
	return p;
}

/* The two programs as a policy, which a compiler or the interpreter runs. */
static void life_begin(struct life *l, uint64_t seed)
{
	struct nb_prog progs[2] = { part[0].prog, part[1].prog };
	struct nb_image img = em_prog.img;
	struct nb_err err = { 0 };
	struct nb_buf b;
	bool compiled = rng_percent(&rnd, 25);

	memset(l, 0, sizeof(*l));
	l->seed = seed;
	img.progs = progs;
	img.nprogs = 2;
	nb_buf_init(&b, 0);
	must(!nb_image_write(&b, &img, &err), "%s", err.text);
	for (int p = 0; p < PROCS; p++) {
		l->policy[p] = policy_of(&b, !compiled || p);
		l->gen[0][p] = bind(l->policy[p]);
	}
	nb_buf_fini(&b);
	all.interpreted += !compiled;
}

static void life_end(struct life *l)
{
	for (int p = 0; p < PROCS; p++) {
		for (int v = 0; v < VERSIONS; v++)
			nb_gen_put(l->gen[v][p]);
		nb_policy_put(l->policy[p]);
	}
	memset(l, 0, sizeof(*l));
}

/* A generation with another element in a coherent map; its digest is the same in both. */
static void life_change(struct life *l)
{
	static unsigned char value[64];
	uint32_t key = rng_below(&rnd, 4);
	const struct nb_map_op op = { .key = &key, .value = value };
	const struct nb_gen_change change = { .map = EM_LIMITS, .ops = &op, .nops = 1 };
	struct nb_err err = { 0 };

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (unsigned char)rng_next(&rnd);
	for (int p = 0; p < PROCS; p++)
		must(!nb_gen_changes(&l->gen[1][p], l->gen[0][p], &change, 1, &err), "%s",
		     err.text);
}

/* ---- ranks ---- */

static struct rank {
	struct host_prof prof;
	struct nb_comm *c;
	int process;
	uint64_t calls;
} ranks[RANKS];

static uint64_t comm_id = 0x5eed;
static int mask;

/* What the first rank to make call @n had after it, and answered. */
static struct heard {
	uint64_t n;
	uint32_t number, channels;
	int index;
	unsigned char state[STATE];
} heard[KEPT];

/* A bit of a rank's state was changed under this generation; 0: of none. */
static uint32_t tainted;
static bool noticed;
/* Calls after which ranks published different hashes because of that changed bit. */
static uint64_t published[64];
static uint32_t npublished;

static void differ(const char *what, const struct rank *r, uint64_t n)
{
	ck_abort_msg("program %" PRIu64 " (tuner program %" PRIu64 "): %s of rank %d differs "
		     "after call %" PRIu64 ", generation %u (life %u to %u)",
		     now->seed, all.tuners, what, (int)(r - ranks), n, r->c->fence.number,
		     now->first, now->last);
}

/* After call @n all ranks have the same generation and state. */
static struct heard *compare_state(const struct rank *r, uint64_t n)
{
	struct heard *h = &heard[n % KEPT];

	if (h->n != n) {
		*h = (struct heard){ .n = n, .number = r->c->fence.number, .channels = CHANNELS };
		memcpy(h->state, r->c->state, STATE);
		return h;
	}
	all.compared++;
	if (h->number != r->c->fence.number)
		differ("the generation", r, n);
	if (!memcmp(h->state, r->c->state, STATE))
		return h;
	if (tainted != h->number)
		differ("the state", r, n);
	noticed = true;
	if (n % NB_STATE_EVERY == 0)
		published[npublished++ % 64] = n;
	return h;
}

static void compare_answer(const struct rank *r, struct heard *h, struct got g)
{
	if (h->channels == CHANNELS) {
		h->index = g.index;
		h->channels = (uint32_t)g.channels;
		return;
	}
	all.answers++;
	if (h->index == g.index && h->channels == (uint32_t)g.channels)
		return;
	if (tainted != h->number)
		differ("the answer", r, h->n);
	noticed = true;
}

/* Local data of a policy: another CPU and contents for each rank and call. */
static void scramble(const struct life *l)
{
	static const uint8_t maps[] = { EM_COUNTS, EM_SEEN,   EM_BSS, EM_CONFIG,
					EM_SINK,   EM_PERCPU, EM_LRU };
	static uint64_t value[8192];
	uint32_t m = maps[rng_below(&rnd, sizeof(maps))];
	struct nb_map *map;
	size_t size;

	cpu = rng_below(&rnd, CPUS);
	if (!l->policy[process])
		return;
	map = l->policy[process]->maps[m];
	size = nb_map_user_value_size(map);
	must(size <= sizeof(value), "a value of %zu bytes", size);
	for (size_t i = 0; i < (size + 7) / 8; i++)
		value[i] = rng_next(&rnd) >> rng_below(&rnd, 64);
	for (uint64_t key = 0; key < em_maps[m].max_entries && key < 6; key++)
		nb_map_write(map, &key, value, NB_ANY, NULL);
}

/* The call that all ranks make as number @n; a group's tuners are asked after its end. */
static uint64_t call_bits(uint64_t n)
{
	struct rng r = { n * 0x2545f4914f6cdd1dull ^ comm_id };

	return rng_next(&r);
}

static bool groups(uint64_t n)
{
	return call_bits(n) >> 60 < 4;
}

static struct got ask_on(struct rank *r, uint64_t n)
{
	uint64_t bits = call_bits(n);
	struct got g = { -1, 0 };
	float t[21];

	table(t);
	for (int i = 0; i < 21; i++)
		if (bits >> i & 1)
			t[i] = i == 5 ? t[i] : -1.0f;
	all.decisions++;
	must(!ncclTunerPlugin_v5.get_coll_info(r->c, (int)(bits % 5), (size_t)1 << (bits >> 8) % 30,
					       1 + (int)(bits >> 16) % 3, (float **)(void *)t, 7, 3,
					       (int)rng_below(&rnd, 2), &g.channels),
	     "the tuner fails");
	g.index = pick(t, 21, 3.6e9f);
	return g;
}

static void decide(struct rank *r, struct heard *h)
{
	if (groups(h->n)) {
		all.grouped++;
		return;
	}
	if (rng_percent(&rnd, 40)) {
		all.skipped++;
		return;
	}
	compare_answer(r, h, ask_on(r, h->n));
	if (!rng_percent(&rnd, 10))
		return;
	all.repeated++;
	scramble(now);
	compare_answer(r, h, ask_on(r, h->n));
}

/* NCCL's profiler reports call @n to the rank. */
static void report_call(struct rank *r, uint64_t n)
{
	uint64_t bits = call_bits(n);
	const struct host_event e = { .type = HOST_COLL_API,
				      .func = (int)(bits % 5),
				      .count = (uint64_t)1 << (bits >> 8) % 30,
				      .datatype = (bits >> 40) % 8 == 1 ? 0 : 7,
				      .tag = rng_next(&rnd) };

	host_prof_stop(&r->prof, host_prof_start(&r->prof, &e));
	all.calls++;
}

static void call(struct rank *r)
{
	uint64_t n = ++r->calls;

	enter(r->process);
	scramble(now);
	scramble(before);
	report_call(r, n);
	must(r->c->fence.clock == n, "rank %d has counted %" PRIu64 " calls of %" PRIu64,
	     (int)(r - ranks), r->c->fence.clock, n);
	decide(r, compare_state(r, n));
}

static struct rank *slowest_rank(void)
{
	struct rank *s = &ranks[0];

	for (int i = 1; i < RANKS; i++)
		if (ranks[i].calls < s->calls)
			s = &ranks[i];
	return s;
}

/* Any rank that is not too far ahead makes its next call. */
static struct rank *next_rank(uint64_t below)
{
	struct rank *s = slowest_rank(), *r = &ranks[rng_below(&rnd, RANKS)];

	return r->calls + 1 >= below || r->calls >= s->calls + DRIFT ? s : r;
}

static void run_ranks(unsigned rounds)
{
	for (unsigned i = 0; i < rounds * RANKS; i++)
		call(next_rank(UINT64_MAX));
}

/* ---- changes and their faults ---- */

static uint32_t number_of(const struct nb_gen *g)
{
	uint32_t number = 0;
	struct nb_err err = { 0 };

	must(!nb_segment_gen(nb_self.seg, g->digest, true, &number, &err), "%s", err.text);
	return number;
}

static struct nb_seg_comm *entry(void)
{
	return ranks[0].c->seg;
}

static uint64_t arm(uint32_t number)
{
	uint64_t word = 0;
	enum nb_fence_outcome o;

	while ((o = nb_fence_arm(entry(), number, rng_below(&rnd, 4), &word)) == NB_FENCE_PENDING)
		call(slowest_rank());
	must(o == NB_FENCE_COMMITTED, "a fence cannot be armed: %d", (int)o);
	return word;
}

static enum nb_fence_outcome decide_fence(uint64_t word)
{
	return nb_fence_decide(entry(), word, nb_self.seg->membarrier);
}

/* Ranks make calls before an armed fence, which they have to see. */
static void call_before(uint64_t word)
{
	uint64_t fence = nb_fence_word_seq(word);

	for (uint32_t i = rng_below(&rnd, 4); i > 0; i--) {
		struct rank *r = next_rank(fence);

		if (r->calls + 1 < fence)
			call(r);
	}
}

/* The coordinator dies behind an armed fence, or a rank gives up waiting at it. */
static void fail_once(uint32_t number)
{
	uint64_t word = arm(number);

	call_before(word);
	if (rng_percent(&rnd, 50)) {
		nb_fence_recover(entry());
		all.recovered++;
		run_ranks(1);
		return;
	}
	while (nb_fence_word_state(entry()->record.word) == NB_FENCE_ARMED)
		call(slowest_rank());
	all.aborted++;
	must(decide_fence(word) == NB_FENCE_OVERRUN, "an aborted fence is committed");
}

static void commit_number(uint32_t number)
{
	uint64_t word;

	if (rng_percent(&rnd, 15))
		fail_once(number);
	word = arm(number);
	call_before(word);
	must(decide_fence(word) == NB_FENCE_COMMITTED, "a fence that no rank has passed");
}

static bool adopted(uint32_t number)
{
	for (int i = 0; i < RANKS; i++)
		if (ranks[i].c->fence.number != number)
			return false;
	return true;
}

static void commit_all(uint32_t number)
{
	now->last = number;
	commit_number(number);
	while (!adopted(number))
		call(slowest_rank());
}

/* ---- start and end of the communicator ---- */

static void ranks_begin(void)
{
	struct nb_nvl_domain_info nvl = { 1, RANKS, RANKS };

	memset(heard, 0, sizeof(heard));
	npublished = 0;
	comm_id++;
	for (int i = 0; i < RANKS; i++) {
		struct rank *r = &ranks[i];

		*r = (struct rank){ .process = i == 2,
				    .prof = { .abi = 6,
					      .mask = &mask,
					      .name = "world",
					      .id = comm_id,
					      .nodes = 1,
					      .ranks = RANKS,
					      .rank = i,
					      .p = (const struct host_profiler
							    *)(const void *)&ncclProfiler_v6 } };
		enter(r->process);
		nb_gens.baseline = nb_gens.first =
			now->gen[0][0] ? now->gen[0][r->process] : nb_gens.empty;
		ck_assert_int_eq(host_prof_init(&r->prof, logger), 0);
		ck_assert_int_eq(ncclTunerPlugin_v5.init((void **)&r->c, comm_id, RANKS, 1, logger,
							 &nvl, NULL),
				 0);
		ck_assert_ptr_nonnull(r->c->seg);
		r->c->fence.timeout_ms = 0;
	}
	now->first = now->last = ranks[0].c->fence.number;
}

static void ranks_end(void)
{
	for (int i = 0; i < RANKS; i++) {
		enter(ranks[i].process);
		nb_comm_free(ranks[i].c);
		host_prof_fini(&ranks[i].prof);
	}
	nb_gens.baseline = nb_gens.first = nb_gens.empty;
}

/* What check agreement says; *@seq: from which call or decision on. */
static enum nb_agreement verdict(uint64_t *seq)
{
	static struct nb_agree a;
	const struct nb_job job = nb_segment_job(nb_self.seg);
	const struct nb_seg *mem = nb_self.seg->mem;
	uint32_t i = 0;

	while (&mem->comm[i] != entry())
		i++;
	ck_assert(nb_agree(&job, i, &a));
	*seq = a.seq;
	return nb_agree_broken(&a) ? a.verdict : NB_AGREED;
}

/* The ranks agree, or still show the state of a call that was changed on purpose. */
static void check_agreed(void)
{
	uint64_t seq;
	enum nb_agreement v = verdict(&seq);

	for (uint32_t i = 0; v == NB_STATE_DIFFERS && i < 64 && i < npublished; i++)
		if (published[i] == seq)
			v = NB_AGREED;
	ck_assert_str_eq(nb_agreement_word(v), nb_agreement_word(NB_AGREED));
}

static void level_ranks(void)
{
	uint64_t most = 0;

	for (int i = 0; i < RANKS; i++)
		most = ranks[i].calls > most ? ranks[i].calls : most;
	while (slowest_rank()->calls < most)
		call(slowest_rank());
}

/* `check agreement` finds a rank that has missed a call. */
static void miss_a_call(void)
{
	uint64_t n;

	level_ranks();
	n = ranks[0].calls;
	for (uint64_t k = 1; k <= 2 * NB_STATE_EVERY; k++)
		for (int i = 0; i < RANKS; i++) {
			enter(ranks[i].process);
			if (i != 1 || k != 1)
				report_call(&ranks[i], n + k);
			ask_on(&ranks[i], n + k);
		}
	ck_assert_str_ne(nb_agreement_word(verdict(&n)), nb_agreement_word(NB_AGREED));
	all.missed++;
}

static void restart(void)
{
	check_agreed();
	miss_a_call();
	ranks_end();
	life_end(before);
	ranks_begin();
	all.restarted++;
}

/* ---- one program ---- */

/* Change one bit of one rank's state. It is noticed, or the next call overwrites it. */
static void flip(void)
{
	struct rank *r = &ranks[rng_below(&rnd, RANKS)];
	uint32_t at = rng_below(&rnd, r->c->gen->state_size * 8);

	tainted = r->c->fence.number;
	noticed = false;
	all.flipped++;
	r->c->state[at / 8] ^= (unsigned char)(1 << at % 8);
	run_ranks(2);
	level_ranks();
	all.found += noticed;
	all.overwritten += !noticed;
}

static void exchange(uint64_t seed)
{
	struct life *l = before;

	life_begin(l, seed);
	before = now;
	now = l;
	if (all.accepted % 256 == 0) {
		restart();
	} else {
		now->first = number_of(l->gen[0][0]);
		commit_all(now->first);
		all.exchanged++;
	}
	tainted = 0;
	enter(process);
	life_end(before);
}

static void change_while_running(void)
{
	if (rng_percent(&rnd, 30)) {
		life_change(now);
		commit_all(number_of(now->gen[1][0]));
		all.kept++;
		run_ranks(2);
	}
	if (rng_percent(&rnd, 10)) {
		commit_all(number_of(nb_gens.empty));
		run_ranks(1);
		commit_all(number_of(now->gen[0][0]));
		all.emptied++;
		run_ranks(2);
	}
}

static bool stored(void)
{
	static const unsigned char zero[STATE];

	return memcmp(ranks[0].c->state, zero, STATE) != 0;
}

static void judge(uint64_t seed)
{
	rnd = (struct rng){ seed };
	if (!make_call_program(seed))
		return;
	if (all.accepted++ % PAIRED == 0)
		make_tuner_program(seed);
	exchange(seed);
	run_ranks(ROUNDS);
	change_while_running();
	all.stores += stored();
	if (all.accepted % 64 == 0)
		flip();
}

static void report(void)
{
	typedef unsigned long long ull;

	printf("# %llu programs on profiler/coll_api: %llu accepted, %llu refused, %llu of these "
	       "as too long; %llu left contents; beside them %llu tuner programs (%llu refused)\n",
	       (ull)all.programs, (ull)all.accepted, (ull)all.refused, (ull)all.slow,
	       (ull)all.stores, (ull)all.tuners, (ull)all.tuners_refused);
	printf("# %llu calls on %d ranks, %llu states and %llu of %llu answers compared\n",
	       (ull)all.calls, RANKS, (ull)all.compared, (ull)all.answers, (ull)all.decisions);
	printf("# policies exchanged %llu times, removed and back %llu, changed with state "
	       "kept %llu, communicators made anew %llu, interpreted everywhere %llu\n",
	       (ull)all.exchanged, (ull)all.emptied, (ull)all.kept, (ull)all.restarted,
	       (ull)all.interpreted);
	printf("# coordinators that died at an armed fence %llu, fences that a rank aborted %llu, "
	       "ranks not asked %llu, asked again %llu, calls in groups %llu\n",
	       (ull)all.recovered, (ull)all.aborted, (ull)all.skipped, (ull)all.repeated,
	       (ull)all.grouped);
	printf("# bits of a rank's state changed %llu: %llu noticed, %llu overwritten by the next "
	       "call; calls that a rank missed %llu, all found\n",
	       (ull)all.flipped, (ull)all.found, (ull)all.overwritten, (ull)all.missed);
	fflush(stdout);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

TEST(ranks_have_the_same_state_after_each_call)
{
	uint64_t first = setting("REPLICATED_SEED", 1);
	uint64_t n = setting("REPLICATED_PROGRAMS", TIMES(PROGRAMS));

	set_up();
	nb_cpu_known = (struct nb_cpu_known){ .n = CPUS };
	nccl_version = 22907;
	(void)nb_process_ready(logger);
	nb_pools_version(23100);
	ranks_begin();
	printf("# REPLICATED_SEED=%llu\n", (unsigned long long)first);
	fflush(stdout);
	for (uint64_t p = first; p < first + n; p++)
		judge(p);
	check_agreed();
	miss_a_call();
	ranks_end();
	life_end(now);
	tear_down();
	report();
}

UNIT_MAIN("replicated")
