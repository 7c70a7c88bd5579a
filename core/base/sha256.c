// SPDX-License-Identifier: MIT
/*
 * SHA-256 as specified in FIPS 180-4. We have our own because the plugin
 * may depend on libc alone. It is tested with the standard's vectors and
 * sha256sum(1).
 */
#include "core/base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t ror(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void sha256_schedule(uint32_t w[64], const unsigned char *p)
{
	for (unsigned i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) +
		       (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
}

/* One round. The eight variables stay in place; their roles move by one
 * with each round, so that compilers keep them in registers. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                   \
	do {                                                               \
		uint32_t t = (h) + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + \
			     ((g) ^ ((e) & ((f) ^ (g)))) + k[i] + w[i];    \
                                                                           \
		(d) += t;                                                  \
		(h) = t + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +          \
		      (((a) & (b)) | ((c) & ((a) | (b))));                 \
	} while (0)

static void sha256_block(uint32_t to[8], const unsigned char *p)
{
	uint32_t a = to[0], b = to[1], c = to[2], d = to[3];
	uint32_t e = to[4], f = to[5], g = to[6], h = to[7];
	uint32_t w[64];

	sha256_schedule(w, p);
	for (unsigned i = 0; i < 64; i += 8) {
		ROUND(a, b, c, d, e, f, g, h, i);
		ROUND(h, a, b, c, d, e, f, g, i + 1);
		ROUND(g, h, a, b, c, d, e, f, i + 2);
		ROUND(f, g, h, a, b, c, d, e, i + 3);
		ROUND(e, f, g, h, a, b, c, d, i + 4);
		ROUND(d, e, f, g, h, a, b, c, i + 5);
		ROUND(c, d, e, f, g, h, a, b, i + 6);
		ROUND(b, c, d, e, f, g, h, a, i + 7);
	}
	to[0] += a;
	to[1] += b;
	to[2] += c;
	to[3] += d;
	to[4] += e;
	to[5] += f;
	to[6] += g;
	to[7] += h;
}

#undef ROUND

void nb_sha256_init(struct nb_sha256 *s)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(s->h, start, sizeof(start));
	s->size = 0;
}

void nb_sha256_add(struct nb_sha256 *s, const void *p, size_t size)
{
	const unsigned char *from = p;

	while (size) {
		size_t at = s->size % 64, n = 64 - at < size ? 64 - at : size;

		memcpy(s->block + at, from, n);
		s->size += n;
		from += n;
		size -= n;
		if (s->size % 64 == 0)
			sha256_block(s->h, s->block);
	}
}

void nb_sha256_u64(struct nb_sha256 *s, uint64_t v)
{
	nb_sha256_add(s, &v, sizeof(v));
}

void nb_sha256_end(struct nb_sha256 *s, uint8_t out[NB_SHA256_SIZE])
{
	uint64_t bits = s->size * 8;
	unsigned char tail[72] = { 0x80 };
	size_t pad = (119 - s->size % 64) % 64 + 1;

	for (unsigned i = 0; i < 8; i++)
		tail[pad + i] = (unsigned char)(bits >> (56 - 8 * i));
	nb_sha256_add(s, tail, pad + 8);
	for (unsigned i = 0; i < 32; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void nb_sha256(const void *p, size_t size, uint8_t out[NB_SHA256_SIZE])
{
	struct nb_sha256 s;

	nb_sha256_init(&s);
	nb_sha256_add(&s, p, size);
	nb_sha256_end(&s, out);
}

void nb_sha256_text(const uint8_t digest[NB_SHA256_SIZE], char text[65])
{
	static const char hex[] = "0123456789abcdef";

	for (unsigned i = 0; i < NB_SHA256_SIZE; i++) {
		text[2 * i] = hex[digest[i] >> 4];
		text[2 * i + 1] = hex[digest[i] & 15];
	}
	text[64] = '\0';
}
