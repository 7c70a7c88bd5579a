// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_FORMAT_H
#define NB_VERIFY_REPORT_FORMAT_H

#include "core/bpf/verify/state/env.h"

/* Format a text in the verdict's arena; returns "" if memory is used up. */
const char *nb_say(struct nb_env *env, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return the name of a map of the image; "?" if it has none. */
const char *nb_map_name(const struct nb_env *env, uint32_t map);

#endif
