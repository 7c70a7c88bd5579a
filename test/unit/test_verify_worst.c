// SPDX-License-Identifier: MIT
// The verifier's time has a bound: programs made to cost as much as they can
// for each instruction walked (deep frames full of linked numbers, ranges of
// stack read at once, states that never match) all end with a verdict in time
// and within the memory they may take. Seconds are of this process's CPU.
#include "test/unit/unit.h"

#include <time.h>

#include "test/unit/verify_image.h"

/* Seconds for a build that is not optimized; README and docs state less. */
enum { LIMIT = 10, MEMORY = 64 << 20 };

static struct case_image c;
static uint32_t at;

static void emit(uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	c.slots[at++] = (struct nb_slot){ op, (uint8_t)(dst | src << 4),
					  (int16_t)off, imm };
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
static void frames(int n, int cells, void (*loop)(void))
{
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
	emit(0xa5, 6, 0, -4, 1000000);
	end();
}

static void compare_below(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x2d, 1, 6, 1, 0); /* if r1 > r6 goto +1 */
	emit(0xb7, 0, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -4, 1000000);
	end();
}

static void count(void)
{
	emit(0xb7, 6, 0, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -2, 1000000);
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
	frames(8, 63, compare_linked);
}

static void bounded_compared(void)
{
	frames(8, 63, compare_below);
}

static void full_states(void)
{
	frames(8, 63, count);
}

static void full_states_passed(void)
{
	frames(8, 63, pass);
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
	emit(0xa5, 6, 0, -102, 1000000);
	end();
}

static void stack_written(void)
{
	begin();
	somewhere();
	for (int i = 0; i < 100; i++)
		emit(0x7b, 3, 6, 0, 0);
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -102, 1000000);
	end();
}

/* All of the stack as a helper's memory. */
static void helper_reads(void)
{
	begin();
	for (int i = 0; i < 100; i++) {
		emit(0xbf, 1, 10, 0, 0);
		emit(0x07, 1, 0, 0, -512);
		emit(0xb7, 2, 0, 0, 512);
		emit(0x85, 0, 0, 0, 6);
	}
	emit(0x07, 6, 0, 0, 1);
	emit(0xa5, 6, 0, -402, 1000000);
	end();
}

/* A number of which each way has another bit, and all bits matter. */
static void every_way(void)
{
	emit(0xbf, 7, 1, 0, 0);
	emit(0xb7, 6, 0, 0, 0);
	for (int i = 0; i < 30; i++) {
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
	emit(0xa5, 6, 0, -5, 1000000);
	end();
}

static void local_regions(void)
{
	frames(8, 63, regions);
}

static const struct {
	const char *name;
	void (*make)(void);
} cases[] = {
	{ "linked numbers compared", linked_compared },
	{ "a bound compared", bounded_compared },
	{ "full states stored", full_states },
	{ "full states at may_goto", full_states_passed },
	{ "ranges of stack read", stack_read },
	{ "ranges of stack written", stack_written },
	{ "a helper reads the stack", helper_reads },
	{ "every way another number", every_way },
	{ "regions of local control", local_regions },
};

START_TEST(ends_in_time)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	clock_t start = clock();
	double took;

	at = 0;
	cases[_i].make();
	case_init(&c, at);
	ck_assert_uint_lt(at, CASE_SLOTS);
	ck_assert_msg(!nb_verify(&v, &c.img, 0, NULL, &err), "%s", err.text);
	took = (double)(clock() - start) / CLOCKS_PER_SEC;
	printf("# %s: %.2f s, %u instructions, %zu KiB, %s at %u\n",
	       cases[_i].name, took, v->stats.insns_walked,
	       v->stats.memory >> 10, v->accepted ? "accepted" : "refused",
	       v->finding.pc);
	/* Nothing about the programs but their cost. */
	ck_assert_msg(v->accepted || v->finding.cls == NB_FIND_COMPLEXITY ||
			      v->finding.cls == NB_FIND_MEMORY ||
			      v->finding.cls == NB_FIND_STACK_DEPTH,
		      "%s: %s", cases[_i].name, v->finding.known);
	ck_assert_uint_le(v->stats.memory, MEMORY);
	ck_assert_msg(took < LIMIT, "%s: %.1f s", cases[_i].name, took);
	nb_verdict_free(v);
}
END_TEST

UNIT_MAIN("verify worst",
	  tcase_add_loop_test(tc, ends_in_time, 0,
			      sizeof(cases) / sizeof(cases[0]));)
