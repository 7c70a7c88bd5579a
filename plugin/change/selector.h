// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_SELECTOR_H
#define NB_PLUGIN_CHANGE_SELECTOR_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/generation.h"

struct nb_edit;

/*
 * The communicators that a change of policies is for, and the generation that
 * it makes: the baseline with other scopes (core/generation/scope.h). Every
 * process of a job has the same baseline and gets complete identities, so all
 * make the same generation. With NB_LOCK_STATE, except nb_selector_parse.
 */
enum nb_selector_what {
	NB_SELECT_ALL,
	NB_SELECT_OTHERS, /* communicators outside of scopes, also later ones */
	NB_SELECT_SOME
};

struct nb_selector {
	enum nb_selector_what what;
	uint32_t n; /* NB_SELECT_SOME */
	uint64_t comm[NB_SCOPE_MAX_COMMS];
};

/*
 * nb_selector_parse - option comm=
 * @text: NULL (all), "others", or identities of 16 digits with commas between
 *
 * 0, NB_E_ARG (no identity, twice), NB_E_LIMIT.
 */
int nb_selector_parse(struct nb_selector *out, const char *text,
		      struct nb_err *err);

/* Does the job have these communicators, or does a scope of the baseline name
 * them? 0,
 * NB_E_NOENT (lists the job's), NB_E_NOTSUP (NCCL gives no identities). */
int nb_selector_check(const struct nb_selector *reach, struct nb_err *err);

/*
 * nb_selector_use - set the order @policies[0..n) for the selected
 * communicators
 *
 * For all of them: as nb_gen_new. A reference; the errors of nb_gen_scoped,
 * nb_scopes_put.
 */
int nb_selector_use(struct nb_gen **out, const struct nb_selector *reach,
		    struct nb_policy *const *policies, uint32_t n,
		    struct nb_err *err);

/* Remove the communicators of @reach from their scopes. NB_E_ARG: none named.
 * */
int nb_selector_common(struct nb_gen **out, const struct nb_selector *reach,
		       struct nb_err *err);

/*
 * nb_selector_edit - add, remove or move one policy
 *
 * For all communicators: in each list of policies that permits it, at least
 * one. NB_E_ARG: the communicators have different lists; the errors of
 * nb_compose_apply, nb_gen_scoped.
 */
int nb_selector_edit(struct nb_gen **out, const struct nb_selector *reach,
		     const struct nb_edit *edit, struct nb_err *err);

#endif
