// SPDX-License-Identifier: MIT
#ifndef NB_STORE_BASE64_H
#define NB_STORE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Base64 with padding (RFC 4648, section 4). */

/* Append @size bytes of @p as base64. */
void nb_base64_put(struct nb_buf *out, const void *p, size_t size);
/* Append the bytes of base64 @text of @size characters. 0, or -1: not base64;
 * @out keeps what was appended before the fault. */
int nb_base64_get(struct nb_buf *out, const char *text, size_t size);

#endif
