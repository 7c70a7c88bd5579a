// SPDX-License-Identifier: MIT
/*
 * The pipeline, one call for each stage; read this first. Bytes become an
 * image, every program of the image is verified, and only then are maps and
 * bound programs created. No stage prints. A rejection is returned as an
 * error and, on request, as text and JSON of the finding.
 */
#include "core/ncclbpf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 64 };

/* Keep the verifier's facts about an accepted program's slots. */
static int keep_aux(uint8_t **aux, const struct nb_verdict *v, const struct nb_prog *p,
		    struct nb_err *err)
{
	*aux = malloc(p->nslots);
	if (!*aux)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for what is known of program %s",
			       p->name);
	memcpy(*aux, v->aux, p->nslots);
	return 0;
}

/* Verify one program and record the cost. @opts->verify.policy_spent grows
 * by its work; the caller frees *@aux. */
static int verify_one(const struct nb_image *img, uint32_t prog, struct nb_policy_opts *opts,
		      struct nb_policy_effort *effort, uint8_t **aux, struct nb_err *err)
{
	struct nb_verdict *v;
	int rc;

	rc = nb_verify(&v, img, prog, &opts->verify, err);
	if (rc)
		return rc;
	opts->verify.policy_spent += v->stats.work;
	*effort = (struct nb_policy_effort){ v->stats, v->runs };
	if (!v->accepted) {
		rc = nb_verdict_err(v, img, prog, err);
		if (opts->finding_text)
			nb_verdict_text(v, img, prog, opts->finding_text);
		if (opts->finding_json) {
			struct nb_json j;

			nb_json_init(&j, opts->finding_json);
			nb_verdict_json(v, img, prog, &j);
		}
	} else {
		rc = keep_aux(aux, v, &img->progs[prog], err);
	}
	nb_verdict_free(v);
	return rc;
}

/* Make the cheap checks first: a policy whose maps do not fit is not
 * verified. */
static int program_judge(const struct nb_image *img, struct nb_policy_opts *opts,
			 struct nb_policy_effort *effort, uint8_t **aux, struct nb_err *err)
{
	uint64_t bytes;
	int rc = nb_policy_memory(&bytes, img, opts->max_memory, err);

	for (uint32_t i = 0; !rc && i < img->nprogs; i++)
		rc = verify_one(img, i, opts, &effort[i], &aux[i], err);
	return rc;
}

static uint64_t default_of(enum nb_param p)
{
	int64_t n = 0;

	nb_spec_param_int(p, nb_spec_param(p)->def, &n);
	return (uint64_t)n;
}

void nb_policy_limits(struct nb_policy_opts *opts)
{
	if (!opts->max_insns)
		opts->max_insns = (uint32_t)default_of(NB_P_MAX_VERIFY);
	if (!opts->max_memory)
		opts->max_memory = default_of(NB_P_MAX_POLICY_MEMORY) << 20;
	if (!opts->max_run)
		opts->max_run = (uint32_t)default_of(NB_P_MAX_RUN);
}

int nb_policy_new(struct nb_policy **out, const void *bytes, size_t size,
		  const struct nb_policy_opts *opts, struct nb_err *err)
{
	struct nb_policy_effort effort[NB_IMAGE_MAX_PROGS] = { 0 };
	uint8_t *aux[NB_IMAGE_MAX_PROGS] = { NULL };
	struct nb_policy_opts o = { 0 };
	struct nb_image *img;
	int rc;

	*out = NULL;
	if (opts)
		o = *opts;
	nb_policy_limits(&o);
	o.verify.policy_insns = o.max_insns;
	rc = nb_image_read(&img, bytes, size, err);
	if (rc)
		return rc;
	rc = program_judge(img, &o, effort, aux, err);
	if (!rc)
		rc = nb_policy_make(out, img, effort, o.peers, o.npeers, err);
	else
		nb_image_free(img);
	for (uint32_t i = 0; rc && i < NB_IMAGE_MAX_PROGS; i++)
		free(aux[i]);
	if (rc)
		return rc;
	memcpy((*out)->aux, aux, sizeof(aux));
	(*out)->interpret = o.interpret;
	(*out)->perf_map = o.perf_map;
	(*out)->max_run = o.max_run;
	return 0;
}

bool nb_finding_about_ranks(const struct nb_finding *f)
{
	return f->cls == NB_FIND_LOCAL_OUTPUT || f->cls == NB_FIND_LOCAL_CONTROL;
}

int nb_verify_env(struct nb_verdict **out, const struct nb_image *img, uint32_t prog,
		  struct nb_verify_opts *limits, struct nb_err *err)
{
	const struct nb_hook_spec *env = nb_spec_hook(NB_HOOK_ENV);
	struct nb_field_spec fields[MAX_FIELDS];
	struct nb_hook_spec alike = *env;
	struct nb_verify_opts opts = *limits;
	int rc;

	assert(env->nfields <= MAX_FIELDS);
	memcpy(fields, env->fields, env->nfields * sizeof(*fields));
	for (size_t i = 0; i < env->nfields; i++)
		fields[i].label = NB_LABEL_COHERENT;
	alike.fields = fields;
	alike.coherent = true;
	opts.hook = &alike;
	rc = nb_verify(out, img, prog, &opts, err);
	if (rc)
		return rc;
	limits->policy_spent += (*out)->stats.work;
	/* All outputs were checked before the returned value was. */
	if ((*out)->accepted || (*out)->finding.cls == NB_FIND_LOCAL_VERDICT) {
		nb_verdict_free(*out);
		*out = NULL;
	}
	return 0;
}

int nb_policy_map(const struct nb_policy *p, const char *map)
{
	return nb_image_map(p->img, map);
}

bool nb_policy_map_coherent(const struct nb_policy *p, uint32_t map)
{
	return map < p->img->nmaps && (p->img->maps[map].tags & NB_MAPF_COHERENT);
}
