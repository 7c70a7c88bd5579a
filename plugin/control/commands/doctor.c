// SPDX-License-Identifier: MIT
// `doctor`: checks for everything that keeps a policy from deciding, with a
// level, the finding and advice. It changes nothing.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/change/divergence.h"
#include "plugin/comm/comm.h"
#include "plugin/control/connection.h"
#include "plugin/control/dispatch.h"
#include "plugin/control/environment.h"
#include "plugin/control/socket.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/net/list.h"
#include "plugin/net/tcp.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/load.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

static const char prefix[] = "NCCLBPF_";

enum level { OK, WARN, BAD };

static void __attribute__((format(printf, 5, 6)))
check(struct nb_json *j, const char *name, enum level level, const char *hint,
      const char *fmt, ...)
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

static void check_nccl_env(struct nb_json *j, const char *name,
			   const char *variable, const char *value)
{
	if (value[0])
		check(j, name, WARN, "unset it to let policies choose",
		      "%s=%s outranks every policy: NCCL offers only what it "
		      "allows",
		      variable, value);
	else
		check(j, name, OK, NULL, "%s is not set", variable);
}

static void check_tuner(struct nb_json *j, const struct nb_env *env)
{
	char named[NB_ENV_TEXT + 32];

	snprintf(named, sizeof(named), "%s%s",
		 env->tuner_plugin[0] ? "NCCL_TUNER_PLUGIN="
				      : "NCCL_TUNER_PLUGIN is not set",
		 env->tuner_plugin);
	if (!nb_comms.abi)
		check(j, "tuner", WARN,
		      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows which "
		      "tuner NCCL takes",
		      "NCCL has not called the tuner yet (%s)", named);
	else if (nb_comms.abi < 5)
		check(j, "tuner", WARN,
		      "NCCL 2.28 and later use interface 5 or 6",
		      "NCCL calls tuner interface %u, which gives "
		      "communicators no identity: they keep their initial "
		      "policies",
		      nb_comms.abi);
	else
		check(j, "tuner", OK, NULL, "NCCL calls tuner interface %u",
		      nb_comms.abi);
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
			      "the %s %.200s is left out: %.250s", noun,
			      c->file.path, c->why.text);
		else if (__atomic_load_n(&c->errors, __ATOMIC_RELAXED) ||
			 c->refused)
			check(j, name, WARN, NULL,
			      "the %s %.200s returned %llu errors%s%s and "
			      "%llu answers that were not taken",
			      noun, c->file.path, (unsigned long long)c->errors,
			      what ? ", first of " : "", what ? what : "",
			      (unsigned long long)c->refused);
		else if (c->state == NB_WRAPPED_OPEN)
			check(j, name, WARN, NULL,
			      "the %s %.200s waits: NCCL has not called ours",
			      noun, c->file.path);
		else
			check(j, name, OK, NULL,
			      "the %s %.200s (%s, interface v%u) is called "
			      "first",
			      noun, c->file.path, c->name, c->version);
	}
}

static void check_net(struct nb_json *j)
{
	uint64_t lost = nb_tcp_counted(NB_TCP_LOST) +
			nb_tcp_counted(NB_TCP_GARBAGE) +
			nb_tcp_counted(NB_TCP_OVERSIZED);
	uint64_t strange =
		nb_tcp_counted(NB_TCP_STRANGERS) + nb_tcp_counted(NB_TCP_LATE);
	uint64_t stalls = nb_tcp_counted(NB_TCP_STALLS);
	struct nb_net_sums s;
	int devices;
	const char *transport = nb_net_used(&devices);
	bool bad;

	if (!transport)
		return;
	nb_net_list_sums(&s);
	bad = s.errors || lost || strange || stalls;
	check(j, "net", bad ? WARN : OK,
	      bad ? "net shows the connections; NCCL's log has the first of "
		    "each kind"
		  : NULL,
	      "%.64s moves the data of %llu connections over %d devices: %llu "
	      "errors, %llu connections broken by the peer, %llu stalls, %llu "
	      "unidentified peers dropped",
	      transport,
	      (unsigned long long)(s.live[NB_NET_SEND] + s.live[NB_NET_RECV]),
	      devices, (unsigned long long)s.errors, (unsigned long long)lost,
	      (unsigned long long)stalls, (unsigned long long)strange);
}

/* The profiler's events: which of them went missing. */
static void check_events(struct nb_json *j)
{
	uint64_t grave = 0, rest = 0, most = 0;
	const char *word = NULL;

	if (!nb_events_abi())
		return; /* `stats` says how to make NCCL call it */
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
	      grave ? "stats names each reason; NCCL's log has the first of "
		      "each"
		    : NULL,
	      "NCCL calls profiler interface %u; %llu events were lost%s%s%s, "
	      "%llu more NCCL may leave so",
	      nb_events_abi(), (unsigned long long)grave,
	      word ? " (most: " : "", word ? word : "", word ? ")" : "",
	      (unsigned long long)rest);
}

/* Variables with an invalid value, for which the default applies. */
static unsigned check_values(struct nb_json *j, const struct nb_env *env)
{
	unsigned bad = 0;
	char hint[128];

	for (unsigned p = 0; p < NB_NPARAMS; p++) {
		const struct nb_param_spec *s = nb_spec_param((enum nb_param)p);

		if (!env->given[p] || nb_params.set[p] ||
		    s->who == NB_PARAM_SHELL)
			continue;
		if (s->type == NB_PARAM_INT)
			snprintf(hint, sizeof(hint), "%s%s: %lld to %lld",
				 prefix, s->name, (long long)s->min,
				 (long long)s->max);
		else
			snprintf(hint, sizeof(hint), "%s%s: %.80s", prefix,
				 s->name,
				 s->choices[0] ? s->choices : "shorter text");
		check(j, "environment", WARN, hint,
		      "%s%s has a value that is not allowed; the default "
		      "\"%s\" is used",
		      prefix, s->name, s->def);
		bad++;
	}
	return bad;
}

static void check_settings(struct nb_json *j, const struct nb_env *env)
{
	const char *names[NB_NPARAMS], *near[2];
	unsigned bad = check_values(j, env);
	char hint[128];

	for (unsigned p = 0; p < NB_NPARAMS; p++)
		names[p] = nb_spec_param((enum nb_param)p)->name;
	for (uint32_t i = 0; i < env->nunknown && i < NB_ENV_UNKNOWN; i++) {
		nb_spec_nearest(env->unknown[i] + sizeof(prefix) - 1, names,
				NB_NPARAMS, near);
		if (near[0])
			snprintf(hint, sizeof(hint), "the nearest: %s%s",
				 prefix, near[0]);
		else
			snprintf(hint, sizeof(hint),
				 "ncclbpf-shell help environment lists them");
		check(j, "environment", WARN, hint,
		      "%s is no variable of ncclbpf and has no effect",
		      env->unknown[i]);
	}
	if (!env->nunknown && !bad)
		check(j, "environment", OK, NULL,
		      "all NCCLBPF_ variables are known and valid");
	if (nb_params.num[NB_P_COHERENCE])
		check(j, "coherence", WARN,
		      "NCCLBPF_COHERENCE=strict for jobs of several processes",
		      "NCCLBPF_COHERENCE=off: policies whose answers differ "
		      "between ranks are accepted, and diverged ranks hang");
	else
		check(j, "coherence", OK, NULL,
		      "policies must answer alike on all ranks");
}

static void check_policy(struct nb_json *j)
{
	/* some messages name the file themselves */
	bool named = !strncmp(nb_load.err.text, nb_load.what,
			      strcspn(nb_load.what, "@"));

	if (nb_load.err.code)
		check(j, "policy", BAD, nb_load.err.hint,
		      "NCCLBPF_POLICY: %.180s%s%.300s",
		      named ? "" : nb_load.what, named ? "" : ": ",
		      nb_load.err.text);
	else if (!nb_gens.baseline || !nb_gens.baseline->npolicies)
		check(j, "policy", nb_held.n ? WARN : OK,
		      nb_held.n ? "policy use NAME" : NULL,
		      "no policy is in use, NCCL decides (%u held)", nb_held.n);
	else
		check(j, "policy", OK, NULL,
		      "%u in use, %u held, generation %u",
		      nb_gens.baseline->npolicies, nb_held.n,
		      nb_gens.baseline_number);
	if (nb_gens.staged)
		check(j, "change", WARN, "change commit, or change abort",
		      "a change is staged but not committed");
}

/* Report communicators that cannot be changed or whose ranks differ. */
static unsigned check_comms(struct nb_json *j)
{
	unsigned shown = 0, odd = 0;

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		bool mismatch = __atomic_load_n(&c->mismatch, __ATOMIC_RELAXED);
		const char *why = NULL;
		char text[320] = "";

		if (mismatch && c->seg)
			nb_startup_text(nb_self.seg, c->seg, text,
					sizeof(text));
		if (nb_comm_changeable(c, &why) && !mismatch)
			continue;
		if (odd++ >= 32)
			continue;
		if (mismatch)
			check(j, "ranks", BAD,
			      "give NCCLBPF_POLICY and all settings the same "
			      "value in every process",
			      "communicator %016llx rank slot %u: ranks began "
			      "with different policies or settings, so no "
			      "policy is used%s%s",
			      (unsigned long long)c->init.comm_id,
			      c->slot_index, text[0] ? ": " : "", text);
		else
			check(j, "communicator", WARN, NULL,
			      "communicator %016llx rank slot %u cannot be "
			      "changed: %s",
			      (unsigned long long)c->init.comm_id,
			      c->slot_index, why ? why : "no reason is known");
		shown++;
	}
	if (odd > shown)
		check(j, "communicator", WARN, "comm list shows them all",
		      "%u more communicators like these", odd - shown);
	return odd;
}

/* Findings of the divergence watch, kept until the communicator ends. */
static void check_divergence(struct nb_json *j)
{
	unsigned apart = 0;

	for (uint32_t i = 0; nb_self.seg && i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &nb_self.seg->mem->comm[i];
		uint64_t seq = nb_divergence_diverged(c);

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) || !seq ||
		    apart++ >= 32)
			continue;
		check(j, "agreement", BAD,
		      "check agreement shows which ranks and how; policy use "
		      "none where only answers differ",
		      "communicator %016llx: its ranks decided differently, "
		      "seen first at decision %llu",
		      (unsigned long long)c->comm_id,
		      (unsigned long long)seq - 1);
	}
	if (!apart)
		check(j, "agreement", OK, NULL,
		      "no ranks of this host have decided differently");
}

/* Ranks that have been inside one decision for a second or more. */
static void check_overdue(struct nb_json *j)
{
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint64_t seq, seconds = nb_overdue_s(c, &seq);

		if (seconds)
			check(j, "overdue", BAD,
			      "the job waits for this rank; a debugger or perf "
			      "(NCCLBPF_PERF_MAP=on) shows where it is",
			      "communicator %016llx rank slot %u has been "
			      "inside decision %llu for %llu s",
			      (unsigned long long)c->init.comm_id,
			      c->slot_index, (unsigned long long)seq,
			      (unsigned long long)seconds);
	}
}

static void check_decisions(struct nb_json *j)
{
	uint64_t n = nb_comms_decisions();

	check_overdue(j);
	if (nb_comms.n && !n)
		check(j, "decisions", WARN,
		      "send and receive, one-rank communicators and captured "
		      "graphs ask no tuner",
		      "NCCL has made %u communicators and asked for no "
		      "decision",
		      nb_comms.n);
	else
		check(j, "decisions", OK, NULL,
		      "%llu decisions in %u communicators now",
		      (unsigned long long)n, nb_comms.n);
	for (int w = 1; w < NB_NREFUSED; w++) {
		uint64_t times = nb_comms_refused((enum nb_refused)w);

		if (times)
			check(j, "refused", WARN,
			      "decision tail shows which decisions",
			      "%s, %llu times: %s",
			      nb_refused_word((enum nb_refused)w),
			      (unsigned long long)times,
			      nb_refused_text((enum nb_refused)w));
	}
}

static void check_segment(struct nb_json *j)
{
	struct nb_segment_info info;

	nb_self_segment(&info);
	if (!info.shared)
		check(j, "segment", WARN,
		      "give all processes of the job one NCCLBPF_SOCKET_DIR",
		      "the job segment is private to this process%s%s: a "
		      "change cannot reach communicators with ranks elsewhere",
		      info.why[0] ? ": " : "", info.why);
	else
		check(j, "segment", OK, NULL, "%.300s, %u processes", info.path,
		      info.processes);
	if (info.shared && !info.membarrier)
		check(j, "membarrier", WARN, NULL,
		      "membarrier(2) is refused here: each decision pays for a "
		      "full fence");
}

int nb_cmd_doctor(struct nb_call *call)
{
	const struct nb_env *env = nb_control_env(nb_conn_control(call->conn));
	struct nb_json *j = call->out;

	nb_json_karr(j, "checks");
	check_nccl_env(j, "nccl_algo", "NCCL_ALGO", env->algo);
	check_nccl_env(j, "nccl_proto", "NCCL_PROTO", env->proto);
	check_tuner(j, env);
	check_chains(j);
	check_events(j);
	check_net(j);
	check_settings(j, env);
	check_policy(j);
	if (!check_comms(j))
		check(j, "communicators", OK, NULL,
		      "%u in this process, changes reach all of them",
		      nb_comms.n);
	check_divergence(j);
	check_decisions(j);
	check_segment(j);
	nb_json_end_arr(j);
	return 0;
}
