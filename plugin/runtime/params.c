// SPDX-License-Identifier: MIT
/*
 * Reads the NCCLBPF_* variables, which are rows of core/defs/params.h. An
 * invalid value is logged, and the default applies. An unknown NCCLBPF_ name is
 * logged with the nearest known name. The environment is read once, before this
 * library starts a thread.
 */
#include "plugin/runtime/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ascii.h"
#include "plugin/runtime/log.h"

#define PREFIX "NCCLBPF_"

extern char **environ;

struct nb_params nb_params;

/* Returns the index of @word among "a|b|c", or -1. */
static int find_choice(const char *choices, const char *word)
{
	size_t n = strlen(word);

	for (int i = 0; *choices; i++) {
		size_t len = strcspn(choices, "|");

		if (len == n && !strncmp(choices, word, n))
			return i;
		choices += len + (choices[len] == '|');
	}
	return -1;
}

/*
 * Set parameter @p from @text. Returns false if the value is not allowed, or if
 * there is no memory; the parameter's text is then NULL.
 */
static bool take_value(struct nb_params *out, enum nb_param p, const char *text)
{
	const struct nb_param_spec *s = nb_spec_param(p);
	char *copy;
	int i;

	switch (s->type) {
	case NB_PARAM_INT:
		return nb_spec_param_int(p, text, &out->num[p]);
	case NB_PARAM_ENUM:
		i = find_choice(s->choices, text);
		if (i >= 0)
			out->num[p] = i;
		return i >= 0;
	case NB_PARAM_STR:
		if (strlen(text) > (size_t)s->max)
			return false;
		copy = strdup(text);
		free(out->str[p]);
		out->str[p] = copy;
		return copy != NULL;
	}
	return false;
}

static void warn_value(const struct nb_param_spec *s, const char *text)
{
	switch (s->type) {
	case NB_PARAM_INT:
		nb_log(NB_LOG_WARN,
		       PREFIX
		       "%s=%.100s: allowed are whole numbers from %lld to %lld%s%s; %s is used",
		       s->name, text, (long long)s->min, (long long)s->max,
		       s->unit[0] && s->unit[0] != '1' ? " " : "", s->unit[0] != '1' ? s->unit : "",
		       s->def);
		break;
	case NB_PARAM_ENUM:
		nb_log(NB_LOG_WARN, PREFIX "%s=%.100s: allowed are %s; %s is used", s->name, text,
		       s->choices, s->def);
		break;
	case NB_PARAM_STR:
		nb_log(NB_LOG_WARN, PREFIX "%s: %zu bytes, allowed are at most %lld; it is ignored",
		       s->name, strlen(text), (long long)s->max);
		break;
	}
}

static bool is_known(const char *name, size_t size)
{
	for (int p = 0; p < NB_NPARAMS; p++) {
		const char *have = nb_spec_param((enum nb_param)p)->name;

		if (strlen(have) == size && !strncmp(have, name, size))
			return true;
	}
	return false;
}

static void warn_unknown(const char *name, size_t size)
{
	const char *names[NB_NPARAMS], *near[2];
	char word[64];

	for (int p = 0; p < NB_NPARAMS; p++)
		names[p] = nb_spec_param((enum nb_param)p)->name;
	snprintf(word, sizeof(word), "%.*s", (int)(size < 60 ? size : 60), name);
	nb_spec_nearest(word, names, NB_NPARAMS, near);
	if (near[0])
		nb_log(NB_LOG_WARN,
		       PREFIX "%s is not a variable of ncclbpf; did you mean " PREFIX "%s?", word,
		       near[0]);
	else
		nb_log(NB_LOG_WARN, PREFIX "%s is not a variable of ncclbpf", word);
}

static const char *in_environment(enum nb_param p)
{
	const struct nb_param_spec *s = nb_spec_param(p);
	char name[64];

	if (!(s->who & NB_PARAM_PLUGIN))
		return NULL;
	snprintf(name, sizeof(name), PREFIX "%s", s->name);
	return getenv(name);
}

static void complain_all(struct nb_params *p)
{
	const size_t skip = strlen(PREFIX);

	for (int i = 0; i < NB_NPARAMS; i++) {
		const char *text = in_environment((enum nb_param)i);

		if (!text || p->set[i])
			continue;
		p->bad[i] = *text;
		warn_value(nb_spec_param((enum nb_param)i), text);
	}
	for (char **e = environ; e && *e; e++) {
		size_t size = strcspn(*e, "=");

		if (strncmp(*e, PREFIX, skip) || is_known(*e + skip, size - skip))
			continue;
		if (p->nunknown < NB_PARAMS_UNKNOWN)
			snprintf(p->unknown[p->nunknown], NB_PARAMS_TEXT, "%.*s",
				 (int)(size < 90 ? size : 90), *e);
		p->nunknown++;
		warn_unknown(*e + skip, size - skip);
	}
}

static void copy_variable(char to[NB_PARAMS_TEXT], const char *name)
{
	const char *value = getenv(name);

	snprintf(to, NB_PARAMS_TEXT, "%s", value ? value : "");
}

static bool params_complete(const struct nb_params *p)
{
	for (int i = 0; i < NB_NPARAMS; i++)
		if (nb_spec_param((enum nb_param)i)->type == NB_PARAM_STR && !p->str[i])
			return false;
	return true;
}

/* Read all values before logging, because NCCLBPF_LOG is one of them. */
int nb_params_read(void)
{
	/* "none" is no plugin, as in NCCL's own variables */
	static const enum nb_param chains[] = { NB_P_CHAIN_TUNER, NB_P_CHAIN_NET, NB_P_CHAIN_GIN,
						NB_P_CHAIN_PROFILER };
	struct nb_params *p = &nb_params;

	memset(p, 0, sizeof(*p));
	p->nccl_filter = getenv("NCCL_ALGO") || getenv("NCCL_PROTO");
	copy_variable(p->nccl_algo, "NCCL_ALGO");
	copy_variable(p->nccl_proto, "NCCL_PROTO");
	copy_variable(p->nccl_tuner_plugin, "NCCL_TUNER_PLUGIN");
	for (int i = 0; i < NB_NPARAMS; i++) {
		const char *text = in_environment((enum nb_param)i);

		take_value(p, (enum nb_param)i, nb_spec_param((enum nb_param)i)->def);
		p->set[i] = text && take_value(p, (enum nb_param)i, text);
	}
	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++)
		if (p->str[chains[i]] && nb_same_word(p->str[chains[i]], "none"))
			take_value(p, chains[i], "");
	nb_log_level = (enum nb_log_level)p->num[NB_P_LOG];
	if (!params_complete(p)) {
		nb_log(NB_LOG_WARN, "no memory for the values of " PREFIX " variables");
		return NB_E_NOMEM;
	}
	complain_all(p);
	return 0;
}

void nb_params_free(void)
{
	for (int i = 0; i < NB_NPARAMS; i++)
		free(nb_params.str[i]);
	memset(&nb_params, 0, sizeof(nb_params));
}
