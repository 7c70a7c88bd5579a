// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Bytes as a program that both engines run, with the same outcome: r0, the
// context and all maps. The first byte chooses how the rest becomes one: as
// it stands, if the verifier accepts it, compiled with and without what the
// verifier knows; or bent into arithmetic and forward jumps, which need no
// verifier.
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/map/map.h"
#include "test/unit/verify_image.h"
#include "test/unit/compile_one.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CTX = 256, CONTENTS = 1 << 16, REGS = 10 };

static struct nb_map *maps[CASE_PLAIN];
static struct case_image image;

static void must(int claim, const char *what)
{
	if (claim)
		return;
	fprintf(stderr, "fuzz_jit: %s\n", what);
	abort();
}

static void make_maps(void)
{
	cpu_set_t one;

	if (maps[0])
		return;
	/* both engines must see the same per-CPU values */
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (unsigned i = 0; i < CASE_PLAIN; i++) {
		const struct nb_map_spec *s = &case_maps[i];
		struct nb_map_def def = { s->name,	 s->type,	 s->key_size,
					  s->value_size, s->max_entries, s->flags };
		struct nb_err err;

		must(!nb_map_new(&maps[i], &def, &err), "no map");
	}
}

/* As new: hashes empty, values zero but for read-only data. */
static void reset(const struct nb_map_spec *s, struct nb_map *m)
{
	unsigned char key[NB_IMAGE_MAX_KEY];
	unsigned char *zero = calloc(1, nb_map_user_value_size(m));
	struct nb_err err;

	must(zero != NULL, "no memory");
	while (s->type == NB_MAP_HASH && !nb_map_next(m, NULL, key))
		must(!nb_map_erase(m, key, &err), "no erase");
	for (uint32_t i = 0; s->type != NB_MAP_HASH && i < s->max_entries; i++)
		must(!nb_map_write(m, &i, zero, NB_ANY, &err), "no write");
	if (s->init)
		memcpy(nb_map_array_base(m), s->init, s->value_size);
	free(zero);
}

/* What a run leaves behind. */
struct outcome {
	uint64_t r0;
	unsigned char ctx[CTX];
	size_t size;
	unsigned char contents[CONTENTS];
};

static void append(struct outcome *o, const void *p, size_t n)
{
	must(o->size + n <= CONTENTS, "the maps of the test grew");
	memcpy(o->contents + o->size, p, n);
	o->size += n;
}

static void record(struct outcome *o, const struct nb_map_spec *s, const struct nb_map *m)
{
	unsigned char key[NB_IMAGE_MAX_KEY];
	size_t n = nb_map_user_value_size(m);
	unsigned char *value = calloc(1, n);
	struct nb_err err;
	int rc;

	must(value != NULL, "no memory");
	for (rc = nb_map_next(m, NULL, key); !rc; rc = nb_map_next(m, key, key)) {
		append(o, key, s->key_size);
		must(!nb_map_read(m, key, value, &err), "no read");
		append(o, value, n);
	}
	free(value);
}

static void run(struct outcome *o, const struct nb_exec *x, nb_engine_fn *engine, unsigned fill)
{
	memset(o, 0, sizeof(*o));
	/* what programs do not see stays zero: it has addresses */
	memset(o->ctx, (int)(fill * 0x55), nb_spec_hook(NB_HOOK_TUNER)->ctx_size);
	for (unsigned i = 0; i < CASE_PLAIN; i++)
		reset(&case_maps[i], maps[i]);
	o->r0 = engine(x, o->ctx, CTX);
	for (unsigned i = 0; i < CASE_PLAIN; i++)
		record(o, &case_maps[i], maps[i]);
}

static int has(uint8_t opcode)
{
	for (uint32_t i = 0; i < image.prog.nslots; i++)
		if (image.slots[i].opcode == opcode)
			return 1;
	return 0;
}

static void compare(const struct nb_exec *x)
{
	static struct outcome a, b;

	/* a loop that only may_goto ends takes its time */
	const unsigned fills = has(0xe5) ? 1 : 3;

	for (unsigned fill = 0; fill < fills; fill++) {
		run(&a, x, nb_exec_interpret, fill);
		run(&b, x, x->jit->entry, fill);
		must(a.r0 == b.r0, "r0 differs");
		must(!memcmp(a.ctx, b.ctx, CTX), "the context differs");
		must(a.size == b.size && !memcmp(a.contents, b.contents, a.size), "maps differ");
	}
}

static void both(const uint8_t *aux)
{
	struct nb_exec *x;
	struct nb_err err;

	make_maps();
	for (int known = 0; known <= (aux ? 1 : 0); known++) {
		if (nb_exec_new(&x, &image.img, 0, maps, NULL, &err))
			return;
		/* not if this machine has no compiler */
		if (compile_one(x, known ? aux : NULL, &err) != NB_E_NOTSUP) {
			must(x->jit != NULL, err.text);
			compare(x);
		}
		nb_exec_free(x);
	}
}

/* ---- as it stands ---- */

/* Time and random numbers are not the same twice, nor is the order in which
 * elements of a hash are visited that was filled before. */
static int repeats(const struct nb_slot *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s[i].opcode == 0x85 && (s[i].imm == 5 || s[i].imm == 7 || s[i].imm == 164))
			return 0;
	return 1;
}

static void verified(const uint8_t *data, size_t size)
{
	struct nb_verify_opts o = { .max_insns = 5000,
				    .max_memory = 8 << 20,
				    .coherence_off = true };
	struct nb_verdict *v;
	struct nb_err err;
	uint32_t n = (uint32_t)(size / NB_SLOT_SIZE);

	n = n > 512 ? 512 : n;
	memcpy(image.slots, data, n * sizeof(image.slots[0]));
	case_init(&image, n);
	image.img.nmaps = CASE_PLAIN;
	if (!n || !repeats(image.slots, n) || nb_verify(&v, &image.img, 0, &o, &err))
		return;
	if (v->accepted)
		both(v->aux);
	nb_verdict_free(v);
}

/* ---- bent ---- */

static uint32_t set_registers(uint64_t seed)
{
	uint32_t n = 0;

	for (unsigned r = 0; r < REGS; r++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		image.slots[n++] = (struct nb_slot){ 0x18, (uint8_t)r, 0, (int32_t)(seed >> 32) };
		image.slots[n++] = (struct nb_slot){ .imm = seed & 1 ? (int32_t)(seed >> 16) : 0 };
	}
	return n;
}

/* The row of the instruction is drawn by @p; jumps lead at most 7 on. */
static struct nb_slot bend(const struct nb_slot *p, uint32_t left)
{
	const struct nb_insn_spec *row;
	unsigned op = (unsigned)(p->opcode + (uint8_t)p->off);
	int16_t off;

	do
		row = nb_spec_insn((enum nb_op)(op++ % NB_OP_LDDW_HI));
	while (row->kind != NB_KIND_ALU && row->kind != NB_KIND_JMP);
	off = (int16_t)((uint32_t)(p->off & 7) % (left + 1));
	return (struct nb_slot){
		row->opcode,
		(uint8_t)(p->regs % REGS |
			  (row->src == NB_FIELD_ANY ? (p->regs >> 4) % REGS : (unsigned)row->src)
				  << 4),
		row->off == NB_FIELD_ANY ? off : (int16_t)row->off,
		row->imm == NB_FIELD_ANY ? p->imm : row->imm
	};
}

static void bent(const uint8_t *data, size_t size)
{
	uint32_t n = set_registers(size), from = n, count;

	count = (uint32_t)(size / NB_SLOT_SIZE);
	count = count > 512 ? 512 : count;
	for (uint32_t i = 0; i < count; i++) {
		struct nb_slot s;

		memcpy(&s, data + i * sizeof(s), sizeof(s));
		image.slots[n++] = bend(&s, count - 1 - i);
	}
	/* all registers count */
	for (unsigned r = 1; r < REGS; r++) {
		image.slots[n++] = (struct nb_slot){ .opcode = 0x27, .imm = 0x1e3779b1 };
		image.slots[n++] = (struct nb_slot){ .opcode = 0xaf, .regs = (uint8_t)(r << 4) };
	}
	image.slots[n++] = (struct nb_slot){ .opcode = 0x95 };
	must(from < n && n < CASE_SLOTS, "program too long");
	case_init(&image, n);
	image.img.nmaps = CASE_PLAIN;
	both(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 4)
		bent(data + 1, size - 1);
	else
		verified(data + 1, size - 1);
	return 0;
}
