// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HELD_LIST_H
#define NB_PLUGIN_POLICIES_HELD_LIST_H

#include <stdint.h>

#include "core/bpf/generation/generation.h"
#include "core/bpf/generation/policy.h"

/*
 * The policies that this process holds: loaded, verified and compiled, whether
 * in use or not. NB_LOCK_STATE protects the list.
 */
enum nb_policy_source { NB_SOURCE_ENV, NB_SOURCE_SHELL };

struct nb_held {
	/* the policy, to which the list owns one reference */
	struct nb_policy *policy;
	enum nb_policy_source source;
	/* sums of the program's counters over freed generations */
	struct nb_gen_sum old[NB_IMAGE_MAX_PROGS];
	struct nb_gen_times old_times[NB_IMAGE_MAX_PROGS];
};

enum { NB_MAX_HELD = 64 };

struct nb_held_list {
	/* policies, the newest (nb_held_find) last */
	struct nb_held at[NB_MAX_HELD];
	uint32_t n;
};
extern struct nb_held_list nb_held;

#endif
