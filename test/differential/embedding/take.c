// SPDX-License-Identifier: MIT
// The program at hand, when it is not generated.
#include "test/differential/embedding/embed.h"

#include <string.h>

const struct nb_map_spec *em_maps;
uint32_t em_nmaps;

const char *const em_feature_words[EM_NFEATURES] = {
#define FEATURE(name, word) word,
#include "test/differential/embedding/features.h"
};

bool em_map_is_local(uint32_t map)
{
	return !(em_maps[map].tags & (NB_MAPF_COHERENT | NB_MAPF_REPLICATED)) &&
	       em_maps[map].origin != NB_ORIGIN_RODATA;
}

static bool fits(const struct nb_map_spec *s)
{
	return s->key_size <= EM_KEY_SIZE && s->value_size <= EM_VALUE;
}

/* Functions that nobody declared begin where calls lead. */
static bool find_functions(struct em_prog *p)
{
	for (uint32_t pc = 0; pc < p->n; pc++) {
		int64_t to = (int64_t)pc + 1 + p->insns[pc].off;
		uint32_t f = 0;

		if (p->insns[pc].op != NB_OP_CALL_LOCAL && p->insns[pc].op != NB_OP_LDDW_FUNC)
			continue;
		while (f < p->nfuncs && p->funcs[f].start != to)
			f++;
		if (f == EM_FUNCS)
			return false;
		if (f == p->nfuncs)
			p->funcs[p->nfuncs++] =
				(struct nb_func){ .name = "?", .start = (uint32_t)to };
	}
	return true;
}

bool em_take(const struct nb_image *img, uint32_t prog, uint32_t plain)
{
	const struct nb_prog *from = &img->progs[prog];
	struct em_prog *p = &em_prog;
	struct nb_err err;

	if (from->nslots > EM_SLOTS || from->nfuncs > EM_FUNCS || img->nmaps > EM_MOST_MAPS ||
	    plain > EM_PLAIN)
		return false;
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (!fits(&img->maps[i]))
			return false;
	em_forget();
	memcpy(p->slots, from->slots, from->nslots * sizeof(p->slots[0]));
	memcpy(p->funcs, from->funcs, from->nfuncs * sizeof(p->funcs[0]));
	p->n = from->nslots;
	p->nfuncs = from->nfuncs;
	p->prog = *from;
	p->prog.slots = p->slots;
	p->img = *img;
	p->hook = nb_spec_hook(from->hook);
	p->plain = plain;
	em_maps = img->maps;
	em_nmaps = img->nmaps;
	return p->hook->ctx_size <= EM_CTX && !nb_decode(p->insns, p->slots, p->n, &err) &&
	       find_functions(p);
}
