// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SAVED_FORMAT_H
#define NB_VERIFY_STATE_SAVED_FORMAT_H

#include <stddef.h>
#include <string.h>

#include "core/bpf/verify/state/state.h"

/* The layout of a saved state, for the files of this folder: the header and
 * the references, then for each frame an nb_saved_frame, its live registers
 * and its cells. A constant range is saved without its bounds, and a cell whose
 * nb_reg says nothing is saved without it. */
struct nb_saved {
	uint32_t nframes;
	uint32_t nrefs;
	struct nb_region region;
	struct nb_budget budget;
	uint64_t data[];
};

struct nb_saved_frame {
	struct nb_cells read, written;
	uint32_t ret, ncells, loop, invocations;
	/* Number of words from this frame's header to the next frame. */
	uint32_t words;
	uint16_t live;
	bool callback, counted;
};

enum {
	NB_REF_WORDS = (sizeof(struct nb_ref) + 7) / 8,
	NB_FRAME_WORDS = (sizeof(struct nb_saved_frame) + 7) / 8,
	NB_REG_HEAD = offsetof(struct nb_reg, r) + sizeof(struct nb_tnum),
	NB_REG_TAIL = sizeof(struct nb_reg) - NB_REG_HEAD,
	NB_CELL_HEAD = offsetof(struct nb_cell, reg)
};

_Static_assert(offsetof(struct nb_range, t) == 0, "known bits come first");
_Static_assert(!(NB_REG_HEAD % 8) && !(NB_REG_TAIL % 8) && !(NB_CELL_HEAD % 8), "words");

/* Return the address of the first stack frame in the saved state @s. */
static inline const uint64_t *nb_saved_frames(const struct nb_saved *s)
{
	return s->data + s->nrefs * (size_t)NB_REF_WORDS;
}

/* Read the header of a frame. Returns the start of the frame's registers. */
static inline const uint64_t *nb_saved_frame(const uint64_t *p, struct nb_saved_frame *s)
{
	memcpy(s, p, sizeof(*s));
	return p + NB_FRAME_WORDS;
}

static inline const uint64_t *nb_saved_reg(const uint64_t *p, struct nb_reg *r)
{
	memcpy(r, p, NB_REG_HEAD);
	p += NB_REG_HEAD / 8;
	if (!r->r.t.mask) {
		r->r = nb_range_const(r->r.t.value);
		return p;
	}
	memcpy((char *)r + NB_REG_HEAD, p, NB_REG_TAIL);
	return p + NB_REG_TAIL / 8;
}

/* Does the nb_reg of the cell hold any information? */
static inline bool nb_cell_has_reg(const struct nb_cell *c)
{
	return c->kind != NB_CELL_BYTES && c->kind != NB_CELL_SPILL8_HI;
}

static inline const uint64_t *nb_saved_cell(const uint64_t *p, struct nb_cell *c)
{
	memcpy(c, p, NB_CELL_HEAD);
	p += NB_CELL_HEAD / 8;
	if (nb_cell_has_reg(c))
		return nb_saved_reg(p, &c->reg);
	c->reg.kind = NB_REG_UNINIT;
	c->reg.label = NB_LABEL_COHERENT;
	c->reg.deps = 0;
	return p;
}

/*
 * Return the registers of @f to save: the live and initialised ones. r10 is
 * left out, since it is the same in every state of a frame.
 */
static inline uint16_t nb_saved_regs(const struct nb_frame *f, uint16_t live)
{
	uint16_t keep = 0;

	for (unsigned i = 0; i < NB_R10; i++)
		if (live & 1u << i && f->regs[i].kind != NB_REG_UNINIT)
			keep |= (uint16_t)(1u << i);
	return keep;
}

#endif
