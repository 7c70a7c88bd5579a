// SPDX-License-Identifier: MIT
#ifndef NB_BASE_VIEW_H
#define NB_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A view: bounds-checked reads of untrusted bytes, for every parser of the
 * project. Offsets are checked without overflow. Values are copied, so
 * alignment does not matter. Little-endian hosts only (checked in spec.c).
 */
struct nb_view {
	const unsigned char *p;
	size_t size;
};

static inline struct nb_view nb_view(const void *p, size_t size)
{
	return (struct nb_view){ p, size };
}

/* Is [off, off+size) inside the view? */
static inline bool nb_view_has(struct nb_view v, uint64_t off, uint64_t size)
{
	return off <= v.size && size <= v.size - off;
}

/* Return the part [off, off+size), or an empty view with p NULL if it is
 * outside. */
static inline struct nb_view nb_view_sub(struct nb_view v, uint64_t off, uint64_t size)
{
	if (!nb_view_has(v, off, size))
		return (struct nb_view){ NULL, 0 };
	return (struct nb_view){ v.p + off, (size_t)size };
}

/* Copy @size bytes at @off to @to. Returns false, and writes nothing, if
 * they are outside. */
static inline bool nb_view_get(struct nb_view v, uint64_t off, void *to, size_t size)
{
	if (!nb_view_has(v, off, size))
		return false;
	memcpy(to, v.p + off, size);
	return true;
}

static inline bool nb_view_u16(struct nb_view v, uint64_t off, uint16_t *to)
{
	return nb_view_get(v, off, to, sizeof(*to));
}

static inline bool nb_view_u32(struct nb_view v, uint64_t off, uint32_t *to)
{
	return nb_view_get(v, off, to, sizeof(*to));
}

/* Return the 32-bit number at @off; 0 if it is outside. */
static inline uint32_t nb_view_word(struct nb_view v, uint64_t off)
{
	uint32_t x = 0;

	nb_view_u32(v, off, &x);
	return x;
}

/* Return the NUL-terminated string at @off; NULL unless it has at most @most
 * bytes, and all of it is inside. */
static inline const char *nb_view_str(struct nb_view v, uint64_t off, size_t most)
{
	uint64_t left = off < v.size ? v.size - off : 0;
	const unsigned char *s = left ? v.p + off : NULL;

	if (left > most)
		left = most + 1;
	return s && memchr(s, 0, (size_t)left) ? (const char *)s : NULL;
}

#endif
