// SPDX-License-Identifier: MIT
// The pipeline, one call a stage; read this first. Bytes become an image,
// every program of the image is verified, and only then do maps and bound
// programs come into being. No stage prints; a refusal comes back as an error
// and, where asked for, as text and JSON of the finding.
#include "core/ncclbpf.h"

#include <stdlib.h>
#include <string.h>

/* What the verifier knows of an accepted program's slots, to keep. */
static int keep_aux(uint8_t **aux, const struct nb_verdict *v,
		    const struct nb_prog *p, struct nb_err *err)
{
	*aux = malloc(p->nslots);
	if (!*aux)
		return nb_fail(err, NB_E_NOMEM, 0,
			       "no memory for what is known of program %s",
			       p->name);
	memcpy(*aux, v->aux, p->nslots);
	return 0;
}

/* Judge one program and note what it took; @aux: NULL, or freed by the caller.
 */
static int verify_one(const struct nb_image *img, uint32_t prog,
		      const struct nb_policy_opts *opts,
		      struct nb_policy_effort *effort, uint8_t **aux,
		      struct nb_err *err)
{
	struct nb_verdict *v;
	int rc;

	rc = nb_verify(&v, img, prog, opts ? &opts->verify : NULL, err);
	if (rc)
		return rc;
	if (effort)
		*effort = (struct nb_policy_effort){
			.insns_walked = v->stats.insns_walked,
			.states_peak = v->stats.states_peak,
			.stack_bytes = v->stats.stack_depth,
			.lap = v->lap,
			.numbers = v->numbers,
			.time_ns = v->stats.time_ns,
		};
	if (!v->accepted) {
		rc = nb_verdict_err(v, img, prog, err);
		if (opts && opts->finding_text)
			nb_verdict_text(v, img, prog, opts->finding_text);
		if (opts && opts->finding_json) {
			struct nb_json j;

			nb_json_init(&j, opts->finding_json);
			nb_verdict_json(v, img, prog, &j);
		}
	} else if (aux) {
		rc = keep_aux(aux, v, &img->progs[prog], err);
	}
	nb_verdict_free(v);
	return rc;
}

static int verify_all(const struct nb_image *img,
		      const struct nb_policy_opts *opts,
		      struct nb_policy_effort *effort, uint8_t **aux,
		      struct nb_err *err)
{
	for (uint32_t i = 0; i < img->nprogs; i++) {
		int rc = verify_one(img, i, opts, effort ? &effort[i] : NULL,
				    aux ? &aux[i] : NULL, err);

		if (rc)
			return rc;
	}
	return 0;
}

int nb_policy_verify(const struct nb_image *img,
		     const struct nb_policy_opts *opts,
		     struct nb_policy_effort *effort, struct nb_err *err)
{
	return verify_all(img, opts, effort, NULL, err);
}

int nb_policy_new(struct nb_policy **out, const void *bytes, size_t size,
		  const struct nb_policy_opts *opts, struct nb_err *err)
{
	struct nb_policy_effort effort[NB_IMAGE_MAX_PROGS] = { 0 };
	uint8_t *aux[NB_IMAGE_MAX_PROGS] = { NULL };
	struct nb_image *img;
	int rc;

	*out = NULL;
	rc = nb_image_read(&img, bytes, size, err);
	if (rc)
		return rc;
	rc = verify_all(img, opts, effort, aux, err);
	if (!rc)
		rc = nb_policy_make(out, img, effort, opts ? opts->peers : NULL,
				    opts ? opts->npeers : 0, err);
	else
		nb_image_free(img);
	for (uint32_t i = 0; rc && i < NB_IMAGE_MAX_PROGS; i++)
		free(aux[i]);
	if (!rc)
		memcpy((*out)->aux, aux, sizeof(aux));
	if (!rc && opts) {
		(*out)->interpret = opts->interpret;
		(*out)->publish = opts->publish;
	}
	return rc;
}

int nb_policy_map(const struct nb_policy *p, const char *map)
{
	return nb_image_map(p->img, map);
}

bool nb_policy_map_coherent(const struct nb_policy *p, uint32_t map)
{
	return map < p->img->nmaps &&
	       (p->img->maps[map].tags & NB_MAPF_COHERENT);
}
