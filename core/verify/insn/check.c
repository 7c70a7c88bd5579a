// SPDX-License-Identifier: MIT
// Does a state grant what an instruction needs? Every rule that can refuse a
// program for its values is here, one function a rule, each with what it
// required and what was known. The state is only read.
#include "core/verify/insn/check.h"

#include "core/verify/access/at.h"
#include "core/verify/access/refs.h"
#include "core/verify/feature/callback.h"
#include "core/verify/feature/check_dynptr.h"
#include "core/verify/feature/check_refs.h"
#include "core/verify/feature/global.h"
#include "core/verify/feature/resources.h"
#include "core/verify/flow/calls.h"
#include "core/verify/insn/check_args.h"
#include "core/verify/insn/require.h"
#include "core/verify/report/report.h"
#include "core/verify/state/operands.h"

/* ---- registers ---- */

static int check_number(const struct at *a, int number)
{
	if (reg(a, number)->kind == NB_REG_SCALAR)
		return 0;
	return refuse(a, NB_FIND_ATOMIC_VALUE, number,
		      nb_say(a->env, "a number in r%d", number), "");
}

static int check_writable(const struct at *a, int number)
{
	if (number != NB_R10)
		return 0;
	return refuse(a, NB_FIND_FRAME_POINTER, NB_R10,
		      "r10 only read: it is the frame pointer", "");
}

/* ---- arithmetic ---- */

static int check_count(const struct at *a)
{
	if (a->env->opts.allow_wide_shift ||
	    (uint64_t)a->insn->imm < a->insn->width)
		return 0;
	return nb_refuse(
		a->env, NB_FIND_SHIFT, a->pc, a->insn->dst,
		nb_say(a->env, "a shift count from 0 to %d",
		       a->insn->width - 1),
		nb_say(a->env, "the constant is %lld", (long long)a->insn->imm),
		"");
}

static bool is_move(const struct nb_insn *insn)
{
	return insn->traits & NB_INSN_MOVE;
}

static bool sane(int64_t v)
{
	return v > -MAX_MOVE && v < MAX_MOVE;
}

/* @ptr moved by the number @by; @number is the register of the number. */
static int check_move(const struct at *a, const struct nb_reg *ptr,
		      const struct nb_range *by, int number)
{
	struct nb_env *env = a->env;
	struct nb_range to = nb_range_alu(a->insn->fn, 64, &ptr->r, by);
	const char *known;

	if (ptr->kind == NB_REG_CTX && !nb_range_is_const(by))
		return refuse(a, NB_FIND_CTX_VARIABLE, number,
			      "a constant offset into the context", "");
	if (sane(by->smin) && sane(to.smin))
		return 0;
	known = number >= 0 ? nb_say_reg(env, reg(a, number), number)
			    : nb_say(env, "it is moved by %lld to offset %lld",
				     (long long)by->smin, (long long)to.smin);
	return nb_refuse(
		env, NB_FIND_PTR_RANGE, a->pc, number,
		nb_say(env,
		       "%s moved by a number with a minimum (signed) between "
		       "-2^29 and 2^29",
		       nb_say_reg(env, ptr, -1)),
		known,
		number >= 0 && by->smin < 0 && by->smax < MAX_MOVE
			? "it may be negative: use an unsigned type, or test "
			  "i >= 0 too"
			: "");
}

static int pointer_operand(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_MAP_OR_NULL:
	case NB_REG_VALUE_OR_NULL:
	case NB_REG_MEM_OR_NULL:
		return refuse(a, NB_FIND_NULL_ARITH, number,
			      nb_say(a->env,
				     "r%d tested against NULL before it is "
				     "moved",
				     number),
			      "");
	case NB_REG_MAP:
	case NB_REG_FUNC:
		return refuse(a, NB_FIND_HANDLE_ARITH, number,
			      nb_say(a->env, "r%d left as it is", number), "");
	case NB_REG_UNINIT:
	case NB_REG_SCALAR:
	case NB_REG_CTX:
	case NB_REG_STACK:
	case NB_REG_VALUE:
	case NB_REG_MEM:
	case NB_REG_RDONLY:
		break;
	}
	return 0;
}

static const char *fn_word(const struct nb_insn *insn)
{
	return nb_spec_insn(insn->op)->mnemonic;
}

static int check_pointers(const struct at *a, bool dst_ptr, bool src_ptr)
{
	const struct nb_insn *insn = a->insn;
	int ptr = dst_ptr ? insn->dst : insn->src;
	struct nb_range by;
	int rc;

	if (insn->width != 64)
		return refuse(a, NB_FIND_PTR_32, ptr,
			      nb_say(a->env,
				     "a number in r%d for the %d-bit "
				     "operation %s",
				     ptr, insn->width, fn_word(insn)),
			      "");
	if (dst_ptr && (rc = pointer_operand(a, insn->dst)))
		return rc;
	if (src_ptr && (rc = pointer_operand(a, insn->src)))
		return rc;
	if ((insn->fn != NB_FN_ADD && insn->fn != NB_FN_SUB) ||
	    (insn->fn == NB_FN_SUB && !dst_ptr))
		return refuse(a, NB_FIND_PTR_OP, ptr,
			      nb_say(a->env, "a number in r%d for %s", ptr,
				     fn_word(insn)),
			      "");
	if (dst_ptr && src_ptr && insn->fn == NB_FN_ADD)
		return refuse(a, NB_FIND_PTR_PTR, insn->src,
			      nb_say(a->env,
				     "a number in r%d to add to the "
				     "pointer in r%d",
				     insn->src, insn->dst),
			      "");
	if (dst_ptr && src_ptr)
		return 0; /* their difference is just a number */
	if (insn->operand == NB_OPND_IMM) {
		by = nb_range_const((uint64_t)insn->imm);
		return check_move(a, reg(a, ptr), &by, -1);
	}
	ptr = dst_ptr ? insn->dst : insn->src;
	return check_move(a, reg(a, ptr),
			  &reg(a, dst_ptr ? insn->src : insn->dst)->r,
			  dst_ptr ? insn->src : insn->dst);
}

static int check_arith(const struct at *a)
{
	const struct nb_insn *insn = a->insn;
	bool dst = nb_reg_is_pointer(reg(a, insn->dst));
	bool src = insn->operand == NB_OPND_REG &&
		   nb_reg_is_pointer(reg(a, insn->src));

	if (!is_move(insn))
		return dst || src ? check_pointers(a, dst, src) : 0;
	/* A pointer moves whole; half of one is just a number. */
	if (src && insn->fn != NB_FN_MOV)
		return refuse(a, NB_FIND_PTR_OP, insn->src,
			      nb_say(a->env, "a number in r%d for %s",
				     insn->src, fn_word(insn)),
			      "");
	return 0;
}

/* ---- maps and plain memory ---- */

/* ---- stack ---- */

static const struct nb_frame *frame_of(const struct at *a,
				       const struct nb_reg *r)
{
	return &a->st->frames[r->frame];
}

static bool pointer_at(const struct nb_frame *f, int64_t off)
{
	uint32_t c = nb_cell_at(off);

	if (c >= f->ncells)
		return false;
	if (f->cells[c].kind == NB_CELL_SPILL8_HI)
		c++;
	return f->cells[c].kind == NB_CELL_SPILL8 &&
	       nb_reg_is_pointer(&f->cells[c].reg);
}

static int check_stack_load(const struct at *a, int number,
			    const struct nb_range *off, uint64_t size)
{
	const struct nb_frame *f = frame_of(a, reg(a, number));
	bool fixed = nb_range_is_const(off);
	int64_t hi = off->smax + (int64_t)size;
	int rc = nb_check_written(a, number, off, size);

	for (int64_t at = off->smin; !rc && at < hi; at++) {
		uint32_t c = nb_cell_at(at);

		if (!pointer_at(f, at))
			continue;
		if (fixed && size == 8 && f->cells[c].kind == NB_CELL_SPILL8)
			return 0;
		return nb_refuse(
			a->env, NB_FIND_STACK_PARTIAL, a->pc, number,
			nb_say(a->env,
			       "8 bytes at a known offset to read the "
			       "pointer at r10%lld",
			       (long long)(at & ~7ll)),
			nb_say(a->env, "%llu bytes are read at offset %s",
			       (unsigned long long)size,
			       nb_say_span(a->env, off->smin, off->smax)),
			"");
	}
	return rc;
}

/* Register @value (or -1: a constant) may be stored in that frame. */
static int check_stack_store(const struct at *a, int number,
			     const struct nb_range *off, uint64_t size,
			     int value)
{
	const struct nb_reg *r = reg(a, number), *v;

	if (value < 0 || !nb_reg_is_pointer(reg(a, value)))
		return 0;
	v = reg(a, value);
	if (size != 8 || !nb_range_is_const(off))
		return nb_refuse(
			a->env, NB_FIND_POINTER_STORE, a->pc, value,
			nb_say(a->env,
			       "8 bytes at a known offset to store "
			       "the pointer in r%d",
			       value),
			nb_say(a->env, "%llu bytes are stored at offset %s",
			       (unsigned long long)size,
			       nb_say_span(a->env, off->smin, off->smax)),
			"");
	if (v->kind == NB_REG_STACK && v->frame > r->frame)
		return nb_refuse(
			a->env, NB_FIND_STACK_ESCAPE, a->pc, value,
			"a pointer that lives as long as the caller's frame",
			nb_say_reg(a->env, v, value), "");
	return 0;
}

static bool aligned(const struct nb_range *off, uint64_t size)
{
	return !((off->t.value | off->t.mask) & (size - 1));
}

static int check_stack(const struct at *a, const struct nb_need *n,
		       const struct nb_range *off, enum access acc)
{
	int rc = nb_check_frame(a, n->reg, off, n->size);

	if (!rc)
		rc = nb_check_objects(a, n->reg, frame_of(a, reg(a, n->reg)),
				      off->smin, off->smax + n->size,
				      acc == STORE);
	if (rc)
		return rc;
	if (!aligned(off, n->size))
		return nb_refuse(
			a->env, NB_FIND_STACK_ALIGN, a->pc, n->reg,
			nb_say(a->env, "an offset that is a multiple of %d",
			       n->size),
			nb_say(a->env, "the access is at offset %s from r10",
			       nb_say_span(a->env, off->smin, off->smax)),
			"");
	nb_note_depth(a, reg(a, n->reg), off);
	return acc == LOAD
		       ? check_stack_load(a, n->reg, off, n->size)
		       : check_stack_store(a, n->reg, off, n->size, n->value);
}

/* ---- context ---- */

static const struct nb_ctx_field *newer_field(const struct at *a, int64_t off)
{
	const struct nb_image *img = a->env->img;

	for (uint32_t i = 0; i < img->nctx_fields; i++) {
		const struct nb_ctx_field *f = &img->ctx_fields[i];

		if (f->hook == a->env->hook->id && off >= f->off &&
		    off - f->off < f->size)
			return f;
	}
	return NULL;
}

static int refuse_ctx_end(const struct at *a, int number, int64_t off)
{
	struct nb_env *env = a->env;
	const struct nb_ctx_field *f = off >= 0 ? newer_field(a, off) : NULL;

	if (f)
		return nb_refuse(
			env, NB_FIND_CTX_NEWER, a->pc, number,
			nb_say(env,
			       "a field of struct %s as this ncclbpf has "
			       "it (%u bytes)",
			       env->hook->ctx_struct, env->hook->ctx_size),
			nb_say(env,
			       "field %s is not known to this ncclbpf: "
			       "the policy was built for a newer one",
			       f->name),
			"");
	return nb_refuse(
		env, NB_FIND_CTX_BOUNDS, a->pc, number,
		nb_say(env, "offset 0 to %u of struct %s",
		       env->hook->ctx_size - 1, env->hook->ctx_struct),
		nb_say(env, "the access is at offset %lld", (long long)off),
		"");
}

/* The store's value and address must not differ between ranks. */
static int check_output_label(const struct at *a, const struct nb_need *n,
			      const struct nb_field_spec *f)
{
	struct nb_env *env = a->env;
	int8_t number = n->reg;

	if (!env->labels || f->label != NB_LABEL_COHERENT)
		return 0;
	if (n->value >= 0 && reg(a, n->value)->label == NB_LABEL_LOCAL)
		number = n->value;
	if (reg(a, number)->label == NB_LABEL_LOCAL)
		return nb_refuse(
			env, NB_FIND_LOCAL_OUTPUT, a->pc, number,
			nb_say(env,
			       "a value for ctx->%s that is equal on all ranks",
			       f->name),
			nb_say(env, "%s; local since %s",
			       nb_say_reg(env, reg(a, number), number),
			       nb_say_where(env, reg(a, number)->from)),
			"");
	if (a->st->region.open)
		return nb_refuse(
			env, NB_FIND_LOCAL_CONTROL, a->pc, n->reg,
			nb_say(env, "ctx->%s written on all ranks or on none",
			       f->name),
			nb_say(env,
			       "the branch at %s depends on local data "
			       "and decides whether this is reached",
			       nb_say_where(env, a->st->region.pc)),
			"");
	return 0;
}

/* One output field that a store covers in part or whole. */
static int check_output(const struct at *a, const struct nb_need *n,
			const struct nb_field_spec *f, int64_t off)
{
	struct nb_env *env = a->env;

	if (f->access != NB_OUT)
		return nb_refuse(
			env, NB_FIND_CTX_READONLY, a->pc, n->reg,
			nb_say(env, "an output field of struct %s",
			       env->hook->ctx_struct),
			nb_say(env, "%s is an input (%s)", f->name, f->doc),
			"");
	if (off > f->off || off + n->size < f->off + f->size)
		return nb_refuse(
			env, NB_FIND_CTX_PARTIAL, a->pc, n->reg,
			nb_say(env, "all %u bytes of %s in one store", f->size,
			       f->name),
			nb_say(env, "%d bytes are stored at offset %lld of it",
			       n->size, (long long)(off - f->off)),
			"");
	nb_global_note_outputs(env);
	return check_output_label(a, n, f);
}

/* Whole output fields: compilers merge stores to neighbours into one. */
static int check_ctx_store(const struct at *a, const struct nb_need *n,
			   int64_t off)
{
	struct nb_env *env = a->env;
	const struct nb_field_spec *f;
	int rc;

	for (int64_t at = off; at < off + n->size; at = f->off + f->size) {
		f = at < env->hook->ctx_size
			    ? nb_spec_field(env->hook, (uint32_t)at)
			    : NULL;
		if (!f)
			return refuse_ctx_end(a, n->reg, at);
		if ((rc = check_output(a, n, f, off)))
			return rc;
	}
	if (n->value >= 0 && nb_reg_is_pointer(reg(a, n->value)))
		return refuse(a, NB_FIND_POINTER_STORE, n->value,
			      "a number for an output field", "");
	return 0;
}

static int check_ctx(const struct at *a, const struct nb_need *n,
		     const struct nb_range *offs, enum access acc)
{
	struct nb_env *env = a->env;
	const struct nb_field_spec *f;
	int64_t off = offs->smin;

	if (!nb_range_is_const(offs))
		return refuse(a, NB_FIND_CTX_VARIABLE, n->reg,
			      "a constant offset into the context", "");
	if (off < 0 || off >= env->hook->ctx_size)
		return refuse_ctx_end(a, n->reg, off);
	f = nb_spec_field(env->hook, (uint32_t)off);
	if (off % n->size)
		return nb_refuse(
			env, NB_FIND_CTX_ALIGN, a->pc, n->reg,
			nb_say(env, "an offset that is a multiple of %d",
			       n->size),
			nb_say(env, "offset %lld, in field %s", (long long)off,
			       f ? f->name : "(padding)"),
			"");
	if (acc == STORE && f)
		return check_ctx_store(a, n, off);
	if (!f || off + n->size > f->off + f->size)
		return nb_refuse(
			env, NB_FIND_CTX_FIELD, a->pc, n->reg,
			nb_say(env, "an access inside one field"),
			f ? nb_say(env,
				   "%d bytes at offset %lld; field %s ends "
				   "at %u",
				   n->size, (long long)off, f->name,
				   f->off + f->size)
			  : nb_say(env, "offset %lld is padding",
				   (long long)off),
			"");
	return 0;
}

/* ---- memory accesses ---- */

static int refuse_address(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (r->kind == NB_REG_VALUE_OR_NULL)
		return refuse(a, NB_FIND_NULLABLE, number,
			      nb_say(a->env,
				     "r%d tested against NULL before it is "
				     "followed",
				     number),
			      nb_say(a->env,
				     "bpf_map_lookup_elem on %s returns NULL "
				     "when there is no such element: add "
				     "if (!v) return 0;",
				     nb_map_name(a->env, r->map)));
	if (r->kind == NB_REG_MEM_OR_NULL)
		return refuse(a, NB_FIND_NULLABLE, number,
			      nb_say(a->env,
				     "r%d tested against NULL before it is "
				     "followed",
				     number),
			      nb_say_null_hint(a->env, a->st, r));
	if (nb_check_ended(a, number))
		return NB_E_VERIFY;
	return refuse(a, NB_FIND_NOT_POINTER, number,
		      nb_say(a->env, "a pointer to memory in r%d", number),
		      nb_reg_is_const(r) && !r->r.t.value
			      ? "this is NULL on this path"
			      : "");
}

static int check_access(const struct at *a, const struct nb_need *n,
			enum access acc)
{
	const struct nb_reg *r = reg(a, n->reg);
	struct nb_range off = nb_access_offset(r, a->insn->off);
	int rc;

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_CTX:
		return check_ctx(a, n, &off, acc);
	case NB_REG_STACK:
		return check_stack(a, n, &off, acc);
	case NB_REG_VALUE:
		rc = nb_check_span(a, n->reg, &off, n->size);
		return rc ? rc : nb_check_map_access(a, n->reg, acc);
	case NB_REG_MEM:
		return nb_check_span(a, n->reg, &off, n->size);
	case NB_REG_RDONLY:
		rc = nb_check_span(a, n->reg, &off, n->size);
		return rc ? rc : nb_check_rdonly(a, n->reg, acc);
	case NB_REG_UNINIT:
	case NB_REG_SCALAR:
	case NB_REG_MAP:
	case NB_REG_MAP_OR_NULL:
	case NB_REG_VALUE_OR_NULL:
	case NB_REG_MEM_OR_NULL:
	case NB_REG_FUNC:
		break;
	}
	return refuse_address(a, n->reg);
}

static int check_ordered(const struct at *a, const struct nb_need *n)
{
	const struct nb_reg *r = reg(a, n->reg);
	struct nb_range off = nb_access_offset(r, a->insn->off);

	if (r->kind == NB_REG_CTX)
		return refuse(a, NB_FIND_CTX_ATOMIC, n->reg,
			      "memory that other threads may share: the stack "
			      "or a map's value",
			      "");
	if (r->kind == NB_REG_MEM && r->align < n->size)
		return refuse(a, NB_FIND_ATOMIC_ALIGN, n->reg,
			      nb_say(a->env,
				     "memory that begins at a multiple of %d",
				     n->size),
			      "ask for a part of the dynptr at an offset that "
			      "is a multiple of 8");
	if (!nb_reg_is_pointer(r) || aligned(&off, n->size))
		return 0;
	return nb_refuse(
		a->env, NB_FIND_ATOMIC_ALIGN, a->pc, n->reg,
		nb_say(a->env, "an offset that is a multiple of %d", n->size),
		nb_say(a->env, "the access is at offset %s",
		       nb_say_span(a->env, off.smin, off.smax)),
		"");
}

static int check_atomic(const struct at *a, const struct nb_need *n)
{
	struct nb_need store = *n;
	int64_t off =
		(int64_t)nb_access_offset(reg(a, n->reg), a->insn->off).t.value;
	int rc;

	store.value = -1;
	if ((rc = check_number(a, n->value)) || (rc = check_ordered(a, n)) ||
	    (rc = check_access(a, n, LOAD)) ||
	    (rc = check_access(a, &store, STORE)))
		return rc;
	if (reg(a, n->reg)->kind == NB_REG_STACK &&
	    pointer_at(frame_of(a, reg(a, n->reg)), off))
		return nb_refuse(a->env, NB_FIND_STACK_PARTIAL, a->pc, n->reg,
				 "a number on the stack",
				 nb_say(a->env, "r10%lld holds a pointer",
					(long long)off),
				 "");
	return 0;
}

/* ---- calls and returns ---- */

static int check_call(const struct at *a)
{
	struct nb_global *g =
		nb_global_at(a->env, (int64_t)a->pc + 1 + a->insn->off);

	if (g)
		return nb_check_global_call(a, g);
	if (a->st->nframes < NB_MAX_FRAMES)
		return 0;
	return nb_refuse(a->env, NB_FIND_CALL_DEPTH, a->pc, -1,
			 nb_say(a->env, "at most %d frames", NB_MAX_FRAMES),
			 "this call would be one more", "");
}

static int check_return(const struct at *a)
{
	const struct nb_reg *r = reg(a, 0);
	int rc;

	if (a->st->nframes == 1) {
		if ((rc = nb_check_all_returned(a, 0)))
			return rc;
		if (a->env->root)
			return nb_check_global_return(a);
		if ((rc = nb_check_init(a, 0)))
			return rc;
		/* An address is a number that differs between ranks: harmless
		 * where ranks may differ. */
		if (r->kind == NB_REG_SCALAR || !nb_env_is_coherent(a->env))
			return 0;
		return refuse(a, NB_FIND_RET_POINTER, 0,
			      "a number in r0 at exit", "");
	}
	if (a->f->callback)
		return nb_check_callback_return(a);
	if (r->kind == NB_REG_STACK && r->frame + 1u == a->st->nframes)
		return refuse(a, NB_FIND_STACK_ESCAPE, 0,
			      "a return value that outlives the function", "");
	return 0;
}

static int grant(const struct at *a, const struct nb_need *n)
{
	switch (n->kind) {
	case NB_NEED_WRITABLE:
		return check_writable(a, n->reg);
	case NB_NEED_INIT:
		return nb_check_init(a, n->reg);
	case NB_NEED_COUNT:
		return check_count(a);
	case NB_NEED_ARITH:
		return check_arith(a);
	case NB_NEED_LOAD:
		return check_access(a, n, LOAD);
	case NB_NEED_STORE:
		return check_access(a, n, STORE);
	case NB_NEED_ATOMIC:
		return check_atomic(a, n);
	case NB_NEED_ORDERED:
		return check_ordered(a, n);
	case NB_NEED_NUMBER:
		return check_number(a, n->reg);
	case NB_NEED_CALL:
		return check_call(a);
	case NB_NEED_HELPER:
		return nb_check_helper(a);
	case NB_NEED_ARGS:
		return nb_check_args(a);
	case NB_NEED_RETURN:
		return check_return(a);
	}
	return 0;
}

int nb_check(struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	struct at a = { env, st, &st->frames[st->nframes - 1], &env->insns[pc],
			pc };
	struct nb_needs needs;
	int rc = 0;

	nb_require(&needs, a.insn);
	for (unsigned i = 0; !rc && i < needs.n; i++)
		rc = grant(&a, &needs.at[i]);
	return rc;
}
