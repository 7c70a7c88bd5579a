// SPDX-License-Identifier: MIT
#ifndef NB_TEST_STAGE_USE_H
#define NB_TEST_STAGE_USE_H

#include "plugin/change/selector.h"
#include "plugin/change/stage.h"

/* Stage policies for all communicators. */
static inline int stage_use(const char *const *names, uint32_t n, uint8_t digest[NB_SHA256_SIZE],
			    struct nb_err *err)
{
	static const struct nb_selector all = { .what = NB_SELECT_ALL };

	return nb_change_stage_for(&all, names, n, digest, err);
}

#endif
