// SPDX-License-Identifier: MIT
/*
 * Finds out why NCCL does not use our GIN transport although it is on. It
 * checks our own failures first, then NCCL's variables, then where this NCCL
 * release looks for plugins.
 */
#include "plugin/gin/unused.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char values[NB_GIN_NVARIABLES][64];

void nb_gin_variables_read(void)
{
	static const char *const names[NB_GIN_NVARIABLES] = {
#define X(name) "NCCL_" #name,
		NB_GIN_VARIABLES(X)
#undef X
	};

	for (int i = 0; i < NB_GIN_NVARIABLES; i++) {
		const char *v = getenv(names[i]);

		snprintf(values[i], sizeof(values[i]), "%s", v ? v : "");
	}
}

const char *nb_gin_variable(enum nb_gin_variable v)
{
	return values[v];
}

/*
 * NCCL releases that changed where NCCL looks for a GIN plugin, as major *
 * 10000 + minor * 100 + patch.
 */
enum {
	FIRST = 22807, /* GIN v11, looked up in the net plugin's library only */
	CROSS_NIC_ASKED = 22902,
	OWN_LIBRARY =
		/*
		 * NCCL looks in NCCL_GIN_PLUGIN, then in the net plugin's
		 * library
		 */
	22907,
	CROSS_NIC_RAIL = 22907,
	/*
	 * NCCL looks in NCCL_RMA_PLUGIN, NCCL_GIN_PLUGIN, then the net plugin's
	 * library
	 */
	RMA = 23007,
};

/*
 * Returns true if a rule holds for this release. If the release is unknown,
 * every rule holds.
 */
static bool release_in(const struct nb_gin_situation *s, int from, int before)
{
	return !s->nccl || (s->nccl >= from && (!before || s->nccl < before));
}

static const char *value(const struct nb_gin_situation *s,
			 enum nb_gin_variable v)
{
	return s->variable[v] ? s->variable[v] : "";
}

static bool is(const struct nb_gin_situation *s, enum nb_gin_variable v,
	       const char *word)
{
	return !strcmp(value(s, v), word);
}

/*
 * Write the release's name, such as "NCCL 2.28.9", or only "NCCL" if it is
 * unknown.
 */
static const char *release_name(const struct nb_gin_situation *s, char *to,
				size_t size)
{
	if (s->nccl)
		snprintf(to, size, "NCCL %d.%d.%d", s->nccl / 10000,
			 s->nccl / 100 % 100, s->nccl % 100);
	else
		snprintf(to, size, "NCCL");
	return to;
}

static bool __attribute__((format(printf, 3, 4)))
because(struct nb_gin_reason *r, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	snprintf(r->hint, sizeof(r->hint), "%s", hint);
	return true;
}

/* Report why we gave NCCL no device although it called our init function. */
static bool refused_by_us(const struct nb_gin_situation *s,
			  struct nb_gin_reason *r)
{
	if (!s->called)
		return false;
	if (!s->transport && s->wrapping)
		return because(
			r, "chain_gin has the reason",
			"the GIN plugin of NCCLBPF_CHAIN_GIN is left out, "
			"so NCCL was given no device");
	if (!s->transport)
		return because(
			r, "NCCL's log has the reason",
			"ncclbpf does nothing in this process, so NCCL was given no device");
	return because(
		r,
		s->wrapping ? ""
			    : "NCCL_SOCKET_IFNAME names the network interfaces",
		"NCCL has asked for a GIN device, but %s none",
		s->wrapping ? "the wrapped GIN plugin has"
			    : "our TCP transport has found");
}

/*
 * Find a variable whose value stops NCCL from using GIN. Some rules hold only
 * for some NCCL releases.
 */
static bool variable_forbids(const struct nb_gin_situation *s,
			     struct nb_gin_reason *r)
{
	static const struct {
		enum nb_gin_variable v;
		const char *value, *text;
		/*
		 * the first NCCL release for which the rule holds, and the
		 * first for which it no longer holds (0: none)
		 */
		int from, before;
	} rows[] = {
		{ NB_GIN_VAR_GIN_ENABLE, "0", "NCCL_GIN_ENABLE=0", FIRST, 0 },
		{ NB_GIN_VAR_WIN_ENABLE, "0", "NCCL_WIN_ENABLE=0", FIRST, 0 },
		{ NB_GIN_VAR_CUMEM_ENABLE, "0", "NCCL_CUMEM_ENABLE=0", FIRST,
		  0 },
		{ NB_GIN_VAR_GIN_PLUGIN, "none", "NCCL_GIN_PLUGIN=none",
		  OWN_LIBRARY, RMA },
		{ NB_GIN_VAR_RMA_PLUGIN, "none", "NCCL_RMA_PLUGIN=none", RMA,
		  0 },
		{ NB_GIN_VAR_CROSS_NIC, "0", "NCCL_CROSS_NIC=0",
		  CROSS_NIC_ASKED, CROSS_NIC_RAIL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is(s, rows[i].v, rows[i].value) &&
		    release_in(s, rows[i].from, rows[i].before))
			return because(r, "unset it", "%s keeps NCCL from GIN",
				       rows[i].text);
	/*
	 * Check NCCL_GIN_TYPE only if no plugin is wrapped. A wrapped plugin
	 * may have the type that the variable requires.
	 */
	if (*value(s, NB_GIN_VAR_GIN_TYPE) && !s->wrapping &&
	    !is(s, NB_GIN_VAR_GIN_TYPE, "-1") &&
	    !is(s, NB_GIN_VAR_GIN_TYPE, "2"))
		return because(
			r, "unset it, or set it to 2",
			"NCCL_GIN_TYPE=%.16s keeps NCCL from our transport, whose type is 2",
			value(s, NB_GIN_VAR_GIN_TYPE));
	return false;
}

/* Returns why the net plugin in use is not ours. */
static const char *net_reason(const struct nb_gin_situation *s, char *to,
			      size_t size)
{
	if (s->net_off)
		return "NCCLBPF_NET=off";
	if (!strstr(value(s, NB_GIN_VAR_NET_PLUGIN), "ncclbpf"))
		return "NCCL_NET_PLUGIN does not name ncclbpf";
	snprintf(to, size, "NCCL_NET=%.32s", value(s, NB_GIN_VAR_NET));
	return *value(s, NB_GIN_VAR_NET) ? to : "NCCL uses another net plugin";
}

/* Explain that NCCL has not found our GIN plugin, and which variable to set. */
static void not_found(const struct nb_gin_situation *s, const char *release,
		      struct nb_gin_reason *r)
{
	bool rma = s->nccl >= RMA;
	const char *name = rma ? "NCCL_RMA_PLUGIN" : "NCCL_GIN_PLUGIN";
	const char *set =
		value(s, rma ? NB_GIN_VAR_RMA_PLUGIN : NB_GIN_VAR_GIN_PLUGIN);
	char hint[64];

	snprintf(hint, sizeof(hint), "set %s=ncclbpf", name);
	if (*set && !strstr(set, "ncclbpf"))
		because(r, hint,
			"%s looks in %s=%.64s first, which is not ncclbpf",
			release, name, set);
	else if (*set || s->net_ours)
		because(r,
			"NCCL asks when the first kernel needs GIN, "
			"and only if symmetric memory works",
			"%s has not asked for GIN yet", release);
	else
		because(r, hint,
			"%s has not found our GIN plugin: "
			"%s is not set, and the net plugin is not ours",
			release, name);
}

void nb_gin_unused(const struct nb_gin_situation *s,
		   struct nb_gin_reason *reason)
{
	char release[32], net[64];

	release_name(s, release, sizeof(release));
	if (s->nccl && s->nccl < FIRST) {
		because(reason, "use NCCL 2.28.7 or newer",
			"%s has no GIN plugins", release);
		return;
	}
	if (refused_by_us(s, reason) || variable_forbids(s, reason))
		return;
	if (s->nccl >= OWN_LIBRARY)
		not_found(s, release, reason);
	else if (!s->nccl && !s->net_ours)
		because(reason,
			"set NCCL_NET_PLUGIN, from 2.29.7 on NCCL_GIN_PLUGIN, "
			"from 2.30.7 on NCCL_RMA_PLUGIN",
			"NCCL has not found our GIN plugin: "
			"NCCL's version is not known, and the net plugin is not ours");
	else if (!s->net_ours)
		because(reason, "set NCCL_NET_PLUGIN=ncclbpf",
			"%s looks for GIN only in the net plugin's library, "
			"and the net plugin is not ours: %s",
			release, net_reason(s, net, sizeof(net)));
	else
		because(reason,
			"NCCL asks when the first kernel needs GIN, "
			"and only if symmetric memory works",
			"%s has not asked for GIN yet", release);
}
