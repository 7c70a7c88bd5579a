// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ENV_OVERRIDE_H
#define NB_PLUGIN_ENV_OVERRIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The env plugin. NCCL asks it for variables, instead of the environment, if
 * NCCL_ENV_PLUGIN names us. A file and the shell override variables; SEC("env")
 * programs may then change the value. Texts stay valid until the library is
 * unloaded.
 */
struct nb_json;

enum {
	NB_OVERRIDES = 128,	   /* variables */
	NB_OVERRIDE_ANSWERS = 256, /* distinct values that programs have set */
	NB_OVERRIDE_NAME = 64,	   /* with the zero byte */
	NB_OVERRIDE_VALUE = 1024,
	NB_OVERRIDE_TEXTS = 1 << 16 /* bytes of all values ever set */
};

enum nb_override_by { NB_OVERRIDE_FILE, NB_OVERRIDE_SHELL, NB_OVERRIDE_POLICY };

/*
 * nb_override_get - what NCCL gets for a variable
 * @name: may be NULL
 *
 * NULL: it is not set. Any thread, at any time, with any lock of NCCL's held:
 * takes no lock, allocates nothing, writes nothing to the log (NCCL's logger
 * may be the caller). getenv(3) is called for what is not overridden.
 */
const char *nb_override_get(const char *name);
/* NCCL looks variables up here from now on, and programs may answer. */
void nb_override_on(void);

/* ---- with NB_LOCK_STATE, or while the process starts ---- */

/*
 * nb_override_set - override a variable
 * @value: NULL: NCCL finds it not set
 *
 * 0, NB_E_ARG (no name of a variable; control characters), NB_E_LIMIT (too
 * long), NB_E_FULL (NB_OVERRIDES variables, or NB_OVERRIDE_TEXTS bytes).
 */
int nb_override_set(const char *name, const char *value, enum nb_override_by by,
		    struct nb_err *err);
/* 0 or NB_E_NOENT: it is not overridden. */
int nb_override_forget(const char *name, struct nb_err *err);
/* Take all lines of a file, or none if one is wrong; that is logged. */
void nb_override_file(const char *path);

/* Log each override that NCCL has read, once. */
void nb_override_tell(void);
/* Write the members of `env list`: whether and how often NCCL looks up
 * variables, and the overrides. */
void nb_override_json(struct nb_json *j);

#endif
