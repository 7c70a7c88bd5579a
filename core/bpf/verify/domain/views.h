// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_VIEWS_H
#define NB_VERIFY_DOMAIN_VIEWS_H

#include <stdbool.h>

#include "core/bpf/verify/domain/bounds.h"

/* The views of a range, for the files of this folder: bounds of the whole
 * number and of its low half, in one struct. */
#define NB_WHOLE NB_DOM_BITS
#define NB_HALF (NB_DOM_BITS / 2)

struct iv {
	uint64_t umin, umax;
	int64_t smin, smax;
};

/* Return the least (below: the greatest) signed number of @bits. */
static inline int64_t least(unsigned bits)
{
	return nb_sext((uint64_t)1 << (bits - 1), bits);
}

static inline int64_t most(unsigned bits)
{
	return (int64_t)(nb_ones(bits) >> 1);
}

static inline struct iv iv_full(unsigned bits)
{
	return (struct iv){ 0, nb_ones(bits), least(bits), most(bits) };
}

static inline struct iv whole(const struct nb_range *r)
{
	return (struct iv){ r->umin, r->umax, r->smin, r->smax };
}

static inline struct iv half(const struct nb_range *r)
{
	return (struct iv){ r->umin32, r->umax32, r->smin32, r->smax32 };
}

static inline struct iv view(const struct nb_range *r, unsigned bits)
{
	return bits == NB_WHOLE ? whole(r) : half(r);
}

static inline void set_whole(struct nb_range *r, struct iv v)
{
	r->umin = v.umin;
	r->umax = v.umax;
	r->smin = v.smin;
	r->smax = v.smax;
}

static inline void set_half(struct nb_range *r, struct iv v)
{
	r->umin32 = (uint32_t)v.umin;
	r->umax32 = (uint32_t)v.umax;
	r->smin32 = (int32_t)v.smin;
	r->smax32 = (int32_t)v.smax;
}

static inline void set_view(struct nb_range *r, unsigned bits, struct iv v)
{
	if (bits == NB_WHOLE)
		set_whole(r, v);
	else
		set_half(r, v);
}

static inline struct nb_range from_views(struct nb_tnum t, struct iv w, struct iv h)
{
	struct nb_range r;

	r.t = t;
	set_whole(&r, w);
	set_half(&r, h);
	return r;
}

static inline void raise_u(uint64_t *min, uint64_t v)
{
	if (*min < v)
		*min = v;
}

static inline void lower_u(uint64_t *max, uint64_t v)
{
	if (*max > v)
		*max = v;
}

static inline void raise_s(int64_t *min, int64_t v)
{
	if (*min < v)
		*min = v;
}

static inline void lower_s(int64_t *max, int64_t v)
{
	if (*max > v)
		*max = v;
}

static inline bool iv_ok(const struct iv *v)
{
	return v->umin <= v->umax && v->smin <= v->smax;
}

static inline struct iv iv_meet(struct iv a, struct iv b)
{
	raise_u(&a.umin, b.umin);
	lower_u(&a.umax, b.umax);
	raise_s(&a.smin, b.smin);
	lower_s(&a.smax, b.smax);
	return a;
}

static inline struct iv iv_join(struct iv a, struct iv b)
{
	lower_u(&a.umin, b.umin);
	raise_u(&a.umax, b.umax);
	lower_s(&a.smin, b.smin);
	raise_s(&a.smax, b.smax);
	return a;
}

#endif
