// SPDX-License-Identifier: MIT
#ifndef NB_TEST_DOMAIN_TESTS_H
#define NB_TEST_DOMAIN_TESTS_H

/*
 * The tests of the verifier's numbers at NB_DOM_BITS bits, one program a
 * width. How far right operands are apart in CI stands here, and in `make
 * domains` where that does not take all.
 */
#include "test/unit/domain_parts.h"

static const struct steps {
	struct apart parts, basic, halves, mixed, every;
} at_width[] = { [4] = { { 2, 1 }, { 4, 1 }, { 1, 1 }, { 40, 1 }, { 600, 1 } },
		 [5] = { { 12, 1 }, { 40, 1 }, { 1, 1 }, { 200, 1 }, { 0, 0 } },
		 [6] = { { 120, 1 }, { 300, 1 }, { 25, 1 }, { 400, 1 }, { 0, 0 } },
		 [7] = { { 700, 1 }, { 2000, 10 }, { 25, 1 }, { 400, 1 }, { 0, 0 } },
		 [8] = { { 3000, 1 }, { 12000, 100 }, { 400, 1 }, { 400, 1 }, { 0, 0 } } };

static struct steps step;
static struct set constants, every;

static void prepare(void)
{
	step = at_width[BITS];
	fill();
	for (unsigned k = KIND_U; k <= KIND_T; k++)
		build_raw(k);
	begin(&constants);
	for (unsigned v = 0; v < SIZE; v++)
		agreed(&constants, nb_range_const(v));
	build_basic(&basic);
	build_halves(&halves);
	build_mixed(&mixed, 4000);
	if (step.every.ci)
		build_every(&every);
	printf("# %u bits: %u values of one kind, %u of the half, %u "
	       "mixtures, %u of every kind\n",
	       BITS, basic.n, halves.n, mixed.n, every.n);
	fflush(stdout);
}

TEST(agreement_by_parts)
{
	signs_part(step.parts);
	bits_part(step.parts);
	halves_part();
	summed("agreement by its parts", 0);
}

TEST(alu_by_parts)
{
	alu_parts(step.parts);
	summed("alu by its parts", 0);
}

TEST(branches_by_parts)
{
	branch_parts(step.parts);
	summed("branches by their parts", 0);
}

/* What follows is of whole operations: after agreement. */

TEST(alu)
{
	each_alu(&basic, &basic, BITS, step.basic);
	each_alu(&basic, &basic, HALF, step.basic);
	summed("alu", 70);
}

/* Nothing less than the machine's answer. */
TEST(alu_of_constants)
{
	const struct apart all = { 1, 1 };

	each_alu(&constants, &constants, BITS, all);
	each_alu(&constants, &constants, HALF, all);
	summed("alu of constants", 100);
}

TEST(branches)
{
	each_branch(&basic, &basic, BITS, step.basic);
	each_branch(&basic, &basic, HALF, step.basic);
	summed("branches", 85);
}

TEST(alu_of_halves)
{
	each_alu(&halves, &halves, BITS, step.halves);
	each_alu(&halves, &halves, HALF, step.halves);
	summed("alu of halves", 0);
}

TEST(branches_of_halves)
{
	each_branch(&halves, &halves, BITS, step.halves);
	each_branch(&halves, &halves, HALF, step.halves);
	summed("branches of halves", 0);
}

TEST(mixtures)
{
	each_alu(&mixed, &mixed, BITS, step.mixed);
	each_alu(&mixed, &mixed, HALF, step.mixed);
	each_branch(&mixed, &mixed, BITS, step.mixed);
	each_branch(&mixed, &mixed, HALF, step.mixed);
	summed("mixtures", 40);
}

TEST(extensions)
{
	each_extension(&basic);
	each_extension(&halves);
	each_extension(&mixed);
	if (every.n)
		each_extension(&every);
	summed("extensions", 50);
}

/* A sum with a constant and a field of bits are what the operations give. */
static void fields(const range *a)
{
	for (unsigned at = 0; at < BITS; at++) {
		range k = nb_range_const(at), b;
		range sum = nb_range_plus(a, (int)at - BITS);
		range shifted = nb_range_alu(NB_FN_RSH, BITS, a, &k);

		for (unsigned bits = 1; counts_fit(NB_FN_RSH) && bits <= BITS; bits++) {
			b = nb_range_zext(&shifted, bits);
			k = nb_range_bits(a, at, bits);
			ck_assert(nb_range_equal(&b, &k));
		}
		k = nb_range_const((at + SIZE - BITS) & LAST);
		b = nb_range_alu(NB_FN_ADD, BITS, a, &k);
		ck_assert(nb_range_equal(&b, &sum));
	}
}

TEST(constants_and_fields)
{
	for (unsigned i = 0; i < halves.n; i++)
		fields(&halves.v[i].r);
	for (unsigned i = 0; i < mixed.n; i++)
		fields(&mixed.v[i].r);
}

TEST(meets_and_joins)
{
	each_set(&basic, &basic, step.basic);
	each_set(&halves, &halves, step.halves);
	each_set(&mixed, &mixed, step.mixed);
	if (every.n)
		each_set(&every, &every, step.every);
	summed("meet and join", 50);
}

TEST_EACH(every_value, 0, every.n != 0)
{
	each_alu(&every, &every, BITS, step.every);
	each_alu(&every, &every, HALF, step.every);
	each_branch(&every, &every, BITS, step.every);
	each_branch(&every, &every, HALF, step.every);
	summed("every value with every value", 30);
}

#define DOMAIN_MAIN UNIT_MAIN_WITH("verify domains", prepare();)

#endif
