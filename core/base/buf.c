// SPDX-License-Identifier: MIT
/* A growing byte buffer with a size limit and a sticky failure. */
#include "core/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nb_buf_init(struct nb_buf *b, size_t limit)
{
	memset(b, 0, sizeof(*b));
	b->limit = limit ? limit : (size_t)1 << 30;
}

void nb_buf_fini(struct nb_buf *b)
{
	free(b->data);
	b->data = NULL;
	b->size = b->cap = 0;
}

void nb_buf_clear(struct nb_buf *b)
{
	b->size = 0;
	b->failed = b->no_memory = false;
	if (b->data)
		b->data[0] = '\0';
}

bool nb_buf_ok(const struct nb_buf *b)
{
	return !b->failed;
}

/* Make room for @more bytes and the NUL, or set the sticky failure. */
static bool buf_reserve(struct nb_buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed || more > b->limit - b->size) {
		b->failed = true;
		return false;
	}
	if (b->data && b->size + more < b->cap)
		return true;
	while (cap <= b->size + more)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = b->no_memory = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

bool nb_buf_reserve(struct nb_buf *b, size_t more)
{
	struct nb_buf before = *b;

	if (buf_reserve(b, more))
		return true;
	b->failed = before.failed;
	b->no_memory = before.no_memory;
	return false;
}

void nb_buf_bytes(struct nb_buf *b, const void *p, size_t size)
{
	if (!buf_reserve(b, size))
		return;
	if (size)
		memcpy(b->data + b->size, p, size);
	b->size += size;
	b->data[b->size] = '\0';
}

void nb_buf_zeros(struct nb_buf *b, size_t size)
{
	if (!buf_reserve(b, size))
		return;
	memset(b->data + b->size, 0, size + 1);
	b->size += size;
}

void nb_buf_str(struct nb_buf *b, const char *s)
{
	nb_buf_bytes(b, s, strlen(s));
}

void nb_buf_char(struct nb_buf *b, char c)
{
	nb_buf_bytes(b, &c, 1);
}

void nb_buf_vprintf(struct nb_buf *b, const char *fmt, va_list ap)
{
	char small[256];
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		nb_buf_bytes(b, small, (size_t)n);
	} else if (n >= 0 && buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->size, (size_t)n + 1, fmt, again);
		b->size += (size_t)n;
	}
	va_end(again);
}

void nb_buf_printf(struct nb_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nb_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

const char *nb_buf_text(const struct nb_buf *b)
{
	return b->data ? b->data : "";
}

char *nb_buf_take(struct nb_buf *b, size_t *size)
{
	char *p;

	if (!b->data)
		nb_buf_bytes(b, "", 0);
	p = b->failed ? NULL : b->data;
	if (!p)
		free(b->data);
	if (size)
		*size = p ? b->size : 0;
	b->data = NULL;
	b->size = b->cap = 0;
	return p;
}
