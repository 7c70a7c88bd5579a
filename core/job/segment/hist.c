// SPDX-License-Identifier: MIT
/* Log-linear histograms: bounds of their buckets, and quantiles. */
#include "core/job/segment/hist.h"

uint64_t nb_hist_from(uint32_t i)
{
	uint32_t e = i / NB_HIST_PARTS + 2;

	if (i < NB_HIST_PARTS)
		return i;
	return (UINT64_C(1) << e) + (uint64_t)(i % NB_HIST_PARTS) * (UINT64_C(1) << (e - 3));
}

uint64_t nb_hist_middle(uint32_t i)
{
	uint64_t from = nb_hist_from(i), to = nb_hist_from(i + 1);

	return from + (to - from) / 2;
}

uint64_t nb_hist_quantile(const uint64_t hist[NB_HIST_BUCKETS], double q)
{
	uint64_t total = 0, seen = 0, want;

	for (uint32_t i = 0; i < NB_HIST_BUCKETS; i++)
		total += hist[i];
	if (!total)
		return 0;
	want = (uint64_t)(q * (double)total);
	want = want < total ? want : total - 1;
	for (uint32_t i = 0; i < NB_HIST_BUCKETS; i++) {
		seen += hist[i];
		if (seen > want)
			return nb_hist_middle(i);
	}
	return nb_hist_middle(NB_HIST_BUCKETS - 1);
}
