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
 * Parse request lines and write reply lines of the control protocol
 * (docs/protocol.md), without I/O and without state. A request line becomes
 * a command of core/defs/commands.h with arguments and options. A reply is
 * JSON in an envelope.
 */
enum {
	NB_WIRE_LINE = 65536,	 /* Bytes of a request, with its line feed. */
	NB_WIRE_REPLY = 1 << 20, /* Bytes of a reply, with its line feed. */
	NB_WIRE_ARGS = 64,	 /* Arguments of a request; no row allows more. */
	NB_WIRE_OPTS = 8,
	NB_WIRE_VERSION = 1
};

/* Ids are whole numbers that every JSON reader preserves exactly. */
#define NB_WIRE_MAX_ID (1ull << 53)

struct nb_wire_opt {
	const char *name, *value;
};

/*
 * A parsed request. Strings point into the request line; they are UTF-8 without
 * control characters.
 *
 * @id:   valid if has_id
 * @narg: within the row's least and most
 * @opt:  names of the row, each at most once; if the row lists the values in
 *        lower case, the value is one of them
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
 * nb_request_parse - check and parse one line
 * @line: @size bytes without the line feed; changed in place; byte @size is
 * written too
 *
 * A valid id is set even on failure, so that the error reply can carry it.
 * Returns 0; NB_E_PROTOCOL (bad id, bytes that are not UTF-8, control
 * characters); NB_E_USAGE (unknown command or option, wrong number of
 * arguments, an open quote); NB_E_ARG (an option's value); or NB_E_LIMIT.
 * err->at is the position of the wrong byte in the line, from 1, or 0. Pure;
 * any thread.
 */
int nb_request_parse(struct nb_request *req, char *line, size_t size, struct nb_err *err);

/* Return the value of option @name; NULL if it was not given. */
const char *nb_request_opt(const struct nb_request *req, const char *name);
/* Is the yes-or-no option @name "yes"? @absent is the default. */
bool nb_request_yes(const struct nb_request *req, const char *name, bool absent);

/*
 * nb_wire_hex - convert hexadecimal text to exactly @size bytes
 * @what: names the text in errors ("key", "value")
 *
 * The text has exactly 2 * @size digits, in upper or lower case. Returns 0 or
 * NB_E_ARG.
 */
int nb_wire_hex(void *out, size_t size, const char *text, const char *what, struct nb_err *err);

/* Parse a whole number in decimal within [@min, @max]. Returns 0, or
 * NB_E_ARG with @what, the text found and the range. */
int nb_wire_number(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char *what,
		   struct nb_err *err);

/*
 * Parse a size in bytes: a number, then nothing, "B", or one of K M G T (in
 * either case, powers of 1024) with or without "iB" or "B". Returns 0 or
 * NB_E_ARG.
 */
int nb_wire_size(uint64_t *out, const char *text, const char *what, struct nb_err *err);

/* Parse a communicator's identity, exactly 16 hexadecimal digits. Returns 0
 * or NB_E_ARG. */
int nb_wire_id(uint64_t *out, const char *text, const char *what, struct nb_err *err);

/*
 * Write a successful reply: open writes {"id":…,"ok":true,"data": to @out and
 * initialises @j, the caller writes exactly one value with @j, and close ends
 * the line.
 */
void nb_reply_open(struct nb_json *j, struct nb_buf *out, const struct nb_request *req);
void nb_reply_close(struct nb_json *j);

/* Write the last line of a stream. */
void nb_reply_end(struct nb_buf *out, const struct nb_request *req);

/*
 * Write an error reply. @extra (may be NULL) is called with @arg to add members
 * (finding, text) to the error object.
 */
typedef void nb_reply_extra_fn(struct nb_json *j, void *arg);
void nb_reply_error(struct nb_buf *out, const struct nb_request *req, const struct nb_err *err,
		    nb_reply_extra_fn *extra, void *arg);

#endif
