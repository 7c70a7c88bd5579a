// SPDX-License-Identifier: MIT
#ifndef NB_WIRE_WIRE_H
#define NB_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/spec/spec.h"

/*
 * The control protocol's lines (docs/protocol.md) as values and back: no
 * I/O, no state. A request line becomes a command of core/defs/commands.h
 * with arguments and options; a reply is JSON in an envelope.
 */
enum {
	NB_WIRE_LINE = 65536,	 /* bytes of a request, with its line feed */
	NB_WIRE_REPLY = 1 << 20, /* bytes of a reply, with its line feed */
	NB_WIRE_ARGS = 64, /* arguments of a request; the most of any row */
	NB_WIRE_OPTS = 8,
	NB_WIRE_VERSION = 1
};

/* Ids are whole numbers that every JSON reader keeps exactly. */
#define NB_WIRE_MAX_ID (1ull << 53)

struct nb_wire_opt {
	const char *name, *value;
};

/*
 * A request taken apart. Strings point into the line it was made from and
 * live as long as that; they are UTF-8 without control characters.
 *
 * @id:   only with has_id
 * @narg: within the row's least and most
 * @opt:  names are the row's, each at most once; a value whose choices the
 *        row spells out in lower case is one of those
 */
struct nb_request {
	bool has_id;
	uint64_t id;
	enum nb_cmd cmd;
	const struct nb_cmd_spec *spec;
	unsigned narg, nopt;
	const char *arg[NB_WIRE_ARGS];
	struct nb_wire_opt opt[NB_WIRE_OPTS];
};

/*
 * nb_request_parse - check and take apart one line
 * @line: @size bytes without the line feed; changed in place, and one byte
 *        after them is written too
 *
 * has_id and id are set even on failure where the line has a good one, so
 * that the error can be answered to it. 0; NB_E_PROTOCOL (bad id, bytes that
 * are not UTF-8, control characters), NB_E_USAGE (unknown command or option,
 * wrong number of arguments, an open quote), NB_E_ARG (an option's value),
 * NB_E_LIMIT. err->at is the byte of the line, from 1, where one is to blame.
 * Pure; any thread.
 */
int nb_request_parse(struct nb_request *req, char *line, size_t size,
		     struct nb_err *err);

/* The value of option @name, or NULL when it was not given. */
const char *nb_request_opt(const struct nb_request *req, const char *name);
/* Is the yes-or-no option @name "yes"? @absent when it was not given. */
bool nb_request_yes(const struct nb_request *req, const char *name,
		    bool absent);

/*
 * nb_wire_hex - hexadecimal text to exactly @size bytes
 * @what: names the text in errors ("key", "value")
 *
 * Either case; an even number of digits, 2 * @size of them, nothing else.
 * 0 or NB_E_ARG.
 */
int nb_wire_hex(void *out, size_t size, const char *text, const char *what,
		struct nb_err *err);

/*
 * A whole number in decimal within [@min, @max]; 0 or NB_E_ARG naming @what,
 * the text found and the range.
 */
int nb_wire_number(uint64_t *out, const char *text, uint64_t min, uint64_t max,
		   const char *what, struct nb_err *err);

/*
 * A size in bytes: a number, then nothing, "B", or one of K M G T (in either
 * case, powers of 1024) with or without "iB" or "B". 0 or NB_E_ARG.
 */
int nb_wire_size(uint64_t *out, const char *text, const char *what,
		 struct nb_err *err);

/* Exactly 16 hexadecimal digits, a communicator's identity. 0 or NB_E_ARG. */
int nb_wire_id(uint64_t *out, const char *text, const char *what,
	       struct nb_err *err);

/*
 * A reply that worked: open writes {"id":…,"ok":true,"data": and the caller
 * then writes exactly one value with @j; close ends the line. @j starts anew,
 * in @out.
 */
void nb_reply_open(struct nb_json *j, struct nb_buf *out,
		   const struct nb_request *req);
void nb_reply_close(struct nb_json *j);

/* The last line of a stream. */
void nb_reply_end(struct nb_buf *out, const struct nb_request *req);

/*
 * A reply that failed. @extra (may be NULL) is called inside the error object
 * to add members (finding, text) with @arg.
 */
typedef void nb_reply_extra_fn(struct nb_json *j, void *arg);
void nb_reply_error(struct nb_buf *out, const struct nb_request *req,
		    const struct nb_err *err, nb_reply_extra_fn *extra,
		    void *arg);

#endif
