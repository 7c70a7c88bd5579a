// SPDX-License-Identifier: MIT
// Our side of the corpus: the very instructions that the kernel got, in an
// image made around them. Their context is a neutral one, so many bytes of
// numbers that can only be read; coherence is off, which the kernel does not
// know.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/verify.h"
#include "test/differential/kcorpus/kcorpus.h"

enum { FIELDS = 64, LDDW = 0x18, CALL = 0x85, SRC_KFUNC = 2 };

static struct nb_field_spec fields[FIELDS];
static struct nb_hook_spec hook = {
	.word = "neutral",
	.ctx_struct = "neutral",
	.ctx_size = FIELDS * 8,
	.fields = fields,
	.nfields = FIELDS,
};

/* What these helpers do is nothing for a job; what they ask of arguments is
 * what others ask. Verified only. */
static const struct nb_helper_spec lent[] = {
#define LENT(word, a1, a2, a3, a4, a5)                \
	{                                             \
		.id = BPF_FUNC_##word, .name = #word, \
		.arg = { NB_ARG_##a1,                 \
			 NB_ARG_##a2,                 \
			 NB_ARG_##a3,                 \
			 NB_ARG_##a4,                 \
			 NB_ARG_##a5 }                \
	}
	LENT(probe_read_kernel, OUT, SIZE0, ANY, NONE, NONE),
	LENT(skb_load_bytes, CTX, ANY, OUT, SIZE, NONE),
	LENT(get_stack, CTX, OUT, SIZE0, ANY, NONE),
	LENT(csum_diff, MEM0, SIZE0, MEM0, SIZE0, ANY),
	LENT(jiffies64, NONE, NONE, NONE, NONE, NONE),
	LENT(get_current_pid_tgid, NONE, NONE, NONE, NONE, NONE),
	LENT(get_numa_node_id, NONE, NONE, NONE, NONE, NONE),
#undef LENT
};

static const struct nb_helper_spec *lend(int32_t id)
{
	for (size_t i = 0; i < sizeof(lent) / sizeof(lent[0]); i++)
		if (lent[i].id == id)
			return &lent[i];
	return NULL;
}

const struct nb_helper_spec *__real_nb_spec_helper(int32_t id);
const struct nb_helper_spec *__wrap_nb_spec_helper(int32_t id);

const struct nb_helper_spec *__wrap_nb_spec_helper(int32_t id)
{
	const struct nb_helper_spec *h = __real_nb_spec_helper(id);

	return h ? h : lend(id);
}

/* Let programs read unwritten stack bytes as data, as the kernel lets privileged users. */
static bool privileged;

int __real_nb_check_written(const struct at *a, const struct nb_mem_access *x);
int __wrap_nb_check_written(const struct at *a, const struct nb_mem_access *x);

int __wrap_nb_check_written(const struct at *a, const struct nb_mem_access *x)
{
	return privileged ? 0 : __real_nb_check_written(a, x);
}

/* Contexts of system calls are written, those of raw tracepoints only read. */
static void make_hook(bool writable)
{
	for (unsigned i = 0; i < FIELDS; i++)
		fields[i] = (struct nb_field_spec){
			.name = "number",
			.type = "uint64_t",
			.off = i * 8,
			.size = 8,
			.access = writable ? NB_OUT : NB_IN,
			.label = NB_LABEL_COHERENT,
			.unit = "1",
		};
}

/* ---- what we do not offer at all ---- */

static const char *const helper_names[] = {
#define NAME(name) [BPF_FUNC_##name] = #name
	__BPF_FUNC_MAPPER(NAME)
#undef NAME
};

static const char *helper_name(int32_t id)
{
	size_t n = sizeof(helper_names) / sizeof(helper_names[0]);

	return id > 0 && (size_t)id < n ? helper_names[id] : NULL;
}

int kc_map_of(const struct kc_code *c, int fd)
{
	for (uint32_t i = 0; i < c->nmaps; i++)
		if (c->fds[i] == fd)
			return (int)i;
	return -1;
}

/* The name of a kernel function that programs may call. */
static const char *kfunc_name(int32_t id)
{
	static struct btf *vmlinux;
	const struct btf_type *t;

	if (!vmlinux)
		vmlinux = btf__load_vmlinux_btf();
	t = vmlinux && id > 0 ? btf__type_by_id(vmlinux, (__u32)id) : NULL;
	return t ? btf__name_by_offset(vmlinux, t->name_off) : "?";
}

/* Our helper of that name; rows leave out the prefix. */
static const struct nb_helper_spec *kfunc_helper(const char *name)
{
	return strncmp(name, "bpf_", 4) ? NULL : nb_spec_helper_named(name + 4);
}

static const char *text(struct nb_arena *a, const char *kind, const char *what)
{
	char line[128];

	snprintf(line, sizeof(line), "%s %s", kind, what);
	return nb_arena_str(a, line, sizeof(line));
}

static const char *foreign_call(const struct bpf_insn *in, struct nb_arena *a)
{
	const char *name;

	if (in->src_reg == SRC_KFUNC) {
		name = kfunc_name(in->imm);
		return kfunc_helper(name) ? NULL : text(a, "kernel function", name);
	}
	name = helper_name(in->imm);
	/* Helper numbers beyond the list are the test. */
	return in->src_reg || nb_spec_helper(in->imm) || !name ? NULL : text(a, "helper", name);
}

static const char *foreign_load(const struct kc_code *c, const struct bpf_insn *in,
				struct nb_arena *a)
{
	char number[16];
	int m;

	if (in->src_reg == BPF_PSEUDO_BTF_ID)
		return "kernel variable";
	if (in->src_reg != BPF_PSEUDO_MAP_FD && in->src_reg != BPF_PSEUDO_MAP_VALUE)
		return NULL;
	m = kc_map_of(c, in->imm);
	if (m < 0 || nb_spec_map_type(c->maps[m].type))
		return NULL;
	snprintf(number, sizeof(number), "%u", c->maps[m].type);
	return text(a, "map type", number);
}

const char *kc_foreign(const struct kc_code *c, struct nb_arena *a)
{
	for (uint32_t pc = 0; pc < c->n; pc++) {
		const struct bpf_insn *in = &c->insns[pc];
		unsigned class = BPF_CLASS(in->code), mode = BPF_MODE(in->code);
		const char *need = NULL;

		if (in->code == CALL)
			need = foreign_call(in, a);
		else if (in->code == LDDW)
			need = foreign_load(c, in, a);
		else if (class == BPF_LD && (mode == BPF_ABS || mode == BPF_IND))
			need = "packet load";
		if (need)
			return need;
		pc += in->code == LDDW;
	}
	return NULL;
}

bool kc_lent(const struct kc_code *c)
{
	for (uint32_t pc = 0; pc < c->n; pc++)
		if (c->insns[pc].code == CALL && !c->insns[pc].src_reg &&
		    !__real_nb_spec_helper(c->insns[pc].imm) && lend(c->insns[pc].imm))
			return true;
	return false;
}

/* ---- an image around it ---- */

struct made {
	struct nb_image img;
	struct nb_prog prog;
	struct nb_func funcs[NB_IMAGE_MAX_FUNCS];
};

/* Map descriptors become indices, kernel functions helper numbers. */
static struct nb_slot *make_slots(const struct kc_code *c, struct nb_arena *a)
{
	struct nb_slot *s = nb_arena_array(a, c->n, sizeof(*s));

	memcpy(s, c->insns, c->n * sizeof(*s));
	for (uint32_t pc = 0; pc < c->n; pc++) {
		const struct bpf_insn *in = &c->insns[pc];
		if (in->code == CALL && in->src_reg == SRC_KFUNC) {
			s[pc].regs &= 0xf;
			s[pc].off = 0;
			s[pc].imm = kfunc_helper(kfunc_name(in->imm))->id;
		}
		if (in->code != LDDW)
			continue;
		if ((in->src_reg == BPF_PSEUDO_MAP_FD || in->src_reg == BPF_PSEUDO_MAP_VALUE))
			s[pc].imm = kc_map_of(c, in->imm);
		pc++;
	}
	return s;
}

static void make_funcs(struct made *m, const struct kc_code *c)
{
	const char *rec = c->opts->func_info;
	uint32_t n = c->opts->func_info_cnt;

	if (!rec || !n || n > NB_IMAGE_MAX_FUNCS) {
		m->funcs[0].name = "main";
		m->funcs[0].end = c->n;
		m->prog.nfuncs = 1;
		return;
	}
	for (uint32_t i = 0; i < n; i++, rec += c->opts->func_info_rec_size) {
		struct bpf_func_info info;
		const struct btf_type *t;

		memcpy(&info, rec, sizeof(info));
		t = btf__type_by_id(c->btf, info.type_id);
		m->funcs[i].name = btf__name_by_offset(c->btf, t->name_off);
		m->funcs[i].start = info.insn_off;
		m->funcs[i].end = c->n;
		if (i)
			m->funcs[i - 1].end = info.insn_off;
	}
	m->prog.nfuncs = n;
}

static void make_image(struct made *m, const struct kc_prog *p, const struct kc_code *c,
		       struct nb_arena *a)
{
	m->img.maps = c->maps;
	m->img.nmaps = c->nmaps;
	make_funcs(m, c);
	m->prog.name = p->name;
	m->prog.section = "neutral";
	m->prog.slots = make_slots(c, a);
	m->prog.nslots = c->n;
	m->prog.funcs = m->funcs;
	m->img.name = p->file;
	m->img.progs = &m->prog;
	m->img.nprogs = 1;
	if (c->btf)
		m->img.btf = btf__raw_data(c->btf, &m->img.btf_size);
}

/* One verdict; the finding's class and words when there is one. */
static bool judge(struct kc_prog *p, const struct nb_image *img, struct nb_arena *a, uint8_t *aux)
{
	struct nb_verify_opts opts = { .coherence_off = true, .hook = &hook };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	struct nb_buf out;
	bool accepted;

	if (nb_verify(&v, img, 0, &opts, &err)) {
		p->cls = "error";
		p->text = nb_arena_str(a, err.text, sizeof(err.text));
		return false;
	}
	nb_buf_init(&out, 0);
	if (!v->accepted)
		nb_verdict_text(v, img, 0, &out);
	p->cls = nb_finding_words(v->finding.cls)->word;
	p->text = nb_arena_str(a, nb_buf_text(&out), 4096);
	p->steps += v->stats.insns_walked;
	accepted = v->accepted;
	if (aux && accepted)
		memcpy(aux, v->aux, img->progs[0].nslots);
	nb_buf_fini(&out);
	nb_verdict_free(v);
	return accepted;
}

bool kc_accepts(const struct kc_prog *p, const struct kc_code *c, uint8_t *aux)
{
	struct made *m = calloc(1, sizeof(*m));
	struct kc_prog copy = *p;
	struct nb_arena a;
	bool accepted;

	if (!m)
		return false;
	nb_arena_init(&a, 0);
	accepted = !kc_foreign(c, &a);
	if (accepted) {
		make_image(m, p, c, &a);
		accepted = judge(&copy, &m->img, &a, aux);
	}
	nb_arena_fini(&a);
	free(m);
	return accepted;
}

void kc_ours(struct kc_prog *p, const struct kc_code *c, bool writable, struct nb_arena *a)
{
	struct made *m = calloc(1, sizeof(*m));

	if (!m)
		return;
	make_hook(writable);
	make_image(m, p, c, a);
	p->ours = judge(p, &m->img, a, NULL);
	p->privileged = p->ours;
	/* Another rule may refuse it, too: judge it with the rules for privileged programs. */
	if (!p->ours && p->kernel == 1) {
		const char *cls = p->cls, *text = p->text;

		privileged = true;
		p->privileged = judge(p, &m->img, a, NULL);
		privileged = false;
		if (p->privileged) {
			p->cls = cls;
			p->text = text;
		}
	}
	free(m);
}
