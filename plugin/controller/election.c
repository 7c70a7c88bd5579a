// SPDX-License-Identifier: MIT
/*
 * The election's word. Bits 0-15 are the holder's entry + 1, bits 16-47 the low
 * bits of its token, and bit 63 is set while controllers are paused.
 */
#include "plugin/controller/election.h"

#include "plugin/job/registry.h"
#include "plugin/runtime/clock.h"

#define PAUSED (UINT64_C(1) << 63)

enum { LOOK_MS = 500, LOCK_MS = 20 };

static uint64_t election_word(const struct nb_segment *s, uint32_t entry)
{
	return (uint64_t)(entry + 1) | (s->mem->proc[entry].token & 0xffffffff) << 16;
}

static uint64_t load_word(const struct nb_segment *s)
{
	return __atomic_load_n(&s->mem->loop, __ATOMIC_SEQ_CST);
}

static bool election_swap(struct nb_segment *s, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&s->mem->loop, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/*
 * Returns the entry of the elected process, or NB_SEG_PROCS if none is elected.
 */
static uint32_t word_entry(uint64_t word)
{
	uint32_t e = (uint32_t)(word & 0xffff);

	return e && e <= NB_SEG_PROCS ? e - 1 : NB_SEG_PROCS;
}

struct nb_election nb_election_read(const struct nb_segment *s)
{
	const uint64_t word = load_word(s);
	struct nb_election e = { .word = word & ~PAUSED,
				 .entry = word_entry(word),
				 .paused = word & PAUSED };

	if (e.entry < NB_SEG_PROCS && election_word(s, e.entry) == e.word)
		e.pid = s->mem->proc[e.entry].pid;
	return e;
}

/* Returns true if the process that @word names is in the segment and alive. */
static bool is_alive(struct nb_segment *s, uint64_t word)
{
	uint32_t e = word_entry(word);
	bool alive;

	if (e == NB_SEG_PROCS)
		return false;
	if (nb_segment_lock(s, LOCK_MS, NULL))
		/*
		 * The segment is locked by another process. Assume that the
		 * process is alive; the next call checks again.
		 */
		return true;
	nb_segment_reap(s);
	alive = s->mem->proc[e].pid && election_word(s, e) == (word & ~PAUSED);
	nb_segment_unlock(s);
	return alive;
}

enum nb_election_result nb_election_run(struct nb_segment *s, uint64_t *looked_ns)
{
	const uint64_t word = load_word(s), now = nb_clock_system();
	const uint64_t mine = election_word(s, s->proc);

	if ((word & ~PAUSED) == mine)
		return NB_ELECTION_HELD;
	if (word & ~PAUSED) {
		if (now < *looked_ns + LOOK_MS * UINT64_C(1000000))
			return NB_ELECTION_OTHER;
		*looked_ns = now;
		if (is_alive(s, word))
			return NB_ELECTION_OTHER;
	}
	return election_swap(s, word, mine | (word & PAUSED)) ? NB_ELECTION_WON : NB_ELECTION_OTHER;
}

void nb_election_resign(struct nb_segment *s)
{
	const uint64_t word = load_word(s);

	if ((word & ~PAUSED) == election_word(s, s->proc))
		election_swap(s, word, word & PAUSED);
}

void nb_election_pause(struct nb_segment *s, bool pause)
{
	uint64_t word;

	do
		word = load_word(s);
	while (!election_swap(s, word, pause ? word | PAUSED : word & ~PAUSED));
}

int nb_election_others(struct nb_segment *s, struct nb_election_other *out)
{
	int n = 0;

	if (nb_segment_lock(s, LOCK_MS, NULL))
		return -1;
	nb_segment_reap(s);
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &s->mem->proc[i];

		if (p->pid && i != s->proc && !(p->flags & NB_SEG_PROC_AGENT))
			out[n++] = (struct nb_election_other){ i, p->token };
	}
	nb_segment_unlock(s);
	return n;
}
