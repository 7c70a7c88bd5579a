// SPDX-License-Identifier: MIT
/*
 * Notes what of NCCL is not known or cannot be true. Nothing here decides: the
 * rules are in nccl.c.
 */
#include "plugin/runtime/nccl_doubt.h"

#include <assert.h>
#include <stdio.h>

#include "plugin/runtime/log.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/relaxed.h"

/* The newest release whose rules are known. */
enum { NEWEST_KNOWN = 23207 };

/* The release that brought a version of an interface; 0: all that are known have it. */
static const int tuner_since[] = { 0, 0, 0, 22203, 22403, 22803, 23003, 23206 };
static const int profiler_since[] = { 0, 22304, 22403, 22602, 22703, 22803, 22902, 23102 };
static const char *const interface_nouns[] = { "tuner", "profiler" };

/* Everything is accessed atomically. */
static struct {
	uint32_t algos;	 /* the most algorithms of a cost table above the known ones */
	uint64_t tables; /* cost tables with such algorithms */
	/*
	 * inits by an interface that the version does not have, and the first of
	 * them: the version in the low bits, then the rest (AT_ABI and following)
	 */
	uint64_t contradictions, first;
} doubts;
enum { AT_ABI = 32, AT_INTERFACE = 40 };

/* Returns the release that brought version @abi of an interface; 0: unknown. */
static int since(enum nb_nccl_interface interface, uint32_t abi)
{
	enum { N = sizeof(tuner_since) / sizeof(tuner_since[0]) };

	static_assert(sizeof(profiler_since) == sizeof(tuner_since), "versions up to 7");
	if (abi >= N)
		return 0;
	return interface == NB_NCCL_TUNER ? tuner_since[abi] : profiler_since[abi];
}

static void contradict(int told, enum nb_nccl_interface interface, uint32_t abi)
{
	uint64_t none = 0, what = (uint64_t)told | (uint64_t)abi << AT_ABI |
				  (uint64_t)interface << AT_INTERFACE;

	__atomic_fetch_add(&doubts.contradictions, 1, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&doubts.first, &none, what, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

/* Log the first contradiction, and once what else is doubtful. */
static void say_doubt(bool contradiction)
{
	static uint32_t said; /* accessed atomically */
	uint32_t bit = contradiction ? 1 : 2;
	char text[400];

	if ((!contradiction && GET(doubts.contradictions)) || !nb_nccl_doubt(text, sizeof(text)) ||
	    __atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit)
		return;
	nb_log(contradiction ? NB_LOG_WARN : NB_LOG_INFO, "%s", text);
}

void nb_nccl_calls(enum nb_nccl_interface interface, uint32_t abi)
{
	int told = nb_nccl_told(), least = since(interface, abi);
	/* builds between two releases may have what the next patch release brings */
	bool contradiction = told && told / 100 < least / 100;

	if (contradiction)
		contradict(told, interface, abi);
	if (contradiction || !told)
		nb_nccl_at_least(told, least);
	say_doubt(contradiction);
}

void nb_nccl_odd_table(uint32_t algos)
{
	__atomic_fetch_add(&doubts.tables, 1, __ATOMIC_RELAXED);
	if (algos > GET(doubts.algos)) /* a race may keep the lesser number */
		SET(doubts.algos, algos);
}

uint32_t nb_nccl_odd_tables(uint64_t *n)
{
	*n = GET(doubts.tables);
	return GET(doubts.algos);
}

static const char *who(void)
{
	return nb_nccl_is_rccl() ? "RCCL" : "NCCL";
}

static const char *version_text(char to[16], int version)
{
	snprintf(to, 16, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return to;
}

static void contradiction_text(char *text, size_t size, uint64_t what)
{
	enum nb_nccl_interface interface = (enum nb_nccl_interface)(what >> AT_INTERFACE);
	uint64_t n = GET(doubts.contradictions);
	uint32_t abi = (uint32_t)(what >> AT_ABI) & 255;
	char told[16], least[16];

	snprintf(text, size,
		 "%s says that it is %s, but calls %s interface %u, which came with NCCL %s, "
		 "in %llu init%s: ncclbpf goes by the interface",
		 who(), version_text(told, (int)(what & UINT32_MAX)), interface_nouns[interface],
		 abi, version_text(least, since(interface, abi)), (unsigned long long)n,
		 n == 1 ? "" : "s");
}

bool nb_nccl_doubt(char *text, size_t size)
{
	uint64_t contradiction = __atomic_load_n(&doubts.first, __ATOMIC_ACQUIRE);
	int version = nb_nccl_version(), odd = nb_nccl_senseless(), new = nb_nccl_newest();
	char is[16], known[16];

	if (contradiction) {
		contradiction_text(text, size, contradiction);
		return true;
	}
	if (new > NEWEST_KNOWN) {
		snprintf(text, size,
			 "%s %s is newer than %s, the newest that ncclbpf knows: its interfaces "
			 "work, and ncclbpf assumes that it asks tuners and chooses among equal "
			 "costs as %s does",
			 who(), version_text(is, new), version_text(known, NEWEST_KNOWN), known);
		return true;
	}
	if (version)
		snprintf(text, size, "%s %s", who(), version_text(is, version));
	else if (odd)
		snprintf(text, size,
			 "%s says that its version is %d, which no release has: "
			 "its interfaces tell which rules it has",
			 who(), odd);
	else
		snprintf(text, size,
			 "%s does not tell its version: its interfaces tell which rules it has",
			 who());
	return !version && odd;
}
