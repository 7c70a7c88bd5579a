// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_DIGEST_H
#define NB_PLUGIN_RUNTIME_DIGEST_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

/* Parse 64 hexadecimal digits in upper or lower case. Returns 0 or NB_E_ARG. */
int nb_digest_parse(uint8_t digest[NB_SHA256_SIZE], const char *text, struct nb_err *err);

#endif
