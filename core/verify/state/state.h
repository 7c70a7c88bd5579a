// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_STATE_H
#define NB_VERIFY_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/isa/insn.h"
#include "core/spec/spec.h"
#include "core/verify/domain/range_alu.h"
#include "core/verify/domain/range_branch.h"
#include "core/verify/state/budget.h"

enum nb_reg_kind {
	NB_REG_UNINIT,
	NB_REG_SCALAR,
	NB_REG_CTX,
	NB_REG_STACK,	      /* into the stack of frame @frame */
	NB_REG_MAP,	      /* handle of map @map */
	NB_REG_MAP_OR_NULL,   /* handle or NULL; copies share @id */
	NB_REG_VALUE,	      /* into a value of map @map */
	NB_REG_VALUE_OR_NULL, /* into a value, or NULL; copies share @id */
	NB_REG_MEM,	      /* into @size bytes that live as long as @ref */
	NB_REG_MEM_OR_NULL,   /* into memory, or NULL; copies share @id */
	NB_REG_RDONLY,	      /* into @size read-only bytes */
	NB_REG_FUNC	      /* code address, slot @map */
};

/*
 * One value. A pointer's @r is its byte offset: into the context, the map
 * value, the memory, or from the frame pointer of frame @frame. It wraps like
 * the machine's addition, so its bounds always hold.
 *
 * Scalars with the same @id (not 0) are linked: each is a common number plus
 * its own @delta, modulo 2^64. A pointer that owns a reference and may be NULL
 * has the reference's id as its @id. A pointer into a value with a lock keeps
 * its @id, which tells map values apart.
 */
struct nb_reg {
	uint8_t kind;
	uint8_t label; /* NB_LABEL_COHERENT or NB_LABEL_LOCAL */
	union {
		uint8_t frame;
		uint8_t align; /* MEM: alignment of its first byte, 1 or 8 */
	};
	uint32_t id;
	union {
		uint32_t map;
		uint32_t size; /* MEM and RDONLY: bytes */
	};
	/* for messages: the slot that read local data (label LOCAL), or that
	 * acquired the memory (MEM) */
	uint32_t from;
	int32_t delta;
	/* MEM: the reference that keeps the memory alive; 0: it lives for the
	 * whole run. Scalars that were pointers, for messages: the slot after
	 * the release of their memory. */
	uint32_t ref;
	uint64_t deps;	   /* scalars: slots that @r, @id, @delta come from */
	struct nb_range r; /* the last member */
};

/* Four bytes of stack. */
enum nb_cell_kind {
	NB_CELL_BYTES,	   /* data, described by the masks alone */
	NB_CELL_SPILL1,	   /* @reg, a scalar, in the lowest byte... */
	NB_CELL_SPILL2,	   /* ...or two bytes; masks describe the others */
	NB_CELL_SPILL4,	   /* @reg, a scalar of 4 bytes */
	NB_CELL_SPILL8,	   /* low half of @reg */
	NB_CELL_SPILL8_HI, /* high half of the cell below */
	NB_CELL_OBJECT,	   /* first of an object, which @reg describes */
	NB_CELL_OBJECT_HI  /* the rest of it */
};

/*
 * Objects that helpers keep on the stack. The program cannot read their bytes:
 * none counts as written. @reg of the first cell describes the object: @map is
 * its kind, @ref its identity, @align the alignment of its memory.
 */
enum nb_object_kind {
	NB_OBJECT_DYNPTR_MEM,  /* into a value of a map */
	NB_OBJECT_DYNPTR_RING, /* a record of a ring buffer, or nothing */
	NB_OBJECT_NUMBERS      /* an iterator; see iter.c for its @reg */
};

struct nb_cell {
	uint8_t kind;
	uint8_t init;  /* bytes written, bit 0 the lowest address */
	uint8_t zero;  /* bytes known to be 0, apart from those of @reg */
	uint8_t local; /* bytes that hold local data */
	uint32_t from;
	struct nb_reg reg; /* the last member */
};

enum { NB_NCELLS = NB_STACK_SIZE / 4, NB_CELL_WORDS = NB_NCELLS / 64 };

/* Cells of a frame. */
struct nb_cells {
	uint64_t at[NB_CELL_WORDS];
};

static inline void nb_cells_add(struct nb_cells *s, uint32_t c)
{
	s->at[c / 64] |= (uint64_t)1 << c % 64;
}

static inline bool nb_cells_has(const struct nb_cells *s, uint32_t c)
{
	return s->at[c / 64] >> c % 64 & 1;
}

#define NB_NO_PC UINT32_MAX /* no slot */

/*
 * A function's registers and stack. Cell 0 is the one right below the frame
 * pointer; cells from @ncells on were never written.
 */
struct nb_frame {
	uint32_t ret; /* slot to return to; NB_NO_PC in the entry */
	uint32_t ncells;
	bool callback; /* called by the helper before @ret, see callback.h */
	/* the active helper call that calls back: its number, its iterations
	 * so far, and whether states with different iterations differ */
	uint32_t loop, turns;
	bool counted;
	/* cells overwritten since the latest explored state; a new frame: all
	 */
	struct nb_cells written;
	struct nb_reg regs[NB_NREGS];
	struct nb_cell cells[NB_NCELLS];
};

/*
 * A region of local control: from the branch on local data at @pc in frame
 * @frame to @end, where all its paths meet (NB_NO_PC: the function's end).
 */
struct nb_region {
	bool open;
	uint8_t frame;
	uint32_t pc, end;
};

/* A reference that the program must release. States list the oldest first. */
enum nb_ref_kind {
	NB_REF_SAMPLE, /* a record of a ring buffer, by its pointer */
	NB_REF_DYNPTR, /* a record of a ring buffer, by a dynptr */
	NB_REF_ITER    /* an iterator on the stack */
};

enum { NB_MAX_REFS = 32 };

struct nb_ref {
	uint32_t id, pc; /* pc: where it was taken */
	uint8_t kind, frame;
	uint32_t turns; /* iterators: steps so far, see explored.c */
};

/* The held lock: it is in the value with identity @id of map @map. */
struct nb_held {
	bool held;
	uint32_t map, id, pc;
};

struct nb_state {
	uint32_t nframes; /* at least 1 */
	uint32_t nrefs;
	struct nb_ref refs[NB_MAX_REFS];
	struct nb_held lock;
	struct nb_region region;
	struct nb_budget budget;
	struct nb_frame frames[NB_MAX_FRAMES];
};

struct nb_reg nb_reg_scalar(struct nb_range r);
/* Any number of @bits, zero-extended. */
struct nb_reg nb_reg_unknown(unsigned bits);
struct nb_reg nb_reg_pointer(enum nb_reg_kind kind);
bool nb_reg_is_pointer(const struct nb_reg *r);
/* A scalar known to be exactly one number. */
bool nb_reg_is_const(const struct nb_reg *r);

static inline struct nb_frame *nb_top(struct nb_state *st)
{
	return &st->frames[st->nframes - 1];
}

/* Drop the links of @r to other scalars. */
static inline void nb_reg_unlink(struct nb_reg *r)
{
	r->id = 0;
	r->delta = 0;
}

static inline bool nb_cell_is_object(const struct nb_cell *c)
{
	return c->kind == NB_CELL_OBJECT || c->kind == NB_CELL_OBJECT_HI;
}

/* Bytes of a scalar that a cell holds in @reg alone; 0: none. */
static inline uint32_t nb_cell_narrow(const struct nb_cell *c)
{
	return c->kind == NB_CELL_SPILL1   ? 1
	       : c->kind == NB_CELL_SPILL2 ? 2
					   : 0;
}

/* Cell that holds byte @off (-512 .. -1) of a frame. */
static inline uint32_t nb_cell_at(int64_t off)
{
	return (uint32_t)((-off - 1) / 4);
}

/* Make cells up to @cell exist. */
void nb_frame_extend(struct nb_frame *f, uint32_t cell);

/* Call @fn for each register and spilled register of @st. */
typedef void nb_reg_fn(void *arg, struct nb_reg *r);
void nb_state_each(struct nb_state *st, nb_reg_fn *fn, void *arg);

#endif
