// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ENV_OVERRIDE_H
#define NB_PLUGIN_ENV_OVERRIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The env plugin. If NCCL_ENV_PLUGIN names this library, NCCL asks it for
 * variables instead of reading the environment. A file and the shell override
 * variables; programs of SEC("env") may then change the value. Texts stay valid
 * until the process ends.
 */
struct nb_json;

enum {
	NB_OVERRIDES = 128, /* largest number of overridden variables */
	/* largest number of distinct values that programs may choose */
	NB_OVERRIDE_ANSWERS = 256,
	/* size of a variable's name, including its zero byte */
	NB_OVERRIDE_NAME = 64,
	NB_OVERRIDE_VALUE = 1024,
	NB_OVERRIDE_TEXTS = 1 << 16 /* total bytes of all values ever set */
};

enum nb_override_by { NB_OVERRIDE_FILE, NB_OVERRIDE_SHELL, NB_OVERRIDE_POLICY };

/*
 * nb_override_get - get the value of a variable for NCCL
 * @name: may be NULL
 *
 * Returns NULL if the variable is not set. Any thread may call it at any time,
 * with any of NCCL's locks held. It takes no lock, allocates nothing, and does
 * not log, because NCCL's logger may be the caller. It calls getenv(3) for a
 * variable without override.
 */
const char *nb_override_get(const char *name);
/* Note that NCCL looks up variables here, so programs may answer. */
void nb_override_on(void);

/* The functions below need NB_LOCK_STATE, except while the process starts. */

/*
 * nb_override_set - override a variable
 * @value: NULL: NCCL finds the variable not set
 *
 * Returns 0, NB_E_ARG (an invalid name, or control characters), NB_E_LIMIT (too
 * long) or NB_E_FULL (NB_OVERRIDES variables or NB_OVERRIDE_TEXTS bytes are in
 * use).
 */
int nb_override_set(const char *name, const char *value, enum nb_override_by by,
		    struct nb_err *err);
/*
 * Remove an override. Returns 0, or NB_E_NOENT if the variable is not
 * overridden.
 */
int nb_override_forget(const char *name, struct nb_err *err);
/*
 * Read overrides from a file: all lines, or none if a line is invalid, which is
 * logged.
 */
void nb_override_file(const char *path);

/* Log once for each override that NCCL has read it. */
void nb_override_tell(void);
/*
 * Write the members of `env list`: whether and how often NCCL looks up
 * variables, and the overrides.
 */
void nb_override_json(struct nb_json *j);

#endif
