// SPDX-License-Identifier: MIT
#ifndef NB_BASE_BUF_H
#define NB_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A growing buffer of bytes or text with a limit. A failure (memory, limit)
 * is sticky: later appends do nothing, and writers only check nb_buf_ok at
 * the end. A NUL always follows the bytes.
 */
struct nb_buf {
	char *data;  /* The bytes; NULL until the first append. */
	size_t size; /* Bytes in use, not counting the NUL. */
	size_t cap;
	size_t limit;
	bool failed;
	/* The buffer failed for lack of memory, not at the limit. */
	bool no_memory;
};

/* Initialise an empty buffer, without allocating. @limit: most bytes it may
 * hold; 0 for 1 GiB. */
void nb_buf_init(struct nb_buf *b, size_t limit);
void nb_buf_fini(struct nb_buf *b);
void nb_buf_clear(struct nb_buf *b);
bool nb_buf_ok(const struct nb_buf *b);
/*
 * Allocate room for @more bytes, so that appending them cannot fail.
 * Returns false if out of memory or over the limit; the buffer is then
 * unchanged.
 */
bool nb_buf_reserve(struct nb_buf *b, size_t more);
void nb_buf_bytes(struct nb_buf *b, const void *p, size_t size);
void nb_buf_zeros(struct nb_buf *b, size_t size);
void nb_buf_str(struct nb_buf *b, const char *s);
void nb_buf_char(struct nb_buf *b, char c);
void nb_buf_printf(struct nb_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void nb_buf_vprintf(struct nb_buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* Return the text, or "" if there is none. Valid until the next append. */
const char *nb_buf_text(const struct nb_buf *b);
/* Hand the bytes to the caller, who frees them; the buffer is empty
 * afterwards. */
char *nb_buf_take(struct nb_buf *b, size_t *size);

#endif
