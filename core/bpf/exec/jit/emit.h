// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_EMIT_H
#define NB_EXEC_JIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/exec/run/interp.h"
#include "core/bpf/image/image.h"

/* The data of one compilation, shared by the driver (jit.c), the analysis
 * (facts.c), the lowering (lower.c) and the machines. */

/* Largest number of bytes of machine code for a program: branches and calls of
 * both machines reach that far. */
enum { NB_JIT_MAX_CODE = 16 << 20 };

/* Executable read-only pages with the code of one or more programs. */
struct nb_jit_pages {
	unsigned char *code;
	size_t mapped; /* Size of the mapped pages in bytes. */
	/* Number of programs in these pages; at 0 the pages are freed. */
	uint32_t refs;
};

/* The machine code of a program. */
struct nb_jit {
	nb_engine_fn *entry; /* The entry of the program that was compiled. */
	unsigned char *code;
	size_t size; /* Size of the code in bytes. */
	struct nb_jit_pages *pages;
	/* Offset in @code of each slot and of the end. */
	uint32_t *off;
};

/* Facts about a slot, found before code is emitted. */
enum {
	NB_JIT_DEAD = 1,   /* The slot is never executed. */
	NB_JIT_TARGET = 2, /* Some jump, call or callback leads to the slot. */
	NB_JIT_TAKEN = 4,  /* The slot is a jump that always jumps. */
	NB_JIT_FALLS = 8,  /* The slot is a jump that never jumps. */
	NB_JIT_NONZERO = 16,
	NB_JIT_CALLBACK = 32, /* @value is the slot of the callback. */
	NB_JIT_ADDRESS = 64   /* The program takes the slot's address. */
};

enum nb_jit_lookup {
	/* Nothing is known about the map: call the helper. */
	NB_JIT_LOOKUP_HELPER,
	NB_JIT_LOOKUP_CONST,  /* The result is the constant @value. */
	NB_JIT_LOOKUP_ARRAY,  /* The map @map is an array. */
	NB_JIT_LOOKUP_PERCPU, /* The map @map is a per-CPU array. */
	/* The map is a per-CPU array, and @key is a valid index. */
	NB_JIT_LOOKUP_PERCPU_AT,
	NB_JIT_LOOKUP_DIRECT /* Call the lookup operation of @map. */
};

/* Helpers that have inline machine code. */
enum nb_jit_inline {
	NB_JIT_INLINE_NONE,
	/* The inline code calls the helper if the CPU is unknown. */
	NB_JIT_INLINE_CPU,
	NB_JIT_INLINE_RING_SUBMIT,
	NB_JIT_INLINE_RING_DISCARD
};

struct nb_jit_fact {
	uint8_t flags;
	uint8_t lookup;	 /* An enum nb_jit_lookup, for NB_CODE_LOOKUP. */
	uint8_t inlined; /* An enum nb_jit_inline, for helper calls. */
	uint32_t key;
	union {
		struct nb_map *map;
		uint64_t value;
	};
};

/* Features of a program that need code at its entry. */
struct nb_jit_needs {
	uint16_t written; /* Bit r is set if the program writes register r. */
	bool frame;	  /* The program reads r10. */
	/* The program reads r10 other than as an address or to copy it. */
	bool frame_value;
	bool run;	/* The program calls helpers that take struct nb_run. */
	bool calls_out; /* The program calls code outside itself. */
	bool calls_local;
	bool may_goto;
	bool iterations; /* The program counts its remaining loop iterations. */
};

struct nb_jit_ctx {
	const struct nb_exec *x;
	const struct nb_code *code; /* The decoded program of n slots. */
	uint32_t n;
	unsigned features;
	struct nb_jit_needs needs;
	struct nb_jit_fact *fact; /* Facts about each slot. */
	uint32_t *off;		  /* The n + 1 offsets of slots from the last pass. */
	/* For each slot: offset of the end of its jump; 0 if it has none. */
	uint32_t *jump_end;
	bool *shorter; /* For each slot: its jump has the short form. */
	const unsigned char
		/* The address at which the code will run; NULL if unknown. */
		*base;
	/* The output; NULL in a pass that only counts bytes. */
	unsigned char *out;
	size_t room; /* Room at @out in bytes. */
	uint32_t pos;
	struct nb_jit *jit; /* The result; NULL once the caller owns it. */
	/* Number of slots whose address is taken, each counted once. */
	uint32_t ncallbacks;
	uint32_t callback[NB_IMAGE_MAX_FUNCS];
};

/* Offsets in a run's data on the stack: struct nb_run comes first, then
 * fields of the engines. */
enum { NB_JIT_RUN_PASSES = 32, NB_JIT_RUN_SIZE = 48 };
_Static_assert(sizeof(struct nb_run) <= NB_JIT_RUN_PASSES, "run grew");

static inline bool nb_jit_wants_run(const struct nb_jit_ctx *c)
{
	return c->needs.run || c->needs.may_goto || c->needs.iterations;
}

/* Is @fn at most @most bytes away from any place in the code? */
static inline bool nb_jit_reaches(const struct nb_jit_ctx *c, uint64_t fn, int64_t most)
{
	int64_t distance = (int64_t)(fn - (uintptr_t)c->base);

	most -= NB_JIT_MAX_CODE;
	return c->base && distance > -most && distance < most;
}

/* Return the slot that the jump or call at @pc leads to. */
static inline uint32_t nb_jit_target(const struct nb_jit_ctx *c, uint32_t pc)
{
	return (uint32_t)((int64_t)pc + 1 + c->code[pc].off);
}

static inline bool nb_jit_power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

#endif
