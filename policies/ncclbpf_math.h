// SPDX-License-Identifier: MIT
/*
 * Arithmetic for policies, part of ncclbpf_policy.h. All functions are inline,
 * so the verifier sees the bounds. Only functions whose comment says so call a
 * helper. Numbers are unsigned, and a result out of range becomes the nearest
 * valid number.
 */
#ifndef NCCLBPF_MATH_H
#define NCCLBPF_MATH_H

/* a + b, at most 2^64 - 1 */
static __always_inline uint64_t ncclbpf_sat_add(uint64_t a, uint64_t b)
{
	return a + b < a ? ~(uint64_t)0 : a + b;
}

/* a - b, or 0 if b is larger */
static __always_inline uint64_t ncclbpf_sat_sub(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/*
 * a * b, at most 2^64 - 1. The empty asm hides from clang that this is a test of a 128-bit
 * product: clang would call __multi3, which does not exist for BPF.
 */
static __always_inline uint64_t ncclbpf_sat_mul(uint64_t a, uint64_t b)
{
	uint64_t most = b ? ~(uint64_t)0 / b : ~(uint64_t)0;

	__asm__ volatile("" : "+r"(most));
	return a > most ? ~(uint64_t)0 : a * b;
}

/*
 * Compute one step of an exponentially weighted moving average. @sample has a
 * weight of 2^-shift, shift 0 to 63. The average moves by at least one until it
 * equals @sample.
 */
static __always_inline uint64_t ncclbpf_ewma(uint64_t average, uint64_t sample, uint32_t shift)
{
	uint64_t part = ((uint64_t)1 << (shift & 63)) - 1;
	uint64_t way = sample < average ? average - sample : sample - average;
	uint64_t step = (way >> (shift & 63)) + ((way & part) != 0);

	return sample < average ? average - step : average + step;
}

/*
 * Returns a / b as a fixed-point number with @shift (0 to 63) binary places,
 * rounded down, or 2^64 - 1 if it does not fit or b is 0. Calls bpf_mul_div.
 */
static __always_inline uint64_t ncclbpf_fixed_div(uint64_t a, uint64_t b, uint32_t shift)
{
	return (uint64_t)bpf_mul_div(a, (uint64_t)1 << (shift & 63), b);
}

/* Returns a times a fixed-point number with @shift places. Calls bpf_mul_div.
 */
static __always_inline uint64_t ncclbpf_fixed_mul(uint64_t a, uint64_t factor, uint32_t shift)
{
	return (uint64_t)bpf_mul_div(a, factor, (uint64_t)1 << (shift & 63));
}

#endif
