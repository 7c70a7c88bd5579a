// SPDX-License-Identifier: MIT
/* Local calls: at each call the walk enters the called function, with the
 * caller's state. */
#include "core/bpf/verify/feature/call.h"

#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/coherence/control_dep.h"

void nb_call_enter(struct nb_state *st, uint32_t pc)
{
	struct nb_frame *caller = nb_top(st);
	struct nb_frame *callee = nb_frame_next(st, pc + 1);

	for (int i = 1; i <= 5; i++)
		callee->regs[i] = caller->regs[i];
	nb_clobber(st);
	st->nframes++;
}

struct nb_reg nb_frame_leave(struct nb_env *env, struct nb_state *st)
{
	struct nb_reg r0;

	/* If the region of local control ends with the function, close it
	 * now. */
	if (st->region.open && st->region.frame + 1u == st->nframes)
		nb_region_close(env, st);
	r0 = nb_top(st)->regs[0];
	st->nframes--;
	return r0;
}

void nb_call_leave(struct nb_env *env, struct nb_state *st)
{
	struct nb_reg r0 = nb_frame_leave(env, st);

	nb_ref_keep(st);
	nb_clobber(st);
	nb_top(st)->regs[0] = r0;
}
