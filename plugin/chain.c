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
#include "plugin/runtime.h"

static const struct {
	const char *word, *prefix, *stem;
	unsigned oldest;
	enum nb_param param;
	const char *variable, *error, *refused;
} rows[NB_NCHAINS] = {
#define CHAIN(name, word, prefix, stem, oldest, error, refused) \
	[NB_CHAIN_##name] = { word,                             \
			      prefix,                           \
			      stem,                             \
			      oldest,                           \
			      NB_P_CHAIN_##name,                \
			      "NCCLBPF_CHAIN_" #name,           \
			      error,                            \
			      refused },
#include "core/tbl/chains.h"
};

const char *nb_chain_word(enum nb_chain_kind kind)
{
	return rows[kind].word;
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
	       rows[kind].variable, rows[kind].word, c->file.path, c->why.text,
	       c->why.hint[0] ? "; " : "", c->why.hint);
}

void nb_chain_begin(struct nb_runtime *rt)
{
	for (int k = 0; k < NB_NCHAINS; k++) {
		const char *named = rt->params.str[rows[k].param];
		struct nb_chain *c = &rt->chain[k];

		if (!*named)
			continue;
		c->state = NB_CHAIN_OPEN;
		if (!nb_chain_open(&c->file, named, rows[k].prefix, &c->why))
			continue;
		c->state = NB_CHAIN_LEFT_OUT;
		tell_left_out(rt, (enum nb_chain_kind)k);
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

/* All tables begin with their owner's name, which a copy of ours shows. */
static bool fitting(struct nb_runtime *rt, enum nb_chain_kind kind,
		    const void *table, uint32_t abi, uint32_t version)
{
	struct nb_chain *c = &rt->chain[kind];
	const char *name;
	char why[200];

	if (!table && version)
		snprintf(why, sizeof(why),
			 "it has interface v%u, and this NCCL calls v%u and "
			 "older",
			 version, abi);
	else if (!table)
		snprintf(why, sizeof(why), "it has no %s%u to %s%u",
			 rows[kind].stem, rows[kind].oldest, rows[kind].stem,
			 abi);
	if (!table) {
		leave_out(rt, kind, why);
		return false;
	}
	memcpy(&name, table, sizeof(name));
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	if (strcmp(c->name, "ncclbpf") != 0)
		return true;
	leave_out(rt, kind, "it is another ncclbpf");
	return false;
}

const void *nb_chain_use(struct nb_runtime *rt, enum nb_chain_kind kind,
			 uint32_t abi, uint32_t *version)
{
	struct nb_chain *c = &rt->chain[kind];
	const void *table = NULL;
	unsigned v = 0;

	nb_runtime_lock(rt);
	if (c->state == NB_CHAIN_OPEN || c->state == NB_CHAIN_IN_USE) {
		table = nb_chain_find(&c->file, rows[kind].stem, abi,
				      rows[kind].oldest, &v);
		if (!fitting(rt, kind, table, abi, v))
			table = NULL;
	}
	if (table && c->state == NB_CHAIN_OPEN) {
		c->state = NB_CHAIN_IN_USE;
		c->version = v;
		/* the last line in the log if it crashes */
		nb_log(rt, NB_LOG_INFO,
		       "the %s %s (%s, interface v%u) is called first",
		       rows[kind].word, c->file.path, c->name, v);
	}
	nb_runtime_unlock(rt);
	*version = v;
	return table;
}

void nb_chain_count_error(struct nb_runtime *rt, enum nb_chain_kind kind)
{
	__atomic_fetch_add(&rt->chain[kind].errors, 1, __ATOMIC_RELAXED);
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
		nb_log(rt, NB_LOG_WARN,
		       "the %s %s returned %s; `status` counts", rows[k].word,
		       c->file.path, errors ? rows[k].error : rows[k].refused);
	}
}

uint32_t nb_chain_setting(const struct nb_runtime *rt, enum nb_chain_kind kind)
{
	const struct nb_chain *c = &rt->chain[kind];

	return c->state == NB_CHAIN_OPEN || c->state == NB_CHAIN_IN_USE
		       ? c->file.digest
		       : 0;
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
		nb_json_kstr(j, "why",
			     c->state == NB_CHAIN_LEFT_OUT ? c->why.text
							   : NULL);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}
