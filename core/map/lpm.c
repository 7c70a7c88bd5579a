// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_LPM_TRIE: a look-up finds the longest prefix that matches. A key
 * is a number of bits (uint32_t) and that many bits, most significant first. A
 * node holds the bits that all nodes below it share. An intermediate node has
 * no value and exactly two children, so 2 n - 1 nodes hold n prefixes.
 *
 * One sequence lock (seqlock.h) covers the trie: a look-up that ends with the
 * number it began with has met no reused node. A new node replaces the one with
 * the same prefix, so a program that holds the old value sees it whole. Checks,
 * their order and the trie's shape follow kernel/bpf/lpm_trie.c.
 */
#include "core/map/map.h"
#include "core/map/seqlock.h"

enum {
	HEAD = 4, /* Bytes of a key before its data. */
	COPY_TRIES = 16
};

#define NIL UINT32_MAX

/* A node. Its data and its value follow, in words. */
struct node {
	/* NIL: no child. In a free node, [0] is the link to the next. */
	uint32_t child[2];
	uint32_t prefix; /* Length of the prefix in bits. */
	uint32_t inner;	 /* 1 for an intermediate node, else 0. */
};

struct lpm {
	struct nb_map map;
	uint32_t max_prefix, nnodes;
	size_t value_off;
	_Alignas(NB_CACHE_LINE) uint64_t word;
	uint32_t root, free, count;
};

static struct lpm *lpm_of(struct nb_map *m)
{
	return (struct lpm *)m;
}

static uint64_t node_size(const struct nb_map_def *def)
{
	return sizeof(struct node) + nb_round8(def->key_size - HEAD) +
	       nb_round8(def->value_size);
}

/* Return the number of nodes, with one extra node for an update that
 * replaces a node. */
static uint64_t node_count(const struct nb_map_def *def)
{
	return 2 * (uint64_t)def->max_entries + 1;
}

static uint64_t lpm_size(const struct nb_map_def *def, uint32_t ncpus)
{
	(void)ncpus;
	if (node_count(def) >= NIL)
		return UINT64_MAX;
	return sizeof(struct lpm) + node_count(def) * node_size(def);
}

static struct node *node_at(const struct lpm *t, uint32_t i)
{
	return (struct node *)(void *)(t->map.base + t->map.elem_size * i);
}

static void lpm_init(struct nb_map *m)
{
	struct lpm *t = lpm_of(m);

	t->max_prefix = (m->def.key_size - HEAD) * 8;
	t->nnodes = (uint32_t)node_count(&m->def);
	t->value_off = sizeof(struct node) + nb_round8(m->def.key_size - HEAD);
	m->elem_size = node_size(&m->def);
	m->base = (unsigned char *)(t + 1);
	t->root = NIL;
	for (uint32_t i = 0; i < t->nnodes; i++)
		node_at(t, i)->child[0] = i + 1 < t->nnodes ? i + 1 : NIL;
}

static uint32_t prefix_of(const void *key)
{
	uint32_t n;

	memcpy(&n, key, sizeof(n));
	return n;
}

static const unsigned char *data_of(const void *key)
{
	return (const unsigned char *)key + HEAD;
}

static uint64_t *slot_of(struct node *n)
{
	return (uint64_t *)(void *)((char *)n + sizeof(*n));
}

static unsigned char *value_of(const struct lpm *t, struct node *n)
{
	return (unsigned char *)slot_of(n) + (t->value_off - sizeof(*n));
}

static uint32_t key_bit(const unsigned char *data, uint32_t i)
{
	return data[i / 8] >> (7 - i % 8) & 1;
}

static uint32_t slot_bit(struct node *n, uint32_t i)
{
	uint64_t w = __atomic_load_n(slot_of(n) + i / 64, __ATOMIC_ACQUIRE);

	return (uint32_t)(__builtin_bswap64(w) >> (63 - i % 64) & 1);
}

/*
 * Number of leading bits that node and key have in common, at most @limit. The
 * first @known are known to be equal, so a walk compares each word of a key
 * once.
 */
static uint32_t common_bits(const struct lpm *t, struct node *n,
			    const unsigned char *data, uint32_t known,
			    uint32_t limit)
{
	size_t size = t->map.def.key_size - HEAD;
	const uint64_t *slot = slot_of(n) + known / 64;

	for (uint32_t at = known & ~63u; at < limit; at += 64) {
		uint64_t w = 0, diff;
		size_t left = size - at / 8;

		memcpy(&w, data + at / 8, left < 8 ? left : 8);
		diff = __builtin_bswap64(
			w ^ __atomic_load_n(slot++, __ATOMIC_ACQUIRE));
		if (diff) {
			at += (uint32_t)__builtin_clzll(diff);
			return at < limit ? at : limit;
		}
	}
	return limit;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Walk down the trie once; returns true if the answer in *@found (a node or
 * NIL) is valid. */
static bool lpm_walk(const struct lpm *t, const void *key, uint64_t seen,
		     uint32_t *found)
{
	uint32_t want = prefix_of(key), i = nb_load32(&t->root), match = 0;
	const unsigned char *data = data_of(key);

	*found = NIL;
	while (i != NIL) {
		struct node *n = node_at(t, i);
		uint32_t has = nb_load32(&n->prefix);

		match = common_bits(t, n, data, match, min_u32(has, want));
		if (match < has)
			break;
		if (!nb_load32(&n->inner))
			*found = i;
		if (match == t->max_prefix)
			break;
		i = nb_load32(&n->child[key_bit(data, has)]);
		/* A reused node may lead anywhere, so check at each step. */
		if (nb_seq_moved(&t->word, seen))
			return false;
	}
	return !nb_seq_moved(&t->word, seen);
}

/* Return the value of the longest prefix that matches, or NULL. *@seen is
 * the sequence word at that moment. */
static unsigned char *lpm_find(const struct lpm *t, const void *key,
			       uint64_t *seen)
{
	uint32_t found;

	if (prefix_of(key) > t->max_prefix)
		return NULL;
	for (int n = 0; n < NB_SEQ_READ_ROUNDS; n++) {
		*seen = nb_seq_load(&t->word);
		if (lpm_walk(t, key, *seen, &found))
			return found == NIL ? NULL
					    : value_of(t, node_at(t, found));
		nb_cpu_relax();
	}
	return NULL;
}

static void *lpm_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	uint64_t seen;

	(void)cpu;
	return lpm_find(lpm_of(m), key, &seen);
}

/* Copy a value. The copy is repeated if the value changed meanwhile. */
static int lpm_read(struct nb_map *m, const void *key, void *value)
{
	const struct lpm *t = lpm_of(m);

	for (int n = 0; n < NB_SEQ_READ_ROUNDS; n++) {
		uint64_t seen;
		const unsigned char *slot = lpm_find(t, key, &seen);

		if (!slot)
			return -ENOENT;
		nb_slot_load(value, slot, m->def.value_size);
		if (!nb_seq_moved(&t->word, seen))
			return 0;
	}
	return -EBUSY;
}

static bool lpm_lock(struct lpm *t)
{
	uint64_t word;

	return nb_seq_lock(&t->word, &word);
}

static void lpm_unlock(struct lpm *t)
{
	nb_seq_unlock(&t->word, __atomic_load_n(&t->word, __ATOMIC_RELAXED));
}

/* Call this before a node that left the trie is reused. */
static void lpm_moved(struct lpm *t)
{
	__atomic_store_n(&t->word,
			 __atomic_load_n(&t->word, __ATOMIC_RELAXED) +
				 NB_SEQ_STEP,
			 __ATOMIC_RELEASE);
}

static uint32_t node_take(struct lpm *t)
{
	uint32_t i = t->free;

	nb_store32(&t->free, nb_load32(&node_at(t, i)->child[0]));
	return i;
}

static void node_free(struct lpm *t, uint32_t i)
{
	nb_store32(&node_at(t, i)->child[0], t->free);
	nb_store32(&t->free, i);
}

/* Create a node for @key, without children. */
static uint32_t node_make(struct lpm *t, const unsigned char *data,
			  uint32_t prefix, const void *value)
{
	uint32_t i = node_take(t);
	struct node *n = node_at(t, i);

	nb_store32(&n->child[0], NIL);
	nb_store32(&n->child[1], NIL);
	nb_store32(&n->prefix, prefix);
	nb_store32(&n->inner, value == NULL);
	nb_slot_store(slot_of(n), data, t->map.def.key_size - HEAD);
	if (value)
		nb_slot_store(value_of(t, n), value, t->map.def.value_size);
	return i;
}

/* Where the walk for a key ended: the last link followed, and the link
 * before. */
struct path {
	uint32_t *link, *above;
	/* The node that contains @link; NIL for the root's link. */
	uint32_t parent;
	uint32_t at; /* The node that @link points to, or NIL. */
	/* Number of bits that node @at has in common with the key. */
	uint32_t match;
};

static struct path lpm_follow(struct lpm *t, const unsigned char *data,
			      uint32_t prefix)
{
	struct path p = { &t->root, &t->root, NIL, t->root, 0 };

	while (p.at != NIL) {
		struct node *n = node_at(t, p.at);

		p.match = common_bits(t, n, data, p.match,
				      min_u32(n->prefix, prefix));
		if (n->prefix != p.match || n->prefix == prefix)
			break;
		p.parent = p.at;
		p.above = p.link;
		p.link = &n->child[key_bit(data, n->prefix)];
		p.at = *p.link;
	}
	return p;
}

/* Count one more prefix, if @flags and max_entries allow it. */
static int may_add(struct lpm *t, uint64_t flags)
{
	if (flags == NB_EXIST)
		return -ENOENT;
	if (t->count == t->map.max_entries)
		return -ENOSPC;
	nb_store32(&t->count, t->count + 1);
	return 0;
}

/* Replace the node at @p by a new node with the same prefix. */
static int node_replace(struct lpm *t, struct path p, const void *key,
			const void *value, uint64_t flags)
{
	struct node *old = node_at(t, p.at), *n;
	uint32_t i;
	int rc = 0;

	if (old->inner)
		rc = may_add(t, flags);
	else if (flags == NB_NOEXIST)
		rc = -EEXIST;
	if (rc)
		return rc;
	i = node_make(t, data_of(key), prefix_of(key), value);
	n = node_at(t, i);
	nb_store32(&n->child[0], old->child[0]);
	nb_store32(&n->child[1], old->child[1]);
	nb_store32(p.link, i);
	lpm_moved(t);
	node_free(t, p.at);
	return 0;
}

static int lpm_insert(struct lpm *t, const void *key, const void *value,
		      uint64_t flags)
{
	const unsigned char *data = data_of(key);
	uint32_t prefix = prefix_of(key), i, side;
	struct path p = lpm_follow(t, data, prefix);
	struct node *at = p.at == NIL ? NULL : node_at(t, p.at), *n;
	int rc;

	if (at && at->prefix == p.match)
		return node_replace(t, p, key, value, flags);
	rc = may_add(t, flags);
	if (rc)
		return rc;
	i = node_make(t, data, prefix, value);
	n = node_at(t, i);
	/* The new node goes above the node @at. */
	if (at && p.match == prefix) {
		nb_store32(&n->child[slot_bit(at, p.match)], p.at);
		/* The new node goes beside @at, below a new common parent. */
	} else if (at) {
		side = key_bit(data, p.match);
		n = node_at(t, node_make(t, data, p.match, NULL));
		nb_store32(&n->child[side], i);
		nb_store32(&n->child[!side], p.at);
		i = (uint32_t)(((unsigned char *)n - t->map.base) /
			       (ptrdiff_t)t->map.elem_size);
	}
	nb_store32(p.link, i);
	lpm_moved(t);
	return 0;
}

/* Update a prefix. The key is copied first, because another thread may be
 * changing it. */
static int lpm_update(struct nb_map *m, const void *key, const void *value,
		      uint64_t flags, uint32_t cpu)
{
	struct lpm *t = lpm_of(m);
	unsigned char mine[HEAD + NB_PREFIX_MAX];
	int rc;

	(void)cpu;
	if (flags > NB_EXIST)
		return -EINVAL;
	memcpy(mine, key, m->def.key_size);
	if (prefix_of(mine) > t->max_prefix)
		return -EINVAL;
	if (!lpm_lock(t))
		return -EBUSY;
	rc = lpm_insert(t, mine, value, flags);
	lpm_unlock(t);
	return rc;
}

/* Remove the node at @p, and its parent if that is left with one child. */
static void node_remove(struct lpm *t, struct path p)
{
	struct node *n = node_at(t, p.at);
	struct node *parent = p.parent == NIL ? NULL : node_at(t, p.parent);
	uint32_t left = n->child[0], right = n->child[1];

	nb_store32(&t->count, t->count - 1);
	if (left != NIL && right != NIL) {
		nb_store32(&n->inner, 1);
		lpm_moved(t);
		return;
	}
	if (parent && parent->inner && left == NIL && right == NIL) {
		nb_store32(p.above, parent->child[parent->child[0] == p.at]);
		lpm_moved(t);
		node_free(t, p.parent);
	} else {
		nb_store32(p.link, left != NIL ? left : right);
		lpm_moved(t);
	}
	node_free(t, p.at);
}

static int lpm_remove(struct nb_map *m, const void *key)
{
	struct lpm *t = lpm_of(m);
	unsigned char mine[HEAD + NB_PREFIX_MAX];
	struct path p;
	int rc = -ENOENT;

	memcpy(mine, key, m->def.key_size);
	if (prefix_of(mine) > t->max_prefix)
		return -EINVAL;
	if (!lpm_lock(t))
		return -EBUSY;
	p = lpm_follow(t, data_of(mine), prefix_of(mine));
	if (p.at != NIL && node_at(t, p.at)->prefix == p.match &&
	    p.match == prefix_of(mine) && !node_at(t, p.at)->inner) {
		node_remove(t, p);
		rc = 0;
	}
	lpm_unlock(t);
	return rc;
}

/* Return the first node of a subtree in bpf()'s order: a leaf. */
static uint32_t subtree_first(const struct lpm *t, uint32_t i)
{
	for (;;) {
		struct node *n = node_at(t, i);
		uint32_t to = n->child[0] != NIL ? n->child[0] : n->child[1];

		if (to == NIL)
			return i;
		i = to;
	}
}

/* Return the node after @key, present or not, in the kernel's order: by
 * bits, with a longer prefix before the shorter prefix that it begins with. */
static uint32_t lpm_after(const struct lpm *t, const void *key)
{
	const unsigned char *data = data_of(key);
	uint32_t want = prefix_of(key), i = t->root, best = NIL, match = 0;

	while (i != NIL) {
		struct node *n = node_at(t, i);
		uint32_t limit = min_u32(n->prefix, want), side;

		match = common_bits(t, n, data, match, limit);
		/* Order is decided by the first different bit. */
		if (match < limit)
			return slot_bit(n, match) ? subtree_first(t, i) : best;
		/* The node is the key itself, or is below it. */
		if (n->prefix >= want)
			return best;
		if (!n->inner)
			best = i;
		side = key_bit(data, n->prefix);
		if (!side && n->child[1] != NIL)
			best = subtree_first(t, n->child[1]);
		i = n->child[side];
	}
	return best;
}

static int lpm_next(struct nb_map *m, const void *key, void *to)
{
	struct lpm *t = lpm_of(m);
	uint32_t i = NIL;
	uint64_t word;

	if (!nb_seq_lock_sleeping(&t->word, &word))
		return -EBUSY;
	if (key && prefix_of(key) <= t->max_prefix)
		i = lpm_after(t, key);
	else if (t->root != NIL)
		i = subtree_first(t, t->root);
	if (i != NIL) {
		memcpy(to, &node_at(t, i)->prefix, HEAD);
		nb_slot_load((unsigned char *)to + HEAD, slot_of(node_at(t, i)),
			     m->def.key_size - HEAD);
	}
	lpm_unlock(t);
	return i == NIL ? -ENOENT : 0;
}

static uint32_t lpm_count(struct nb_map *m)
{
	return nb_load32(&lpm_of(m)->count);
}

/* Copy nodes and links unchanged. */
static void copy_nodes(struct lpm *t, const struct lpm *f)
{
	t->root = nb_load32(&f->root);
	t->free = nb_load32(&f->free);
	t->count = nb_load32(&f->count);
	for (uint32_t i = 0; i < f->nnodes; i++) {
		struct node *from = node_at(f, i);
		struct node *n = node_at(t, i);

		n->child[0] = nb_load32(&from->child[0]);
		n->child[1] = nb_load32(&from->child[1]);
		n->prefix = nb_load32(&from->prefix);
		n->inner = nb_load32(&from->inner);
		nb_slot_copy(slot_of(n), slot_of(from),
			     f->map.elem_size - sizeof(*n));
	}
}

/* Copy the trie without the lock, and take the lock only if the trie never
 * comes to rest. */
static void lpm_copy(struct nb_map *to, struct nb_map *from)
{
	struct lpm *f = lpm_of(from), *t = lpm_of(to);
	uint64_t word;

	for (int n = 0; n < COPY_TRIES; n++) {
		word = nb_seq_load(&f->word);
		copy_nodes(t, f);
		if (nb_seq_at_rest(&f->word, word))
			return;
	}
	if (!nb_seq_lock_sleeping(&f->word, &word)) {
		lpm_init(to);
		t->free = t->count = 0;
		return;
	}
	copy_nodes(t, f);
	lpm_unlock(f);
}

const struct nb_map_ops nb_map_lpm_ops = {
	.size = lpm_size,
	.init = lpm_init,
	.lookup = lpm_lookup,
	.update = lpm_update,
	.remove = lpm_remove,
	.read = lpm_read,
	.next = lpm_next,
	.count = lpm_count,
	.copy = lpm_copy,
};
