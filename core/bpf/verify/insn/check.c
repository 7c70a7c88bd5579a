// SPDX-License-Identifier: MIT
/*
 * Check whether a state grants what an instruction needs, one function for
 * each rule. Rules that concern arguments, records, callbacks, iterators or
 * accesses to memory are in check_args.c, feature/ and access/. Each finding
 * says what was required and what was known. These checks do not change the
 * state, but they record facts in env->walk.found: whether the program reads
 * times, the depth of the stack, the answers. So nb_check is called once for
 * each instruction that the walk reaches, before its step: a check of another
 * state would record facts of no path.
 */
#include "core/bpf/verify/insn/check.h"

#include <assert.h>
#include <string.h>

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/feature/callback.h"
#include "core/bpf/verify/feature/resources.h"
#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/insn/answers.h"
#include "core/bpf/verify/insn/check_args.h"
#include "core/bpf/verify/state/operands.h"

static int check_writable(const struct at *a, int number)
{
	if (number != NB_R10)
		return 0;
	return refuse(a, NB_RULE_FRAME_POINTER, .reg = NB_R10);
}

static int check_count(const struct at *a)
{
	if ((uint64_t)a->insn->imm < a->insn->width)
		return 0;
	return refuse(a, NB_RULE_SHIFT, .reg = a->insn->dst, .limit = a->insn->width - 1u,
		      .number = a->insn->imm);
}

static bool sane(int64_t v)
{
	return v > -MAX_MOVE && v < MAX_MOVE;
}

/* Check the move of pointer @ptr by the number @by, which register @number
 * holds. */
static int check_move(const struct at *a, const struct nb_reg *ptr, const struct nb_range *by,
		      int number)
{
	struct nb_range to = nb_range_alu(a->insn->fn, 64, &ptr->r, by);
	enum nb_rule rule = NB_RULE_PTR_RANGE;

	if (ptr->kind == NB_REG_CTX && !nb_range_is_const(by))
		return refuse(a, NB_RULE_CTX_VARIABLE, .reg = number);
	if (sane(by->smin) && sane(to.smin))
		return 0;
	if (by->smin < 0 && by->smax < MAX_MOVE)
		rule = NB_RULE_MOVE_NEGATIVE;
	return refuse(a, number < 0 ? NB_RULE_MOVE_CONSTANT : rule, .reg = number, .pointer = ptr,
		      .number = by->smin, .to = to.smin);
}

static int pointer_operand(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	switch (r->kind) {
	case NB_REG_VALUE_OR_NULL:
	case NB_REG_MEM_OR_NULL:
		return refuse(a, NB_RULE_NULL_ARITH, .reg = number);
	case NB_REG_MAP:
	case NB_REG_FUNC:
		return refuse(a, NB_RULE_HANDLE_ARITH, .reg = number);
	}
	return 0;
}

static int check_pointers(const struct at *a, bool dst_ptr, bool src_ptr)
{
	const struct nb_insn *insn = a->insn;
	const bool minus = nb_is_difference(insn->traits);
	int ptr = dst_ptr ? insn->dst : insn->src;
	struct nb_range by;
	int rc;

	/* The difference of two addresses, a negated address, and an
	 * address with its bytes swapped are plain numbers, which differ
	 * between ranks. */
	if ((dst_ptr && src_ptr && minus) || insn->operand == NB_OPND_NONE)
		return 0;
	if (insn->width != 64)
		return refuse(a, NB_RULE_PTR_32, .reg = ptr);
	if (dst_ptr && (rc = pointer_operand(a, insn->dst)))
		return rc;
	if (src_ptr && (rc = pointer_operand(a, insn->src)))
		return rc;
	if (!(insn->traits & NB_INSN_SUM) || (minus && !dst_ptr))
		return refuse(a, NB_RULE_PTR_OP, .reg = ptr);
	if (dst_ptr && src_ptr)
		return refuse(a, NB_RULE_PTR_PTR, .reg = insn->src, .number = insn->dst);
	if (insn->operand == NB_OPND_IMM) {
		by = nb_range_const((uint64_t)insn->imm);
		return check_move(a, reg(a, ptr), &by, -1);
	}
	ptr = dst_ptr ? insn->dst : insn->src;
	return check_move(a, reg(a, ptr), &reg(a, dst_ptr ? insn->src : insn->dst)->r,
			  dst_ptr ? insn->src : insn->dst);
}

static int check_arith(const struct at *a)
{
	const struct nb_insn *insn = a->insn;
	bool dst = nb_reg_is_pointer(reg(a, insn->dst));
	bool src = insn->operand == NB_OPND_REG && nb_reg_is_pointer(reg(a, insn->src));

	/* Only a copy of the whole pointer stays a pointer; a part of a pointer
	 * becomes a plain number. */
	if (insn->traits & NB_INSN_MOVE || (!dst && !src))
		return 0;
	return check_pointers(a, dst, src);
}

static int check_stack_load(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_frame *f = &a->st->frames[x->frame];
	int rc = nb_check_written(a, x);

	for (int64_t at = x->off.smin; !rc && at < nb_access_end(x); at++) {
		if (!nb_cell_of_pointer(f, nb_cell_at(at)))
			continue;
		/* Eight aligned bytes are the whole pointer. */
		if (nb_range_is_const(&x->off) && x->size == 8)
			return 0;
		return refuse(a, NB_RULE_STACK_PARTIAL, .reg = x->reg, .number = at & ~7ll,
			      .off = &x->off, .size = x->size);
	}
	return rc;
}

/* Check that the value may be stored in that frame. */
static int check_stack_store(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_reg *v;

	if (x->value < 0 || !nb_reg_is_pointer(reg(a, x->value)))
		return 0;
	v = reg(a, x->value);
	if (x->size != 8 || !nb_range_is_const(&x->off))
		return refuse(a, NB_RULE_POINTER_STORE, .reg = x->value, .off = &x->off,
			      .size = x->size);
	if (v->kind == NB_REG_STACK && v->frame > x->frame)
		return refuse(a, NB_RULE_STACK_ESCAPE, .reg = x->value);
	return 0;
}

static bool aligned(const struct nb_mem_access *x)
{
	return !((x->off.t.value | x->off.t.mask) & (x->size - 1));
}

static int check_stack(const struct at *a, const struct nb_mem_access *x)
{
	int rc = nb_check_frame(a, x);

	if (!rc)
		rc = nb_check_objects(a, x, !x->loads);
	if (rc)
		return rc;
	if (!aligned(x))
		return refuse(a, NB_RULE_STACK_ALIGN, .reg = x->reg, .off = &x->off,
			      .size = x->size);
	if (x->loads)
		rc = check_stack_load(a, x);
	return !rc && x->stores ? check_stack_store(a, x) : rc;
}

static const struct nb_ctx_field *newer_field(const struct at *a, int64_t off)
{
	const struct nb_image *img = a->env->program.img;

	for (uint32_t i = 0; i < img->nctx_fields; i++) {
		const struct nb_ctx_field *f = &img->ctx_fields[i];

		if (f->hook == a->env->program.hook->id && off >= f->off && off - f->off < f->size)
			return f;
	}
	return NULL;
}

static int refuse_ctx_end(const struct at *a, int number, int64_t off)
{
	const struct nb_hook_spec *h = a->env->program.hook;
	const struct nb_ctx_field *f = off >= 0 ? newer_field(a, off) : NULL;

	if (f)
		return refuse(a, NB_RULE_CTX_NEWER, .reg = number, .name = f->name,
			      .limit = h->ctx_size);
	return refuse(a, NB_RULE_CTX_BOUNDS, .reg = number, .limit = h->ctx_size - 1,
		      .number = off);
}

/* Check that neither value nor address of the store differs between ranks. */
static int check_output_label(const struct at *a, const struct nb_mem_access *x,
			      const struct nb_field_spec *f)
{
	int8_t number = x->reg;

	if (!a->env->walk.how.labels || f->label != NB_LABEL_COHERENT)
		return 0;
	if (x->value >= 0 && reg(a, x->value)->label == NB_LABEL_LOCAL)
		number = x->value;
	if (reg(a, number)->label == NB_LABEL_LOCAL)
		return refuse(a, NB_RULE_LOCAL_OUTPUT, .reg = number, .name = f->name,
			      .where = reg(a, number)->from);
	if (a->st->region.open)
		return refuse(a, NB_RULE_LOCAL_CONTROL, .reg = x->reg, .name = f->name,
			      .where = a->st->region.pc);
	return 0;
}

static bool has_output(const struct nb_hook_spec *h)
{
	for (size_t i = 0; i < h->nfields; i++)
		if (h->fields[i].access == NB_OUT)
			return true;
	return false;
}

/* Check one output field that a store covers in part or as a whole. */
static int check_output(const struct at *a, const struct nb_mem_access *x,
			const struct nb_field_spec *f)
{
	int64_t off = x->off.smin;

	if (f->access != NB_OUT)
		return refuse(a,
			      has_output(a->env->program.hook) ? NB_RULE_CTX_READONLY
							       : NB_RULE_CTX_NO_OUTPUT,
			      .reg = x->reg, .name = f->name);
	if (off > f->off || nb_access_end(x) < f->off + f->size)
		return refuse(a, NB_RULE_CTX_PARTIAL, .reg = x->reg, .name = f->name,
			      .limit = f->size, .size = x->size, .number = off - f->off);
	nb_note_answer(a, x, f);
	return check_output_label(a, x, f);
}

/* Check a store of one or more whole output fields: compilers merge stores
 * to neighbouring fields. */
static int check_ctx_store(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_hook_spec *hook = a->env->program.hook;
	const struct nb_field_spec *f;
	int rc;

	for (int64_t at = x->off.smin; at < nb_access_end(x); at = f->off + f->size) {
		f = at < hook->ctx_size ? nb_spec_field(hook, (uint32_t)at) : NULL;
		if (!f)
			return refuse_ctx_end(a, x->reg, at);
		if ((rc = check_output(a, x, f)))
			return rc;
	}
	if (x->value >= 0 && nb_reg_is_pointer(reg(a, x->value)))
		return refuse(a, NB_RULE_OUTPUT_POINTER, .reg = x->value);
	return 0;
}

static int check_ctx_access(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_field_spec *f = x->field;
	int64_t off = x->off.smin;

	if (!nb_range_is_const(&x->off))
		return refuse(a, NB_RULE_CTX_VARIABLE, .reg = x->reg);
	if (off < 0 || off >= a->env->program.hook->ctx_size)
		return refuse_ctx_end(a, x->reg, off);
	if (off % (int64_t)x->size)
		return refuse(a, NB_RULE_CTX_ALIGN, .reg = x->reg, .size = x->size, .number = off,
			      .name = f ? f->name : "(padding)");
	if (x->stores && f)
		return check_ctx_store(a, x);
	if (!f)
		return refuse(a, NB_RULE_CTX_PADDING, .reg = x->reg, .number = off);
	if (nb_access_end(x) > f->off + f->size)
		return refuse(a, NB_RULE_CTX_FIELD, .reg = x->reg, .size = x->size, .number = off,
			      .name = f->name, .limit = f->off + f->size);
	if (!strcmp(f->unit, "ns"))
		a->env->walk.found.reads_time = true;
	return 0;
}

/* Reject the use of a pointer that may be NULL. Its origin decides the hint. */
static int refuse_nullable(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_ref *ref = nb_ref_find(a->st, r->ref);

	if (r->kind == NB_REG_VALUE_OR_NULL)
		return refuse(a, NB_RULE_NULLABLE, .reg = number, .map = r->map);
	assert(ref); /* No other pointer to memory may be NULL. */
	return refuse(a, NB_RULE_NULLABLE_RECORD, .reg = number, .where = ref->pc);
}

static int refuse_address(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (r->kind == NB_REG_VALUE_OR_NULL || r->kind == NB_REG_MEM_OR_NULL)
		return refuse_nullable(a, number);
	if (nb_check_ended(a, number))
		return NB_E_VERIFY;
	return refuse(a, nb_reg_is_zero(r) ? NB_RULE_NULL_POINTER : NB_RULE_NOT_POINTER,
		      .reg = number);
}

static int check_access(const struct at *a, const struct nb_mem_access *x)
{
	if (x->kind == NB_REG_CTX)
		return check_ctx_access(a, x);
	if (x->kind == NB_REG_STACK)
		return check_stack(a, x);
	if (points_to_memory(x))
		return nb_check_memory(a, x);
	return refuse_address(a, x->reg);
}

static int check_ordered(const struct at *a, const struct nb_mem_access *x)
{
	if (x->kind == NB_REG_CTX)
		return refuse(a, NB_RULE_CTX_ATOMIC, .reg = x->reg);
	if (!nb_reg_is_pointer(reg(a, x->reg)) || aligned(x))
		return 0;
	return refuse(a, NB_RULE_ATOMIC_ALIGN, .reg = x->reg, .size = x->size, .off = &x->off);
}

static int check_call_depth(const struct at *a)
{
	if (a->st->nframes < NB_MAX_FRAMES)
		return 0;
	return refuse(a, NB_RULE_CALL_DEPTH, .reg = -1, .limit = NB_MAX_FRAMES);
}

static int check_return(const struct at *a)
{
	const struct nb_reg *r = reg(a, 0);
	int rc;

	if (a->st->nframes == 1) {
		if ((rc = nb_check_all_returned(a, 0)))
			return rc;
		if ((rc = nb_check_init(a, 0)))
			return rc;
		/* An address differs between ranks, so only a coherent program
		 * must not return one. */
		if (r->kind == NB_REG_SCALAR || !nb_program_is_coherent(&a->env->program))
			return 0;
		return refuse(a, NB_RULE_RET_POINTER, .reg = 0);
	}
	if (a->f->callback)
		return nb_check_callback_return(a);
	if (r->kind == NB_REG_STACK && r->frame + 1u == a->st->nframes)
		return refuse(a, NB_RULE_RET_STACK, .reg = 0);
	return 0;
}

/* Check the registers that the instruction reads and writes. */
static int check_registers(const struct at *a)
{
	const struct nb_insn *insn = a->insn;
	int rc = 0;

	if (insn->reads & NB_REGS_S)
		rc = nb_check_init(a, insn->src);
	if (!rc && insn->reads & NB_REGS_D)
		rc = nb_check_init(a, insn->dst);
	if (!rc && insn->reads & NB_REGS_R0 && insn->kind != NB_KIND_EXIT)
		rc = nb_check_init(a, 0);
	if (!rc && insn->writes & NB_REGS_D)
		rc = check_writable(a, insn->dst);
	return rc;
}

static int check_alu(const struct at *a)
{
	int rc = 0;

	if (a->insn->operand == NB_OPND_IMM && a->insn->traits & NB_INSN_SHIFT)
		rc = check_count(a);
	return rc ? rc : check_arith(a);
}

static int check_load_store(const struct at *a, const struct nb_mem_access *x)
{
	int rc = a->insn->traits & NB_INSN_ORDERED || a->insn->kind == NB_KIND_ATOMIC
			 ? check_ordered(a, x)
			 : 0;

	if (!rc)
		rc = check_access(a, x);
	if (!rc && a->insn->kind == NB_KIND_ATOMIC && a->insn->writes & NB_REGS_S)
		rc = check_writable(a, a->insn->src);
	return rc;
}

int nb_check(struct nb_env *env, const struct nb_state *st, uint32_t pc,
	     const struct nb_mem_access *x)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct at a = {
		.env = env,
		.st = st,
		.f = &st->frames[st->nframes - 1],
		.insn = insn,
		.helper = nb_insn_calls_helper(insn) ? nb_spec_helper((int32_t)insn->imm) : NULL,
		.pc = pc,
	};
	int rc = check_registers(&a);

	if (rc)
		return rc;
	switch (insn->kind) {
	case NB_KIND_ALU:
		return check_alu(&a);
	case NB_KIND_LOAD:
	case NB_KIND_STORE:
	case NB_KIND_ATOMIC:
		return check_load_store(&a, x);
	case NB_KIND_CALL:
		return nb_insn_calls_func(insn) ? check_call_depth(&a) : nb_check_helper(&a);
	case NB_KIND_EXIT:
		return check_return(&a);
	}
	return 0;
}
