// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_PERF_MAP_H
#define NB_EXEC_JIT_PERF_MAP_H

#include "core/base/err.h"
#include "core/bpf/exec/run/code.h"
#include "core/bpf/image/image.h"

/*
 * nb_perf_map_add - name the machine code @j of program @prog for perf
 *
 * Adds the program's functions to perf's map of this process, which perf reads
 * for code without a file: one line "start size name" in hexadecimal for each
 * function, in the folder of temporary files that perf knows. The names are
 * "policy/program" for the entry and "policy/program/function" for each
 * function that it calls. Lines of freed code stay. Returns 0, NB_E_IO or
 * NB_E_NOMEM. Any thread.
 */
int nb_perf_map_add(const struct nb_jit *j, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err);

#endif
