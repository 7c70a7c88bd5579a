// SPDX-License-Identifier: MIT
#ifndef NB_STORE_BASE64_H
#define NB_STORE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Base64 encoding with padding (RFC 4648, section 4). */

/* Append the bytes at @p in base64. */
void nb_base64_put(struct nb_buf *out, const void *p, size_t size);
/*
 * Append the bytes that the base64 @text of @size characters encodes. Returns
 * 0, or -1 if @text is not base64; @out then keeps the bytes before the fault.
 */
int nb_base64_get(struct nb_buf *out, const char *text, size_t size);

#endif
