// SPDX-License-Identifier: MIT
#ifndef NB_TEST_SHADOW_PARTS_H
#define NB_TEST_SHADOW_PARTS_H

#include "test/differential/oracle/shadow.h"

/* The state of a run, and its memory: see shadow.c. */

enum {
	MAX_ELEMS = 16, /* elements kept of a map; more share the last one */
	MAX_REGIONS = NB_IMAGE_MAX_MAPS * MAX_ELEMS + NB_MAX_FRAMES + 2,
	MAX_FRAMES = NB_MAX_FRAMES,
	MAP_BYTES = 64 << 10,
	NO_MAP = UINT16_MAX /* a HANDLE of something else */
};

/* A value: a number, or an address in region @region (from 1). */
enum kind { UNDEF, NUMBER, POINTER, HANDLE };

struct val {
	uint64_t v;
	uint8_t kind;
	uint16_t region; /* POINTER: region; HANDLE: map */
};

enum place { IN_CTX, IN_STACK, IN_VALUE, IN_KEY };

struct region {
	uint64_t base;
	uint32_t size;
	enum place place;
	uint32_t of; /* IN_STACK: frame; IN_VALUE: map */
	bool dead;
	uint8_t *bytes;
};

struct frame {
	uint8_t bytes[NB_STACK_SIZE], init[NB_STACK_SIZE];
	struct val whole[NB_STACK_SIZE / 8]; /* POINTER: stored whole here */
	struct val saved[4];
	uint32_t ret;
	uint16_t region;
	/* a callback's: the call of the helper that it is a turn of */
	bool callback;
	uint64_t n, turn;
	uint32_t to, map; /* the callback; NO_MAP: turns are numbered */
	uint16_t key;	  /* region of the key */
	uint8_t key_bytes[NB_IMAGE_MAX_KEY];
	struct val ctx;
};

struct elem {
	bool present;
	uint16_t region;
	uint8_t key[NB_IMAGE_MAX_KEY];
	uint8_t *value;
};

struct map {
	uint32_t n;
	struct elem elem[MAX_ELEMS];
	uint8_t *values;
};

struct shadow {
	const struct nb_image *img;
	const struct nb_prog *prog;
	const struct nb_insn *insns;
	const struct sh_input *in;
	struct sh_result *out;
	const struct nb_hook_spec *hook;
	struct rng local;
	struct val r[NB_NREGS];
	struct frame frames[MAX_FRAMES];
	uint32_t nframes, pc, passes, cpu;
	bool low; /* memory lies at low addresses */
	uint32_t nregions;
	struct region regions[MAX_REGIONS];
	struct map maps[NB_IMAGE_MAX_MAPS];
};

__attribute__((format(printf, 3, 4))) void sh_fail(struct shadow *s, enum sh_fault f,
						   const char *fmt, ...);
struct val sh_number(uint64_t v);
uint64_t sh_edge(struct rng *r, const struct sh_input *in);
uint16_t sh_region_new(struct shadow *s, enum place place, uint32_t of, uint8_t *bytes,
		       uint32_t size);
struct val sh_pointer(struct shadow *s, uint16_t region, uint64_t off);
bool sh_is_local(const struct nb_map_spec *m);
bool sh_is_hash(const struct nb_map_spec *m);
void sh_map_init(struct shadow *s, uint32_t i);
struct val sh_value_at(struct shadow *s, uint32_t map, uint32_t e, uint64_t off);
struct elem *sh_hash_find(struct shadow *s, uint32_t map, const uint8_t *key);
struct val sh_mem_load(struct shadow *s, const struct val *p, int64_t off, uint32_t size);
void sh_mem_store(struct shadow *s, const struct val *p, int64_t off, uint32_t size,
		  const struct val *v);
bool sh_mem_copy(struct shadow *s, const struct val *p, uint64_t size, uint8_t *to);
uint64_t sh_sext(uint64_t v, unsigned bits);
uint64_t sh_trunc_to(uint64_t v, unsigned bits);
uint64_t sh_swap_bytes(uint64_t v, unsigned bits);
uint64_t sh_compute(const struct nb_insn *in, uint64_t a, uint64_t b);
bool sh_holds(const struct nb_insn *in, uint64_t a, uint64_t b);

#endif
