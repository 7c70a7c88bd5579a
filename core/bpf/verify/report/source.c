// SPDX-License-Identifier: MIT
/* Read names off the lines of C source that the image keeps for messages. A
 * function gives an answer only if the line can mean one thing. */
#include "core/bpf/verify/report/source.h"

#include <string.h>

#include "core/bpf/verify/report/format.h"
#include "core/bpf/verify/report/say.h"

/* May @text stand in a condition? It has to be one expression without a
 * call or an assignment. */
static bool plain(const char *text, size_t n)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.->&%+ ";

	if (!n || n > 40 || strspn(text, ok) < n)
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		if ((text[i] == '+' && text[i + 1] == '+') ||
		    (text[i] == '-' && text[i + 1] == '-'))
			return false;
	return text[0] < '0' || text[0] > '9';
}

/* Return the text between the only brackets of @text; NULL if there is not
 * exactly one pair. */
static const char *between(struct nb_env *env, const char *text)
{
	const char *open = strchr(text, '[');
	const char *close = open ? strchr(open, ']') : NULL;

	if (!close || strchr(open + 1, '[') || !plain(open + 1, (size_t)(close - open - 1)))
		return NULL;
	return nb_say(env, "%.*s", (int)(close - open - 1), open + 1);
}

const char *nb_source_index(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->program.prog, pc);
	const char *text = NULL;

	if (l && l->text && l->col && strlen(l->text) >= l->col)
		text = between(env, l->text + l->col - 1);
	if (!text && l && l->text)
		text = between(env, l->text);
	return text;
}

const char *nb_source_argument(struct nb_env *env, uint32_t pc, int number)
{
	const struct nb_line *l = nb_line_of(env->program.prog, pc);
	const char *at = l && l->text ? strstr(l->text, "bpf_") : NULL;
	size_t n;

	if (!at || strstr(at + 1, "bpf_") || !(at = strchr(at, '(')))
		return "";
	for (at++; --number > 0; at++) {
		at += strcspn(at, ",()");
		if (*at != ',')
			return "";
	}
	at += strspn(at, " \t");
	if (*at++ != '&')
		return "";
	n = strspn(at, "abcdefghijklmnopqrstuvwxyz"
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return n && (at[n] == ',' || at[n] == ')') ? nb_say(env, "%.*s", (int)n, at) : "";
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

const char *nb_source_assigned(struct nb_env *env, const char *text)
{
	const char *at = strstr(text, "= bpf_"), *end;

	if (!at || strstr(at + 1, "= bpf_"))
		return "";
	while (at > text && at[-1] == ' ')
		at--;
	end = at;
	while (at > text && in_name(at[-1]))
		at--;
	if (at == end || (*at >= '0' && *at <= '9') || (at > text && !strchr(" \t*", at[-1])))
		return "";
	return nb_say(env, "%.*s", (int)(end - at), at);
}
