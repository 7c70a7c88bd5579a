// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_SCOPE_H
#define NB_GENERATION_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

/*
 * Scopes say which policies of a generation decide for which communicators. A
 * scope gives its communicators an order of policies; all others have the
 * common order. A communicator is in at most one scope. Scopes are part of the
 * generation's digest, so ranks with the same generation have the same scopes.
 */
enum { NB_GEN_MAX_POLICIES = 16, NB_GEN_MAX_SCOPES = 8, NB_SCOPE_MAX_COMMS = 16 };

/* Policies, by their number in the generation, in the order of running. */
struct nb_order {
	uint32_t n;
	uint8_t at[NB_GEN_MAX_POLICIES];
};

struct nb_scope {
	struct nb_order order;
	uint32_t ncomms;
	uint64_t comm[NB_SCOPE_MAX_COMMS]; /* Identities of the communicators */
};

struct nb_scopes {
	uint32_t n;
	struct nb_scope scope[NB_GEN_MAX_SCOPES];
};

/* Return the order of policies 0 to @n - 1. */
struct nb_order nb_order_all(uint32_t n);
bool nb_order_same(const struct nb_order *a, const struct nb_order *b);
bool nb_order_has(const struct nb_order *o, uint32_t policy);

/* Return the index of @comm's scope, or -1. Any thread. */
int nb_scopes_find(const struct nb_scopes *s, uint64_t comm);
bool nb_scopes_same(const struct nb_scopes *a, const struct nb_scopes *b);

/* Remove @comm from its scope, and the scope too if it is then empty. */
void nb_scopes_drop(struct nb_scopes *s, uint64_t comm);

/*
 * nb_scopes_put - move communicators @comm[0..n) to the scope with @order
 *
 * Adds the scope if there is none with this order. Returns 0 or NB_E_LIMIT.
 */
int nb_scopes_put(struct nb_scopes *s, const uint64_t *comm, uint32_t n,
		  const struct nb_order *order, struct nb_err *err);

/*
 * Check that numbers are below @npolicies, that no policy is twice in an
 * order, and that each communicator is named once and has an identity.
 * Returns 0, NB_E_ARG or NB_E_LIMIT.
 */
int nb_scopes_check(const struct nb_order *common, const struct nb_scopes *s, uint32_t npolicies,
		    struct nb_err *err);

/* Add the orders and scopes to a digest; adds nothing if there are no
 * scopes. */
void nb_scopes_digest(struct nb_sha256 *to, const struct nb_order *common,
		      const struct nb_scopes *s);

#endif
