// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_EXEC_H
#define NB_EXEC_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/image/image.h"
#include "core/map/map.h"

/* The ring that bpf_trace_printk writes to; core/exec/trace.h. */
struct nb_trace;

/*
 * A program ready to run: decoded, maps and helpers bound. Immutable; it
 * holds references to its maps.
 */
struct nb_exec;

/*
 * nb_exec_new - bind program @prog of @img
 * @maps:  one for each of the image's maps, in order; references are taken
 * @trace: may be NULL (bpf_trace_printk then answers -EINVAL); borrowed
 *
 * The program must have been accepted by nb_verify: this does not check it
 * again. The image may be freed afterwards. 0, NB_E_NOMEM, NB_E_NOTSUP.
 */
int nb_exec_new(struct nb_exec **out, const struct nb_image *img, uint32_t prog,
		struct nb_map *const *maps, struct nb_trace *trace,
		struct nb_err *err);
void nb_exec_free(struct nb_exec *x);

/*
 * nb_exec_bound - how long runs may take
 * @lap, @numbers: of the program's verdict; 0, 0: not known, and runs may take
 *       more than NB_RUN_MAX instructions
 *
 * Once, before it is linked or compiled.
 */
void nb_exec_bound(struct nb_exec *x, uint32_t lap, uint32_t numbers);

/*
 * nb_exec_link - let the programs of an image call one another
 * @x: @n elements: program i of the image, or NULL where none is bound
 *
 * Once, before any is compiled; the programs share a table from then on, and
 * none may run after one of them was freed. Where no program makes tail
 * calls this does nothing. Without it a tail call falls through. Linked
 * programs must all be compiled or all be interpreted. 0, NB_E_NOMEM.
 */
int nb_exec_link(struct nb_exec *const *x, uint32_t n, struct nb_err *err);

/*
 * nb_exec_compile - make nb_exec_run run machine code from now on
 * @aux: NB_AUX_* for each slot, as the verifier found them; NULL: not known
 *
 * Before other threads see @x. 0, NB_E_NOTSUP (no compiler for this machine,
 * or the system refuses executable memory), NB_E_NOMEM: then nb_exec_run
 * interprets as before.
 */
int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err);
/*
 * nb_exec_publish - let tools outside name a compiled program's code
 * @img: the image that @x was bound from, @prog: its number there
 * @how: NB_PUBLISH_PERF: a line in perf's map of this process; _GDB: an object
 *       file in memory by gdb's JIT interface
 *
 * Does nothing for interpreted programs. 0, NB_E_NOMEM, NB_E_IO; the program
 * runs all the same. Not for a decision path.
 */
enum { NB_PUBLISH_PERF = 1, NB_PUBLISH_GDB = 2 };
int nb_exec_publish(struct nb_exec *x, const struct nb_image *img,
		    uint32_t prog, unsigned how, struct nb_err *err);
/* Back to the interpreter; before other threads see @x. */
void nb_exec_interpret_again(struct nb_exec *x);
/* Bytes of machine code; 0: interpreted. */
size_t nb_exec_compiled(const struct nb_exec *x);

/* A run by one engine: the interpreter, or the program's machine code. */
typedef uint64_t nb_engine_fn(const struct nb_exec *x, void *ctx,
			      uint64_t ctx_size);

/* What struct nb_exec begins with; private but to nb_exec_run. */
struct nb_exec_head {
	nb_engine_fn *run;
};

/*
 * nb_exec_run - run it once
 * @ctx: the hook's context (r1)
 * @ctx_size: goes to r2 (bpf_conformance wants it there; policies ignore it)
 *
 * Returns r0. Any thread, concurrently; no lock, allocation or system call
 * besides those of a helper's contract. Stack use is under 8 KiB.
 */
static inline uint64_t nb_exec_run(const struct nb_exec *x, void *ctx,
				   uint64_t ctx_size)
{
	return ((const struct nb_exec_head *)x)->run(x, ctx, ctx_size);
}

/* The helper bodies' view of the running program. */
struct nb_run {
	struct nb_trace *trace;
	uint32_t turns;	  /* left; struct nb_exec says of how many */
	uint32_t numbers; /* of iterators that end for sure; set with @turns */
	uint32_t cpu;	  /* nb_cpu_seen at its start; not below nb_ncpus():
			   * not known, to be asked for */
	uint32_t tails;	  /* tail calls made */
	uint32_t depth;	  /* frames below the current one, where links matter */
};

typedef uint64_t nb_helper_fn(struct nb_run *run, uint64_t r1, uint64_t r2,
			      uint64_t r3, uint64_t r4, uint64_t r5);

/*
 * The body of a helper of core/tbl/helpers.h; NULL for other numbers and for
 * those that the engines execute themselves, because they call back into the
 * program or leave it: bpf_tail_call, bpf_for_each_map_elem, bpf_loop.
 */
enum {
	NB_HELPER_TAIL_CALL = 12,
	NB_HELPER_EACH = 164,
	NB_HELPER_LOOP = 181,
	NB_HELPER_ITER_NEW = 0x10001
};
nb_helper_fn *nb_helper_body(int32_t id);

#endif
