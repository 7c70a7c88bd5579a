// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_SELECTOR_H
#define NB_PLUGIN_CHANGE_SELECTOR_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/generation.h"

struct nb_edit;

/*
 * Which communicators a change of policies is for, and the generation that
 * comes of it: the baseline's, with other scopes (core/generation/scope.h).
 * Every process of a job has the same baseline and is asked for whole
 * identities, so all come to the same generation. The functions that take the
 * runtime want its lock.
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

/* Does the job have these communicators, or the baseline a scope with them? 0,
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
 * nb_selector_edit - one policy added, removed or moved
 *
 * For all communicators: in each list of policies where that can be done, at
 * least one. NB_E_ARG: the communicators have different lists; the errors of
 * nb_compose_apply, nb_gen_scoped.
 */
int nb_selector_edit(struct nb_gen **out, const struct nb_selector *reach,
		     const struct nb_edit *edit, struct nb_err *err);

#endif
