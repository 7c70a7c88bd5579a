// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_STATE_H
#define NB_GENERATION_STATE_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

/*
 * A generation as bytes: digests and histories of its policies, their orders,
 * and the contents of coherent maps that a change has written. A process that
 * holds the policies makes the same generation of them, whatever the process
 * used before.
 */

/*
 * nb_gen_state_write - append the bytes of @g
 *
 * Returns 0, NB_E_LIMIT (the limit of @out) or NB_E_NOMEM.
 */
int nb_gen_state_write(struct nb_buf *out, const struct nb_gen *g, struct nb_err *err);

/* Return the policy with this digest, borrowed, or NULL. */
typedef struct nb_policy *nb_gen_find_fn(const uint8_t *digest);

/*
 * nb_gen_state_read - make the generation of bytes that nb_gen_state_write has
 * written
 *
 * The bytes may come from another host, so all of them are checked. The digest
 * of the generation covers the histories and not the contents, so the caller
 * must give all processes the same bytes: agents fetch them by their SHA-256.
 * *@out has one reference. On failure *@out is NULL: NB_E_FORMAT, NB_E_NOENT (@find has
 * no policy of a digest), or an error of nb_gen_filled and nb_map_write.
 */
int nb_gen_state_read(struct nb_gen **out, const void *bytes, size_t size, nb_gen_find_fn *find,
		      struct nb_err *err);

#endif
