// SPDX-License-Identifier: MIT
/*
 * The secrets of a link: an agent and the coordinator each draw one, and
 * publish its hash in the store.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/sha256.h"
#include "plugin/agent/gather.h"

bool nb_gather_draw(char secret[NB_GATHER_SECRET])
{
	unsigned char bytes[NB_GATHER_SECRET / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

void nb_gather_hash(const char *secret, char hash[65])
{
	uint8_t digest[NB_SHA256_SIZE];

	nb_sha256(secret, strlen(secret), digest);
	nb_sha256_text(digest, hash);
}
