// SPDX-License-Identifier: MIT
/*
 * Statistics of two samples that would be slow in Lua: medians of blocks, the
 * rank-sum test (Mann and Whitney 1947) and the shift between the samples
 * with its interval (Hodges and Lehmann 1963). Numbers must be finite.
 */
#include "lua/core/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	/*
	 * largest size of two samples for which the exact distribution is used
	 */
	EXACT = 40,
	/* largest size of a sample, because all differences are sorted */
	MOST = 1 << 10
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Copy the list at @arg into memory that Lua owns, which stays on the stack. */
static double *values(lua_State *L, int arg, size_t *n)
{
	double *v;

	luaL_checktype(L, arg, LUA_TTABLE);
	*n = lua_rawlen(L, arg);
	v = lua_newuserdatauv(L, (*n + 1) * sizeof(*v), 0);
	for (size_t i = 0; i < *n; i++) {
		int number;

		lua_rawgeti(L, arg, (lua_Integer)i + 1);
		v[i] = lua_tonumberx(L, -1, &number);
		lua_pop(L, 1);
		if (!number || !isfinite(v[i]))
			luaL_error(L, "value %d is not a finite number", (int)i + 1);
	}
	return v;
}

/* block_medians(values, size) -> list of the medians of whole blocks */
static int block_medians(lua_State *L)
{
	lua_Integer size = luaL_checkinteger(L, 2);
	size_t n, at = 0;
	double *v;

	luaL_argcheck(L, size >= 1, 2, "a block has at least one value");
	v = values(L, 1, &n);
	lua_createtable(L, (int)(n / (size_t)size), 0);
	for (lua_Integer i = 1; n - at >= (size_t)size; i++) {
		lua_pushnumber(L, median(v + at, (size_t)size));
		lua_rawseti(L, -2, i);
		at += (size_t)size;
	}
	return 1;
}

/*
 * quantiles(values, n) -> list of n + 1: the least value, the quantiles of
 * 1/n, 2/n..., the greatest value; {} if there are no values
 */
static int quantiles(lua_State *L)
{
	lua_Integer parts = luaL_checkinteger(L, 2);
	size_t n;
	double *v;

	if (parts < 1 || parts > 1000)
		return luaL_argerror(L, 2, "must be 1 to 1000");
	v = values(L, 1, &n);
	qsort(v, n, sizeof(*v), by_value);
	lua_createtable(L, (int)parts + 1, 0);
	for (lua_Integer i = 0; n && i <= parts; i++) {
		size_t rank = (n * (size_t)i + (size_t)parts - 1) / (size_t)parts;

		lua_pushnumber(L, v[rank ? rank - 1 : 0]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/*
 * P(U <= k) for k in 0..n*m, without ties, in memory that Lua owns. The numbers
 * of ways to reach each sum of ranks are the coefficients of the Gaussian
 * binomial (n + m over n).
 */
static double *distribution(lua_State *L, size_t n, size_t m)
{
	size_t top = n * m;
	double *ways = lua_newuserdatauv(L, (top + 1) * sizeof(*ways), 0);
	double sum = 0;

	memset(ways, 0, (top + 1) * sizeof(*ways));
	ways[0] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = top + 1; k-- > m + i;)
			ways[k] -= ways[k - m - i];
		for (size_t k = i; k <= top; k++)
			ways[k] += ways[k - i];
	}
	for (size_t k = 0; k <= top; k++)
		ways[k] = sum += ways[k];
	for (size_t k = 0; k <= top; k++)
		ways[k] /= sum;
	return ways;
}

static double normal_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/*
 * Return z, so that a share @p of a normal distribution is above z; 0 < p <
 * 1/2.
 */
static double normal_point(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < 80; i++) {
		double z = (low + high) / 2;

		if (normal_tail(z) > p)
			low = z;
		else
			high = z;
	}
	return high;
}

struct ranks {
	/*
	 * number of pairs in which the value of sample a is larger; an equal
	 * pair counts one half
	 */
	double u;
	double ties; /* sum of t^3 - t over groups of equal values */
};

struct labelled {
	double value;
	bool of_a;
};

static int by_label_value(const void *a, const void *b)
{
	return by_value(&((const struct labelled *)a)->value, &((const struct labelled *)b)->value);
}

static struct ranks rank(struct labelled *all, size_t n, size_t m)
{
	struct ranks r = { 0, 0 };
	double sum = 0;

	qsort(all, n + m, sizeof(*all), by_label_value);
	for (size_t i = 0, j; i < n + m; i = j) {
		size_t of_a = 0;
		double t;

		for (j = i; j < n + m && all[j].value <= all[i].value; j++)
			of_a += all[j].of_a;
		t = (double)(j - i);
		sum += (double)of_a * ((double)(i + 1) + (double)j) / 2;
		r.ties += t * t * t - t;
	}
	r.u = sum - (double)n * ((double)n + 1) / 2;
	return r;
}

/*
 * Return the two-sided probability. @exact: the exact distribution, or NULL for
 * the normal one.
 */
static double p_value(struct ranks r, size_t n, size_t m, const double *exact)
{
	double a = (double)n, b = (double)m, all = a + b, far, var;

	if (exact)
		return fmin(1, 2 * exact[(size_t)fmin(r.u, a * b - r.u)]);
	var = a * b / 12 * (all + 1 - r.ties / (all * (all - 1)));
	far = fabs(r.u - a * b / 2) - 0.5;
	return var <= 0 || far <= 0 ? 1 : 2 * normal_tail(far / sqrt(var));
}

/*
 * Return how many of the sorted differences are outside the interval, on each
 * side.
 */
static size_t outside(size_t n, size_t m, double alpha, const double *exact)
{
	double a = (double)n, b = (double)m, k;
	size_t i = 0;

	if (!exact) {
		k = a * b / 2 - normal_point(alpha / 2) * sqrt(a * b * (a + b + 1) / 12);
		return k < 0 ? 0 : (size_t)k;
	}
	while (exact[i] <= alpha / 2)
		i++;
	return i;
}

static void push_shift(lua_State *L, const double *a, size_t n, const double *b, size_t m,
		       double alpha, const double *exact)
{
	double *d = lua_newuserdatauv(L, n * m * sizeof(*d), 0);
	size_t k = outside(n, m, alpha, exact);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			d[i * m + j] = a[i] - b[j];
	lua_pushnumber(L, median(d, n * m));
	lua_setfield(L, -3, "shift");
	if (k) {
		lua_pushnumber(L, d[k - 1]);
		lua_setfield(L, -3, "low");
		lua_pushnumber(L, d[n * m - k]);
		lua_setfield(L, -3, "high");
	}
	lua_pop(L, 1);
}

/*
 * rank_sum(a, b, alpha) -> {u, p, exact, shift, low, high}
 *
 * p is two-sided. shift: how much larger a is than b. low and high: the
 * interval that contains the shift with probability 1 - alpha; both are absent
 * if the samples are too small. Both samples hold 1 to 1024 values.
 */
static int rank_sum(lua_State *L)
{
	double alpha = luaL_checknumber(L, 3), *a, *b, *exact = NULL;
	struct labelled *all;
	struct ranks r;
	size_t n, m;

	a = values(L, 1, &n);
	b = values(L, 2, &m);
	luaL_argcheck(L, n && n <= MOST, 1, "must have 1 to 1024 values");
	luaL_argcheck(L, m && m <= MOST, 2, "must have 1 to 1024 values");
	luaL_argcheck(L, alpha > 0 && alpha < 1, 3, "must be above 0 and below 1");
	all = lua_newuserdatauv(L, (n + m) * sizeof(*all), 0);
	for (size_t i = 0; i < n; i++)
		all[i] = (struct labelled){ a[i], true };
	for (size_t i = 0; i < m; i++)
		all[n + i] = (struct labelled){ b[i], false };
	r = rank(all, n, m);
	if (r.ties <= 0 && n <= EXACT && m <= EXACT)
		exact = distribution(L, n, m);
	lua_newtable(L);
	nb_lua_set_num(L, "u", r.u);
	nb_lua_set_num(L, "p", p_value(r, n, m, exact));
	nb_lua_set_bool(L, "exact", exact != NULL);
	push_shift(L, a, n, b, m, alpha, exact);
	return 1;
}

/* rank_tail(n, m, u) -> P(U <= u) without ties; n and m up to 40 */
static int rank_tail(lua_State *L)
{
	lua_Integer n = luaL_checkinteger(L, 1), m = luaL_checkinteger(L, 2);
	lua_Integer u = luaL_checkinteger(L, 3);

	luaL_argcheck(L, n >= 1 && n <= EXACT, 1, "must be 1 to 40");
	luaL_argcheck(L, m >= 1 && m <= EXACT, 2, "must be 1 to 40");
	luaL_argcheck(L, u >= 0 && u <= n * m, 3, "must be 0 to the number of pairs");
	lua_pushnumber(L, distribution(L, (size_t)n, (size_t)m)[u]);
	return 1;
}

/* normal_point(p) -> z with P(Z > z) = p, 0 < p < 1/2; normal_tail(z) -> p */
static int do_normal_point(lua_State *L)
{
	double p = luaL_checknumber(L, 1);

	luaL_argcheck(L, p > 0 && p < 0.5, 1, "must be above 0 and below 1/2");
	lua_pushnumber(L, normal_point(p));
	return 1;
}

static int do_normal_tail(lua_State *L)
{
	lua_pushnumber(L, normal_tail(luaL_checknumber(L, 1)));
	return 1;
}

const luaL_Reg nb_lua_judge[] = { { "block_medians", block_medians },
				  { "quantiles", quantiles },
				  { "rank_sum", rank_sum },
				  { "rank_tail", rank_tail },
				  { "normal_point", do_normal_point },
				  { "normal_tail", do_normal_tail },
				  { NULL, NULL } };
