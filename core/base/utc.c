// SPDX-License-Identifier: MIT
/* A time as text, in UTC. */
#include "core/base/utc.h"

#include <stdio.h>

struct date {
	unsigned year, month, day;
};

/*
 * The date of a day since 1970-01-01. Years begin in March here, so that a
 * leap day is the last day of its year. An era has 400 years, 146097 days.
 */
static struct date date_of_day(unsigned n)
{
	unsigned z = n + 719468; /* days since 0000-03-01 */
	unsigned era = z / 146097, in_era = z % 146097;
	unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153; /* 0: March */
	struct date d = { .day = in_year - (153 * month + 2) / 5 + 1,
			  .month = month < 10 ? month + 3 : month - 9 };

	d.year = year + 400 * era + (d.month <= 2);
	return d;
}

const char *nb_utc_text(char text[NB_UTC_TEXT], uint64_t ns, unsigned digits)
{
	uint64_t s = ns / 1000000000, fraction = ns % 1000000000;
	struct date d = date_of_day((unsigned)(s / 86400));
	unsigned in_day = (unsigned)(s % 86400);
	char part[12] = "";

	for (unsigned i = digits; i < 9; i++)
		fraction /= 10;
	if (digits)
		snprintf(part, sizeof(part), ".%0*llu", (int)digits, (unsigned long long)fraction);
	snprintf(text, NB_UTC_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u%sZ", d.year, d.month, d.day,
		 in_day / 3600, in_day / 60 % 60, in_day % 60, part);
	return text;
}
