// SPDX-License-Identifier: MIT
// The kernel's side of verify_bench: see verify_kernel.h.
#include "test/bench/verify_kernel.h"

#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/spec/spec.h"

enum {
	CALL = 0x85,
	LDDW = 0x18,
	FIRST_KFUNC = 0x10000, /* helpers from here on are its functions... */
	FIRST_OURS = 0x20000,  /* ...and from here on not in the kernel */
	PRANDOM = 7,
	LOG = 1 << 20
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

/* @log: NULL, or LOG bytes for the verifier's words. */
static int load(const struct kernel_prog *k, char *log)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SYSCALL;
	a.prog_flags = BPF_F_SLEEPABLE;
	a.insns = (uintptr_t)k->slots;
	a.insn_cnt = k->n;
	a.license = (uintptr_t) "GPL";
	if (k->btf) {
		a.prog_btf_fd = (uint32_t)k->btf;
		a.func_info = (uintptr_t)k->funcs;
		a.func_info_cnt = k->nfuncs;
		a.func_info_rec_size = sizeof(k->funcs[0]);
	}
	if (log) {
		a.log_level = 1;
		a.log_buf = (uintptr_t)log;
		a.log_size = LOG;
	}
	return bpf(BPF_PROG_LOAD, &a);
}

int kernel_prog_load(const struct kernel_prog *k)
{
	return load(k, NULL);
}

/* The log's last line but its sum, or what errno says. */
static void say_why(struct kernel_prog *k, int error)
{
	char *log = calloc(1, LOG), *line = log, *at = NULL;

	snprintf(k->why, sizeof(k->why), "%s", strerror(-error));
	if (!log || error == -EPERM || load(k, log) >= 0) {
		free(log);
		return;
	}
	for (char *p = strtok_r(log, "\n", &at); p; p = strtok_r(NULL, "\n", &at)) {
		if (!strncmp(p, "processed ", 10))
			break;
		line = p;
	}
	line[strcspn(line, "|\t")] = '\0';
	if (*line)
		snprintf(k->why, sizeof(k->why), "%.99s", line);
	free(log);
}

static int make_map(const struct nb_map_spec *m)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = m->type;
	a.key_size = m->key_size;
	a.value_size = m->value_size;
	a.max_entries = m->max_entries;
	return bpf(BPF_MAP_CREATE, &a);
}

static int make_maps(struct kernel_prog *k, const struct nb_image *img)
{
	while (k->nmaps < img->nmaps) {
		const struct nb_map_spec *m = &img->maps[k->nmaps];
		int fd = make_map(m);

		if (fd < 0) {
			snprintf(k->why, sizeof(k->why), "map %s: %s", m->name, strerror(-fd));
			return fd;
		}
		k->fds[k->nmaps++] = fd;
	}
	return 0;
}

/* The type that stands for the kernel's function of a helper's name, or 0. */
static int32_t kernel_function(int32_t helper)
{
	const struct nb_helper_spec *h = nb_spec_helper(helper);
	struct btf *all = h ? btf__load_vmlinux_btf() : NULL;
	char name[64];
	int32_t id = 0;

	if (!all)
		return 0;
	snprintf(name, sizeof(name), "bpf_%s", h->name);
	id = btf__find_by_name_kind(all, name, BTF_KIND_FUNC);
	btf__free(all);
	return id > 0 ? id : 0;
}

static void adapt_call(struct kernel_prog *k, struct nb_slot *s)
{
	if (s->regs >> 4 || s->imm < FIRST_KFUNC)
		return;
	if (s->imm >= FIRST_OURS) {
		s->imm = PRANDOM;
		k->stand_ins++;
		return;
	}
	s->imm = kernel_function(s->imm);
	s->regs |= BPF_PSEUDO_KFUNC_CALL << 4;
}

/* true: it takes the address of a function. */
static bool adapt(struct kernel_prog *k)
{
	bool address = false;

	for (uint32_t pc = 0; pc < k->n; pc++) {
		struct nb_slot *s = &k->slots[pc];
		unsigned src = s->regs >> 4;

		if (s->opcode == CALL)
			adapt_call(k, s);
		if (s->opcode != LDDW)
			continue;
		if (src == BPF_PSEUDO_MAP_FD || src == BPF_PSEUDO_MAP_VALUE)
			s->imm = k->fds[s->imm];
		address |= src == BPF_PSEUDO_FUNC;
		pc++;
	}
	return address;
}

/* Callbacks want to be known as static functions. */
static void describe(struct kernel_prog *k, const struct nb_prog *prog)
{
	struct btf *b = btf__new_empty();
	int type;

	if (!b)
		return;
	btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	btf__add_func_proto(b, 1);
	type = btf__add_func(b, "part", BTF_FUNC_STATIC, 2);
	for (uint32_t i = 0; i < prog->nfuncs; i++)
		k->funcs[i] = (struct kernel_func){ prog->funcs[i].start, (uint32_t)type };
	k->nfuncs = prog->nfuncs;
	if (!btf__load_into_kernel(b))
		k->btf = dup(btf__fd(b));
	btf__free(b);
}

int kernel_prog_open(struct kernel_prog *k, const struct nb_image *img, const struct nb_prog *prog)
{
	size_t size = prog->nslots * sizeof(*k->slots);
	int rc;

	memset(k, 0, sizeof(*k));
	k->slots = malloc(size);
	if (!k->slots)
		return -ENOMEM;
	memcpy(k->slots, prog->slots, size);
	k->n = prog->nslots;
	rc = make_maps(k, img);
	if (rc)
		return rc;
	if (adapt(k))
		describe(k, prog);
	rc = load(k, NULL);
	if (rc >= 0)
		return close(rc);
	say_why(k, rc);
	return rc;
}

void kernel_prog_close(struct kernel_prog *k)
{
	for (uint32_t i = 0; i < k->nmaps; i++)
		close(k->fds[i]);
	if (k->btf > 0)
		close(k->btf);
	free(k->slots);
	k->slots = NULL;
	k->nmaps = 0;
	k->btf = 0;
}
