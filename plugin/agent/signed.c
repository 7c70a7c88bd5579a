// SPDX-License-Identifier: MIT
/*
 * If the operator requires signed policies (NCCLBPF_FLEET_SIGNERS), an agent
 * gives its processes only images with a valid signature. The list of keys is
 * read on each check, so removing a key takes effect at once.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/sha256.h"
#include "core/wire/wire.h"
#include "plugin/agent/agent.h"
#include "plugin/runtime/params.h"
#include "plugin/sign/sign.h"

bool nb_signed_required(void)
{
	const char *path = nb_params.str[NB_P_FLEET_SIGNERS];

	return path && *path;
}

int nb_signed_image(const char *digest, const char *text, size_t size,
		    struct nb_err *err)
{
	/* static, because it is large; the agent has one thread */
	static struct nb_sign_keys keys;
	int rc = nb_sign_keys_read(&keys, nb_params.str[NB_P_FLEET_SIGNERS],
				   err);

	if (!rc)
		rc = nb_sign_check(&keys, text, size, digest, err);
	if (rc)
		nb_hint(err,
			"sign the policy with a key of this site's NCCLBPF_FLEET_SIGNERS: "
			"policy sign FILE key=FILE");
	return rc;
}

static bool has_image(const json_t *images, const char *name)
{
	for (size_t i = 0; i < json_array_size(images); i++)
		if (!strcmp(nb_view_str(json_array_get(images, i), "name"),
			    name))
			return true;
	return false;
}

static bool brings_image(const struct nb_procs_order *o, const uint8_t *digest)
{
	uint8_t have[NB_SHA256_SIZE];

	for (size_t i = 0; i < o->nimages; i++) {
		nb_sha256(o->image[i].bytes, o->image[i].size, have);
		if (!memcmp(have, digest, sizeof(have)))
			return true;
	}
	return false;
}

int nb_signed_state(const struct nb_procs_order *o, struct nb_err *err)
{
	enum { HEAD = 8, POLICY = 2 * NB_SHA256_SIZE };
	const unsigned char *p = o->data.bytes;
	uint32_t n = 0;

	if (!nb_signed_required() || !o->imports)
		return 0;
	/* core/generation/state.c describes the bytes */
	if (o->data.size >= HEAD + sizeof(n))
		memcpy(&n, p + HEAD, sizeof(n));
	for (size_t i = 0, at = HEAD + sizeof(n);
	     i < n && at + POLICY <= o->data.size; i++, at += POLICY)
		if (!brings_image(o, p + at))
			return nb_fail(
				err, NB_E_PERM, 0,
				"the generation has a policy without its image, "
				"so no signature can be checked");
	return 0;
}

int nb_signed_line(const char *line, const json_t *images, struct nb_err *err)
{
	struct nb_request req;
	char copy[4096];
	size_t size = strlen(line);
	unsigned n;
	int rc;

	if (!nb_signed_required())
		return 0;
	if (size >= sizeof(copy))
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the request has %zu bytes (allowed: %zu)", size,
			       sizeof(copy) - 1);
	memcpy(copy, line, size + 1);
	rc = nb_request_parse(&req, copy, size, err);
	if (rc)
		return rc;
	/*
	 * the processes choose the generation, so its policies are not known
	 * here, and the key of one may have been removed from the list
	 */
	if (req.cmd == NB_CMD_POLICY_UNDO) {
		nb_fail(err, NB_E_PERM, 0,
			"policy undo names no policy, so no signature can be checked");
		return nb_hint(err, "name the policies: policy use NAME...");
	}
	n = req.cmd == NB_CMD_POLICY_USE   ? req.narg
	    : req.cmd == NB_CMD_POLICY_ADD ? 1
					   : 0;
	for (unsigned i = 0; i < n; i++) {
		const char *name = req.arg[i];

		if (strcmp(name, "none") && strcmp(name, "common") &&
		    !has_image(images, name))
			return nb_fail(
				err, NB_E_PERM, 0,
				"the request names policy %.64s without its image, "
				"so no signature can be checked",
				name);
	}
	return 0;
}
