// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_SELECTOR_H
#define NB_PLUGIN_CHANGE_SELECTOR_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

struct nb_edit;

/*
 * Selects the communicators that a change of policies is for, and makes the new
 * generation: the baseline with other scopes (core/bpf/generation/scope.h).
 * Every process of a job has the same baseline and gets complete identities, so
 * all make the same generation. All functions except nb_selector_parse need
 * NB_LOCK_STATE.
 */
enum nb_selector_what {
	NB_SELECT_ALL,
	NB_SELECT_OTHERS, /* communicators without a scope, also future ones */
	NB_SELECT_SOME
};

struct nb_selector {
	enum nb_selector_what what;
	uint32_t n; /* number of entries in comm (NB_SELECT_SOME) */
	uint64_t comm[NB_SCOPE_MAX_COMMS];
};

/*
 * nb_selector_parse - parse option comm=
 * @text: NULL (all), "others", or identities of 16 digits, separated by commas
 *
 * Returns 0, NB_E_ARG (an invalid or repeated identity) or NB_E_LIMIT.
 */
int nb_selector_parse(struct nb_selector *out, const char *text, struct nb_err *err);

/*
 * Check that the job has these communicators, or that a scope of the baseline
 * names them. Returns 0, NB_E_NOENT with a list of the job's communicators, or
 * NB_E_NOTSUP if NCCL gives no identities.
 */
int nb_selector_check(const struct nb_selector *reach, struct nb_err *err);

/*
 * nb_selector_use - set the order @policies[0..n) for the selected
 * communicators
 *
 * If all communicators are selected, it works like nb_gen_new. *@out is a new
 * reference. Returns an error of nb_gen_scoped or nb_scopes_put.
 */
int nb_selector_use(struct nb_gen **out, const struct nb_selector *reach,
		    struct nb_policy *const *policies, uint32_t n, struct nb_err *err);

/*
 * nb_selector_edit - add, remove, move or replace one policy, or return to the common order
 *
 * If all communicators are selected, it edits each list of policies that
 * permits the edit; at least one list must permit it. Returns NB_E_ARG if the
 * selected communicators have different lists or NB_COMPOSE_COMMON names none,
 * or an error of nb_compose_apply or nb_gen_scoped.
 */
int nb_selector_edit(struct nb_gen **out, const struct nb_selector *reach,
		     const struct nb_edit *edit, struct nb_err *err);

#endif
