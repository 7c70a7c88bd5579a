// SPDX-License-Identifier: MIT
// Programs of the corpus with a place or two changed at random: most of them
// are refused by both sides, for reasons nobody wrote a test for.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/isa/insn.h"
#include "test/differential/kcorpus/kcorpus.h"
#include "test/differential/embedding/mutate.h"

enum { MAX_WORDS = 256 };

static struct kc_words words[MAX_WORDS];
static struct kc_mutated done = { .words = words };
static struct rng rng;

static void disasm(char *out, size_t size, const struct nb_slot *slots, uint32_t n)
{
	struct nb_insn *insns = calloc(n, sizeof(*insns));
	struct nb_slot *calls = malloc(n * sizeof(*calls));
	struct nb_err err;
	size_t used = 0;
	char text[128];

	out[0] = '\0';
	/* Kernel functions by their type ids, as if they were helpers. */
	for (uint32_t pc = 0; calls && pc < n; pc++) {
		calls[pc] = slots[pc];
		if (slots[pc].opcode == 0x85 && slots[pc].regs >> 4 == 2) {
			calls[pc].regs &= 0xf;
			calls[pc].off = 0;
		}
	}
	if (insns && calls && !nb_decode(insns, calls, n, &err))
		for (uint32_t pc = 0; pc < n && used < size; pc++) {
			if (insns[pc].op == NB_OP_LDDW_HI)
				continue;
			nb_disasm(text, sizeof(text), &insns[pc], NULL, NULL);
			used += (size_t)snprintf(out + used, size - used, "    %3u: %s\n", pc,
						 text);
		}
	free(calls);
	free(insns);
}

/* One message whatever its numbers. */
static void plain(char *reason)
{
	char *to = reason;

	for (char *p = reason; *p;) {
		bool digit = isdigit((unsigned char)*p);

		*to++ = digit ? '#' : *p;
		do {
			p++;
		} while (digit && isxdigit((unsigned char)*p));
	}
	*to = '\0';
}

static void note(const struct kc_prog *p, char *reason, const struct nb_slot *slots, uint32_t n)
{
	struct kc_words *w = words;
	size_t used;

	plain(reason);
	while (w < words + done.nwords && strcmp(w->text, reason) != 0)
		w++;
	if (w == words + MAX_WORDS)
		w--;
	w->n++;
	if (w < words + done.nwords)
		return;
	done.nwords++;
	snprintf(w->text, sizeof(w->text), "%s", reason);
	used = (size_t)snprintf(w->program, sizeof(w->program), "%s:%s\n", p->file, p->name);
	disasm(w->program + used, sizeof(w->program) - used, slots, n);
}

void kc_mutants(const struct kc_prog *p, const struct kc_code *c, unsigned n)
{
	const char *seed = getenv("ORACLE_SEED");
	struct nb_slot *slots = malloc(c->n * sizeof(*slots));
	uint8_t *aux = malloc(c->n);
	struct kc_code mutant = *c;
	char reason[256];

	if (!rng.s)
		rng.s = seed ? strtoull(seed, NULL, 0) : 1;
	for (unsigned i = 0; slots && aux && i < n; i++) {
		int64_t slot;
		int kernel;

		memcpy(slots, c->insns, c->n * sizeof(*slots));
		slots_mutate(slots, c->n, 1 + rng_below(&rng, 3), &rng);
		mutant.insns = (const struct bpf_insn *)slots;
		done.tried++;
		if (!kc_accepts(p, &mutant, aux))
			continue;
		done.ours++;
		kernel = kc_ask(&mutant, reason, sizeof(reason), &slot);
		done.both += kernel == 1;
		if (!kernel && slot >= 0 && slot < c->n && !(aux[slot] & NB_AUX_REACHED))
			done.dead++;
		else if (!kernel)
			note(p, reason, slots, c->n);
	}
	free(slots);
	free(aux);
}

const struct kc_mutated *kc_mutated(void)
{
	return &done;
}
