// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_CODE_H
#define NB_EXEC_CODE_H

#include <stdint.h>

#include "core/exec/exec.h"
#include "core/isa/insn.h"

/*
 * What nb_exec_new makes of a program and nb_exec_run executes: one code for
 * each slot, so that distances stay what they are in struct nb_insn. Private
 * to core/exec.
 */

/* Operations beside those of enum nb_op. */
enum {
	/* bpf_map_lookup_elem without the call, where the type allows it */
	NB_CODE_LOOKUP = NB_NOPS,
	/* LDDW of any kind: everything is known once maps are bound */
	NB_CODE_CONST,
	NB_NCODES
};

/*
 * @off: as in struct nb_insn
 * @imm: as in struct nb_insn, but for NB_CODE_CONST the value that the
 *       register gets and for NB_OP_CALL_HELPER and NB_CODE_LOOKUP the
 *       address of the helper's body
 */
struct nb_code {
	uint16_t op;
	uint8_t dst, src;
	int32_t off;
	int64_t imm;
};

_Static_assert(sizeof(struct nb_code) == 16, "four codes a cache line");

struct nb_jit;

struct nb_exec {
	struct nb_exec_head head;
	struct nb_trace *trace;
	struct nb_jit *jit;   /* NULL: interpreted */
	struct nb_map **maps; /* nmaps of them, each with a reference */
	uint32_t nmaps;
	uint32_t ncodes;
	struct nb_code code[];
};

nb_engine_fn nb_exec_interpret;

/* Times that may_goto lets a run pass before it jumps (Linux: BPF_MAX_LOOPS) */
enum { NB_MAY_GOTO_PASSES = 8 << 20 };

#endif
