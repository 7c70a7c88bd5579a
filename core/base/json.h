// SPDX-License-Identifier: MIT
#ifndef NB_BASE_JSON_H
#define NB_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * A streaming JSON writer: one line without white space, into a buffer. It adds
 * commas and escapes. Nesting beyond NB_JSON_DEPTH or a misplaced key is our
 * bug and asserts. U+FFFD replaces each byte that is not UTF-8. 64-bit integers
 * keep all digits.
 *
 * In an object use nb_json_k*, or call nb_json_key before each value.
 */
enum { NB_JSON_DEPTH = 24 };

/* Return the length of the UTF-8 sequence at @s, within @n bytes (RFC
 * 3629); 0 if there is none. */
size_t nb_utf8_len(const unsigned char *s, size_t n);

struct nb_json {
	struct nb_buf *out;
	unsigned depth;
	bool comma[NB_JSON_DEPTH];
	bool keyed;
};

/* Initialise a writer. @out is borrowed; check nb_buf_ok(@out) at the end. */
void nb_json_init(struct nb_json *j, struct nb_buf *out);
void nb_json_obj(struct nb_json *j);
void nb_json_end_obj(struct nb_json *j);
void nb_json_arr(struct nb_json *j);
void nb_json_end_arr(struct nb_json *j);
void nb_json_key(struct nb_json *j, const char *key);
/* Writes null if @s is NULL. */
void nb_json_str(struct nb_json *j, const char *s);
void nb_json_strn(struct nb_json *j, const char *s, size_t n);
void nb_json_u64(struct nb_json *j, uint64_t v);
void nb_json_i64(struct nb_json *j, int64_t v);
/* Writes null if @v is not finite. */
void nb_json_f64(struct nb_json *j, double v);
void nb_json_bool(struct nb_json *j, bool v);
void nb_json_null(struct nb_json *j);
/* Write a complete JSON value that another writer produced. */
void nb_json_raw(struct nb_json *j, const char *json);
/* Write a 64-bit identity as 16 hexadecimal digits. */
void nb_json_id(struct nb_json *j, uint64_t id);
/* Write bytes as lower-case hexadecimal text. */
void nb_json_hex(struct nb_json *j, const void *p, size_t size);

/* Write key and value in one call; kobj opens an object and karr an array. */
void nb_json_kobj(struct nb_json *j, const char *key);
void nb_json_karr(struct nb_json *j, const char *key);
void nb_json_knull(struct nb_json *j, const char *key);
void nb_json_kstr(struct nb_json *j, const char *key, const char *s);
void nb_json_ku64(struct nb_json *j, const char *key, uint64_t v);
/* Write null unless @known is set. */
void nb_json_ku64_if(struct nb_json *j, const char *key, bool known, uint64_t v);
void nb_json_ki64(struct nb_json *j, const char *key, int64_t v);
void nb_json_kf64(struct nb_json *j, const char *key, double v);
void nb_json_kbool(struct nb_json *j, const char *key, bool v);
void nb_json_khex(struct nb_json *j, const char *key, const void *p, size_t n);
/* Write an identity with its key, like "comm": "00d1…" (see nb_json_id). */
void nb_json_kid(struct nb_json *j, const char *key, uint64_t id);

#endif
