// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_EXEC_H
#define NB_EXEC_RUN_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/exec/run/run.h"
#include "core/bpf/image/image.h"
#include "core/bpf/map/map.h"

/* A program ready to run: decoded, with maps and helpers bound. It is
 * immutable and holds references to its maps. */
struct nb_exec;

/*
 * nb_exec_new - bind program @prog of @img
 * @maps:  one for each of the image's maps, in order; references are taken
 * @trace: may be NULL (bpf_trace_printk then answers -EINVAL); borrowed
 *
 * The program must have been accepted by nb_verify: this does not check it
 * again. The image may be freed afterwards. Returns 0, NB_E_NOMEM or
 * NB_E_NOTSUP.
 */
int nb_exec_new(struct nb_exec **out, const struct nb_image *img, uint32_t prog,
		struct nb_map *const *maps, struct nb_trace *trace, struct nb_err *err);
void nb_exec_free(struct nb_exec *x);

/*
 * nb_exec_bound - set how long runs may take
 * @iteration, @iter_steps: of the program's verdict; 0 and 0 mean that they are
 * not known, and then a run may take more than NB_RUN_MAX instructions
 *
 * Call it once, before the program is compiled.
 */
void nb_exec_bound(struct nb_exec *x, uint32_t iteration, uint32_t iter_steps);

/*
 * nb_exec_limit - set the two loop budgets of a run, in weighted instructions
 * @iterations: budget of callback invocations and iterator steps together
 * @passes: budget of may_goto
 *
 * The limits never exceed those of nb_exec_bound. Call it once, before the
 * program is compiled.
 */
void nb_exec_limit(struct nb_exec *x, uint64_t iterations, uint64_t passes);
/* Return the longest iteration of a run; 0 if not known. */
uint32_t nb_exec_iteration(const struct nb_exec *x);

/*
 * nb_exec_run - run the program once
 * @ctx: the hook's context (r1)
 * @ctx_size: goes to r2 (bpf_conformance needs it there; policies ignore it)
 *
 * Returns r0. Any thread, concurrently; takes no lock, allocates nothing and
 * makes no system call, except as a helper's contract says. Uses less than 8
 * KiB of stack.
 */
static inline uint64_t nb_exec_run(const struct nb_exec *x, void *ctx, uint64_t ctx_size)
{
	return ((const struct nb_exec_head *)x)->run(x, ctx, ctx_size);
}

#endif
