// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_LOAD_H
#define NB_PLUGIN_POLICIES_LOAD_H

#include "core/base/err.h"
#include "core/generation/generation.h"

/* Why NCCLBPF_POLICY could not be loaded. Constant after the start. */
struct nb_load {
	struct nb_err err; /* code 0: it was loaded */
	char what[256];	   /* the entry concerned */
};
extern struct nb_load nb_load;

/*
 * nb_load_policies - load the policies of NCCLBPF_POLICY's value @list as the
 * process's first generation *@out (a reference)
 *
 * One failure fails all: *@out is NULL and nb_load says why. With
 * NB_LOCK_STATE, which is released in between.
 */
int nb_load_policies(const char *list, struct nb_gen **out, struct nb_err *err);

#endif
