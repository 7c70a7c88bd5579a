// SPDX-License-Identifier: MIT
#ifndef NB_TEST_EMBED_GEN_H
#define NB_TEST_EMBED_GEN_H

#include "test/differential/embedding/embed.h"
#include "test/differential/embedding/rng.h"

/*
 * The generator's parts. In a function r6 is the context (where there is
 * one; in programs of API calls a value of the replicated map, which the same
 * statements read and write), r9 a value of some map, the other registers hold numbers; statements
 * leave it so. Bytes 1 to 64 below r10 are data, the 8 below them keys, then
 * what statements take for as long as they last.
 */
enum { G_CTX = 6, G_PTR = 9, G_DATA = 64, G_KEY = -72, G_DEPTH = 3 };

/* Do runs use up what they may spend? Else statements about it tell nothing. */
enum { G_SMALL = NB_MAX_ITERATIONS < 100 };

enum g_kind { G_STATIC, G_TYPED, G_TURN, G_ELEMENT, G_COUNT, G_NOTHING };

/* What the arguments of a function are; OR_NULL: the caller may pass 0. */
enum g_arg { G_ARG_NUMBER, G_ARG_CTX, G_ARG_MEMORY, G_ARG_OR_NULL };
struct g_sig {
	unsigned nargs;
	enum g_arg arg[4];
	uint32_t size[4];
};

/* A function to be made, and the call or address that waits for it. */
struct g_func {
	enum g_kind kind;
	uint32_t call; /* slot */
	bool ctx;      /* it gets the context */
	unsigned level;
	struct g_sig sig; /* of a function of kind G_TYPED */
};

struct gen {
	struct rng rng;
	bool kernel; /* a kernel's verifier is to judge it as well */
	int sp;	     /* bytes of the frame that are taken */
	int held;    /* things that have to be given back: no exits */
	bool ctx;
	bool calls;	/* the program is for API calls */
	bool budgets;	/* the program is about budgets alone */
	unsigned level; /* of calls */
	struct g_func funcs[EM_FUNCS];
	uint32_t nfuncs;
};

extern struct gen g;

static const uint8_t st_ops[] = { 0x72, 0x6a, 0x62, 0x7a };
static const uint8_t stx_ops[] = { 0x73, 0x6b, 0x63, 0x7b };
static const uint8_t ldx_ops[] = { 0x71, 0x69, 0x61, 0x79 };
static const uint8_t ldxs_ops[] = { 0x91, 0x89, 0x81 };
static const uint8_t jmp_ops[] = {
	0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0
};

static inline unsigned g_below(unsigned n)
{
	return rng_below(&g.rng, n);
}
static inline bool g_chance(unsigned percent)
{
	return g_below(100) < percent;
}
void g_slot(uint8_t opcode, unsigned dst, unsigned src, int off, int64_t imm);
void g_lddw(unsigned dst, unsigned src, uint32_t lo, uint32_t hi);
void g_helper(int32_t id);
static inline void g_mov(unsigned dst, unsigned src)
{
	g_slot(0xbf, dst, src, 0, 0);
}
static inline void g_imm(unsigned dst, int32_t v)
{
	g_slot(0xb7, dst, 0, 0, v);
}
/* r@dst: the address r10 + @off */
void g_frame(unsigned dst, int off);
/* A jump to be aimed: its slot; aim it at what comes next. */
uint32_t g_jump(uint8_t opcode, unsigned dst, unsigned src, int64_t imm);
void g_aim(uint32_t at);
int32_t g_constant(void);
unsigned g_number(void);
void g_numbers(unsigned first, unsigned last);
/* Bound a number below @limit by one of the ways people do. */
void g_bound(unsigned r, unsigned limit);
void g_alu(void);
void g_block(unsigned n, unsigned depth);
/* Bytes of the frame for a statement; 0: there are none left. */
int g_take(int size);
void g_return(int size);
/* A function to be made later; slot g_at() calls it or takes its address. */
bool g_want(struct g_func f);
uint32_t g_at(void);

/* gen_use.c: statements that use what the verifier knows besides memory. */
void g_resource(unsigned depth);
void g_calls(unsigned depth);
/* A pointer that leaves its memory and is then compared with NULL. */
void g_far_pointer(void);

/* gen_meet.c: paths that differ, meet, and what follows from it. */
void g_meet(void);

/* gen_budget.c: spend what a run has by local data; let an output depend on
 * what is left of it. */
void g_spend(void);
void g_observe(void);
void g_budgets(void);

#endif
