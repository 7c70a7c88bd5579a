// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_SYMBOLS_ELF_H
#define NB_EXEC_SYMBOLS_ELF_H

#include "core/base/buf.h"
#include "core/exec/run/code.h"
#include "core/image/image.h"

/* Write the object file for debuggers: names, lines and unwind information
 * of @j. */
void nb_symbols_elf(struct nb_buf *out, const struct nb_jit *j,
		    const struct nb_image *img, uint32_t prog);

#endif
