// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_DIGEST_H
#define NB_PLUGIN_RUNTIME_DIGEST_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

/* Read 64 hexadecimal digits, in either case; NB_E_ARG. */
int nb_digest_parse(uint8_t digest[NB_SHA256_SIZE], const char *text,
		    struct nb_err *err);

#endif
