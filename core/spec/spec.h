// SPDX-License-Identifier: MIT
#ifndef NB_SPEC_SPEC_H
#define NB_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The tables of core/defs as const arrays, with look-up by number and by name.
 * All returned pointers are to static data.
 *
 * Rows contain what a process uses, no columns for documents. Short texts lie in their rows,
 * because each pointer of a library takes 32 bytes of its file: itself and its relocation.
 */

enum nb_op {
#define INSN(name, ...) NB_OP_##name,
#include "core/defs/isa.h"
	/* The second slot of an LDDW, which is never executed. */
	NB_OP_LDDW_HI,
	NB_NOPS
};

enum nb_kind {
	NB_KIND_ALU,
	NB_KIND_JMP,
	NB_KIND_JA,
	NB_KIND_MAY_GOTO,
	NB_KIND_CALL,
	NB_KIND_EXIT,
	NB_KIND_LOAD,
	NB_KIND_STORE,
	NB_KIND_ATOMIC,
	NB_KIND_LDDW,
	NB_KIND_LDDW_HI
};

enum nb_fn {
#define FN(name, ...) NB_FN_##name,
#include "core/defs/fns.h"
	NB_NFNS
};

/* Orders of two operands, as bits; SIGNED: the numbers are signed. */
enum {
	NB_ORDER_NONE = 0,
	NB_ORDER_LT = 1,
	NB_ORDER_EQ = 2,
	NB_ORDER_GT = 4,
	NB_ORDER_SIGNED = 8,
	NB_ORDER_LE = NB_ORDER_LT | NB_ORDER_EQ,
	NB_ORDER_GE = NB_ORDER_GT | NB_ORDER_EQ,
	NB_ORDER_NE = NB_ORDER_LT | NB_ORDER_GT,
	NB_ORDER_SLT = NB_ORDER_SIGNED | NB_ORDER_LT,
	NB_ORDER_SLE = NB_ORDER_SIGNED | NB_ORDER_LE,
	NB_ORDER_SGT = NB_ORDER_SIGNED | NB_ORDER_GT,
	NB_ORDER_SGE = NB_ORDER_SIGNED | NB_ORDER_GE,
	NB_NORDERS = 16
};

struct nb_fn_spec {
	const char *text;   /* For example "+=" or "s>"; "" if it has none. */
	enum nb_fn inverse; /* Jumps: the inverse jump, or NB_FN_NONE. */
	uint8_t holds;	    /* Jumps: NB_ORDER_* bits that take the jump. */
};

/* Return the row of @fn, below NB_NFNS. */
const struct nb_fn_spec *nb_spec_fn(unsigned fn);

enum nb_opnd { NB_OPND_NONE, NB_OPND_IMM, NB_OPND_REG };

/* Sets of registers that an instruction reads or writes. */
enum {
	NB_REGS_NONE = 0,
	NB_REGS_D = 1,
	NB_REGS_S = 2,
	NB_REGS_DS = NB_REGS_D | NB_REGS_S,
	NB_REGS_R0 = 4,
	NB_REGS_DS0 = NB_REGS_DS | NB_REGS_R0,
	NB_REGS_ARGS = 8,
	NB_REGS_CALLER = NB_REGS_R0 | NB_REGS_ARGS
};

/* Traits of an instruction; see core/defs/isa.h. */
enum {
	NB_INSN_MOVE = 1,
	NB_INSN_SHIFT = 2,
	NB_INSN_DIVIDE = 4,
	NB_INSN_SIGNED = 8,
	NB_INSN_ORDERED = 16,
	NB_INSN_FETCH = 32,
	NB_INSN_JUMP = 64,
	NB_INSN_FAR = 128,
	NB_INSN_SUM = 256,
	NB_INSN_CANCELS = 512,
	NB_INSN_MODULO = 1024
};

/* A field of the encoding allows any value, or exactly one value. */
enum { NB_FIELD_ANY = INT32_MIN };

struct nb_insn_spec {
	uint8_t opcode;
	/* Each is NB_FIELD_ANY or the exact value. */
	int32_t dst, src, off, imm;
	enum nb_kind kind;
	enum nb_fn fn;
	uint8_t width;
	enum nb_opnd operand;
	uint8_t reads, writes; /* NB_REGS_* bits of the registers. */
	uint16_t traits;       /* NB_INSN_* bits of the instruction. */
	uint8_t isa;
	char mnemonic[20];
};

/* Return the row of @op, below NB_NOPS. */
const struct nb_insn_spec *nb_spec_insn(enum nb_op op);

enum nb_label { NB_LABEL_COHERENT, NB_LABEL_LOCAL, NB_LABEL_MAP };

/* Map flags of linux/bpf.h that at least one map type accepts. */
enum {
	NB_F_NO_PREALLOC = 0x1,
	NB_F_NO_COMMON_LRU = 0x2,
	NB_F_RDONLY_PROG = 0x80,
	NB_F_WRONLY_PROG = 0x100,
	NB_F_MMAPABLE = 0x400
};

enum nb_map_type {
#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) NB_MAP_##name = id,
#include "core/defs/maps.h"
};

/* The kinds of keys; see core/defs/maps.h. */
enum nb_map_keys { NB_KEYS_INDEX, NB_KEYS_BYTES, NB_KEYS_RING };

enum { NB_TRAIT_PERCPU = 1, NB_TRAIT_LOCAL = 2, NB_TRAIT_LRU = 4 };

struct nb_map_type_spec {
	uint32_t id;
	const char *word;
	enum nb_map_keys keys;
	uint32_t traits; /* NB_TRAIT_* bits of the map type. */
	uint32_t flags;
};

const struct nb_map_type_spec *nb_spec_map_type(uint32_t id);
const struct nb_map_type_spec *nb_spec_map_types(size_t *n);

enum nb_ret {
	NB_RET_SCALAR,
	NB_RET_VALUE_OR_NULL,
	NB_RET_VOID,
	NB_RET_ELEM,
	NB_RET_SAMPLE_OR_NULL
};

enum nb_arg {
	NB_ARG_NONE,
	NB_ARG_ANY,
	NB_ARG_OPT,
	NB_ARG_MAP,
	NB_ARG_KEY,
	NB_ARG_VALUE,
	NB_ARG_MEM,
	NB_ARG_MEM0,
	NB_ARG_OUT,
	NB_ARG_OUT8,
	NB_ARG_STR,
	NB_ARG_SIZE,
	NB_ARG_SIZE0,
	NB_ARG_CTX,
	NB_ARG_FUNC,
	NB_ARG_CALLBACK_CTX,
	NB_ARG_ITER0,
	NB_ARG_ITER,
	NB_ARG_ALLOC,
	NB_ARG_SAMPLE
};

enum nb_effect {
	NB_EFFECT_NONE,
	NB_EFFECT_WRITES_MAP,
	NB_EFFECT_CALLS,
	NB_EFFECT_ITER_NEW,
	NB_EFFECT_ITER_NEXT,
	NB_EFFECT_ITER_END
};

/* The data that decides whether a call succeeds, besides its arguments. */
enum nb_success { NB_SUCCESS_ARGS, NB_SUCCESS_ELEMENTS, NB_SUCCESS_CPUS, NB_SUCCESS_PROCESS };

/* What a call does besides its fixed cost; core/defs/helpers.h explains it. */
enum nb_work {
	NB_WORK_NONE,
	NB_WORK_SEARCH,
	NB_WORK_STORE,
	NB_WORK_BUCKETS,
	NB_WORK_FORMAT,
	NB_WORK_DIGITS
};

/* Sets of map types, for the column "maps" of core/defs/helpers.h. */
#define NB_MAP_BIT(name) (1u << NB_MAP_##name)
enum {
	NB_MAPS_NONE = 0, /* The helper takes no map. */
	NB_MAPS_PERCPU = NB_MAP_BIT(PERCPU_ARRAY),
	NB_MAPS_EACH = NB_MAP_BIT(HASH) | NB_MAP_BIT(ARRAY) | NB_MAP_BIT(LRU_HASH) | NB_MAPS_PERCPU,
	NB_MAPS_RINGBUF = NB_MAP_BIT(RINGBUF)
};

/* From this number on, helpers are our own, and objects declare them as
 * externs. */
enum { NB_HELPER_EXTERN = 0x10001 };
/* From this number on, helpers with a CTX read the decision of a tuner context.
 */
enum { NB_HELPER_TUNER = 0x20001 };
/* The helper that may be called on replicated maps, and those that controllers may
 * call on coherent maps. */
enum { NB_HELPER_LOOKUP = 1, NB_HELPER_UPDATE = 2, NB_HELPER_DELETE = 3 };

struct nb_helper_spec {
	int32_t id;
	char name[24];
	enum nb_ret ret;
	enum nb_arg arg[5];
	/* Types of maps that the helper accepts: bits 1 << enum nb_map_type. */
	uint32_t maps;
	enum nb_label label;
	enum nb_success success;
	enum nb_effect effect;
	uint32_t cost;
	enum nb_work work;
};

/* Look up a helper by number or by name; NULL if there is none. */
const struct nb_helper_spec *nb_spec_helper(int32_t id);
const struct nb_helper_spec *nb_spec_helper_named(const char *name);
/* Return the name of Linux's helper with that number; NULL if unknown. */
const char *nb_spec_kernel_helper(int64_t id);
/* Return all helpers in the order of their numbers; *@n gets their count. */
const struct nb_helper_spec *nb_spec_helpers(size_t *n);

enum nb_hook {
#define HOOK(name, ...) NB_HOOK_##name,
#include "core/defs/hooks.h"
	NB_NHOOKS
};

enum nb_access { NB_IN, NB_OUT };

struct nb_field_spec {
	char name[16], type[24], unit[8];
	uint32_t off, size;
	enum nb_access access;
	enum nb_label label;
};

struct nb_hook_spec {
	enum nb_hook id;
	const char *word;
	const char *ctx_struct; /* For example "ncclbpf_tuner". */
	uint32_t ctx_size;
	const struct nb_field_spec *fields;
	size_t nfields;
	bool coherent; /* The outputs of programs must be coherent. */
};

const struct nb_hook_spec *nb_spec_hook(enum nb_hook hook);
/* Return the hook of an ELF section, "tuner" or "tuner/..."; NULL if it
 * names no hook. */
const struct nb_hook_spec *nb_spec_hook_section(const char *section);
/* Return the field that holds byte @off of the context; NULL if @off is
 * outside. */
const struct nb_field_spec *nb_spec_field(const struct nb_hook_spec *hook, uint32_t off);

/* An output that answers NCCL, and the range of values that NCCL accepts. */
struct nb_answer_spec {
	enum nb_hook hook;
	uint32_t off; /* Offset of the output in the context. */
	int64_t least, most;
};

const struct nb_answer_spec *nb_spec_answers(size_t *n);

enum nb_param_type { NB_PARAM_STR, NB_PARAM_INT, NB_PARAM_ENUM };
enum nb_param_who { NB_PARAM_PLUGIN = 1, NB_PARAM_SHELL = 2, NB_PARAM_BOTH = 3 };

enum nb_param {
#define PARAM(name, ...) NB_P_##name,
#include "core/defs/params.h"
	NB_NPARAMS
};

struct nb_param_spec {
	const char *name; /* The name without NCCLBPF_. */
	enum nb_param_type type;
	const char *def;
	int64_t min, max;
	const char *choices;
	const char *unit;
	enum nb_param_who who;
};

const struct nb_param_spec *nb_spec_param(enum nb_param p);
/* Parse @text as the number of parameter @p; returns false if it is not
 * allowed. */
bool nb_spec_param_int(enum nb_param p, const char *text, int64_t *out);

enum nb_role { NB_ROLE_OBSERVE, NB_ROLE_CONTROL };

enum nb_cmd {
#define CMD(name, ...) NB_CMD_##name,
#include "core/defs/commands.h"
	NB_NCMDS
};

struct nb_cmd_spec {
	const char *words, *syntax;
	uint32_t least, most;
	enum nb_role role;
	const char *help;
};

const struct nb_cmd_spec *nb_spec_cmd(enum nb_cmd c);

/* Return NCCL's word for a number, such as "allreduce", "ring" or "ll128";
 * NULL if the number has no word. */
const char *nb_nccl_coll(int coll);
const char *nb_nccl_algo(int algo);
const char *nb_nccl_proto(int proto);
/* Return the number of a word, in upper or lower case; -1 if there is no
 * such word. */
int nb_nccl_coll_named(const char *word);
int nb_nccl_algo_named(const char *word);
int nb_nccl_proto_named(const char *word);

/*
 * Find the two words of @list (n of them) that resemble @word most, for
 * "did you mean". Errors are letters inserted, omitted or replaced, or two
 * neighbours swapped. NULL if no word is near (more than a third of the
 * letters differ).
 */
void nb_spec_nearest(const char *word, const char *const *list, size_t n, const char *near[2]);

#endif
