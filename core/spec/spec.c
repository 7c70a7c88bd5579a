// SPDX-License-Identifier: MIT
/* The tables of core/defs as const arrays. This is the only file that turns
 * rows into data; all other code calls its functions. */
#include "core/spec/spec.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/defs/ctx.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "policies, images and contexts are little-endian");

/* The words that rows of core/defs/isa.h use. */
#define ANY NB_FIELD_ANY
#define NONE 0
#define MOVE NB_INSN_MOVE
#define SHIFT NB_INSN_SHIFT
#define DIVIDE NB_INSN_DIVIDE
#define SIGNED NB_INSN_SIGNED
#define ORDERED NB_INSN_ORDERED
#define FETCH NB_INSN_FETCH
#define JUMP NB_INSN_JUMP
#define FAR NB_INSN_FAR
#define SUM NB_INSN_SUM
#define CANCELS NB_INSN_CANCELS
#define MODULO NB_INSN_MODULO

static const struct nb_insn_spec insns[NB_NOPS] = {
#define INSN(name, opcode, dst, src, off, imm, kind, fn, width, operand, reads, writes, traits, \
	     isa, mnemonic)                                                                     \
	[NB_OP_##name] = { opcode,                                                              \
			   dst,                                                                 \
			   src,                                                                 \
			   off,                                                                 \
			   imm,                                                                 \
			   NB_KIND_##kind,                                                      \
			   NB_FN_##fn,                                                          \
			   width,                                                               \
			   NB_OPND_##operand,                                                   \
			   NB_REGS_##reads,                                                     \
			   NB_REGS_##writes,                                                    \
			   traits,                                                              \
			   isa,                                                                 \
			   mnemonic },
#include "core/defs/isa.h"
	[NB_OP_LDDW_HI] = { 0, 0, 0, 0, ANY, NB_KIND_LDDW_HI, NB_FN_NONE, 64, NB_OPND_NONE, 0, 0, 0,
			    1, "" },
};

#undef ANY
#undef NONE
#undef MOVE
#undef SHIFT
#undef DIVIDE
#undef SIGNED
#undef ORDERED
#undef FETCH
#undef JUMP
#undef FAR
#undef SUM

const struct nb_insn_spec *nb_spec_insn(enum nb_op op)
{
	assert(op < NB_NOPS);
	return &insns[op];
}

static const struct nb_fn_spec fns[NB_NFNS] = {
#define FN(name, text, inverse, holds) { text, NB_FN_##inverse, NB_ORDER_##holds },
#include "core/defs/fns.h"
};

const struct nb_fn_spec *nb_spec_fn(unsigned fn)
{
	assert(fn < NB_NFNS);
	return &fns[fn];
}

static const struct nb_helper_spec helpers[] = {
#define HELPER(id, name, ret, a1, a2, a3, a4, a5, maps, label, success, effect, cost, work, doc) \
	{ id,                                                                                    \
	  #name,                                                                                 \
	  NB_RET_##ret,                                                                          \
	  { NB_ARG_##a1, NB_ARG_##a2, NB_ARG_##a3, NB_ARG_##a4, NB_ARG_##a5 },                   \
	  NB_MAPS_##maps,                                                                        \
	  NB_LABEL_##label,                                                                      \
	  NB_SUCCESS_##success,                                                                  \
	  NB_EFFECT_##effect,                                                                    \
	  cost,                                                                                  \
	  NB_WORK_##work },
#include "core/defs/helpers.h"
};

#define NHELPERS (sizeof(helpers) / sizeof(helpers[0]))

const struct nb_helper_spec *nb_spec_helper(int32_t id)
{
	for (size_t i = 0; i < NHELPERS; i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

const char *nb_spec_kernel_helper(int64_t id)
{
	/* All names without a gap, in the order of the numbers. */
	static const struct {
#define KERNEL_HELPER(name) name[sizeof(#name)]
		char __BPF_FUNC_MAPPER(KERNEL_HELPER) end;
#undef KERNEL_HELPER
	} names = {
#define KERNEL_HELPER(name) #name
		__BPF_FUNC_MAPPER(KERNEL_HELPER) 0
	};
	const char *name = (const char *)&names;

	if (id <= 0 || id >= __BPF_FUNC_MAX_ID)
		return NULL;
	while (id--)
		name += strlen(name) + 1;
	return name;
}

const struct nb_helper_spec *nb_spec_helper_named(const char *name)
{
	for (size_t i = 0; i < NHELPERS; i++)
		if (!strcmp(helpers[i].name, name))
			return &helpers[i];
	return NULL;
}

const struct nb_helper_spec *nb_spec_helpers(size_t *n)
{
	*n = NHELPERS;
	return helpers;
}

static const struct nb_map_type_spec map_types[] = {
#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) \
	{ id, word, NB_KEYS_##keys, traits, flags },
#include "core/defs/maps.h"
};

#define NMAPTYPES (sizeof(map_types) / sizeof(map_types[0]))

const struct nb_map_type_spec *nb_spec_map_type(uint32_t id)
{
	for (size_t i = 0; i < NMAPTYPES; i++)
		if (map_types[i].id == id)
			return &map_types[i];
	return NULL;
}

const struct nb_map_type_spec *nb_spec_map_types(size_t *n)
{
	*n = NMAPTYPES;
	return map_types;
}

#define CONTEXT(ctx) static const struct nb_field_spec fields_##ctx[] = {
#define FIELD(ctx, name, type, access, label, unit, doc, source)                                  \
	{ #name,       #type,		unit, offsetof(struct ncclbpf_##ctx, name), sizeof(type), \
	  NB_##access, NB_LABEL_##label },
#define HIDDEN_FIELD(ctx, name, type)
#define CONTEXT_END(ctx) \
	}                \
	;
#include "core/defs/contexts.h"

enum { NB_COHERENT = 1 };

/* Programs see a context without its hidden members and the padding before them, where the next
 * field may come. */
#define END_OF(ctx, field) \
	(offsetof(struct ncclbpf_##ctx, field) + sizeof(((struct ncclbpf_##ctx *)0)->field))
#define TUNER_SIZE END_OF(tuner, ranks_per_node)
#define COLL_API_SIZE END_OF(coll_api, nodes)
static_assert(offsetof(struct ncclbpf_tuner, costs) - TUNER_SIZE < sizeof(const float *) &&
		      offsetof(struct ncclbpf_coll_api, state) - COLL_API_SIZE < sizeof(char *),
	      "the last fields that programs see");

static const struct nb_hook_spec hooks[NB_NHOOKS] = {
#define HOOK(name, word, ctx, coherent, doc)                                                      \
	[NB_HOOK_##name] = { NB_HOOK_##name,                                                      \
			     word,                                                                \
			     "ncclbpf_" #ctx,                                                     \
			     NB_HOOK_##name == NB_HOOK_TUNER	  ? TUNER_SIZE                    \
			     : NB_HOOK_##name == NB_HOOK_COLL_API ? COLL_API_SIZE                 \
								  : sizeof(struct ncclbpf_##ctx), \
			     fields_##ctx,                                                        \
			     sizeof(fields_##ctx) / sizeof(fields_##ctx[0]),                      \
			     coherent },
#include "core/defs/hooks.h"
};

const struct nb_hook_spec *nb_spec_hook(enum nb_hook hook)
{
	assert(hook < NB_NHOOKS);
	return &hooks[hook];
}

const struct nb_hook_spec *nb_spec_hook_section(const char *section)
{
	for (size_t i = 0; i < NB_NHOOKS; i++) {
		size_t n = strlen(hooks[i].word);

		if (!strncmp(section, hooks[i].word, n) &&
		    (section[n] == '\0' || section[n] == '/'))
			return &hooks[i];
	}
	return NULL;
}

const struct nb_field_spec *nb_spec_field(const struct nb_hook_spec *hook, uint32_t off)
{
	for (size_t i = 0; i < hook->nfields; i++) {
		const struct nb_field_spec *f = &hook->fields[i];

		if (off >= f->off && off - f->off < f->size)
			return f;
	}
	return NULL;
}

static const struct nb_answer_spec answer_rows[] = {
#define ANSWER(hook, ctx, field, least, most) \
	{ NB_HOOK_##hook, offsetof(struct ctx, field), least, most },
#include "core/defs/answers.h"
};

const struct nb_answer_spec *nb_spec_answers(size_t *n)
{
	*n = sizeof(answer_rows) / sizeof(answer_rows[0]);
	return answer_rows;
}

static const struct nb_param_spec params[NB_NPARAMS] = {
#define PARAM(name, type, def, min, max, choices, unit, who, doc) \
	[NB_P_##name] = { #name, NB_PARAM_##type, def, min, max, choices, unit, NB_PARAM_##who },
#include "core/defs/params.h"
};

const struct nb_param_spec *nb_spec_param(enum nb_param p)
{
	assert(p < NB_NPARAMS);
	return &params[p];
}

bool nb_spec_param_int(enum nb_param p, const char *text, int64_t *out)
{
	const struct nb_param_spec *s = nb_spec_param(p);
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < s->min || v > s->max)
		return false;
	*out = v;
	return true;
}

static const struct nb_cmd_spec cmds[NB_NCMDS] = {
#define CMD(name, words, syntax, least, most, role, help) \
	[NB_CMD_##name] = { words, syntax, least, most, NB_ROLE_##role, help },
#include "core/defs/commands.h"
};

const struct nb_cmd_spec *nb_spec_cmd(enum nb_cmd c)
{
	assert(c < NB_NCMDS);
	return &cmds[c];
}

static const char *const colls[] = {
#define NCCL_COLL(name, value, word) [value] = word,
#include "core/defs/nccl.h"
};

static const char *const algo_words[] = {
#define NCCL_ALGO(name, value, word) [value] = word,
#include "core/defs/nccl.h"
};

static const char *const proto_words[] = {
#define NCCL_PROTO(name, value, word) [value] = word,
#include "core/defs/nccl.h"
};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static int word_index(const char *word, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (nb_same_word(word, list[i]))
			return i;
	return -1;
}

const char *nb_nccl_coll(int coll)
{
	return coll >= 0 && coll < COUNT(colls) ? colls[coll] : NULL;
}

const char *nb_nccl_algo(int algo)
{
	return algo >= 0 && algo < COUNT(algo_words) ? algo_words[algo] : NULL;
}

const char *nb_nccl_proto(int proto)
{
	return proto >= 0 && proto < COUNT(proto_words) ? proto_words[proto] : NULL;
}

int nb_nccl_coll_named(const char *word)
{
	return word_index(word, colls, COUNT(colls));
}

int nb_nccl_algo_named(const char *word)
{
	return word_index(word, algo_words, COUNT(algo_words));
}

int nb_nccl_proto_named(const char *word)
{
	return word_index(word, proto_words, COUNT(proto_words));
}

enum { WORD = 48 };

/*
 * Return the number of typing errors between two words: letters inserted,
 * omitted or replaced, or neighbours swapped. Returns WORD if a word is
 * longer than WORD.
 */
static size_t typing_errors(const char *a, const char *b)
{
	size_t rows[3][WORD + 1], na = strlen(a), nb = strlen(b);
	size_t *above2 = rows[0], *above = rows[1], *row = rows[2];

	if (na > WORD || nb > WORD)
		return WORD;
	for (size_t j = 0; j <= nb; j++)
		row[j] = above[j] = above2[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *oldest = above2;

		above2 = above;
		above = row;
		row = oldest;
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    above2[j - 2] + 1 < best)
				best = above2[j - 2] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

void nb_spec_nearest(const char *word, const char *const *list, size_t n, const char *near[2])
{
	/* Allow one error in three letters; with more errors it is another
	 * word. */
	size_t len = strlen(word), bound = len < 3 ? len : len / 3 + 1;
	size_t best[2] = { bound, bound };

	near[0] = near[1] = NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = typing_errors(word, list[i]);

		if (d < best[0]) {
			best[1] = best[0];
			near[1] = near[0];
			best[0] = d;
			near[0] = list[i];
		} else if (d < best[1]) {
			best[1] = d;
			near[1] = list[i];
		}
	}
}
