// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_MARKS_H
#define NB_VERIFY_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/verify/state.h"

struct nb_env;

/* Scalars of a stored state that may turn out not to matter. */
enum { NB_MAX_SLOTS = 64 };

/*
 * What mattered of a stored state while ways from it are walked: see marks.c.
 */
struct nb_marks {
	struct nb_marks *up; /* of the stored state before, or NULL */
	uint64_t precise;    /* slots whose value was relied on */
	uint32_t nslots, nframes;
	uint64_t *deps;		  /* slots of @up that each slot came from */
	struct nb_cells *read;	  /* of each frame: looked at from here on */
	struct nb_cells *written; /* of each frame: overwritten since @up */
};

/*
 * nb_marks_begin - @st is about to be stored: count its slots anew
 * @mem: nb_marks_size(@st) bytes, kept by @m
 *
 * From here on nb_reg.deps and nb_frame.written of @st are about @m, and
 * env->marks is @m.
 */
size_t nb_marks_size(const struct nb_state *st);
void nb_marks_begin(struct nb_env *env, struct nb_marks *m, struct nb_state *st,
		    void *mem);

/* @m is about @m->up no more, but about the one before it. */
void nb_marks_skip(struct nb_marks *m, const struct nb_marks *up);

/* Something was concluded from a value with these nb_reg.deps. */
void nb_mark(struct nb_env *env, uint64_t deps);
/* Cells of frame @frame of @st were looked at; so were bytes [@lo, @hi),
 * counted from its frame pointer. */
void nb_mark_cells(struct nb_env *env, const struct nb_state *st,
		   uint32_t frame, struct nb_cells cells);
void nb_mark_read(struct nb_env *env, const struct nb_state *st, uint32_t frame,
		  int64_t lo, int64_t hi);
/* Anything may have been concluded from anything in @st: when in doubt. */
void nb_mark_all(struct nb_env *env, const struct nb_state *st);

/*
 * What checking and stepping the instruction at @pc conclude from values,
 * jumps apart (explore.c). After nb_check granted it, before nb_step.
 */
void nb_mark_uses(struct nb_env *env, const struct nb_state *st, uint32_t pc);

#endif
