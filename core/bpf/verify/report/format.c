// SPDX-License-Identifier: MIT
/* Formatted texts in the verdict's arena. */
#include "core/bpf/verify/report/format.h"

#include <stdarg.h>
#include <stdio.h>

const char *nb_say(struct nb_env *env, const char *fmt, ...)
{
	char text[600];
	const char *p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p = nb_arena_str(env->program.arena, text, sizeof(text));
	return p ? p : "";
}

const char *nb_map_name(const struct nb_env *env, uint32_t map)
{
	return map < env->program.img->nmaps && env->program.img->maps[map].name
		       ? env->program.img->maps[map].name
		       : "?";
}
