// SPDX-License-Identifier: MIT
// Which plugins are called through ours, and what came of it. The files are
// opened when the runtime is made and stay open: a plugin that was called may
// have threads. Which of its tables is called follows from the version with
// which NCCL calls ours: the one that NCCL itself would have taken.
#include "plugin/chain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "plugin/guard.h"
#include "plugin/runtime.h"

static const struct {
	const char *word, *noun, *prefix, *stem;
	unsigned oldest;
	bool late;
	enum nb_param param;
	const char *variable, *error, *refused;
} rows[NB_NCHAINS] = {
#define CHAIN(name, word, noun, late, prefix, stem, oldest, error, refused) \
	[NB_CHAIN_##name] = { word,                                         \
			      noun,                                         \
			      prefix,                                       \
			      stem,                                         \
			      oldest,                                       \
			      late,                                         \
			      NB_P_CHAIN_##name,                            \
			      "NCCLBPF_CHAIN_" #name,                       \
			      error,                                        \
			      refused },
#include "core/tbl/chains.h"
};

const char *nb_chain_word(enum nb_chain_kind kind)
{
	return rows[kind].word;
}

const char *nb_chain_noun(enum nb_chain_kind kind)
{
	return rows[kind].noun;
}

const char *nb_chain_state_word(enum nb_chain_state state)
{
	static const char *const words[] = {
		[NB_CHAIN_NONE] = "none",
		[NB_CHAIN_OPEN] = "waiting",
		[NB_CHAIN_IN_USE] = "in_use",
		[NB_CHAIN_LEFT_OUT] = "left_out",
	};

	return words[state];
}

static void tell_left_out(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	const struct nb_chain *c = &rt->chain[kind];

	nb_log(rt, NB_LOG_WARN, "%s: the %s %s is left out: %s%s%s",
	       rows[kind].variable, rows[kind].noun, c->file.path, c->why.text,
	       c->why.hint[0] ? "; " : "", c->why.hint);
}

/* It could not be opened: why says it. */
static void not_opened(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	struct nb_chain *c = &rt->chain[kind];

	c->state = NB_CHAIN_LEFT_OUT;
	if (c->file.crashed) {
		nb_chain_count_error(rt, kind);
		__atomic_store_n(&c->crashed, true, __ATOMIC_RELAXED);
	}
	tell_left_out(rt, kind);
}

void nb_chain_begin(struct nb_runtime *rt)
{
	nb_guard_enable(!rt->params.num[NB_P_CHAIN_GUARD]);
	for (int k = 0; k < NB_NCHAINS; k++) {
		const char *named = rt->params.str[rows[k].param];
		struct nb_chain *c = &rt->chain[k];

		if (!*named)
			continue;
		c->state = NB_CHAIN_OPEN;
		if (rows[k].late) {
			snprintf(c->file.path, sizeof(c->file.path), "%s",
				 named);
			continue;
		}
		if (!nb_chain_open(&c->file, named, rows[k].prefix, &c->why))
			continue;
		not_opened(rt, (enum nb_chain_kind)k);
	}
}

static void leave_out(struct nb_runtime *rt, enum nb_chain_kind kind,
		      const char *why)
{
	struct nb_chain *c = &rt->chain[kind];

	if (c->state == NB_CHAIN_LEFT_OUT)
		return;
	c->state = NB_CHAIN_LEFT_OUT;
	nb_fail(&c->why, NB_E_NOTSUP, 0, "%s", why);
	tell_left_out(rt, kind);
}

void nb_chain_leave_out(struct nb_runtime *rt, enum nb_chain_kind kind,
			const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	nb_runtime_lock(rt);
	leave_out(rt, kind, why);
	nb_runtime_unlock(rt);
}

void nb_chain_crashed(struct nb_runtime *rt, enum nb_chain_kind kind,
		      const struct nb_crash *crash)
{
	char words[256];

	nb_guard_say(crash, words, sizeof(words));
	nb_chain_count_error(rt, kind);
	__atomic_store_n(&rt->chain[kind].crashed, true, __ATOMIC_RELAXED);
	nb_chain_leave_out(rt, kind, "it crashed in its init: %s", words);
}

bool nb_chain_has_crashed(const struct nb_runtime *rt, enum nb_chain_kind kind)
{
	return __atomic_load_n(&rt->chain[kind].crashed, __ATOMIC_RELAXED);
}

int nb_chain_open_late(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	struct nb_chain *c = &rt->chain[kind];
	struct nb_chain_file file;
	struct nb_err err;
	int rc = nb_chain_open(&file, rt->params.str[rows[kind].param],
			       rows[kind].prefix, &err);

	nb_runtime_lock(rt);
	c->file = file;
	if (rc) {
		c->why = err;
		not_opened(rt, kind);
	}
	nb_runtime_unlock(rt);
	return rc;
}

/* All tables begin with their owner's name, which a copy of ours shows. */
static bool taken(struct nb_runtime *rt, enum nb_chain_kind kind,
		  uint32_t version, const char *name)
{
	struct nb_chain *c = &rt->chain[kind];

	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	if (!strcmp(c->name, "ncclbpf")) {
		leave_out(rt, kind, "it is another ncclbpf");
		return false;
	}
	if (c->state == NB_CHAIN_IN_USE)
		return true;
	c->state = NB_CHAIN_IN_USE;
	c->version = version;
	/* the last line in the log if that ends the process */
	nb_log(rt, NB_LOG_INFO, "the %s %s (%s, interface v%u) is called first",
	       rows[kind].noun, c->file.path, c->name, version);
	return true;
}

bool nb_chain_taken(struct nb_runtime *rt, enum nb_chain_kind kind,
		    uint32_t version, const char *name)
{
	bool good;

	nb_runtime_lock(rt);
	good = taken(rt, kind, version, name);
	nb_runtime_unlock(rt);
	return good;
}

/* It has no table for this NCCL. */
static void none_fits(struct nb_runtime *rt, enum nb_chain_kind kind,
		      uint32_t abi, uint32_t version)
{
	char why[200];

	if (version)
		snprintf(why, sizeof(why),
			 "it has interface v%u, and this NCCL calls v%u and "
			 "older",
			 version, abi);
	else
		snprintf(why, sizeof(why), "it has no %s%u to %s%u",
			 rows[kind].stem, rows[kind].oldest, rows[kind].stem,
			 abi);
	leave_out(rt, kind, why);
}

static bool usable(const struct nb_chain *c)
{
	return c->state == NB_CHAIN_OPEN || c->state == NB_CHAIN_IN_USE;
}

const void *nb_chain_use(struct nb_runtime *rt, enum nb_chain_kind kind,
			 uint32_t abi, uint32_t *version)
{
	struct nb_chain *c = &rt->chain[kind];
	const void *table = NULL;
	const char *name = NULL;
	unsigned v = 0;
	bool look;

	nb_runtime_lock(rt);
	look = usable(c);
	nb_runtime_unlock(rt);
	/* not with the lock: the loader has one of its own, and holds it while
	 * constructors of others run, which may fork */
	if (look)
		table = nb_chain_find(&c->file, rows[kind].stem, abi,
				      rows[kind].oldest, &v);
	if (table)
		memcpy(&name, table, sizeof(name));
	nb_runtime_lock(rt);
	if (look && usable(c)) {
		if (!table)
			none_fits(rt, kind, abi, v);
		else if (!taken(rt, kind, v, name))
			table = NULL;
	} else {
		table = NULL;
	}
	nb_runtime_unlock(rt);
	*version = v;
	return table;
}

void nb_chain_count_error(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	__atomic_fetch_add(&rt->chain[kind].errors, 1, __ATOMIC_RELAXED);
}

void nb_chain_count_failure(struct nb_runtime *rt, enum nb_chain_kind kind,
			    const char *what, int result)
{
	struct nb_chain *c = &rt->chain[kind];
	const char *none = NULL;

	nb_chain_count_error(rt, kind);
	if (__atomic_compare_exchange_n(&c->what, &none, what, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		nb_log(rt, NB_LOG_WARN,
		       "the %s %s returned %s (%s: result %d); `status` counts",
		       rows[kind].noun, c->file.path, rows[kind].error, what,
		       result);
}

void nb_chain_count_refused(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	__atomic_fetch_add(&rt->chain[kind].refused, 1, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void nb_chain_tell(struct nb_runtime *rt)
{
	for (int k = 0; k < NB_NCHAINS; k++) {
		struct nb_chain *c = &rt->chain[k];
		bool errors = get(&c->errors);

		if (c->told || !(errors || get(&c->refused)))
			continue;
		c->told = true;
		if (__atomic_load_n(&c->what, __ATOMIC_ACQUIRE))
			continue; /* said by name */
		nb_log(rt, NB_LOG_WARN,
		       "the %s %s returned %s; `status` counts", rows[k].noun,
		       c->file.path, errors ? rows[k].error : rows[k].refused);
	}
}

void nb_chain_json(struct nb_json *j, const struct nb_runtime *rt)
{
	nb_json_key(j, "chains");
	nb_json_arr(j);
	for (int k = 0; k < NB_NCHAINS; k++) {
		const struct nb_chain *c = &rt->chain[k];

		if (c->state == NB_CHAIN_NONE)
			continue;
		nb_json_obj(j);
		nb_json_kstr(j, "kind", rows[k].word);
		nb_json_kstr(j, "path", c->file.path);
		nb_json_kstr(j, "name", c->name[0] ? c->name : NULL);
		nb_json_ku64(j, "interface", c->version);
		nb_json_kstr(j, "state", nb_chain_state_word(c->state));
		nb_json_ku64(j, "errors", get(&c->errors));
		nb_json_ku64(j, "refused", get(&c->refused));
		nb_json_kstr(j, "failed",
			     __atomic_load_n(&c->what, __ATOMIC_ACQUIRE));
		nb_json_kstr(j, "why",
			     c->state == NB_CHAIN_LEFT_OUT ? c->why.text
							   : NULL);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}
