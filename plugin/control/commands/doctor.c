// SPDX-License-Identifier: MIT
/*
 * Handler of `doctor`, which checks for everything that can stop a policy from
 * deciding. Each check reports a level, a finding and advice. The command
 * changes nothing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job/segment/leftover.h"
#include "plugin/change/divergence.h"
#include "plugin/change/no_tuner.h"
#include "plugin/comm/overdue.h"
#include "plugin/control/dispatch.h"
#include "plugin/gin/choice.h"
#include "plugin/gin/gin.h"
#include "plugin/gin/list.h"
#include "plugin/job/no_agent.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/net/list.h"
#include "plugin/net/net.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/policies/held.h"
#include "plugin/policies/load.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/nccl_doubt.h"
#include "plugin/runtime/params.h"
#include "plugin/verbs/stalled.h"
#include "plugin/verbs/unseen.h"
#include "plugin/verbs/verbs.h"
#include "plugin/wrap/wrapped.h"

static const char prefix[] = "NCCLBPF_";

enum level { OK, WARN, BAD };

static void __attribute__((format(printf, 5, 6)))
check(struct nb_json *j, const char *name, enum level level, const char *hint, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "warn", "bad" };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	nb_json_obj(j);
	nb_json_kstr(j, "name", name);
	nb_json_kstr(j, "level", words[level]);
	nb_json_kstr(j, "text", text);
	nb_json_kstr(j, "hint", hint);
	nb_json_end_obj(j);
}

static void check_nccl_env(struct nb_json *j, const char *name, const char *variable,
			   const char *value)
{
	if (value[0])
		check(j, name, WARN, "unset the variable to let policies choose",
		      "%s=%s outranks every policy: "
		      "NCCL offers only the choices that the variable allows",
		      variable, value);
	else
		check(j, name, OK, NULL, "%s is not set", variable);
}

/* Report NCCL's version, and whether ncclbpf knows the rules of that version. */
static void check_nccl(struct nb_json *j)
{
	enum { RCCL_ALGOS = 8 };
	char text[400];
	uint64_t tables;
	uint32_t algos = nb_nccl_odd_tables(&tables);
	bool rccl = nb_nccl_is_rccl(), usual = rccl && algos == RCCL_ALGOS;

	if (nb_nccl_doubt(text, sizeof(text)))
		check(j, "nccl", WARN,
		      "look for a newer ncclbpf; changes reach running communicators if "
		      "NCCL_PROFILER_PLUGIN names ncclbpf for all ranks, too",
		      "%s", text);
	else if (nb_nccl_version() ? !rccl : nb_comms.abi || nb_events_abi())
		check(j, "nccl", OK, NULL, "%s", text);
	if (algos)
		check(j, "cost_table", usual ? OK : WARN,
		      usual ? NULL
			    : "look for a newer ncclbpf; what NCCL itself chooses stays as it is",
		      "%s has %u algorithms, and ncclbpf knows %d: "
		      "policies can choose only these (%llu decisions)",
		      rccl ? "RCCL" : "NCCL", algos, NCCL_NUM_ALGOS, (unsigned long long)tables);
}

static void check_tuner(struct nb_json *j)
{
	const char *plugin = nb_params.nccl_tuner_plugin;
	char named[NB_PARAMS_TEXT + 32], why[400];

	snprintf(named, sizeof(named), "%s%s",
		 *plugin ? "NCCL_TUNER_PLUGIN=" : "NCCL_TUNER_PLUGIN is not set", plugin);
	if (nb_no_tuner(why, sizeof(why)))
		check(j, "tuner", BAD, "policies of the tuner never run", "%s", why);
	else if (!nb_comms.abi)
		check(j, "tuner", WARN,
		      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows which tuner NCCL takes",
		      "NCCL has not called the tuner yet (%s)", named);
	else if (nb_comms.abi < 5 && nb_events_abi() >= NB_PROFILER_NAMES)
		check(j, "tuner", OK, NULL,
		      "NCCL calls tuner interface %u, and the profiler identifies communicators",
		      nb_comms.abi);
	else if (nb_comms.abi < 5)
		check(j, "tuner", WARN,
		      "NCCL 2.28 and later use interface 5 or 6; "
		      "with NCCL 2.27 or RCCL, set NCCL_PROFILER_PLUGIN like NCCL_TUNER_PLUGIN",
		      "NCCL calls tuner interface %u, which gives communicators no identity: "
		      "they keep the policies of NCCLBPF_POLICY",
		      nb_comms.abi);
	else
		check(j, "tuner", OK, NULL, "NCCL calls tuner interface %u", nb_comms.abi);
}

static void check_chains(struct nb_json *j)
{
	for (int k = 0; k < NB_NWRAPPED; k++) {
		const struct nb_wrapped *c = &nb_wrapped[k];
		const char *word = nb_wrapped_word((enum nb_wrapped_kind)k);
		const char *noun = nb_wrapped_noun((enum nb_wrapped_kind)k);
		const char *what = __atomic_load_n(&c->what, __ATOMIC_ACQUIRE);
		char name[32];

		snprintf(name, sizeof(name), "chain_%s", word);
		if (c->state == NB_WRAPPED_NONE)
			continue;
		if (c->state == NB_WRAPPED_LEFT_OUT)
			check(j, name, BAD, c->why.hint[0] ? c->why.hint : NULL,
			      "the %s %.200s is left out: %.250s", noun, c->file.path, c->why.text);
		else if (__atomic_load_n(&c->errors, __ATOMIC_RELAXED) || c->refused)
			check(j, name, WARN, NULL,
			      "the %s %.200s returned %llu errors%s%s "
			      "and %llu answers that were refused",
			      noun, c->file.path, (unsigned long long)c->errors,
			      what ? ", first of " : "", what ? what : "",
			      (unsigned long long)c->refused);
		else if (c->state == NB_WRAPPED_OPEN)
			check(j, name, WARN, NULL,
			      "the %s %.200s is not in use yet: NCCL has not called our plugin",
			      noun, c->file.path);
		else
			check(j, name, OK, NULL,
			      "the %s %.200s (%s, interface v%u) is called first", noun,
			      c->file.path, c->name, c->version);
		if (__atomic_load_n(&c->edited, __ATOMIC_RELAXED))
			check(j, name, WARN, "wrap a tuner that was built for this RCCL",
			      "the %s %.200s has edited RCCL's constants, "
			      "whose layout is not NCCL's",
			      noun, c->file.path);
	}
}

/* Report RCCL, and what the plugin costs it without a policy. */
static void check_rccl(struct nb_json *j)
{
	bool policies = nb_gens.baseline && nb_gens.baseline->npolicies;
	char library[NB_NCCL_TEXT];

	if (!nb_nccl_is_rccl())
		return;
	nb_nccl_text(library);
	check(j, "rccl", OK,
	      policies ? NULL
		       : "use a policy (gfx950_allreduce has the rules of this table), or unset "
			 "NCCL_TUNER_PLUGIN on such GPUs",
	      "the library is %s%s", library,
	      policies ? ""
		       : ": no policy is in use, and beside a tuner plugin RCCL does not use "
			 "its own table for gfx950");
}

static void check_net(struct nb_json *j)
{
	uint64_t lost = nb_net_counted(NB_NET_LOST) + nb_net_counted(NB_NET_GARBAGE) +
			nb_net_counted(NB_NET_OVERSIZED);
	uint64_t strange = nb_net_counted(NB_NET_STRANGERS) + nb_net_counted(NB_NET_LATE);
	uint64_t stalls = nb_net_counted(NB_NET_STALLS);
	struct nb_net_sums s;
	int devices;
	const char *transport = nb_net_used(&devices);
	bool bad;

	if (!transport)
		return;
	nb_net_list_sums(&s);
	bad = s.errors || lost || strange || stalls;
	check(j, "net", bad ? WARN : OK,
	      bad ? "net shows the connections; NCCL's log has the first of each kind" : NULL,
	      "%.64s moves the data of %llu connections over %d devices: %llu errors, "
	      "%llu connections broken by the peer, %llu stalls, %llu unidentified peers dropped",
	      transport, (unsigned long long)(s.live[NB_NET_SEND] + s.live[NB_NET_RECV]), devices,
	      (unsigned long long)s.errors, (unsigned long long)lost, (unsigned long long)stalls,
	      (unsigned long long)strange);
}

/* Say that NCCL has no GIN device of ours although GIN is on. */
static void check_gin_unused(struct nb_json *j)
{
	int nccl = nb_nccl_version();

	if (nb_gin_called())
		check(j, "gin", WARN,
		      "chain_gin and NCCL's log have the reason; "
		      "NCCL_SOCKET_IFNAME names the interfaces of TCP",
		      "GIN is on, but NCCL was given no device");
	else if (nccl && nccl < 22807)
		check(j, "gin", WARN, "use NCCL 2.28.7 or newer",
		      "GIN is on, but NCCL %d.%d.%d has no GIN plugins", nccl / 10000,
		      nccl / 100 % 100, nccl % 100);
	else
		check(j, "gin", WARN,
		      "set NCCL_NET_PLUGIN=ncclbpf, from NCCL 2.29.7 on NCCL_GIN_PLUGIN, "
		      "from 2.30.7 on NCCL_RMA_PLUGIN; "
		      "docs/transports.md lists what else keeps NCCL from GIN",
		      "GIN is on, but NCCL has not asked for our GIN plugin: "
		      "no kernel needed it, or NCCL has not found it");
}

/* Write the first lost or stalled peers as "; rank 1 is lost to rank 0". */
static void name_broken(char *to, size_t size, const struct nb_gin_sums *s)
{
	size_t at = 0;

	*to = '\0';
	for (uint64_t i = 0; i < s->broken && i < NB_GIN_NAMED && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, "%s rank %d is %s to rank %d",
				       i ? "," : ";", s->named[i].peer, s->named[i].state,
				       s->named[i].rank);
}

static void check_gin(struct nb_json *j)
{
	char named[160];
	uint64_t offences = 0;
	struct nb_gin_sums s;
	int devices;
	const char *transport = nb_gin_used(&devices);
	bool bad;

	if (!nb_gin_wanted())
		return;
	if (!transport || !devices) {
		check_gin_unused(j);
		return;
	}
	nb_gin_list_sums(&s);
	if (!s.opened && !s.errors) {
		check(j, "gin", OK, NULL,
		      "NCCL has found %.64s with %d devices; no kernel has needed GIN yet",
		      transport, devices);
		return;
	}
	for (int i = 0; i < NB_GIN_NOFFENCES; i++)
		offences += nb_gin_offences((enum nb_gin_offence)i);
	bad = s.errors || s.broken || offences;
	name_broken(named, sizeof(named), &s);
	check(j, "gin", bad ? WARN : OK,
	      bad ? "gin shows the peers; NCCL's log names the rank and the reason" : NULL,
	      "%.64s moves puts and signals of %llu collComms: "
	      "%llu errors, %llu peers lost or stalled, %llu offences%s",
	      transport, (unsigned long long)s.live, (unsigned long long)s.errors,
	      (unsigned long long)s.broken, (unsigned long long)offences, named);
}

/* Report queue pairs and contexts that the tap does not observe. */
static void check_verbs_unseen(struct nb_json *j, const struct nb_tap_api *tap,
			       const struct nb_tap_sums *s)
{
	uint64_t others = nb_verbs_other_contexts(s);
	bool gpu = nb_verbs_gpu_posts("/sys", tap);
	char beyond[96] = "";

	if (s->beyond)
		snprintf(beyond, sizeof(beyond),
			 "; openings for which the tap had no entry left: %llu",
			 (unsigned long long)s->beyond);
	if (!others && !s->extended && !s->beyond && !gpu)
		return;
	check(j, "verbs_unseen", s->beyond ? WARN : OK,
	      "neither policies nor \"verbs\" see these contexts and queues; "
	      "docs/transports.md says why",
	      "not seen: contexts opened before the tap was loaded, or by other libraries: %llu; "
	      "queues of the extended interface: %llu%s%s",
	      (unsigned long long)others, (unsigned long long)s->extended, beyond,
	      gpu ? "; operations that GPUs post themselves (GIN with GDAKI)" : "");
}

/*
 * Report queue pairs that may have lost a completion. NCCL waits for it until
 * the job is ended.
 */
static void check_verbs_stalled(struct nb_json *j)
{
	char text[400];

	nb_verbs_stalled_text(text, sizeof(text));
	if (text[0])
		check(j, "verbs_stalled", WARN,
		      "NCCL waits without a time-out: "
		      "look at the peer and at the adapter's counters, or end the job",
		      "%s", text);
}

/*
 * Check whether the tap observes NCCL's own InfiniBand transport, and report
 * its errors.
 */
static void check_verbs(struct nb_json *j)
{
	const struct nb_tap_api *tap = nb_verbs_tap();
	const char *trouble = nb_verbs_trouble();
	struct nb_tap_sums s;
	bool bad;

	if (!tap && trouble)
		check(j, "verbs", WARN, NULL, "no queue pairs are seen: %.400s", trouble);
	else if (!tap && nb_verbs_bypassed())
		check(j, "verbs", OK,
		      "set NCCLBPF_VERBS=on "
		      "and name ncclbpf in NCCL_NET_PLUGIN to see its queue pairs",
		      "libibverbs is open without the tap in front of it");
	if (!tap)
		return;
	tap->sums(&s);
	bad = s.errors || s.failures || s.failed_changes || s.refused || s.strays || s.overflows ||
	      s.unseen;
	check(j, "verbs", bad ? WARN : OK,
	      bad ? "verbs lists the queue pairs; docs/transports.md explains each counter" : NULL,
	      "%llu queue pairs on %llu adapters: "
	      "%llu completions failed, %llu events reported failures, "
	      "%llu changes of state failed, %llu values of policies were refused, "
	      "%llu completions of queue pairs that are not seen",
	      (unsigned long long)s.live_qps, (unsigned long long)s.devices,
	      (unsigned long long)s.errors, (unsigned long long)s.failures,
	      (unsigned long long)s.failed_changes, (unsigned long long)s.refused,
	      (unsigned long long)s.unseen);
	check_verbs_stalled(j);
	check_verbs_unseen(j, tap, &s);
}

/* Report the events that the profiler has lost. */
static void check_events(struct nb_json *j)
{
	uint64_t grave = 0, rest = 0, most = 0;
	const char *word = NULL;

	if (!nb_events_abi())
		/* `stats` explains how to make NCCL call the profiler */
		return;
	for (int i = 0; i < NB_NLOST; i++) {
		uint64_t n = nb_events_lost((enum nb_lost)i);

		if (!nb_lost_grave((enum nb_lost)i)) {
			rest += n;
			continue;
		}
		grave += n;
		if (n > most) {
			most = n;
			word = nb_lost_word((enum nb_lost)i);
		}
	}
	check(j, "events", grave ? WARN : OK,
	      grave ? "stats names each reason; NCCL's log has the first of each" : NULL,
	      "NCCL calls profiler interface %u; "
	      "%llu events were lost%s%s%s, %llu more were not measured, which is normal",
	      nb_events_abi(), (unsigned long long)grave, word ? " (most: " : "", word ? word : "",
	      word ? ")" : "", (unsigned long long)rest);
}

/* Write the words of events as "coll, p2p"; "none" if there are none. */
static void name_events(char *to, size_t size, uint32_t events)
{
	size_t at = 0;

	snprintf(to, size, "none");
	for (unsigned i = 0; i < NB_NEVENTS && at < size; i++)
		if (events >> i & 1)
			at += (size_t)snprintf(to + at, size - at, "%s%s", at ? ", " : "",
					       nb_event_word(i));
}

/* Report that somebody else has chosen the events that NCCL reports. */
static void check_mask(struct nb_json *j)
{
	struct nb_mask_override o;
	char asked[200], told[200];

	if (!nb_mask_overridden(&o))
		return;
	name_events(asked, sizeof(asked), o.wrote);
	name_events(told, sizeof(told), o.is);
	check(j, "event_mask", WARN,
	      "CONTROL PROFILER_MASK of NCCL's RAS (2.31 and later) sets it for the whole job; "
	      "telemetry on and telemetry off set ncclbpf's again",
	      "somebody else has set NCCL's event mask: asked for %s, NCCL reports %s", asked,
	      told);
}

/* Write who times RCCL's kernels. */
static void write_ticks(char *to, size_t size)
{
	uint64_t ns = nb_gpu_clock_measured();

	*to = '\0';
	if (ns)
		snprintf(to, size, "; a tick of RCCL's GPU clock is %llu ns",
			 (unsigned long long)ns);
	else if (nb_nccl_is_rccl())
		snprintf(to, size,
			 "; the CPU times kernels "
			 "until a tick of RCCL's GPU clock is measured");
}

/*
 * Report that NCCL is not asked for kernels, for lack of room, or who times
 * them.
 */
static void check_kernels(struct nb_json *j)
{
	struct nb_err why;
	char ticks[96];

	if (!nb_events_abi())
		return;
	write_ticks(ticks, sizeof(ticks));
	if (nb_events_refused(&why))
		check(j, "gpu_times", WARN, why.hint, "%s", why.text);
	else
		check(j, "gpu_times", OK, NULL, "NCCL has room for its profiler channels%s", ticks);
}

/* Report variables with an invalid value. Their default applies. */
static unsigned check_values(struct nb_json *j)
{
	unsigned bad = 0;
	char hint[128];

	for (unsigned p = 0; p < NB_NPARAMS; p++) {
		const struct nb_param_spec *s = nb_spec_param((enum nb_param)p);

		if (!nb_params.bad[p])
			continue;
		if (s->type == NB_PARAM_INT)
			snprintf(hint, sizeof(hint), "%s%s: %lld to %lld", prefix, s->name,
				 (long long)s->min, (long long)s->max);
		else
			snprintf(hint, sizeof(hint), "%s%s: %.80s", prefix, s->name,
				 s->choices[0] ? s->choices : "shorter text");
		check(j, "environment", WARN, hint,
		      "%s%s has a value that is not allowed; the default \"%s\" is used", prefix,
		      s->name, s->def);
		bad++;
	}
	return bad;
}

static void check_settings(struct nb_json *j)
{
	const char *names[NB_NPARAMS], *near[2];
	unsigned bad = check_values(j);
	char hint[128];

	for (unsigned p = 0; p < NB_NPARAMS; p++)
		names[p] = nb_spec_param((enum nb_param)p)->name;
	for (uint32_t i = 0; i < nb_params.nunknown && i < NB_PARAMS_UNKNOWN; i++) {
		const char *name = nb_params.unknown[i];

		nb_spec_nearest(name + sizeof(prefix) - 1, names, NB_NPARAMS, near);
		if (near[0])
			snprintf(hint, sizeof(hint), "the nearest: %s%s", prefix, near[0]);
		else
			snprintf(hint, sizeof(hint),
				 "ncclbpf-shell help environment lists the variables");
		check(j, "environment", WARN, hint,
		      "%s is not a variable of ncclbpf and has no effect", name);
	}
	if (!nb_params.nunknown && !bad)
		check(j, "environment", OK, NULL, "all NCCLBPF_ variables are known and valid");
	if (nb_params.num[NB_P_COHERENCE])
		check(j, "coherence", WARN,
		      "NCCLBPF_COHERENCE=strict for jobs of several processes",
		      "NCCLBPF_COHERENCE=off: "
		      "policies whose answers differ between ranks are accepted, "
		      "and diverged ranks hang");
	else
		check(j, "coherence", OK, NULL, "policies must answer alike on all ranks");
}

static void check_policy(struct nb_json *j)
{
	const struct nb_seg_proc *other = NULL;
	/* some error messages already contain the file's name */
	bool named = !strncmp(nb_load.err.text, nb_load.what, strcspn(nb_load.what, "@"));

	if (nb_load.err.code)
		check(j, "policy", BAD, nb_load.err.hint, "NCCLBPF_POLICY: %.180s%s%.300s",
		      named ? "" : nb_load.what, named ? "" : ": ", nb_load.err.text);
	else if (!nb_gens.baseline || !nb_gens.baseline->npolicies)
		check(j, "policy", nb_held.n ? WARN : OK, nb_held.n ? "policy use NAME" : NULL,
		      "no policy is in use, NCCL decides (%u held)", nb_held.n);
	else
		check(j, "policy", OK, NULL, "%u in use, %u held, generation %llu",
		      nb_gens.baseline->npolicies, nb_held.n,
		      (unsigned long long)nb_history_number(nb_gens.baseline_number));
	if (nb_self.seg && nb_comms.abi && nb_comms.abi < 5)
		other = nb_startup_other(nb_self.seg);
	if (other)
		check(j, "policy", BAD,
		      "give NCCLBPF_POLICY the same value and files in all processes",
		      "process %llu of the job started with another NCCLBPF_POLICY: if it shares "
		      "a communicator with this one, their ranks may choose apart",
		      (unsigned long long)other->pid);
	if (nb_gens.baseline && nb_gen_uncompiled(nb_gens.baseline))
		check(j, "engine", WARN, NB_GENS_UNCOMPILED_HINT,
		      "the interpreter runs the policies, several times slower: %.300s",
		      nb_gen_uncompiled(nb_gens.baseline));
	if (nb_gens.staged)
		check(j, "change", WARN, "run change commit or change abort",
		      "a change is staged but not committed");
}

/* Report communicators that cannot be changed or whose ranks have diverged. */
static unsigned check_comms(struct nb_json *j)
{
	unsigned shown = 0, odd = 0;

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		bool mismatch = nb_comm_differs(c);
		char why[NB_STARTUP_WHY], text[320] = "";

		if (mismatch && c->seg)
			nb_startup_text(nb_self.seg, c->seg, text, sizeof(text));
		if (nb_comm_changeable(c, why) && !mismatch)
			continue;
		if (odd++ >= 32)
			continue;
		if (mismatch)
			check(j, "ranks", BAD, c->seg ? nb_startup_remedy(c->seg) : NULL,
			      "communicator %016llx rank slot %u: "
			      "ranks started with different policies or settings, so %s%s%s",
			      (unsigned long long)c->init.comm_id, c->slot_index,
			      nb_comm_differs_so(c), text[0] ? ": " : "", text);
		else
			check(j, "communicator", WARN, NULL,
			      "communicator %016llx rank slot %u cannot be changed: %s",
			      (unsigned long long)c->init.comm_id, c->slot_index, why);
		shown++;
	}
	if (odd > shown)
		check(j, "communicator", WARN, "comm list shows them all",
		      "%u more communicators have such findings", odd - shown);
	return odd;
}

/*
 * Report findings of the divergence watch, which are kept until the
 * communicator ends.
 */
static void check_divergence(struct nb_json *j)
{
	unsigned apart = 0;

	for (uint32_t i = 0; nb_self.seg && i < nb_seg_ncomms(nb_self.seg->mem); i++) {
		const struct nb_seg_comm *c = &nb_self.seg->mem->comm[i];
		uint64_t seq = nb_divergence_diverged(c);

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) || !seq || apart++ >= 32)
			continue;
		check(j, "agreement", BAD,
		      nb_gens.baseline->npolicies
			      ? "check agreement shows the ranks and their differences; "
				"run policy use none if only answers differ"
			      : "check agreement shows the ranks and their differences",
		      "communicator %016llx: its ranks decided differently, first at decision %llu",
		      (unsigned long long)c->comm_id, (unsigned long long)seq - 1);
	}
	if (!apart)
		check(j, "agreement", OK, NULL, "no ranks of this host have decided differently");
}

/* Report ranks that have been inside one decision for a second or more. */
static void check_overdue(struct nb_json *j)
{
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint64_t seq, seconds = nb_overdue_s(c, &seq);

		if (seconds)
			check(j, "overdue", BAD,
			      "the job waits for this rank; "
			      "a debugger or perf (NCCLBPF_PERF_MAP=on) shows where it is",
			      "communicator %016llx rank slot %u "
			      "has been inside decision %llu for %llu s",
			      (unsigned long long)c->init.comm_id, c->slot_index,
			      (unsigned long long)seq, (unsigned long long)seconds);
	}
}

static void check_decisions(struct nb_json *j)
{
	uint64_t n = nb_comms_decisions();

	check_overdue(j);
	if (nb_comms.n && !n)
		check(j, "decisions", WARN,
		      "NCCL asks no tuner for send and receive, "
		      "for one-rank communicators and in captured graphs",
		      "NCCL has made %u communicators and asked for no decision", nb_comms.n);
	else
		check(j, "decisions", OK, NULL, "%llu decisions in %u communicators now",
		      (unsigned long long)n, nb_comms.n);
	for (int w = 1; w < NB_NREFUSED; w++) {
		uint64_t times = nb_comms_refused((enum nb_refused)w);

		if (times)
			check(j, "refused", WARN, "decision tail shows these decisions",
			      "%s, %llu times: %s", nb_refused_word((enum nb_refused)w),
			      (unsigned long long)times, nb_refused_text((enum nb_refused)w));
	}
}

static void check_segment(struct nb_json *j)
{
	struct nb_segment_info info;

	nb_self_segment(&info);
	if (!info.shared)
		check(j, "segment", WARN,
		      nb_self.dir.dirfd < 0 && nb_self.dir_err.hint[0]
			      ? nb_self.dir_err.hint
			      : "free room in that directory, or set NCCLBPF_SOCKET_DIR "
				"to another one for all processes of the job",
		      "the job segment is private to this process%s%s: "
		      "a change cannot reach communicators with ranks in other processes",
		      info.why[0] ? ": " : "", info.why);
	else
		check(j, "segment", OK, NULL, "%.300s, %u process%s", info.path, info.processes,
		      info.processes == 1 ? "" : "es");
	if (info.shared && !info.membarrier)
		check(j, "membarrier", WARN, NULL,
		      "the kernel refuses membarrier(2): each decision needs a full memory fence");
}

static void check_directory(struct nb_json *j)
{
	if (nb_self.passed_over[0] && nb_self.dir.dirfd >= 0)
		check(j, "directory", WARN,
		      "give that directory room and mode 0700, or set NCCLBPF_SOCKET_DIR "
		      "to another one for all processes of the job",
		      "%s; the job uses the directory %.300s instead", nb_self.passed_over,
		      nb_self.dir.dir);
}

static void check_leftovers(struct nb_json *j)
{
	struct nb_leftovers l;

	if (nb_self.dir.dirfd < 0)
		return;
	l = nb_leftovers(nb_self.dir.dirfd, UINT32_MAX, UINT64_MAX, NULL);
	if (l.n)
		check(j, "leftovers", l.n > (uint64_t)nb_params.num[NB_P_KEEP_SEGMENTS] ? WARN : OK,
		      "segment remove all removes them; the first process of the next job "
		      "keeps the newest NCCLBPF_KEEP_SEGMENTS",
		      "%u segments of ended jobs take %llu KiB in %.300s", l.n,
		      (unsigned long long)l.bytes / 1024, nb_self.dir.dir);
}

/*
 * Returns a communicator whose rank in this process waits for the fleet's
 * store, or NULL.
 */
static const struct nb_comm *waiting_comm(void)
{
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		if (c->fence.follows && __atomic_load_n(&c->fence.slot->waiting, __ATOMIC_ACQUIRE))
			return c;
	return NULL;
}

static void doctor_check_fleet(struct nb_json *j)
{
	const struct nb_seg_agent *a;
	const struct nb_comm *waits = waiting_comm();
	uint64_t pid, start;
	char back[160];

	if (!nb_params_fleet() || !nb_self.seg)
		return;
	a = &nb_self.seg->mem->agent;
	nb_store_back_text(back, sizeof(back));
	if (!nb_segment_agent(nb_self.seg, &pid, &start))
		check(j, "fleet", BAD, nb_no_agent_hint(),
		      "no agent runs on this site: no change reaches it%s",
		      waits ? ", and a rank waits at a fence" : "");
	else if (!__atomic_load_n(&a->store, __ATOMIC_ACQUIRE))
		check(j, "fleet", BAD, "check NCCLBPF_FLEET and the store",
		      "%.399s; no change reaches this site%s",
		      a->text[0] ? a->text : "the store has not answered",
		      waits ? ", and a rank waits at a fence" : "");
	else if (waits)
		check(j, "fleet", WARN, NULL, "a rank of communicator %016llx waits at a fence",
		      (unsigned long long)waits->init.comm_id);
	else if (*back)
		check(j, "fleet", WARN,
		      "repeat what the store has lost: changes and job set; "
		      "policy history and list show what the job has",
		      "%s", back);
	else
		check(j, "fleet", OK, NULL, "site %.71s, the store answers", a->site);
}

/* Report once that communicators span hosts without a fleet. */
static void check_hosts(struct nb_json *j)
{
	const struct nb_comm *c = nb_comms.first;

	while (c && !nb_comm_uncompared(c))
		c = c->next;
	if (c)
		check(j, "hosts", WARN,
		      "give NCCLBPF_POLICY the same value on all hosts, or set NCCLBPF_FLEET "
		      "on all",
		      "communicator %016llx has ranks on %u hosts: "
		      "nobody compares their policies",
		      (unsigned long long)c->init.comm_id, c->init.nodes);
}

int nb_cmd_doctor(struct nb_call *call)
{
	struct nb_json *j = call->out;

	nb_json_karr(j, "checks");
	check_nccl_env(j, "nccl_algo", "NCCL_ALGO", nb_params.nccl_algo);
	check_nccl_env(j, "nccl_proto", "NCCL_PROTO", nb_params.nccl_proto);
	check_nccl(j);
	check_tuner(j);
	check_chains(j);
	check_rccl(j);
	check_events(j);
	check_mask(j);
	check_kernels(j);
	check_net(j);
	check_gin(j);
	check_verbs(j);
	check_settings(j);
	check_policy(j);
	if (!check_comms(j))
		check(j, "communicators", OK, NULL,
		      "changes reach all %u communicators of this process", nb_comms.n);
	check_divergence(j);
	check_decisions(j);
	check_segment(j);
	check_directory(j);
	check_leftovers(j);
	doctor_check_fleet(j);
	check_hosts(j);
	nb_json_end_arr(j);
	return 0;
}
