// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_H
#define NB_PLUGIN_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/hook/gen.h"
#include "core/hook/policy.h"
#include "core/spec/spec.h"
#include "plugin/chain.h"
#include "plugin/change.h"
#include "plugin/comm.h"
#include "plugin/history.h"
#include "plugin/place.h"
#include "plugin/watch.h"

struct nb_control;
struct nb_loop;
struct nb_segment;

/* NCCL's logger, as ABI reference section 0 has it. */
typedef void nb_logger_fn(int level, unsigned long flags, const char *file,
			  int line, const char *fmt, ...);

/* Values of NCCLBPF_* variables, read once; rows in core/tbl/params.h. */
struct nb_params {
	char *str[NB_NPARAMS];	 /* STR: the text, "" by default; else NULL */
	int64_t num[NB_NPARAMS]; /* INT: the value; ENUM: the choice's index */
	bool set[NB_NPARAMS];	 /* it was in the environment, and good */
};

/* NCCLBPF_LOG's choices, in order. */
enum nb_log_level { NB_LOG_OFF, NB_LOG_WARN, NB_LOG_INFO, NB_LOG_DEBUG };

enum nb_policy_source { NB_SOURCE_ENV, NB_SOURCE_SHELL };

/* A policy that the process holds. */
struct nb_held {
	struct nb_policy *policy; /* a reference */
	enum nb_policy_source source;
	/* of generations that are gone */
	struct nb_gen_sum old[NB_IMAGE_MAX_PROGS];
	struct nb_gen_times old_times[NB_IMAGE_MAX_PROGS];
};

enum { NB_MAX_HELD = 64, NB_MAX_GENS = 64 };

/* Names of the policies of a generation number, kept after it is gone. */
struct nb_past {
	uint32_t number, n;
	char name[NB_GEN_MAX_POLICIES][NB_IMAGE_NAME];
};

/*
 * The process's one object. Made at NCCL's first call, kept until the library
 * is unloaded. @lock protects everything that is not marked otherwise; the
 * decision path never takes it.
 */
struct nb_runtime {
	pthread_mutex_t lock;
	struct nb_params params; /* constant after the first call */
	nb_logger_fn *logger;	 /* atomic; NULL: nothing is written */
	/* Directory of sockets and segment, job and rank; dirfd -1 and
	 * place_err filled where no directory can be had. */
	struct nb_place place;
	struct nb_err place_err;
	char host[256];
	pid_t pid;		    /* of the process that initialised it */
	uint64_t started_ns;	    /* CLOCK_MONOTONIC */
	uint32_t tuner_abi;	    /* version NCCL called; 0: not yet */
	bool disabled;		    /* NCCLBPF_DISABLE=1 */
	struct nb_control *control; /* NULL: no socket */
	bool nccl_filter;	    /* NCCL_ALGO or NCCL_PROTO is set */
	bool forked; /* a child that has not called NCCL's init yet */

	struct nb_held held[NB_MAX_HELD]; /* oldest first */
	uint32_t nheld;
	struct nb_chain chain[NB_NCHAINS];
	struct nb_err load_err; /* of NCCLBPF_POLICY; code 0: none */
	char load_what[256];	/* the entry concerned */

	/* Generations that a communicator may still come to; atomic, the slow
	 * path of a decision searches it. */
	struct nb_gen *gens[NB_MAX_GENS];
	struct nb_gen *empty;	 /* no policy; digest zeroes, number 0 */
	struct nb_gen *first;	 /* what the process began with; kept */
	struct nb_gen *baseline; /* new communicators begin with it */
	uint32_t baseline_number;
	struct nb_gen *previous; /* before it; NULL: none */
	struct nb_history history;
	uint32_t by_uid, by_pid; /* whose change it is; the control thread's */
	struct nb_gen *staged;	 /* NULL: none */
	bool has_last;
	struct nb_change last;
	struct nb_past past[NB_MAX_GENS];

	struct nb_comm *comms;
	bool timed; /* policies' runs are sampled */
	uint32_t ncomms;
	/* of communicators that are gone */
	uint64_t old_decisions;
	uint64_t old_refused[NB_NREFUSED];

	struct nb_segment *seg; /* NULL before the first communicator */
	struct nb_watch watch;	/* the control thread's */
	struct nb_loop *loop;	/* likewise; NULL: no controllers so far */
};

/*
 * nb_runtime_get - the runtime, made at the first call
 * @logger: NCCL's, may be NULL; the first one given is kept
 *
 * Reads the environment, loads NCCLBPF_POLICY, starts the control thread
 * (again after a fork). Failures are logged and leave something that works
 * less. NULL when NCCLBPF_DISABLE=1 or memory is short. Any thread.
 */
struct nb_runtime *nb_runtime_get(nb_logger_fn *logger);

void nb_runtime_lock(struct nb_runtime *rt);
void nb_runtime_unlock(struct nb_runtime *rt);

/*
 * Write one line through NCCL's logger, if NCCLBPF_LOG lets it; while there is
 * no logger the first few are kept for it. Warnings carry NCCL's WARN level,
 * all else INFO. Any thread, with or without the lock; never on the decision
 * path.
 */
void nb_log(struct nb_runtime *rt, enum nb_log_level level, const char *fmt,
	    ...) __attribute__((format(printf, 3, 4)));
/* Take that logger, where none was given before. */
void nb_log_to(nb_logger_fn *logger);
/* Write the lines that were kept for it. */
void nb_log_kept(struct nb_runtime *rt);
/* The error as one warning line, "<what>: <text>; <hint>". */
void nb_log_err(struct nb_runtime *rt, const char *what,
		const struct nb_err *err);

/* params.c: read the environment once; @say gets a line for each bad value
 * (the default stands) and each unknown NCCLBPF_ name. 0, or NB_E_NOMEM after
 * a line that says so; @p is to be freed all the same. */
typedef void nb_params_say_fn(void *arg, const char *line);
int nb_params_read(struct nb_params *p, nb_params_say_fn *say, void *arg);
void nb_params_free(struct nb_params *p);

/*
 * load.c: load the policies of NCCLBPF_POLICY's value @list and make them the
 * process's first generation *@out (a reference). One that fails fails all:
 * rt->load_err and rt->load_what say why, and *@out is NULL. With the lock,
 * which is released in between.
 */
int nb_load_policies(struct nb_runtime *rt, const char *list,
		     struct nb_gen **out, struct nb_err *err);

/* ---- the functions below: call with the lock held ---- */

/* The generation of that digest that this process holds, or NULL. */
struct nb_gen *nb_runtime_gen_find(const struct nb_runtime *rt,
				   const uint8_t digest[NB_SHA256_SIZE]);
/*
 * Keep a generation, *taking* the reference: returns it, or the one of the
 * same digest that is kept already. It lives until a sweep finds that nobody
 * can come to it. NULL and NB_E_LIMIT when NB_MAX_GENS are kept.
 */
struct nb_gen *nb_runtime_gen_keep(struct nb_runtime *rt, struct nb_gen *g,
				   struct nb_err *err);
/* Note what policies generation @number has, for nb_runtime_policy_name. */
void nb_runtime_remember(struct nb_runtime *rt, uint32_t number,
			 const struct nb_gen *g);
/* The same, and for others in the segment, whose lock is held too. */
void nb_runtime_publish(struct nb_runtime *rt, uint32_t number,
			const struct nb_gen *g);

/*
 * nb_runtime_policy_find - a held policy by name or digest
 * @name: its name (of several, the one loaded last) or at least 8 hexadecimal
 *        digits that begin its digest
 *
 * A borrowed pointer into rt->held, valid until the lock is released. NULL:
 * NB_E_NOENT, with near names as the hint, or NB_E_ARG (prefix of several).
 */
struct nb_held *nb_runtime_policy_find(struct nb_runtime *rt, const char *name,
				       struct nb_err *err);

/*
 * nb_runtime_policy_add - verify an image and hold it
 * @name: name it must have, or NULL for any
 * @finding_text, @finding_json: as in struct nb_policy_opts, may be NULL
 *
 * Verification runs without the lock: it is released and taken again. One that
 * is held already is answered as it is (its source does not change); an older
 * one of the same name stays as long as a generation uses it. *@out is a
 * borrowed pointer as above. The errors of nb_policy_new, NB_E_FULL
 * (NB_MAX_HELD policies), NB_E_ARG (another name).
 */
int nb_runtime_policy_add(struct nb_runtime *rt, const void *bytes, size_t size,
			  const char *name, enum nb_policy_source source,
			  struct nb_buf *finding_text,
			  struct nb_buf *finding_json, struct nb_held **out,
			  struct nb_err *err);

/*
 * Forget a policy. NB_E_NOENT, NB_E_BUSY: in use by the baseline, a
 * communicator, or a staged change, or of NCCLBPF_POLICY. The generation kept
 * for undo does not count: it is forgotten with it.
 */
int nb_runtime_policy_discard(struct nb_runtime *rt, const char *name,
			      struct nb_err *err);

/* Position (from 0) of a policy in the baseline generation, or -1. */
int nb_runtime_policy_position(const struct nb_runtime *rt,
			       const struct nb_policy *p);
/* Does the baseline, a communicator or the staged change use it? */
bool nb_runtime_policy_in_use(const struct nb_runtime *rt,
			      const struct nb_policy *p);
/* What was counted of program @prog of @p, all generations and communicators
 * of this process together. */
struct nb_gen_sum nb_runtime_policy_counts(const struct nb_runtime *rt,
					   const struct nb_policy *p,
					   uint32_t prog);
/* Likewise, of a program of the tuner's: how long the timed runs took. */
struct nb_gen_times nb_runtime_policy_times(const struct nb_runtime *rt,
					    const struct nb_policy *p,
					    uint32_t prog);
/* Take the time of some runs of policies, in all communicators, or no more. */
void nb_runtime_time(struct nb_runtime *rt, bool on);

/* A map as commands address it. Borrowed pointers, valid under the lock. */
struct nb_map_ref {
	struct nb_policy *policy;
	uint32_t map; /* index into policy->img->maps */
	const struct nb_map_spec *spec;
	struct nb_map *object; /* coherent: the baseline generation's; a policy
				* that is not in the baseline has none: NULL */
	bool coherent;
	bool in_use; /* the policy is in the baseline generation */
};

/*
 * nb_runtime_map_find - resolve "map", or "policy/map" with the policy's name
 * or digest
 *
 * A bare name is looked for in the baseline's policies first, in order, then
 * in all that are held. 0, NB_E_NOENT (with near names as hint), NB_E_ARG
 * (several policies have it: say which).
 */
int nb_runtime_map_find(struct nb_runtime *rt, const char *name,
			struct nb_map_ref *out, struct nb_err *err);
/* The ref of map @map of held policy @p. */
void nb_runtime_map_ref(struct nb_runtime *rt, struct nb_policy *p,
			uint32_t map, struct nb_map_ref *out);

/* Name of policy @index of generation @number, also of one that is gone; NULL:
 * not known any more, or none (@index -1). Valid under the lock. */
const char *nb_runtime_policy_name(const struct nb_runtime *rt, uint32_t number,
				   int index);

/*
 * See changes that another process committed: baseline, number and staged are
 * up to date afterwards. Everything above calls it where it matters; `status`
 * calls it first.
 */
void nb_runtime_sync(struct nb_runtime *rt);

/* Decisions of all communicators, gone ones included. */
uint64_t nb_runtime_decisions(const struct nb_runtime *rt);
/* Counter of one reason, likewise. */
uint64_t nb_runtime_refused(const struct nb_runtime *rt, enum nb_refused why);

/* The segment as `status` shows it. */
struct nb_segment_info {
	char path[PATH_MAX + 80]; /* "" when not shared */
	bool shared;
	uint32_t processes; /* living ones of the job on this host */
	bool membarrier;    /* decisions need no fence of their own */
	char why[256];	    /* why it is not shared; "" */
};
void nb_runtime_segment_info(struct nb_runtime *rt,
			     struct nb_segment_info *out);

/* Free generations that nobody can come to any more. */
void nb_runtime_sweep(struct nb_runtime *rt);

/*
 * Housekeeping of the control thread, about ten times a second, without the
 * lock: nb_runtime_sync, nb_runtime_sweep, nb_comm_tell_mismatch and
 * nb_watch_turn.
 */
void nb_runtime_tick(struct nb_runtime *rt);

#endif
