// SPDX-License-Identifier: MIT
/*
 * The wrapped plugins and the results of their calls. Their files are opened
 * when the process starts. They stay open, because a plugin that was called may
 * have threads. We call the table that NCCL would use, given the version with
 * which NCCL calls us.
 */
#include "plugin/wrap/wrapped.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

struct nb_wrapped nb_wrapped[NB_NWRAPPED];

static const struct {
	const char *word, *noun, *prefix, *stem;
	unsigned oldest;
	bool late;
	enum nb_param param;
	const char *variable, *error, *refused;
} rows[NB_NWRAPPED] = {
#define CHAIN(name, word, noun, late, prefix, stem, oldest, error, refused) \
	[NB_WRAPPED_##name] = { word,                                       \
				noun,                                       \
				prefix,                                     \
				stem,                                       \
				oldest,                                     \
				late,                                       \
				NB_P_CHAIN_##name,                          \
				"NCCLBPF_CHAIN_" #name,                     \
				error,                                      \
				refused },
#include "core/defs/chains.h"
};

const char *nb_wrapped_word(enum nb_wrapped_kind kind)
{
	return rows[kind].word;
}

const char *nb_wrapped_noun(enum nb_wrapped_kind kind)
{
	return rows[kind].noun;
}

static const char *state_word(enum nb_wrapped_state state)
{
	static const char *const words[] = {
		[NB_WRAPPED_NONE] = "none",
		[NB_WRAPPED_OPEN] = "waiting",
		[NB_WRAPPED_IN_USE] = "in_use",
		[NB_WRAPPED_LEFT_OUT] = "left_out",
	};

	return words[state];
}

static void tell_left_out(enum nb_wrapped_kind kind)
{
	const struct nb_wrapped *c = &nb_wrapped[kind];

	nb_log(NB_LOG_WARN, "%s: the %s %s is left out: %s%s%s", rows[kind].variable,
	       rows[kind].noun, c->file.path, c->why.text, c->why.hint[0] ? "; " : "", c->why.hint);
}

/* Handle a file that could not be opened; c->why has the reason. */
static void not_opened(enum nb_wrapped_kind kind)
{
	struct nb_wrapped *c = &nb_wrapped[kind];

	c->state = NB_WRAPPED_LEFT_OUT;
	tell_left_out(kind);
}

/*
 * Open a plugin's file. Log this first: if the file's constructors crash, the
 * last line of the log names the file.
 */
static int open_file(enum nb_wrapped_kind kind, const char *named, struct nb_library *file,
		     struct nb_err *err)
{
	nb_log(NB_LOG_INFO, "opening the %s %s", rows[kind].noun, named);
	return nb_library_open(file, named, rows[kind].prefix, err);
}

void nb_wrapped_open_all(void)
{
	for (int k = 0; k < NB_NWRAPPED; k++) {
		const char *named = nb_params.str[rows[k].param];
		struct nb_wrapped *c = &nb_wrapped[k];

		if (!*named)
			continue;
		c->state = NB_WRAPPED_OPEN;
		if (rows[k].late) {
			snprintf(c->file.path, sizeof(c->file.path), "%s", named);
			continue;
		}
		if (open_file((enum nb_wrapped_kind)k, named, &c->file, &c->why))
			not_opened((enum nb_wrapped_kind)k);
	}
}

static void leave_out_locked(enum nb_wrapped_kind kind, const char *why)
{
	struct nb_wrapped *c = &nb_wrapped[kind];

	if (c->state == NB_WRAPPED_LEFT_OUT)
		return;
	c->state = NB_WRAPPED_LEFT_OUT;
	nb_fail(&c->why, NB_E_NOTSUP, 0, "%s", why);
	tell_left_out(kind);
}

void nb_wrapped_leave_out(enum nb_wrapped_kind kind, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	nb_lock(NB_LOCK_WRAP);
	leave_out_locked(kind, why);
	nb_unlock(NB_LOCK_WRAP);
}

int nb_wrapped_open_late(enum nb_wrapped_kind kind, const char *otherwise)
{
	const char *named = nb_params.str[rows[kind].param];
	struct nb_wrapped *c = &nb_wrapped[kind];
	struct nb_library file;
	struct nb_err err;
	int rc = open_file(kind, *named ? named : otherwise, &file, &err);

	nb_lock(NB_LOCK_WRAP);
	c->file = file;
	if (rc) {
		c->why = err;
		not_opened(kind);
	}
	nb_unlock(NB_LOCK_WRAP);
	return rc;
}

/*
 * Use the plugin, unless it is another copy of ncclbpf, which the name in its
 * table would show.
 */
static bool take_locked(enum nb_wrapped_kind kind, uint32_t version, const char *name)
{
	struct nb_wrapped *c = &nb_wrapped[kind];

	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	if (!strcmp(c->name, "ncclbpf")) {
		leave_out_locked(kind, "it is another ncclbpf");
		return false;
	}
	if (c->state == NB_WRAPPED_IN_USE)
		return true;
	c->state = NB_WRAPPED_IN_USE;
	c->version = version;
	/* if the call ends the process, this is the last line of the log */
	nb_log(NB_LOG_INFO, "the %s %s (%s, interface v%u) is called first", rows[kind].noun,
	       c->file.path, c->name, version);
	return true;
}

bool nb_wrapped_take(enum nb_wrapped_kind kind, uint32_t version, const char *name)
{
	bool good;

	nb_lock(NB_LOCK_WRAP);
	good = take_locked(kind, version, name);
	nb_unlock(NB_LOCK_WRAP);
	return good;
}

/* Handle a plugin that has no table for this version of NCCL. */
static void none_fits(enum nb_wrapped_kind kind, uint32_t abi, uint32_t version)
{
	char why[200];

	if (version)
		snprintf(why, sizeof(why),
			 "the plugin has interface v%u, and this NCCL calls v%u and older", version,
			 abi);
	else if (abi <= rows[kind].oldest)
		snprintf(why, sizeof(why), "it has no %s%u, the version that this NCCL calls",
			 rows[kind].stem, abi);
	else
		snprintf(why, sizeof(why), "it has no %s%u to %s%u", rows[kind].stem,
			 rows[kind].oldest, rows[kind].stem, abi);
	leave_out_locked(kind, why);
}

static bool is_usable(const struct nb_wrapped *c)
{
	return c->state == NB_WRAPPED_OPEN || c->state == NB_WRAPPED_IN_USE;
}

const void *nb_wrapped_use(enum nb_wrapped_kind kind, uint32_t abi, uint32_t *version)
{
	struct nb_wrapped *c = &nb_wrapped[kind];
	const void *table = NULL;
	const char *name = NULL;
	unsigned v = 0;
	bool look;

	nb_lock(NB_LOCK_WRAP);
	look = is_usable(c);
	nb_unlock(NB_LOCK_WRAP);
	/*
	 * release our lock first: the loader holds its own lock while
	 * constructors of other libraries run, and a constructor may fork
	 */
	if (look)
		table = nb_library_find(&c->file, rows[kind].stem, abi,
					rows[kind].oldest < abi ? rows[kind].oldest : abi, &v);
	if (table)
		memcpy(&name, table, sizeof(name));
	nb_lock(NB_LOCK_WRAP);
	if (look && is_usable(c)) {
		if (!table)
			none_fits(kind, abi, v);
		else if (!take_locked(kind, v, name))
			table = NULL;
	} else {
		table = NULL;
	}
	nb_unlock(NB_LOCK_WRAP);
	*version = v;
	return table;
}

void nb_wrapped_count_error(enum nb_wrapped_kind kind)
{
	__atomic_fetch_add(&nb_wrapped[kind].errors, 1, __ATOMIC_RELAXED);
}

void nb_wrapped_count_failure(enum nb_wrapped_kind kind, const char *what, int result)
{
	struct nb_wrapped *c = &nb_wrapped[kind];
	const char *none = NULL;

	nb_wrapped_count_error(kind);
	if (__atomic_compare_exchange_n(&c->what, &none, what, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		nb_log(NB_LOG_WARN,
		       "the %s %s returned %s (%s: result %d); `status` counts the errors",
		       rows[kind].noun, c->file.path, rows[kind].error, what, result);
}

void nb_wrapped_note_edit(void)
{
	struct nb_wrapped *c = &nb_wrapped[NB_WRAPPED_TUNER];

	if (!__atomic_exchange_n(&c->edited, true, __ATOMIC_RELAXED))
		nb_log(NB_LOG_WARN,
		       "the tuner %s has edited RCCL's constants, whose layout is not NCCL's: "
		       "if it was built for NCCL, RCCL's cost model is wrong now",
		       c->file.path);
}

void nb_wrapped_count_refused(enum nb_wrapped_kind kind)
{
	__atomic_fetch_add(&nb_wrapped[kind].refused, 1, __ATOMIC_RELAXED);
}

static uint64_t load_counter(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void nb_wrapped_log(void)
{
	nb_lock(NB_LOCK_WRAP);
	for (int k = 0; k < NB_NWRAPPED; k++) {
		struct nb_wrapped *c = &nb_wrapped[k];
		bool errors = load_counter(&c->errors);

		if (c->told || !(errors || load_counter(&c->refused)))
			continue;
		c->told = true;
		if (__atomic_load_n(&c->what, __ATOMIC_ACQUIRE))
			/* the log has named the failed call already */
			continue;
		nb_log(NB_LOG_WARN, "the %s %s returned %s; `status` counts them", rows[k].noun,
		       c->file.path, errors ? rows[k].error : rows[k].refused);
	}
	nb_unlock(NB_LOCK_WRAP);
}

void nb_wrapped_json(struct nb_json *j)
{
	nb_lock(NB_LOCK_WRAP);
	nb_json_karr(j, "chains");
	for (int k = 0; k < NB_NWRAPPED; k++) {
		const struct nb_wrapped *c = &nb_wrapped[k];

		if (c->state == NB_WRAPPED_NONE)
			continue;
		nb_json_obj(j);
		nb_json_kstr(j, "kind", rows[k].word);
		nb_json_kstr(j, "path", c->file.path);
		nb_json_kstr(j, "name", c->name[0] ? c->name : NULL);
		nb_json_ku64(j, "interface", c->version);
		nb_json_kstr(j, "state", state_word(c->state));
		nb_json_ku64(j, "errors", load_counter(&c->errors));
		nb_json_ku64(j, "refused", load_counter(&c->refused));
		nb_json_kstr(j, "failed", __atomic_load_n(&c->what, __ATOMIC_ACQUIRE));
		nb_json_kstr(j, "why", c->state == NB_WRAPPED_LEFT_OUT ? c->why.text : NULL);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
	nb_unlock(NB_LOCK_WRAP);
}
