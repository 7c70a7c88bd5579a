// SPDX-License-Identifier: MIT
/* Local calls: at each call the walk enters the called function, with the
 * caller's state. */
#include "core/verify/feature/call.h"

#include <string.h>

#include "core/verify/access/refs.h"
#include "core/verify/coherence/control_dep.h"

void nb_call_enter(struct nb_state *st, uint32_t pc)
{
	struct nb_frame *caller = nb_top(st);
	struct nb_frame *callee = &st->frames[st->nframes];

	callee->ret = pc + 1;
	callee->ncells = 0;
	callee->callback = false;
	callee->counted = false;
	callee->loop = callee->invocations = 0;
	memset(&callee->written, 0xff, sizeof(callee->written));
	memset(callee->regs, 0, sizeof(callee->regs));
	for (int i = 1; i <= 5; i++)
		callee->regs[i] = caller->regs[i];
	callee->regs[NB_R10] = nb_reg_pointer(NB_REG_STACK);
	callee->regs[NB_R10].frame = (uint8_t)st->nframes;
	memset(nb_top(st)->regs, 0, 6 * sizeof(struct nb_reg));
	st->nframes++;
}

void nb_call_leave(struct nb_env *env, struct nb_state *st)
{
	struct nb_reg r0;

	/* If the region of local control ends with the function, close it
	 * now. */
	if (st->region.open && st->region.frame + 1u == st->nframes)
		nb_region_close(env, st);
	r0 = nb_top(st)->regs[0];
	st->nframes--;
	nb_ref_keep(st);
	memset(nb_top(st)->regs, 0, 6 * sizeof(struct nb_reg));
	nb_top(st)->regs[0] = r0;
}
