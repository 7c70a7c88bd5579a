// SPDX-License-Identifier: MIT
// The kernel's side of the corpus: libbpf relocates one program of an object
// at a time and stops before the load; then the program is loaded here, as its
// own type and as types with plain contexts. Where verdict and message are the
// same, the type does not matter. Nothing is attached or run.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "test/differential/kcorpus/kcorpus.h"
#include "test/differential/oracle/kernel.h"

enum { LOG = 16 << 20, MAX_NAMES = 256 };

struct job {
	struct bpf_object *obj;
	struct nb_arena *arena;
	struct kc_prog *to;
	enum bpf_prog_type own, plain; /* that its verdict is the same as */
	/* of its maps, in order: what the maps inside are like. libbpf forgets
	 * it at the load. Type 0: none. */
};

static struct job job;
static char logged[LOG];

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static const char *reason_of(char *line, size_t size)
{
	kernel_log_reason(logged, line, (uint32_t)size);
	return line;
}

struct answer {
	int ok; /* -1: not judged */
	char reason[256];
};

static int load(const struct kc_code *c, enum bpf_prog_type type, struct bpf_prog_load_opts *o,
		struct answer *a)
{
	int fd;

	o->log_level = 0;
	o->log_buf = NULL;
	o->log_size = 0;
	fd = bpf_prog_load(type, "corpus", "GPL", c->insns, c->n, o);
	if (fd >= 0)
		return fd;
	logged[0] = '\0';
	o->log_level = 1;
	o->log_buf = logged;
	o->log_size = LOG;
	fd = bpf_prog_load(type, "corpus", "GPL", c->insns, c->n, o);
	a->ok = 0;
	reason_of(a->reason, sizeof(a->reason));
	/* Not refused by the verifier: no words of it. */
	if (fd >= 0 || !a->reason[0])
		a->ok = -1;
	return fd;
}

static struct answer ask(const struct kc_code *c, enum bpf_prog_type type)
{
	struct bpf_prog_load_opts o = *c->opts;
	struct answer a = { .ok = 1 };
	int fd;

	o.attempts = 1;
	if (type != job.own) {
		o.expected_attach_type = 0;
		o.attach_btf_id = 0;
		o.prog_flags &= ~(__u32)BPF_F_SLEEPABLE;
	}
	if (type == BPF_PROG_TYPE_SYSCALL)
		o.prog_flags |= BPF_F_SLEEPABLE;
	fd = load(c, type, &o, &a);
	if (fd >= 0)
		close(fd);
	return a;
}

static bool same(const struct answer *a, const struct answer *b)
{
	return a->ok >= 0 && a->ok == b->ok && !strcmp(a->reason, b->reason);
}

/*
 * Does another plain context lead to the same verdict and message? Helpers
 * lent for the comparison exist in some types only: packets' then do.
 */
static bool any_type(const struct kc_code *c, const struct answer *own)
{
	static const enum bpf_prog_type plain[] = { BPF_PROG_TYPE_RAW_TRACEPOINT,
						    BPF_PROG_TYPE_SYSCALL,
						    BPF_PROG_TYPE_SOCKET_FILTER,
						    BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_XDP };
	unsigned n = kc_lent(c) ? 5 : 2;

	if (strstr(own->reason, "bpf_context"))
		return false;

	for (unsigned i = 0; i < n; i++) {
		struct answer a;

		if (plain[i] == job.own)
			continue;
		job.plain = plain[i];
		a = ask(c, job.plain);
		if (same(own, &a))
			return true;
	}
	return false;
}

int kc_ask(const struct kc_code *c, char *reason, size_t size, int64_t *slot)
{
	struct answer a = ask(c, job.plain);

	*slot = a.ok ? -1 : kernel_log_slot(logged);

	snprintf(reason, size, "%s", a.reason);
	return a.ok;
}

void kc_judge(struct kc_prog *p, const struct kc_code *c, enum bpf_prog_type own,
	      struct nb_arena *a)
{
	const char *mutants = getenv("MUTANTS");
	struct answer said;

	job.own = own;
	said = ask(c, own);
	p->kernel = said.ok;
	p->reason = nb_arena_str(a, said.reason, sizeof(said.reason));
	if (said.ok < 0)
		return;
	p->kind = KC_BOUND;
	if (!any_type(c, &said))
		return;
	p->need = kc_foreign(c, a);
	p->kind = p->need ? KC_FOREIGN : KC_OURS;
	if (p->need)
		return;
	kc_ours(p, c, job.plain == BPF_PROG_TYPE_SYSCALL, a);
	if (mutants)
		kc_mutants(p, c, (unsigned)atoi(mutants));
}

bool kc_permitted(void)
{
	const struct bpf_insn nothing[] = { { .code = 0xb7 }, { .code = 0x95 } };
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nothing", "GPL", nothing, 2, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- objects ---- */

static struct nb_map_spec spec_of(struct bpf_map *m)
{
	const char *name = bpf_map__name(m);
	struct nb_map_spec s = {
		.name = name,
		.type = (uint32_t)bpf_map__type(m),
		.key_size = bpf_map__key_size(m),
		.value_size = bpf_map__value_size(m),
		.max_entries = bpf_map__max_entries(m),
		.flags = bpf_map__map_flags(m),
		.btf_key = bpf_map__btf_key_type_id(m),
		.btf_value = bpf_map__btf_value_type_id(m),
	};
	size_t size;

	if (!bpf_map__is_internal(m))
		return s;
	s.init = bpf_map__initial_value(m, &size);
	s.origin = strstr(name, ".rodata") ? NB_ORIGIN_RODATA
		   : strstr(name, ".bss")  ? NB_ORIGIN_BSS
					   : NB_ORIGIN_DATA;
	return s;
}

/* libbpf has relocated the program and would load it now. */
static int before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	static struct kc_code c;
	struct bpf_map *m;

	(void)cookie;
	c = (struct kc_code){ .insns = bpf_program__insns(prog),
			      .n = (uint32_t)bpf_program__insn_cnt(prog),
			      .opts = opts,
			      .btf = bpf_object__btf(job.obj) };
	bpf_object__for_each_map(m, job.obj)
	{
		if (c.nmaps == KC_MAPS)
			break;
		c.fds[c.nmaps] = bpf_map__fd(m);
		c.maps[c.nmaps++] = spec_of(m);
	}
	kc_judge(job.to, &c, job.own, job.arena);
	return -ECANCELED;
}

/* ---- what the authors expect: declaration tags on the function ---- */

/* What stands behind "comment:", and in newer sources behind a number that
 * makes tags differ ("comment:12:"); "" of other tags. */
static const char *tag_text(const char *tag)
{
	static const char begins[] = "comment:";
	size_t digits;

	if (strncmp(tag, begins, sizeof(begins) - 1) != 0)
		return "";
	tag += sizeof(begins) - 1;
	digits = strspn(tag, "0123456789");
	return digits && tag[digits] == ':' ? tag + digits + 1 : tag;
}

static void read_tag(struct kc_prog *p, const char *tag, __u32 *flags)
{
	static const struct {
		const char *name;
		__u32 bit;
	} known[] = { { "BPF_F_STRICT_ALIGNMENT", BPF_F_STRICT_ALIGNMENT },
		      { "BPF_F_TEST_STATE_FREQ", BPF_F_TEST_STATE_FREQ },
		      { "BPF_F_SLEEPABLE", BPF_F_SLEEPABLE } };
	static const char flag[] = "test_prog_flags=";

	tag = tag_text(tag);
	if (!strcmp(tag, "test_expect_success"))
		p->expected = 1;
	else if (!strcmp(tag, "test_expect_failure"))
		p->expected = 0;
	else if (!strncmp(tag, flag, sizeof(flag) - 1))
		for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(tag + sizeof(flag) - 1, known[i].name))
				*flags |= known[i].bit;
}

static __u32 read_tags(struct kc_prog *p, const struct btf *btf)
{
	__u32 n = btf ? btf__type_cnt(btf) : 0, flags = 0;
	int id = btf ? btf__find_by_name_kind(btf, p->name, BTF_KIND_FUNC) : 0;

	p->expected = -1;
	for (__u32 i = 1; id > 0 && i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);

		if (btf_is_decl_tag(t) && t->type == (__u32)id)
			read_tag(p, btf__name_by_offset(btf, t->name_off), &flags);
	}
	return flags;
}

/* ---- one program, alone ---- */

static int open_object(const char *path)
{
	job.obj = bpf_object__open_file(path, NULL);
	if (!libbpf_get_error(job.obj))
		return 0;
	job.obj = NULL;
	return -1;
}

static void load_alone(const char *path, const char *section)
{
	struct libbpf_prog_handler_opts h = { .sz = sizeof(h),
					      .prog_prepare_load_fn = before_load };
	struct bpf_program *prog;
	enum bpf_attach_type attach;
	int id;

	if (libbpf_prog_type_by_name(section, &job.own, &attach) < 0)
		return;
	id = libbpf_register_prog_handler(section, job.own, attach, &h);
	if (id < 0)
		return;
	if (!open_object(path)) {
		bpf_object__for_each_program(prog, job.obj)
		{
			bool me = !strcmp(bpf_program__name(prog), job.to->name);

			bpf_program__set_autoload(prog, me);
			if (me)
				bpf_program__set_flags(prog,
						       read_tags(job.to, bpf_object__btf(job.obj)));
		}
		bpf_object__load(job.obj);
		bpf_object__close(job.obj);
	}
	libbpf_unregister_prog_handler(id);
}

static const char *base(const char *path, struct nb_arena *a)
{
	const char *slash = strrchr(path, '/');
	char name[128];

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
	return nb_arena_str(a, name, sizeof(name));
}

struct kc_prog *kc_add(struct kc_prog **list, const char *file, const char *name,
		       struct nb_arena *a)
{
	struct kc_prog *p = nb_arena_alloc(a, sizeof(*p));

	if (!p)
		return NULL;
	p->file = file;
	p->name = name;
	p->kernel = p->expected = -1;
	p->reason = "";
	p->next = *list;
	*list = p;
	return p;
}

int kc_file(struct kc_prog **list, const char *path, struct nb_arena *a)
{
	const char *names[MAX_NAMES], *sections[MAX_NAMES];
	struct bpf_program *prog;
	unsigned n = 0;

	static bool once;

	if (!once) {
		once = true;
		libbpf_set_print(silent);
		/* libbpf 1.1 frees its list twice when the last one goes. */
		libbpf_register_prog_handler("kcorpus-stays", BPF_PROG_TYPE_SOCKET_FILTER, 0, NULL);
	}
	job.arena = a;
	if (open_object(path))
		return -1;
	bpf_object__for_each_program(prog, job.obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (n == MAX_NAMES)
			break;
		names[n] = nb_arena_str(a, bpf_program__name(prog), 128);
		sections[n++] = nb_arena_str(a, section + (*section == '?'), 128);
	}
	bpf_object__close(job.obj);
	for (unsigned i = 0; i < n; i++) {
		job.to = kc_add(list, base(path, a), names[i], a);
		if (job.to)
			load_alone(path, sections[i]);
	}
	return 0;
}
