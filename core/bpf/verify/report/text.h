// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_TEXT_H
#define NB_VERIFY_REPORT_TEXT_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/bpf/verify/state/verdict.h"

/*
 * Print the finding as text: several lines for people (source line with a
 * caret, required, known, path, hint), each ended by a newline, and as one
 * JSON object {"class":…,"pc":…,"required":…,…}. Both are the same offline
 * and in the job.
 */
void nb_verdict_text(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		     struct nb_buf *out);
void nb_verdict_json(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		     struct nb_json *out);
/* Print the notes along the path in the style of a compiler: each source
 * line and what happens there. Prints nothing for an accepted program. */
void nb_verdict_notes(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		      struct nb_buf *out);
/* For nb_verify_opts.observe: append the state to @arg, a struct nb_buf, as lines of text. */
nb_observe_fn nb_trace_state;
/* Store the finding in one line in *@err; returns NB_E_VERIFY. */
int nb_verdict_err(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		   struct nb_err *err);

#endif
