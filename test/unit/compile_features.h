// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_COMPILE_FEATURES_H
#define NB_TEST_UNIT_COMPILE_FEATURES_H

#include "test/unit/compile_one.h"

/* Compile for a processor with some of this one's features: for tests linked with
 * --wrap=nb_emit_features (WRAP in unit.mk). */
static unsigned compile_features = ~0u;

unsigned __real_nb_emit_features(void);
unsigned __wrap_nb_emit_features(void);

unsigned __wrap_nb_emit_features(void)
{
	return __real_nb_emit_features() & compile_features;
}

static inline int compile_for(struct nb_exec *x, const uint8_t *aux, unsigned features,
			      struct nb_err *err)
{
	compile_features = features;
	return compile_one(x, aux, err);
}

#endif
