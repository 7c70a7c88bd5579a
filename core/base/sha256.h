// SPDX-License-Identifier: MIT
#ifndef NB_BASE_SHA256_H
#define NB_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { NB_SHA256_SIZE = 32 };

/* SHA-256 (FIPS 180-4). The digest of a policy image is its name everywhere. */
struct nb_sha256 {
	uint32_t h[8];
	uint64_t size;
	unsigned char block[64];
};

void nb_sha256_init(struct nb_sha256 *s);
void nb_sha256_add(struct nb_sha256 *s, const void *p, size_t size);
/* Hash a number as 8 little-endian bytes. */
void nb_sha256_u64(struct nb_sha256 *s, uint64_t v);
void nb_sha256_end(struct nb_sha256 *s, uint8_t out[NB_SHA256_SIZE]);
void nb_sha256(const void *p, size_t size, uint8_t out[NB_SHA256_SIZE]);
/* Write the digest as text; @text has room for 65 characters. */
void nb_sha256_text(const uint8_t digest[NB_SHA256_SIZE], char text[65]);

#endif
