// SPDX-License-Identifier: MIT
/*
 * Usage: embed POLICY BYTES. The program uses the core without NCCL. It reads
 * a policy image, verifies and compiles it, asks it about one AllReduce of
 * BYTES bytes on 8 ranks and prints its answer. The exit status is 1 if the
 * verifier refuses the policy.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/defs/ctx.h"
#include "core/ncclbpf.h"
#include "core/spec/spec.h"

static int ask(struct nb_gen *gen, uint64_t bytes)
{
	static struct nb_gen_count count;
	struct ncclbpf_tuner ctx = {
		.bytes = bytes,
		.coll = NCCL_COLL_ALL_REDUCE,
		.ranks = 8,
		.nodes = 1,
		.usable = UINT32_MAX, /* bit mask: NCCL offers every combination
				       */
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
	};

	if (nb_gen_run_tuner(gen, &ctx, &count) < 0)
		return puts("no opinion") < 0;
	printf("%s %s, channels %" PRIu32 "\n", nb_nccl_algo(ctx.algo), nb_nccl_proto(ctx.proto),
	       ctx.channels);
	return 0;
}

int main(int argc, char **argv)
{
	static unsigned char image[NB_IMAGE_MAX_SIZE];
	struct nb_policy *policy = NULL;
	struct nb_gen *gen = NULL;
	struct nb_err err;
	FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
	int status = 1;

	if (!file) {
		fputs("usage: embed POLICY BYTES\n", stderr);
		return 2;
	}
	if (nb_policy_new(&policy, image, fread(image, 1, sizeof(image), file), NULL, &err) ||
	    nb_gen_new(&gen, &policy, 1, NULL, &err))
		fprintf(stderr, "embed: %s\n", err.text);
	else
		status = ask(gen, strtoull(argv[2], NULL, 0));
	nb_gen_put(gen);
	nb_policy_put(policy);
	fclose(file);
	return status;
}
