// SPDX-License-Identifier: MIT
#ifndef NB_TEST_EMBED_H
#define NB_TEST_EMBED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/verify/state/env.h"

/*
 * State embedding: random programs that the verifier accepts run in a machine
 * that trusts nothing, and at each instruction registers, stack and what is
 * held must lie inside one of the abstract states that were walked there.
 *
 * One program and one machine a process; not thread-safe.
 */

/* ---- the program (gen*.c, take.c) ---- */

enum {
	EM_SLOTS = 4096,
	EM_FUNCS = 32,
	EM_ELEMS = 16, /* of a map: others are the same again */
	EM_CTX = 256,
	EM_PLAIN = 1024,
	EM_MOST_MAPS = 48,
	EM_VALUE = 1024, /* bytes, at most */
	EM_KEY_SIZE = 8
};

enum em_map {
	EM_COUNTS,
	EM_LIMITS,
	EM_SEEN,
	EM_CHOSEN,
	EM_RODATA,
	EM_BSS,
	EM_CONFIG,
	EM_SINK,
	EM_PERCPU,
	EM_RING,
	EM_LRU,
	EM_STATE
};

/* Those of the program at hand; generated ones have case_maps (verify_image.h). */
extern const struct nb_map_spec *em_maps;
extern uint32_t em_nmaps;

struct em_prog {
	struct nb_slot slots[EM_SLOTS];
	struct nb_insn insns[EM_SLOTS];
	struct nb_func funcs[EM_FUNCS];
	struct nb_prog prog;
	struct nb_image img;
	uint32_t n, nfuncs;
	const struct nb_hook_spec *hook;
	uint32_t plain; /* r1 is of so many bytes, not the context */
};

extern struct em_prog em_prog;

/*
 * Make the program of @seed; false: it does not decode. @kernel: only what a
 * kernel's verifier knows as well, and nothing is written to the context.
 */
bool em_generate(uint64_t seed, bool kernel);
/* The same for one hook: NB_HOOK_TUNER or NB_HOOK_COLL_API. */
bool em_generate_for(uint64_t seed, enum nb_hook hook);
/*
 * Take program @prog of @img, which is borrowed. false: the machine has no
 * room for it, or for its maps.
 */
bool em_take(const struct nb_image *img, uint32_t prog, uint32_t plain);
/* Does the content of the map differ between ranks? */
bool em_map_is_local(uint32_t map);

/* ---- features: what ran in an accepted program ---- */

enum em_feature {
#define FEATURE(name, word) EM_F_##name,
#include "test/differential/embedding/features.h"
	EM_NFEATURES
};

extern const char *const em_feature_words[EM_NFEATURES];

/* ---- the machine (machine.c, memory.c, helpers.c) ---- */

enum {
	EM_R_CTX = 1,
	EM_R_STACK = 8, /* frame f: + f */
	EM_R_PLAIN = 30,
	EM_R_VALUE = 32, /* element e of map m: + m * EM_ELEMS + e */
	EM_R_HANDLE = 1024,
	EM_R_CODE = 1500, /* function f: + f */
	EM_R_LENT = 2048, /* + number of what is lent */
	/* bits of an offset in its region, one of the two in each run: all
	 * addresses of a low layout are below 2^29, as a heap's may be */
	EM_HIGH = 40,
	EM_LOW = 16,
	EM_LENT = 4096,
	EM_OBJECTS = 1024,
	EM_POOL = 32 << 10,
	EM_NEAR = 64,
	EM_HELD = 64
};

struct em_value {
	bool used;
	uint64_t key;
	uint8_t bytes[EM_VALUE];
};

/* Memory with an end: by its own region, while it lives. */
enum em_lent_kind { EM_SAMPLE, EM_NUMBER, EM_KEY };

struct em_lent {
	uint8_t kind;
	bool live;
	uint32_t base;	       /* its offset in the region: of what alignment it is */
	uint32_t size, object; /* NUMBER: of this object */
	uint8_t *bytes;
};

/* An iterator, which helpers keep on the stack. */
struct em_object {
	bool live;
	uint32_t frame, off, size; /* off: from the stack's lowest byte */
	int32_t cur, end;
	bool sure; /* it comes to its end */
	bool given;
};

struct em_frame {
	uint64_t reg[NB_NREGS];
	uint32_t written; /* registers */
	uint8_t stack[NB_STACK_SIZE];
	uint8_t init[NB_STACK_SIZE];
	uint32_t ret, start;
	bool callback;
	/* a helper that calls back is at work for this frame */
	bool looping;
	uint32_t invocations, cursor, key;
	uint8_t key_bytes[16];
};

/* Held, in the order it was taken. */
struct em_held {
	uint8_t kind; /* enum nb_ref_kind */
	uint32_t frame, what;
};

struct em_machine {
	uint8_t ctx[EM_CTX];
	uint8_t plain[EM_PLAIN];
	uint16_t filled[EM_MOST_MAPS]; /* elements with content */
	struct em_value maps[EM_MOST_MAPS][EM_ELEMS];
	struct em_frame frames[NB_MAX_FRAMES];
	uint32_t nframes, pc, steps, budget, iterations, iter_steps;
	/* instructions since the last charge; the most so far, and those
	 * before the first one */
	uint32_t since, iteration, first;
	bool charged;
	/* where memory lies: local data */
	uint64_t salt;
	unsigned region_bits;
	uint64_t local;	 /* state of local randomness */
	uint64_t shared; /* seed of what helpers answer on all ranks alike */
	struct em_lent lent[EM_LENT];
	uint32_t nlent;
	struct em_object objects[EM_OBJECTS];
	uint32_t nobjects;
	uint8_t pool[EM_POOL];
	uint32_t pool_used;
	/* what the program compares with: inputs are often near it */
	int64_t near[EM_NEAR];
	uint32_t nnear;
	struct em_held held[EM_HELD];
	uint32_t nheld;
	bool over;  /* more than this machine has room for */
	bool lacks; /* a helper that this machine does not have */
	bool ended; /* the program is done */
	const char *fault;
	bool ran[EM_NFEATURES];
};

extern struct em_machine em;
/* Numbers of iterators that come for sure in each run: nb_verdict.iter_steps.
 */
extern uint32_t em_iter_steps;

/* Coherent inputs come from @coherent, the others from @local. */
void em_prepare(uint64_t coherent, uint64_t local);
/* One instruction. false: at the end, or em.fault, or em.over. */
bool em_step(void);

uint64_t em_address(uint32_t region, uint64_t off);
uint32_t em_region(uint64_t a);
uint64_t em_offset(uint64_t a);
bool em_fault(const char *what);
uint64_t em_local(void);
uint64_t em_mix(uint64_t a, uint64_t b);
/* A pass, invocation or iterator step that the run counts. */
void em_charge(void);
/* Element @e of a map: the only way to its content. */
struct em_value *em_element(uint32_t map, uint32_t e);
static inline struct em_frame *em_top(void)
{
	return &em.frames[em.nframes - 1];
}
static inline bool em_need(unsigned r)
{
	return em_top()->written >> r & 1 ? true : em_fault("read of an unset register");
}
static inline void em_set(unsigned r, uint64_t v)
{
	em_top()->reg[r] = v;
	em_top()->written |= 1u << r;
}

/* memory.c */
uint8_t *em_memory(uint64_t a, uint64_t size, bool write, uint8_t **init);
bool em_load(uint64_t a, unsigned size, uint64_t *out);
bool em_store(uint64_t a, unsigned size, uint64_t v);
/* @size bytes are there, written, and may be read; *@hash: their content. */
bool em_read(uint64_t a, uint64_t size, uint8_t *to, uint64_t *hash);
bool em_write(uint64_t a, uint64_t size, const uint8_t *from);
uint32_t em_lend(enum em_lent_kind kind, uint8_t *bytes, uint32_t size, uint32_t object);
/* The object at stack address @a, live; -1: none. */
int em_object_at(uint64_t a);
int em_object_new(uint64_t a, uint32_t size);
void em_object_end(uint32_t o);
void em_hold(enum nb_ref_kind kind, uint32_t what);
bool em_release(enum nb_ref_kind kind, uint32_t what);
/* A function returned: its caller holds what it did. */
void em_keep(void);
/* A frame ends, or an invocation of a callback: nothing of it may be held. */
bool em_leave_frame(uint32_t frame, bool all_returned);

/* helpers.c */
bool em_helper(int64_t id);
uint64_t em_lookup(uint32_t map, uint64_t key_at);

/*
 * What all ranks must have in common after a run: the outputs of the context, and the
 * replicated maps, one after the other; bytes.
 */
enum { EM_OUTPUTS = EM_CTX + 16 * 1024 };
uint32_t em_outputs(uint8_t to[EM_OUTPUTS]);

/* ---- the states (holds.c) ---- */

/* Collect the states of a walk: for nb_verify_opts.observe. */
void em_observe(void *arg, struct nb_env *env, const struct nb_state *st, uint32_t pc);
void em_forget(void);
/* Is the machine inside one of them? Yes where there were too many. */
bool em_embedded(void);
/* Print the states at this slot, for a failure. */
void em_dump_states(void);

/* ---- the verdict and the runs (drive.c) ---- */

struct em_trial {
	uint32_t prog, max_insns, times; /* how often it runs */
	uint32_t max_steps;		 /* of a run; 0: what is usual */
	bool unlabelled;
	/* out: accepted for a job; with all states known; as coherent, and
	 * runs of two ranks that took different ways; a helper is lacking */
	bool accepted, held, coherent, lacks;
	uint32_t runs, cut, apart;
	char why[480];
};

/*
 * Judge the program that em_generate or em_take left, and run it. false: a
 * promise does not hold (t->why; what is known of it is printed).
 */
bool em_try(struct em_trial *t, uint64_t seed);
/* Do @times runs of it end without a fault? Held against no verdict. */
bool em_runs_clean(uint64_t seed, uint32_t times);

#endif
