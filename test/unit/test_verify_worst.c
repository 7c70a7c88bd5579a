// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The verifier's time has a bound: programs made to cost as much as they can
// for each instruction walked (deep frames full of linked numbers, ranges of
// stack read at once, states that never match) all end with a verdict in time
// and within the memory they may take. Seconds are of this process's CPU.
//
// Each also in a form that is accepted, with as many iterations as that allows:
// what a verdict "yes" costs at most. Limits count work, not time, so the
// iterations are numbers that stand below. WORST=1 takes all of them (else a
// tenth, in CI), and one more must be refused. WORST=find finds them anew.
// `make worst DOC=docs/verifier.md` writes what they cost into the table there.
#include "test/unit/unit.h"

#include <time.h>

#include "test/unit/verify_image.h"

/* Seconds for a build that is not optimized; README and docs state less. */
enum { LIMIT = 10, MEMORY = 64 << 20, MANY = 1000000 };
/* What the words of a refusal may take beyond the limit (nb_more_words). */
enum { WORDS = 64 << 10 };

static struct case_image c;
static struct nb_slot slots[NB_IMAGE_MAX_SLOTS];
static uint32_t at;
/* Of the loop; and that it is a program to accept: as deep as frames may be
 * all together, with a number that is not the same on all ranks. */
static int32_t iterations;
static bool accept;

static void emit(uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	slots[at++] = (struct nb_slot){ op, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

static void end(void)
{
	emit(0xb7, 0, 0, 0, 0);
	emit(0x95, 0, 0, 0, 0);
}

/* Fill @n eight-byte slots with r1 plus their number. */
static void fill(int n)
{
	for (int i = 1; i <= n; i++) {
		emit(0xbf, 2, 1, 0, 0);
		emit(0x07, 2, 0, 0, i);
		emit(0x7b, 10, 2, -8 * i, 0);
	}
}

/* Frames one in the other, the last with @loop. */
static void frames(void (*loop)(void))
{
	const int n = 8, cells = accept ? 8 : 63;

	emit(0x61, 6, 1, 64, 0); /* reg_buff: local */
	emit(0x79, 1, 1, 8, 0);
	for (int i = 0; i < n; i++) {
		fill(cells);
		if (i + 1 < n) {
			emit(0x85, 0, 1, 0, 2);
			end();
		}
	}
	loop();
}

/* Each turn compares what is linked to everything on the stack. */
static void compare_linked(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x15, 1, 0, 1, 77); /* if r1 == 77 goto +1 */
	emit(0xb7, 0, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -4, iterations);
	end();
}

static void compare_below(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x2d, 1, 6, 1, 0); /* if r1 > r6 goto +1 */
	emit(0xb7, 0, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -4, iterations);
	end();
}

static void count(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -2, iterations);
	end();
}

static void pass(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0xe5, 0, 0, 4, 0); /* may_goto +4 */
	emit(0x15, 1, 0, 1, 77);
	emit(0xb7, 0, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0x05, 0, 0, -5, 0);
	end();
}

static void linked_compared(void)
{
	frames(compare_linked);
}

static void bounded_compared(void)
{
	frames(compare_below);
}

static void full_states(void)
{
	frames(count);
}

static void full_states_passed(void)
{
	frames(pass);
}

/* r3: an address somewhere in the stack. */
static void somewhere(void)
{
	emit(0xbf, 3, 10, 0, 0);
	emit(0x07, 3, 0, 0, -512);
	emit(0x79, 4, 7, 8, 0);
	emit(0x57, 4, 0, 0, 0x1f8);
	emit(0x0f, 3, 4, 0, 0);
}

static void begin(void)
{
	emit(0xbf, 7, 1, 0, 0);
	emit(0x61, 6, 1, 64, 0);
	emit(0x79, 1, 1, 8, 0);
	fill(64);
	emit(0xb7, 6, 0, 0, 0);
}

static void stack_read(void)
{
	begin();
	somewhere();
	for (int i = 0; i < 100; i++)
		emit(0x79, 5, 3, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -102, iterations);
	end();
}

static void stack_written(void)
{
	begin();
	somewhere();
	for (int i = 0; i < 100; i++)
		emit(0x7b, 3, 6, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -102, iterations);
	end();
}

/* All of the stack as a helper's memory. */
static void helper_reads(void)
{
	enum { RING = 9 }; /* of case_maps */

	begin();
	for (int i = 0; i < 100; i++) {
		emit(0x18, 1, 1, 0, RING);
		emit(0, 0, 0, 0, 0);
		emit(0xbf, 2, 10, 0, 0);
		emit(0x07, 2, 0, 0, -512);
		emit(0xb7, 3, 0, 0, 512);
		emit(0xb7, 4, 0, 0, 0);
		emit(0x85, 0, 0, 0, 130);
	}
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -702, iterations);
	end();
}

/* A number of which each way has another bit, and all bits matter. */
static void every_way(void)
{
	emit(0xbf, 7, 1, 0, 0);
	emit(0x61, 6, 1, 64, 0);
	emit(0xb7, 6, 0, 0, 0);
	for (int i = 0; i < (iterations < 30 ? iterations : 30); i++) {
		emit(0x79, 2, 7, 8, 0);
		emit(0x15, 2, 0, 1, i);
		emit(0x47, 6, 0, 0, 1 << i);
	}
	emit(0x15, 6, 0, 1, -1);
	emit(0xb7, 6, 0, 0, 0);
	end();
}

/* Local control around everything, in frames full of numbers. */
static void regions(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x85, 0, 0, 0, 5); /* bpf_ktime_get_ns: local */
	emit(0x15, 0, 0, 1, 0);
	emit(0xb7, 8, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -5, iterations);
	end();
}

static void local_regions(void)
{
	frames(regions);
}

/* All slots that a program may have, walked iteration after iteration. */
static void longest(void)
{
	enum { ROOM = NB_IMAGE_MAX_SLOTS - 5, TURN = 128 };

	emit(0xbf, 7, 1, 0, 0);
	emit(0x61, 3, 1, 64, 0);
	emit(0xb7, 6, 0, 0, 0);
	while (at < ROOM - TURN) {
		emit(0x79, 2, 7, 8, 0);
		emit(0x15, 2, 0, 1, (int32_t)at);
		emit(0x07, 3, 0, 0, 1);
		while (at % TURN)
			emit(0x0f, 3, 2, 0, 0);
	}
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, 2, iterations);
	end();
	emit(0x06, 0, 0, 0, 2 - (int32_t)at);
}

/* All slots store what NCCL never accepts: each of them could have a note. */
static void impossible_answers(void)
{
	enum { ROOM = NB_IMAGE_MAX_SLOTS - 5 };

	emit(0x61, 3, 1, 64, 0);
	emit(0xb7, 6, 0, 0, 0);
	while (at < ROOM)
		emit(0x62, 1, 0, 68, 100);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, 2, iterations);
	end();
	emit(0x06, 0, 0, 0, 1 - (int32_t)at);
}

static const struct {
	const char *name;
	void (*make)(void);
	int32_t iterations; /* the most that are accepted */
} cases[] = {
	{ "linked numbers compared", linked_compared, 8192 },
	{ "a bound compared", bounded_compared, 533 },
	{ "full states stored", full_states, 499891 },
	{ "full states at may_goto", full_states_passed, MANY },
	{ "ranges of stack read", stack_read, 2528 },
	{ "ranges of stack written", stack_written, 634 },
	{ "a helper reads the stack", helper_reads, 262 },
	{ "every way another number", every_way, 17 },
	{ "regions of local control", local_regions, 7444 },
	{ "the longest program", longest, 6 },
	{ "impossible answers", impossible_answers, 7 },
};

static struct nb_verdict *judge(int i, int32_t most, double *took)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	clock_t start;

	at = 0;
	iterations = most;
	cases[i].make();
	ck_assert_uint_le(at, NB_IMAGE_MAX_SLOTS);
	case_init(&c, at);
	c.prog.slots = slots;
	start = clock();
	ck_assert_msg(!nb_verify(&v, &c.img, 0, NULL, &err), "%s", err.text);
	*took = (double)(clock() - start) / CLOCKS_PER_SEC;
	return v;
}

/* Nothing about a program but its cost. */
static bool is_cost(const struct nb_verdict *v)
{
	return v->accepted || v->finding.cls == NB_FIND_COMPLEXITY ||
	       v->finding.cls == NB_FIND_MEMORY || v->finding.cls == NB_FIND_STACK_DEPTH;
}

static void check_cost(int i, const struct nb_verdict *v, double took)
{
	const char *name = cases[i].name;

	printf("# %s: %s, %d iterations, %u instructions, %u states, %zu KiB, "
	       "%.2f s\n",
	       name, v->accepted ? "accepted" : "refused", (int)iterations, v->stats.insns_walked,
	       v->stats.states_peak, v->stats.memory >> 10, took);
	ck_assert_msg(is_cost(v), "%s: %s", name, v->finding.known);
	ck_assert_uint_le(v->stats.memory, MEMORY + WORDS);
	ck_assert_msg(took < LIMIT, "%s: %.1f s", name, took);
}

TEST_EACH(ends_in_time, 0, sizeof(cases) / sizeof(cases[0]))
{
	struct nb_verdict *v;
	double took;

	accept = false;
	v = judge(_i, MANY, &took);
	check_cost(_i, v, took);
	nb_verdict_free(v);
}

static bool accepts(int i, int32_t most)
{
	double took;
	struct nb_verdict *v = judge(i, most, &took);
	bool yes = v->accepted;

	if (!is_cost(v))
		printf("# %s: %s\n", cases[i].name, v->finding.known);
	nb_verdict_free(v);
	return yes;
}

/* The most iterations that are accepted, searched from the known number on. */
static int32_t find(int i)
{
	int32_t yes = 0, no = MANY + 1, mid = cases[i].iterations;

	for (int32_t step = 1; no - yes > 1; step *= 2) {
		if (accepts(i, mid))
			yes = mid;
		else
			no = mid;
		mid = no > MANY && no - yes > step ? yes + step : yes + (no - yes) / 2;
	}
	return yes;
}

TEST_EACH(is_accepted_in_time, 0, sizeof(cases) / sizeof(cases[0]))
{
	const char *worst = getenv("WORST");
	int32_t most = cases[_i].iterations;
	struct nb_verdict *v;
	double took;

	accept = true;
	if (worst && !strcmp(worst, "find")) {
		most = find(_i);
		printf("# %s: at most %d iterations\n", cases[_i].name, (int)most);
	}
	v = judge(_i, worst ? most : most / 10 + 1, &took);
	check_cost(_i, v, took);
	ck_assert_msg(v->accepted, "%s: %s", cases[_i].name, v->finding.known);
	nb_verdict_free(v);
	if (!worst || most == MANY)
		return;
	ck_assert_msg(!accepts(_i, most + 1), "%s: more than %d iterations are accepted",
		      cases[_i].name, (int)most);
}

UNIT_MAIN("verify worst")
