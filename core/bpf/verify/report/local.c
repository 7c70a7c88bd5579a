// SPDX-License-Identifier: MIT
/*
 * Why an instruction yields data that differs between ranks: its row of
 * core/defs/local_sources.h.
 */
#include "core/bpf/verify/report/local.h"

#include "core/bpf/verify/report/refuse.h"

enum local_source {
#define LOCAL(name, text, hint) LOCAL_##name,
#include "core/defs/local_sources.h"
};

static const struct nb_local_words local_words[] = {
#define LOCAL(name, text, hint) { text, hint },
#include "core/defs/local_sources.h"
};

static enum local_source source_of_map(const struct nb_map_spec *m)
{
	if (m->origin != NB_ORIGIN_DEFINED)
		return LOCAL_VARIABLE;
	if (m->type == NB_MAP_PERCPU_ARRAY)
		return LOCAL_PERCPU_MAP;
	return m->tags & NB_MAPF_HOST ? LOCAL_HOST_MAP : LOCAL_MAP;
}

static enum local_source source_of_load(struct nb_env *env, struct nb_refusal *x)
{
	if (x->pointer->kind == NB_REG_CTX)
		return LOCAL_FIELD;
	if (x->pointer->kind != NB_REG_VALUE)
		return LOCAL_MEMORY;
	x->map = x->pointer->map;
	return source_of_map(&env->program.img->maps[x->map]);
}

struct nb_local_words nb_say_local(struct nb_env *env, const struct nb_reg *regs,
				   const struct nb_mem_access *access, uint32_t pc)
{
	const struct nb_insn *in = &env->program.insns[pc];
	struct nb_refusal x = { .pc = pc, .pointer = &regs[access->reg], .off = &access->off };
	enum local_source text = LOCAL_BRANCH, hint;

	if (nb_insn_calls_helper(in))
		x.helper = nb_spec_helper((int32_t)in->imm);
	if (env->walk.found.noted[pc] & NB_NOTED_ADDRESS || in->kind == NB_KIND_ALU)
		text = LOCAL_ADDRESS;
	else if (access->loads)
		text = source_of_load(env, &x);
	else if (x.helper)
		text = x.helper->success == NB_SUCCESS_CPUS ? LOCAL_CPUS : LOCAL_HELPER;
	hint = text;
	if (text == LOCAL_HELPER && x.helper->label == NB_LABEL_MAP && regs[1].kind == NB_REG_MAP) {
		x.map = regs[1].map;
		text = LOCAL_ELEMENTS;
		hint = source_of_map(&env->program.img->maps[x.map]);
	}
	return (struct nb_local_words){ nb_expand(env, local_words[text].text, &x),
					nb_expand(env, local_words[hint].hint, &x) };
}
