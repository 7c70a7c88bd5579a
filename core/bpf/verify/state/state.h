// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_STATE_H
#define NB_VERIFY_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bpf/isa/insn.h"
#include "core/spec/spec.h"
#include "core/bpf/verify/domain/range_alu.h"
#include "core/bpf/verify/domain/range_branch.h"
#include "core/bpf/verify/state/spent.h"

enum nb_reg_kind {
	NB_REG_UNINIT,
	NB_REG_SCALAR,
	NB_REG_CTX,
	NB_REG_STACK, /* Pointer into the stack of frame @frame. */
	NB_REG_MAP,   /* Handle of map @map. */
	NB_REG_VALUE, /* Pointer into a value of map @map. */
	/* Pointer into a map value, or NULL; copies share @id. */
	NB_REG_VALUE_OR_NULL,
	/* Pointer into @size bytes that live as long as reference @ref. */
	NB_REG_MEM,
	/* Pointer into memory, or NULL; copies share @id. */
	NB_REG_MEM_OR_NULL,
	NB_REG_RDONLY, /* Pointer into @size read-only bytes. */
	NB_REG_FUNC    /* Code address: the function at slot @map. */
};

/*
 * One value. @r of a pointer is its byte offset: into the context, the map
 * value, the memory, or from the frame pointer of frame @frame. The offset
 * wraps like the machine's addition, so its bounds always hold.
 *
 * Scalars with the same @id (not 0) are linked: each is a common number plus
 * its own @delta, modulo 2^64. A pointer that owns a reference and may be NULL
 * has the reference's id as its @id.
 */
struct nb_reg {
	uint8_t kind;
	/* Coherence label: NB_LABEL_COHERENT or NB_LABEL_LOCAL. */
	uint8_t label;
	uint8_t frame;
	uint32_t id;
	union {
		uint32_t map;
		/* MEM and RDONLY: size of the memory in bytes. */
		uint32_t size;
	};
	/*
	 * For messages. Label LOCAL: the slot that read the rank-local data.
	 * MEM: the slot that acquired the memory.
	 */
	uint32_t from;
	int32_t delta;
	/* MEM: the reference that keeps the memory alive; 0 if the memory
	 * lives for the whole run. For a scalar that was a pointer into
	 * memory since released, used in messages: the slot after the
	 * release. */
	uint32_t ref;
	/* For a scalar: the slots of an explored state from which @r, @id and
	 * @delta were computed. */
	uint64_t deps;
	struct nb_range r; /* This has to be the last member. */
};

/* The content of four bytes of stack. */
enum nb_cell_kind {
	NB_CELL_BYTES, /* Plain data; only the byte masks describe it. */
	/* The lowest byte is the scalar @reg; byte masks describe the
	 * others. */
	NB_CELL_SPILL1,
	/* The lowest two bytes are the scalar @reg; byte masks describe the
	 * others. */
	NB_CELL_SPILL2,
	NB_CELL_SPILL4,	   /* All 4 bytes are the scalar @reg. */
	NB_CELL_SPILL8,	   /* The low half of the 8-byte value @reg. */
	NB_CELL_SPILL8_HI, /* The high half of the value in the cell below. */
	/* The first cell of an iterator. The program cannot read its bytes, so
	 * none of them counts as written. iter.c explains @reg. */
	NB_CELL_OBJECT,
	NB_CELL_OBJECT_HI /* A further cell of the object below. */
};

struct nb_cell {
	uint8_t kind;
	/* Mask of the written bytes; bit 0 is the lowest address. */
	uint8_t init;
	/* Mask of bytes known to be 0, apart from the bytes of @reg. */
	uint8_t zero;
	uint8_t local; /* Mask of bytes that hold rank-local data. */
	uint32_t from;
	struct nb_reg reg; /* This has to be the last member. */
};

enum { NB_NCELLS = NB_STACK_SIZE / 4, NB_CELL_WORDS = NB_NCELLS / 64 };

/* A set of stack cells of one frame. */
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

#define NB_NO_PC UINT32_MAX /* No instruction slot. */

/* The registers and stack of a function. Cell 0 is right below the frame
 * pointer. Cells from @ncells on were never written. */
struct nb_frame {
	/* The slot to return to; NB_NO_PC in the entry function. */
	uint32_t ret;
	uint32_t ncells;
	/* The helper called before slot @ret called this function back; see
	 * callback.h. */
	bool callback;
	/* The active helper call that calls functions back: its number, its
	 * iterations so far, and whether states with different iterations
	 * differ. */
	uint32_t loop, invocations;
	bool counted;
	/* Cells overwritten since the latest explored state. In a new frame
	 * these are all cells. */
	struct nb_cells written;
	struct nb_reg regs[NB_NREGS];
	struct nb_cell cells[NB_NCELLS];
};

/* A region of local control. It reaches from the branch on rank-local data
 * at @pc in frame @frame to slot @end, where all its paths meet. @end is
 * NB_NO_PC for the end of the function. */
struct nb_region {
	bool open;
	uint8_t frame;
	uint32_t pc, end;
};

/* A reference that the program must release. States list the oldest first. */
enum nb_ref_kind {
	NB_REF_SAMPLE, /* A record of a ring buffer, held by a pointer. */
	NB_REF_ITER    /* An iterator on the stack. */
};

enum { NB_MAX_REFS = 32 };

struct nb_ref {
	/* Identity of the reference, and the slot that acquired it. */
	uint32_t id, pc;
	uint8_t kind, frame;
	/* Iterators: frame and first cell of the object; see iter.c. */
	uint8_t object_frame, object_cell;
	uint32_t steps; /* Iterators: number of steps so far; see explored.c. */
};

struct nb_state {
	uint32_t nframes; /* Number of frames, at least 1. */
	uint32_t nrefs;
	struct nb_ref refs[NB_MAX_REFS];
	struct nb_region region;
	struct nb_budget budget;
	struct nb_frame frames[NB_MAX_FRAMES];
};

struct nb_reg nb_reg_scalar(struct nb_range r);
/* Return a scalar of which nothing but its width of @bits is known; upper
 * bits are 0. */
struct nb_reg nb_reg_unknown(unsigned bits);
struct nb_reg nb_reg_pointer(enum nb_reg_kind kind);
bool nb_reg_is_pointer(const struct nb_reg *r);
/* Is @r a scalar known to be exactly one number? */
bool nb_reg_is_const(const struct nb_reg *r);
bool nb_reg_is_zero(const struct nb_reg *r);

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

/* Return how many bytes of a scalar the cell holds in @reg alone; 0 if it
 * holds none that way. */
static inline uint32_t nb_cell_narrow(const struct nb_cell *c)
{
	return c->kind == NB_CELL_SPILL1 ? 1 : c->kind == NB_CELL_SPILL2 ? 2 : 0;
}

/* Return the cell that holds byte @off (-512 .. -1) of a frame. */
static inline uint32_t nb_cell_at(int64_t off)
{
	return (uint32_t)((-off - 1) / 4);
}

/* Forget r0 to r5 of the top frame, which a call clobbers. */
static inline void nb_clobber(struct nb_state *st)
{
	memset(nb_top(st)->regs, 0, 6 * sizeof(struct nb_reg));
}

/* Prepare the frame above the top for a function that returns to slot @ret.
 * The caller sets its arguments and then increments @nframes. */
struct nb_frame *nb_frame_next(struct nb_state *st, uint32_t ret);

/* Is cell @c part of a spilled pointer? */
bool nb_cell_of_pointer(const struct nb_frame *f, uint32_t c);

/* Initialise all cells of @f up to and including @cell. */
void nb_frame_extend(struct nb_frame *f, uint32_t cell);

/* Call @fn for each register and each spilled register of @st. */
typedef void nb_reg_fn(void *arg, struct nb_reg *r);
void nb_state_each(struct nb_state *st, nb_reg_fn *fn, void *arg);

#endif
