// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_LOAD_H
#define NB_PLUGIN_POLICIES_LOAD_H

#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

/* Why NCCLBPF_POLICY could not be loaded. It does not change after start-up. */
struct nb_load {
	/* error of the first load; its code is 0 if all policies were loaded */
	struct nb_err err;
	/* the entry of NCCLBPF_POLICY that could not be loaded */
	char what[256];
};
extern struct nb_load nb_load;

/*
 * nb_load_policies - load the policies in @list, the value of NCCLBPF_POLICY,
 * as the process's first generation
 *
 * *@out gets a reference to the generation. If one entry fails, nothing is
 * loaded: *@out is NULL and nb_load holds the reason. The caller holds
 * NB_LOCK_STATE, which is released in between.
 */
int nb_load_policies(const char *list, struct nb_gen **out, struct nb_err *err);

#endif
