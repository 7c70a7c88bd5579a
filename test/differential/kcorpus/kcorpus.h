// SPDX-License-Identifier: MIT
#ifndef NB_TEST_KCORPUS_H
#define NB_TEST_KCORPUS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/bpf/image/image.h"

/*
 * One program of the kernel's verifier self-tests: what its authors expect,
 * what the running kernel says, what we say.
 */
enum kc_kind {
	KC_UNLOADED, /* libbpf could not bring it to the kernel alone */
	KC_BOUND,    /* its verdict depends on the program type */
	KC_FOREIGN,  /* it uses what exists in a kernel only: see @need */
	KC_OURS	     /* compared */
};

struct kc_prog {
	struct kc_prog *next;
	const char *file, *name; /* "verifier_and", C function */
	enum kc_kind kind;
	int expected;	    /* 1, 0, or -1: it does not say */
	int kernel;	    /* 1, 0, or -1 */
	const char *reason; /* the kernel's, of a refusal */
	const char *need;   /* "helper get_current_task" */
	bool ours;
	bool privileged;  /* ours, with the kernel's rules for root */
	const char *cls;  /* our finding's word */
	const char *text; /* our finding, several lines */
	uint32_t steps;	  /* instructions walked */
};

enum { KC_MAPS = NB_IMAGE_MAX_MAPS };

/* A program as the kernel gets it, relocated; maps by their descriptors. */
struct kc_code {
	const struct bpf_insn *insns;
	uint32_t n;
	const struct bpf_prog_load_opts *opts;
	const struct btf *btf; /* NULL: none */
	uint32_t nmaps;
	int fds[KC_MAPS];
	struct nb_map_spec maps[KC_MAPS];
};

/* May this process load programs at all? */
bool kc_permitted(void);

/* Judge every program of an object; they are put in front of *@list. */
int kc_file(struct kc_prog **list, const char *path, struct nb_arena *a);

/* The same of tests as lines of arrays.c. */
int kc_lines(struct kc_prog **list, const char *path, struct nb_arena *a);

/* A program more on the list, and its verdicts; it is of type @own. */
struct kc_prog *kc_add(struct kc_prog **list, const char *file, const char *name,
		       struct nb_arena *a);
void kc_judge(struct kc_prog *p, const struct kc_code *c, enum bpf_prog_type own,
	      struct nb_arena *a);

/* Number of the map with this descriptor, or -1. */
int kc_map_of(const struct kc_code *c, int fd);

/* What the program needs that exists in a kernel only, or NULL. Some helpers
 * of the kernel are lent a row here, so that their arguments are compared. */
const char *kc_foreign(const struct kc_code *c, struct nb_arena *a);

/* True if the program calls a helper of the kernel that has a row of ours for this comparison. */
bool kc_lent(const struct kc_code *c);

/* The kernel's verdict on changed instructions, as a plain type: 1, 0 with a
 * reason and perhaps the slot, or -1. Only while kc_file is at the program. */
int kc_ask(const struct kc_code *c, char *reason, size_t size, int64_t *slot);

/*
 * Judge @n programs that differ from this one in a place or two. Where we
 * accept and the kernel refuses, the kernel's words are counted; see
 * kc_mutants_each.
 */
void kc_mutants(const struct kc_prog *p, const struct kc_code *c, unsigned n);

/* How many there were, and each message of the kernel's: numbers are #. */
struct kc_words {
	char text[256];
	char program[1600]; /* the first of them */
	unsigned n;
};
struct kc_mutated {
	unsigned tried, ours, both;
	unsigned dead; /* we proved that nothing reaches what it refuses */
	struct kc_words *words;
	unsigned nwords;
};
const struct kc_mutated *kc_mutated(void);

/* Our verdict alone, as kc_ours makes it. @aux: a byte for each slot. */
bool kc_accepts(const struct kc_prog *p, const struct kc_code *c, uint8_t *aux);

/* Fill in our verdict. */
void kc_ours(struct kc_prog *p, const struct kc_code *c, bool writable, struct nb_arena *a);

#endif
