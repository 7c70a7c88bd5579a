// SPDX-License-Identifier: MIT
// The fence protocol: a rank's slow path and the coordinator. Everything
// shared is a word changed by compare-and-swap or written by one thread. Each
// commit has its own G; where one arms the same F again, the fallback is the
// same too. So a compare-and-swap that finds ARMED(G, F) may put the fallback
// back, however late it comes.
#include "plugin/job/fence.h"

#include "plugin/job/step.h"
#include "plugin/runtime/clock.h"

static void store(uint64_t *p, uint64_t v) {
  __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

static uint64_t load(const struct nb_record *r) { return r->ops->load(r); }

static bool swap(const struct nb_record *r, uint64_t from, uint64_t to) {
  bool done;

  NB_DONE(SWAP, from, done ? to : from, done = r->ops->swap(r, from, to));
  return done;
}

static struct nb_standing standing(const struct nb_record *r, uint32_t rank) {
  struct nb_standing s;

  r->ops->standing(r, rank, &s);
  return s;
}

/* Put back what stood before the arming @word. */
static bool abort_word(const struct nb_record *r, uint64_t word) {
  uint64_t back = r->ops->fallback(r);

  /* only a broken or hostile process leaves such a fallback */
  if (nb_fence_word_state(back) == NB_FENCE_ARMED)
    back = 0;
  return swap(r, word, back);
}

/* ---- a rank ---- */

/*
 * Has the rank made no decision at or past the fence of @word before the one
 * at which it stands? By decisions its number tells; numbers of calls go on by
 * more than one at a time.
 */
static bool first_past(const struct nb_fence_rank *f, uint64_t word) {
  return !(f->odd & NB_FENCE_CALLS) || f->before <= nb_fence_word_seq(word);
}

/*
 * Wait until the word is not @word any more; true: this rank changed it. The
 * slot says that we wait, so that the coordinator may commit a fence that this
 * rank stands at (@first): it will obey the outcome.
 */
static bool wait_decided(struct nb_fence_rank *f, const struct nb_record *r,
                         uint64_t word, bool first, uint64_t deadline) {
  bool changed = false;

  f->waits++;
  if (first)
    store(&f->slot->waiting, word);
  r->ops->publish(r);
  NB_STEP(WAITING);
  for (unsigned turn = 0; load(r) == word; turn++) {
    if (nb_clock_read(CLOCK_MONOTONIC) >= deadline) {
      NB_STEP(PATIENCE);
      changed = abort_word(r, word);
    }
    if (changed)
      break;
    r->ops->wait(r, turn);
  }
  NB_STEP(RELEASED);
  store(&f->slot->waiting, 0);
  r->ops->publish(r);
  return changed;
}

static void adopt(struct nb_fence_rank *f, uint32_t number) {
  NB_STEP(ADOPT);
  __atomic_store_n(&f->number, number, __ATOMIC_RELAXED);
  __atomic_store_n(&f->slot->generation, number, __ATOMIC_RELEASE);
  NB_STEP(ADOPTED);
}

/*
 * The communicator's first decision: write down what all begin with, unless
 * somebody has. An arming that comes before that is put back: what it would
 * leave, nobody has begun with. True: look again.
 */
static bool begin(struct nb_fence_rank *f, const struct nb_record *r,
                  uint64_t word) {
  NB_STEP(BEGIN);
  if (nb_fence_word_state(word) == NB_FENCE_ARMED && r->ops->fallback(r) == 0)
    abort_word(r, word);
  else if (word)
    return f->begins = false;
  else
    swap(r, 0, nb_fence_word(NB_FENCE_COMMIT, f->first, 0));
  return true;
}

void nb_fence_by_calls(struct nb_fence_rank *f, uint32_t *clocks) {
  f->odd |= NB_FENCE_CALLS;
  f->clocks = clocks;
  nb_fence_announce(f, 0);
}

uint32_t nb_fence_look(struct nb_fence_rank *f, uint64_t k, bool *timed_out) {
  const struct nb_record here = nb_record_word(f->record);
  const struct nb_record *r = f->store ? f->store : &here;
  uint64_t deadline = 0;

  *timed_out = false;
  f->looks++;
  NB_STEP(ANNOUNCED);
  for (;;) {
    uint64_t word = load(r);
    uint64_t fence = nb_fence_word_seq(word);

    if (f->begins && begin(f, r, word))
      continue;
    switch (nb_fence_word_state(word)) {
    case NB_FENCE_COMMIT:
      if (k < fence)
        return f->number;
      f->seen = word;
      adopt(f, nb_fence_word_gen(word));
      return f->number;
    case NB_FENCE_ARMED:
      if (k < fence)
        return f->number;
      /* one deadline for all armings that this decision
       * meets: the wait is bounded whatever others do */
      if (!deadline)
        deadline =
            nb_clock_read(CLOCK_MONOTONIC) + f->timeout_ms * UINT64_C(1000000);
      if (wait_decided(f, r, word, first_past(f, word), deadline))
        *timed_out = true;
      break;
    default: /* NONE, or no state that we write */
      f->seen = word;
      return f->number;
    }
  }
}

/* ---- the coordinator ---- */

/* What a rank that is gone has decided binds those that come to it later. */
static bool decided(const struct nb_standing *s) {
  return s->state != NB_SLOT_FREE;
}

uint64_t nb_fence_announced(const struct nb_record *r) {
  uint64_t most = 0;

  for (uint32_t i = 0; i < r->nranks; i++) {
    const struct nb_standing s = standing(r, i);

    if (s.announced > most && decided(&s))
      most = s.announced;
  }
  return most;
}

/*
 * Has every rank taken generation @number? To have announced the fence is not
 * enough: a rank may stand between its announcement and its look at the word.
 */
static bool adopted(const struct nb_record *r, uint32_t number) {
  for (uint32_t i = 0; i < r->nranks; i++) {
    const struct nb_standing s = standing(r, i);

    if (s.state == NB_SLOT_LIVE && s.generation != number)
      return false;
  }
  return true;
}

static bool has_passed(const struct nb_record *r, uint32_t i, uint64_t fence) {
  const struct nb_standing s = standing(r, i);

  return s.state == NB_SLOT_GONE ||
         (s.state == NB_SLOT_LIVE && s.announced > fence);
}

uint32_t nb_fence_passed(const struct nb_record *r, uint64_t fence) {
  uint32_t n = 0;

  for (uint32_t i = 0; i < r->nranks; i++)
    n += has_passed(r, i, fence);
  return n;
}

uint64_t nb_fence_behind(const struct nb_record *r, uint64_t fence) {
  uint64_t behind = 0;

  for (uint32_t i = 0; i < r->nranks && i < 64; i++) {
    const struct nb_standing s = standing(r, i);

    if (s.state == NB_SLOT_LIVE && s.announced <= fence)
      behind |= UINT64_C(1) << i;
  }
  return behind;
}

void nb_fence_recover(const struct nb_record *r) {
  uint64_t word = load(r);

  NB_STEP(RECOVER);
  if (nb_fence_word_state(word) == NB_FENCE_ARMED)
    abort_word(r, word);
}

bool nb_fence_ready(const struct nb_record *r) {
  uint64_t word = load(r);

  return nb_fence_word_state(word) != NB_FENCE_COMMIT ||
         nb_fence_announced(r) <= nb_fence_word_seq(word) ||
         adopted(r, nb_fence_word_gen(word));
}

enum nb_fence_outcome nb_fence_arm(const struct nb_record *r, uint32_t number,
                                   uint64_t margin, uint64_t *word) {
  uint64_t before = load(r);
  uint64_t most = nb_fence_announced(r), fence = most + margin;

  /* A rank has at most one generation ahead of it... */
  if (!nb_fence_ready(r))
    return NB_FENCE_PENDING;
  /* ...and where nobody has reached it, the new one takes its place. */
  if (nb_fence_word_state(before) == NB_FENCE_COMMIT &&
      most <= nb_fence_word_seq(before))
    fence = nb_fence_word_seq(before);
  if (most > NB_FENCE_MAX_SEQ || fence > NB_FENCE_MAX_SEQ)
    return NB_FENCE_EXHAUSTED;
  *word = nb_fence_word(NB_FENCE_ARMED, number, fence);
  NB_STEP(READY);
  r->ops->set_fallback(r, before);
  NB_STEP(FALLBACK);
  return swap(r, before, *word) ? NB_FENCE_COMMITTED : NB_FENCE_OVERRUN;
}

enum standing { BELOW, AT_FENCE, BEYOND };

/* Do numbers go on by more than one at a time? Then who says that it waits has
 * looked where it was before (first_past). */
static bool jumps(const struct nb_record *r) {
  return r->comm &&
         __atomic_load_n(&r->comm->clock, __ATOMIC_ACQUIRE) == NB_CLOCK_CALLS;
}

/*
 * Where the furthest rank stands to the fence of @word. A rank that waits at
 * it has made no decision yet and counts as below.
 */
static enum standing furthest(const struct nb_record *r, uint64_t word) {
  uint64_t fence = nb_fence_word_seq(word);
  bool far = jumps(r);
  enum standing worst = BELOW;

  for (uint32_t i = 0; i < r->nranks; i++) {
    const struct nb_standing s = standing(r, i);

    if (s.announced <= fence || !decided(&s))
      continue;
    if (s.announced > fence + 1 && !(s.waiting == word && far))
      return BEYOND;
    if (s.waiting != word)
      worst = AT_FENCE;
  }
  return worst;
}

/*
 * Is no rank past the fence? One that has announced it may have read the
 * record before the arming, or be about to wait: it soon shows which.
 */
static bool none_past(const struct nb_record *r, uint64_t word) {
  uint64_t deadline = nb_clock_read(CLOCK_MONOTONIC) + 1000000;
  enum standing st = furthest(r, word);

  while (st == AT_FENCE && nb_clock_read(CLOCK_MONOTONIC) < deadline) {
    r->ops->wait(r, 0);
    st = furthest(r, word);
  }
  return st == BELOW;
}

enum nb_fence_outcome nb_fence_decide(const struct nb_record *r,
                                      uint64_t word) {
  uint64_t fence = nb_fence_word_seq(word);
  uint32_t number = nb_fence_word_gen(word);

  NB_STEP(ARMED);
  if (!r->ops->barrier(r)) {
    abort_word(r, word);
    return NB_FENCE_NO_BARRIER;
  }
  NB_STEP(BARRIER);
  if (!none_past(r, word)) {
    NB_STEP(OVERRUN);
    abort_word(r, word);
    return NB_FENCE_OVERRUN;
  }
  NB_STEP(NONE_PAST);
  return swap(r, word, nb_fence_word(NB_FENCE_COMMIT, number, fence))
             ? NB_FENCE_COMMITTED
             : NB_FENCE_OVERRUN;
}

/* Arm, waiting until ranks have passed the fence before. */
static enum nb_fence_outcome arm_when_passed(const struct nb_record *r,
                                             uint32_t number, uint64_t margin,
                                             uint32_t timeout_ms,
                                             uint64_t *word) {
  uint64_t deadline =
      nb_clock_read(CLOCK_MONOTONIC) + timeout_ms * UINT64_C(1000000);
  enum nb_fence_outcome o;

  for (unsigned turn = 0;; turn++) {
    o = nb_fence_arm(r, number, margin, word);
    if (o != NB_FENCE_PENDING || nb_clock_read(CLOCK_MONOTONIC) >= deadline)
      return o;
    r->ops->wait(r, turn);
  }
}

enum { FIRST_MARGIN = 4, ONCE_MARGIN = 64, LAST_TRIES = 4 };

/* No nearer than ranks will be when it is decided. */
static uint64_t first_margin(const struct nb_fence_opts *opts) {
  uint64_t least = opts->once ? ONCE_MARGIN : FIRST_MARGIN;

  if (opts->idle)
    return 0;
  return opts->near > least ? opts->near : least;
}

enum nb_fence_outcome nb_fence_commit(const struct nb_record *r,
                                      uint32_t number,
                                      const struct nb_fence_opts *opts,
                                      struct nb_fence_result *result) {
  uint64_t margin = first_margin(opts);
  unsigned last = 0;

  result->tries = 0;
  nb_fence_recover(r);
  for (;;) {
    enum nb_fence_outcome o;
    uint64_t word = 0;

    if (margin > opts->margin)
      margin = opts->margin;
    o = arm_when_passed(r, number, margin, opts->timeout_ms, &word);
    result->fence = nb_fence_word_seq(word);
    result->tries++;
    if (o == NB_FENCE_COMMITTED)
      o = nb_fence_decide(r, word);
    if (o != NB_FENCE_OVERRUN || opts->once)
      return o;
    if (margin == opts->margin && ++last == LAST_TRIES)
      return o;
    margin = margin ? margin * 4 : FIRST_MARGIN;
  }
}
