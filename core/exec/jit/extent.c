// SPDX-License-Identifier: MIT
/* Where the functions of a program lie in its machine code, and their names. */
#include "core/exec/jit/extent.h"

#include "core/exec/jit/jit.h"

struct nb_extent nb_extent_of(const struct nb_jit *j, const struct nb_prog *p,
			      uint32_t f)
{
	return (struct nb_extent){ f ? j->off[p->funcs[f].start] : 0,
				   f + 1 < p->nfuncs ? j->off[p->funcs[f].end]
						     : (uint32_t)j->size };
}

void nb_extent_name(struct nb_buf *b, const struct nb_image *img, uint32_t prog,
		    uint32_t f)
{
	const struct nb_prog *p = &img->progs[prog];

	nb_buf_printf(b, "%s/%s", img->name, p->name);
	if (f)
		nb_buf_printf(b, "/%s", p->funcs[f].name);
}
