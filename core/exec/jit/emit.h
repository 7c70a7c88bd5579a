// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_EMIT_H
#define NB_EXEC_JIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exec/run/code.h"
#include "core/exec/run/helpers.h"
#include "core/exec/run/interp.h"
#include "core/image/image.h"

/*
 * One compilation: the data that the driver (jit.c), the analysis (facts.c),
 * the lowering (lower.c) and the machines share.
 */

/* Most bytes of machine code for a program: branches and calls of both
 * machines reach that far. */
enum { NB_JIT_MAX_CODE = 16 << 20 };

/* From byte @at of the code on, the caller's SP lies @size bytes above our SP
 * (or above the base register). */
struct nb_jit_note {
	uint32_t at, size;
};

/* A register of the caller is saved @words words below the caller's SP. */
struct nb_jit_saved {
	uint8_t reg, words;
};

/* How a debugger unwinds frames of machine code. Registers have DWARF's numbers
 * and are saved from the first note on. */
struct nb_jit_frames {
	uint16_t machine; /* ELF's e_machine */
	uint8_t sp_reg, return_reg;
	uint8_t base_reg;   /* distances start at it; 0: at SP */
	uint8_t entry_size; /* bytes that a call pushes: the return address */
	struct nb_jit_saved saved[12];
	uint32_t nsaved;
	uint32_t nnotes; /* 0: nothing is known */
	struct nb_jit_note *note;
};

static inline void nb_jit_save(struct nb_jit_frames *f, unsigned reg,
			       unsigned words)
{
	f->saved[f->nsaved++] =
		(struct nb_jit_saved){ (uint8_t)reg, (uint8_t)words };
}

/* Executable read-only pages with the code of one or more programs. */
struct nb_jit_pages {
	unsigned char *code; /* begins with nb_machine.nothing */
	size_t mapped;	     /* bytes of pages */
	uint32_t refs;	     /* programs in these pages; at 0 they are freed */
};

/* A program as machine code; or a chain, which has no slots. */
struct nb_jit {
	nb_engine_fn *entry; /* for the program that was compiled */
	const void *body;    /* after the prologue: tail calls jump here */
	unsigned char *code;
	size_t size; /* bytes of code */
	struct nb_jit_pages *pages;
	uint32_t *off; /* offset of each slot and of the end; NULL: a chain */
	struct nb_jit_frames frames;
};

/* A program of a chain. */
struct nb_jit_link {
	const struct nb_exec *x;
	const uint8_t *aux; /* NB_AUX_* by slot; NULL: nothing is known */
	bool compile;	    /* false: the interpreter runs it */
	bool runs;	    /* in the chain; false: for tail calls alone */
	struct nb_jit *jit; /* answer: its code; NULL: interpreted */
};

/* The programs and the context of a chain; see core/exec/jit/chain.h. */
struct nb_jit_chain {
	const struct nb_jit_link *link;
	uint32_t n;
	uint32_t ctx_size, answer; /* bytes; the answer's offset */
};

/* Facts about a slot, found before code is emitted. */
enum {
	NB_JIT_DEAD = 1,   /* never executed */
	NB_JIT_TARGET = 2, /* some jump, call or callback leads here */
	NB_JIT_TAKEN = 4,  /* a jump that always jumps */
	NB_JIT_FALLS = 8,  /* a jump that never does */
	NB_JIT_NONZERO = 16,
	NB_JIT_CALLBACK = 32, /* @value is its callback's slot */
	NB_JIT_ADDRESS = 64   /* the program takes the slot's address */
};

enum nb_jit_lookup {
	NB_JIT_LOOKUP_HELPER,	 /* nothing known: call the helper */
	NB_JIT_LOOKUP_CONST,	 /* the result is constant: @value */
	NB_JIT_LOOKUP_ARRAY,	 /* @map is an array */
	NB_JIT_LOOKUP_PERCPU,	 /* @map is a per-CPU array */
	NB_JIT_LOOKUP_PERCPU_AT, /* per-CPU array, @key is a valid index */
	NB_JIT_LOOKUP_DIRECT	 /* call the lookup operation of @map */
};

/* Helpers that have a lowering of their own. */
enum nb_jit_inline {
	NB_JIT_INLINE_NONE,
	NB_JIT_INLINE_CPU,	 /* CPU unknown: calls the helper */
	NB_JIT_INLINE_SPIN_LOCK, /* lock is held: calls the helper */
	NB_JIT_INLINE_SPIN_UNLOCK,
	NB_JIT_INLINE_RING_SUBMIT,
	NB_JIT_INLINE_RING_DISCARD
};

struct nb_jit_fact {
	uint8_t flags;
	uint8_t lookup;	 /* enum nb_jit_lookup, for NB_CODE_LOOKUP */
	uint8_t inlined; /* enum nb_jit_inline, of helper calls */
	uint32_t key;
	union {
		struct nb_map *map;
		uint64_t value;
	};
};

/* Features of a program that need code at its entry. */
struct nb_jit_needs {
	uint16_t written; /* bit r: register r */
	bool frame;	  /* r10 is read */
	bool frame_value; /* r10 is read beyond addresses and copies */
	bool run;	  /* it calls helpers that take struct nb_run */
	bool calls_out;	  /* it calls code outside the program */
	bool calls_local;
	bool may_goto;
	bool turns; /* it counts its remaining loop iterations */
	bool links; /* tail calls link it to other programs */
};

struct nb_jit_ctx {
	const struct nb_exec *x;
	const struct nb_jit_chain *chain; /* instead of a program, or NULL */
	const struct nb_code *code;	  /* n slots */
	uint32_t n;
	unsigned features;
	struct nb_jit_needs needs;
	struct nb_jit_fact *fact; /* by slot */
	uint32_t *off;		  /* n + 1 offsets from the last pass */
	uint32_t *jump_end;	  /* by slot: its jump's end; 0: no jump */
	bool *shorter;		  /* by slot: its jump has the short form */
	const unsigned char
		*base;	    /* address the code will run at; NULL: unknown */
	unsigned char *out; /* NULL: a pass that only counts bytes */
	size_t room;	    /* bytes at out */
	uint32_t pos;
	struct nb_jit *jit; /* the result; NULL once the caller owns it */
	struct nb_jit_frames *frames; /* jit's; NULL once the caller owns it */
	uint32_t ncalls;     /* calls between the program's functions */
	uint32_t body;	     /* offset where tail calls enter */
	uint32_t ncallbacks; /* slots whose address is taken, each once */
	uint32_t callback[NB_IMAGE_MAX_FUNCS];
};

/* In the last pass, record the distance to the caller's SP that holds from this
 * instruction on: at most two records a call, and two more. */
static inline void nb_jit_note(struct nb_jit_ctx *c, uint32_t size)
{
	struct nb_jit_frames *f = c->frames;

	if (c->out && f->nnotes < 2 * c->ncalls + 2)
		f->note[f->nnotes++] = (struct nb_jit_note){ c->pos, size };
}

/* Data of a run in its frame: struct nb_run, then the engines' fields. */
enum {
	NB_JIT_RUN_PASSES = 32,
	NB_JIT_RUN_CTX = 40, /* r1 while a tail call looks for a program */
	NB_JIT_RUN_SIZE = 48
};
_Static_assert(sizeof(struct nb_run) <= NB_JIT_RUN_PASSES, "run grew");

static inline bool nb_jit_wants_run(const struct nb_jit_ctx *c)
{
	return c->needs.run || c->needs.may_goto || c->needs.turns;
}

/* The slot that the jump or call at @pc leads to. */
static inline uint32_t nb_jit_target(const struct nb_jit_ctx *c, uint32_t pc)
{
	return (uint32_t)((int64_t)pc + 1 + c->code[pc].off);
}

static inline bool nb_jit_power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

#endif
