// SPDX-License-Identifier: MIT
/*
 * Parameters: find them in an image, and set them. The section .rodata.params has two variables for
 * each: its value, 8 bytes under the parameter's name, and a constant with default and range under
 * that name behind a prefix. The image's names tell their places. A value never moves anything else
 * in an image, so setting it changes 8 bytes.
 */
#include "core/bpf/image/param.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION ".rodata.params"
#define RANGE_PREFIX "ncclbpf_param_"

/* The bytes of struct ncclbpf_param_range (ncclbpf_policy.h). */
struct range {
	int64_t preset, min, max;
};

/* Return the index of the section, or -1. */
static int params_section(const struct nb_image *img)
{
	int map = nb_image_map(img, SECTION);

	return map >= 0 && img->maps[map].origin == NB_ORIGIN_RODATA ? map : -1;
}

static bool is_variable(const struct nb_name *n, int map)
{
	return n->map == (uint32_t)map && n->part == NB_NAME_VALUE && n->level == 1;
}

static bool is_range(const char *name)
{
	return !strncmp(name, RANGE_PREFIX, strlen(RANGE_PREFIX));
}

/* Return the variable with the range of parameter @name, or NULL. */
static const struct nb_name *range_of(const struct nb_image *img, int map, const char *name)
{
	for (uint32_t i = 0; i < img->nnames; i++) {
		const struct nb_name *n = &img->names[i];

		if (is_variable(n, map) && is_range(n->name) &&
		    !strcmp(n->name + strlen(RANGE_PREFIX), name))
			return n;
	}
	return NULL;
}

static bool is_identifier(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && n < NB_IMAGE_NAME && !name[n] && (*name < '0' || *name > '9');
}

void nb_image_put_params(const struct nb_image *img, unsigned char *bytes,
			 const struct nb_image_param *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		memcpy(bytes + (img->maps[p[i].map].init - img->bytes) + p[i].off, &p[i].value,
		       sizeof(p[i].value));
}

static int bad_param(struct nb_err *err, const char *name, const char *what)
{
	return nb_fail(err, NB_E_IMAGE, 0, "policy image: parameter %.64s: %s", name, what);
}

static int param_in_range(const struct nb_image_param *p, struct nb_err *err)
{
	if (p->min > p->preset || p->preset > p->max)
		return nb_fail(
			err, NB_E_IMAGE, 0,
			"policy image: parameter %s: its default, %lld, is not in its range, "
			"%lld to %lld",
			p->name, (long long)p->preset, (long long)p->min, (long long)p->max);
	if (p->value < p->min || p->value > p->max)
		return nb_fail(err, NB_E_IMAGE, 0,
			       "policy image: parameter %s: its value, %lld, is not in its range, "
			       "%lld to %lld",
			       p->name, (long long)p->value, (long long)p->min, (long long)p->max);
	return 0;
}

static int read_param(struct nb_image_param *p, const struct nb_image *img, int map,
		      const struct nb_name *n, struct nb_err *err)
{
	const unsigned char *init = img->maps[map].init;
	const struct nb_name *at = range_of(img, map, n->name);
	struct range range;

	if (!is_identifier(n->name))
		return bad_param(err, n->name, "its name is not an identifier of 1 to 63 letters");
	if (n->size != sizeof(p->value) || n->elem != n->size || n->off % sizeof(p->value))
		return bad_param(
			err, n->name,
			"it must be 8 bytes at a multiple of 8; define it by NCCLBPF_PARAM");
	if (!at || at->size != sizeof(range))
		return bad_param(err, n->name, "it has no range; define it by NCCLBPF_PARAM");
	memcpy(&range, init + at->off, sizeof(range));
	*p = (struct nb_image_param){ .name = n->name,
				      .preset = range.preset,
				      .min = range.min,
				      .max = range.max,
				      .map = (uint32_t)map,
				      .off = n->off };
	memcpy(&p->value, init + n->off, sizeof(p->value));
	return param_in_range(p, err);
}

static const struct nb_image_param *param_named(const struct nb_image_param *p, uint32_t n,
						const char *name, size_t size)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strncmp(p[i].name, name, size) && !p[i].name[size])
			return &p[i];
	return NULL;
}

int nb_image_params(const struct nb_image *img, struct nb_image_param out[NB_IMAGE_MAX_PARAMS],
		    uint32_t *n, struct nb_err *err)
{
	int map = params_section(img), rc = 0;

	*n = 0;
	for (uint32_t i = 0; map >= 0 && !rc && i < img->nnames; i++) {
		const struct nb_name *v = &img->names[i];

		if (!is_variable(v, map) || is_range(v->name))
			continue;
		if (*n == NB_IMAGE_MAX_PARAMS)
			return nb_fail(err, NB_E_LIMIT, 0, "policy image: more than %d parameters",
				       NB_IMAGE_MAX_PARAMS);
		if (param_named(out, *n, v->name, strlen(v->name)))
			return bad_param(err, v->name, "another parameter has the same name");
		out[*n] = (struct nb_image_param){ .name = v->name };
		rc = read_param(&out[*n], img, map, v, err);
		*n += !rc;
	}
	if (!rc && map >= 0 && !*n)
		return nb_fail(err, NB_E_IMAGE, 0,
			       "policy image: section " SECTION " has no named variables; "
			       "compile the policy with -g");
	return rc;
}

/* ---- values as text ---- */

/* Return the number of bits of the unit at @text, and its length; -1: no unit. */
static int unit_bits(const char *text, size_t *length)
{
	static const char units[] = "KkMmGgTt";
	const char *u = *text ? strchr(units, *text) : NULL;

	*length = u ? 1 : 0;
	if (u && !strncmp(text + 1, "iB", 2))
		*length = 3;
	else if (u && text[1] == 'B')
		*length = 2;
	return u ? (int)((u - units) / 2 + 1) * 10 : -1;
}

/* Parse the whole of @text as a number with an optional unit. */
static bool param_number(const char *text, int64_t *out)
{
	const char *digits = text + (*text == '-');
	size_t length;
	long long v;
	char *end;
	int bits;

	if (*digits < '0' || *digits > '9') /* strtoll also takes blanks and a plus */
		return false;
	errno = 0;
	v = strtoll(text, &end, *digits == '0' && (digits[1] | 0x20) == 'x' ? 16 : 10);
	if (errno)
		return false;
	bits = unit_bits(end, &length);
	if (bits < 0)
		bits = 0;
	if (end[length])
		return false;
	return !__builtin_mul_overflow(v, 1ll << bits, out);
}

/* ---- settings ---- */

static int refuse_param_name(const struct nb_image *img, const struct nb_image_param *p, uint32_t n,
			     const char *name, struct nb_err *err)
{
	const char *names[NB_IMAGE_MAX_PARAMS], *near[2];
	char list[160] = "";
	size_t at = 0;

	if (!n)
		return nb_fail(err, NB_E_ARG, 0, "policy %s has no parameters, found %.64s",
			       img->name, name);
	for (uint32_t i = 0; i < n; i++) {
		names[i] = p[i].name;
		if (at + strlen(p[i].name) + 8 < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
					       p[i].name);
		else if (at + 6 < sizeof(list) && list[at - 1] != '.')
			at += (size_t)snprintf(list + at, sizeof(list) - at, ", ...");
	}
	nb_fail(err, NB_E_ARG, 0, "policy %s has no parameter %.64s (allowed: %s)", img->name, name,
		list);
	nb_spec_nearest(name, names, n, near);
	return near[0] ? nb_hint(err, "did you mean %s?", near[0]) : NB_E_ARG;
}

static int refuse_param_value(const struct nb_image *img, const struct nb_image_param *p,
			      const char *value, const char *what, struct nb_err *err)
{
	return nb_fail(err, NB_E_ARG, 0,
		       "policy %s: parameter %s: \"%.40s\" is %s (allowed: %lld to %lld)",
		       img->name, p->name, value, what, (long long)p->min, (long long)p->max);
}

/* Find the parameter and the value that @word, NAME=VALUE, gives. */
static int param_word(const struct nb_image *img, const struct nb_image_param *p, uint32_t n,
		      char *word, const struct nb_image_param **of, int64_t *v, struct nb_err *err)
{
	char *equals = strchr(word, '=');

	if (!equals)
		return nb_fail(err, NB_E_ARG, 0,
			       "policy %s: parameter \"%.64s\" must be NAME=VALUE", img->name,
			       word);
	*equals = '\0';
	*of = param_named(p, n, word, strlen(word));
	if (!*of)
		return refuse_param_name(img, p, n, word, err);
	if (!param_number(equals + 1, v))
		return refuse_param_value(img, *of, equals + 1,
					  "not a whole number, such as 4096, 0x1000 or 4K", err);
	return *v < (*of)->min || *v > (*of)->max
		       ? refuse_param_value(img, *of, equals + 1, "out of range", err)
		       : 0;
}

int nb_image_param_values(struct nb_image_param p[NB_IMAGE_MAX_PARAMS], uint32_t *n,
			  const struct nb_image *img, const char *text, struct nb_err *err)
{
	char *copy = strdup(text), *rest = copy, *word;
	const struct nb_image_param *of = p;
	uint64_t given = 0;
	int64_t v = 0;
	int rc;

	memset(p, 0, NB_IMAGE_MAX_PARAMS * sizeof(*p));
	rc = nb_image_params(img, p, n, err);
	if (!rc && !copy)
		rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for policy %s", img->name);
	while (!rc && (word = strsep(&rest, ",")) != NULL) {
		rc = param_word(img, p, *n, word, &of, &v, err);
		if (!rc && given >> (of - p) & 1)
			rc = nb_fail(err, NB_E_ARG, 0, "policy %s: parameter %s is set twice",
				     img->name, of->name);
		if (rc)
			break;
		given |= UINT64_C(1) << (of - p);
		p[of - p].value = v;
	}
	free(copy);
	return rc;
}

int nb_image_set(struct nb_buf *out, const struct nb_image *img, const char *text,
		 struct nb_err *err)
{
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	unsigned char *bytes;
	uint32_t n;
	int rc = nb_image_param_values(p, &n, img, text, err);

	if (!rc && nb_image_map(img, NB_IMAGE_TABLE_SOURCE) >= 0) {
		rc = nb_fail(err, NB_E_NOTSUP, 0,
			     "policy %s is a table: its parameters are set when it is compiled",
			     img->name);
		nb_hint(err, "policy build \"FILE.lua?%.100s\"", text);
	}
	if (rc)
		return rc;
	bytes = malloc(img->size);
	if (bytes) {
		memcpy(bytes, img->bytes, img->size);
		nb_image_put_params(img, bytes, p, n);
		nb_buf_bytes(out, bytes, img->size);
	}
	if (!bytes || !nb_buf_ok(out))
		rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for policy %s", img->name);
	free(bytes);
	return rc;
}
