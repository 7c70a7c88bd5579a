// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_SPANS_H
#define NB_PLUGIN_VERBS_SPANS_H

#include "core/spec/spec.h"

/*
 * nb_verbs_span - record what the tap reports in the trace ring, if a trace
 * wants it
 * @hook: NB_HOOK_VERBS_QP, NB_HOOK_VERBS_POST or NB_HOOK_VERBS_DONE; others
 *   are no events of traces
 * @ctx:  the hook's context
 *
 * Any thread may call it; it takes no lock.
 */
void nb_verbs_span(enum nb_hook hook, const void *ctx);

#endif
