// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_STATE_H
#define NB_PLUGIN_CHANGE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/bpf/generation/generation.h"

/*
 * The baseline as bytes (core/bpf/generation/state.h), for a process that
 * started after the changes that made it. The control thread calls these
 * functions, which take NB_LOCK_STATE.
 */

/*
 * Append the bytes of the baseline to @out. *@g is the baseline, with a
 * reference. Returns an error of nb_gen_state_write; *@g is then NULL.
 */
int nb_change_export(struct nb_buf *out, struct nb_gen **g, struct nb_err *err);

/*
 * Stage the generation that these bytes describe. The process must hold its
 * policies. Returns an error of nb_gen_state_read or nb_change_stage_gen.
 */
int nb_change_import(const void *bytes, size_t size, uint8_t digest[NB_SHA256_SIZE],
		     struct nb_err *err);

#endif
