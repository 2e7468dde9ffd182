/* The compiler: one walk over each tree, depth first and left first, on a stack of its own.
 * A node gets its number when it is first seen, so trees are in preorder; a child that is
 * seen again makes the forest a DAG, a child on the way from the root is a cycle. */
#include "trees/forest_impl.h"

#define UNSEEN UINT32_MAX
#define ON_PATH (UINT32_MAX - 1) /* being walked, or absorbed by the node that is */
#define NO_NODE UINT32_MAX

/* A node whose children are being walked. */
struct frame {
    uint32_t source; /* the node's index there */
    uint32_t node;   /* its number here; NO_NODE: it always answers the same */
    uint32_t column;
    uint32_t next[2]; /* the children in the source … */
    uint32_t got[2];  /* … and here */
    uint8_t stage;    /* children done */
    uint8_t waiting;  /* the next child has been pushed */
    double threshold;
};

struct walk {
    struct tn_forest_maker *maker;
    uint32_t *seen;      /* [source nodes] what they became, UNSEEN or ON_PATH */
    uint32_t *leaf_seen; /* [source leaves] number, or UNSEEN */
    uint8_t *parents; /* [source nodes] how many, 2: more than one; NULL without sets */
    uint32_t *depths; /* [nodes] */
    struct frame *frames;
    uint32_t n_frames, cap_frames;
    uint32_t first_node, first_leaf; /* of the tree that is walked */
};

/* ---- preparation ---------------------------------------------------------------------- */

static void count_parent(struct walk *w, uint32_t ref) {
    if (!(ref & TN_LEAF_BIT) && w->parents[ref] < 2) w->parents[ref]++;
}

static void count_parents(struct walk *w) {
    const struct tn_tree_source *source = w->maker->source;
    for (uint32_t r = 0; r < source->n_roots; r++)
        count_parent(w, source->roots[r]);
    for (uint32_t i = 0; i < source->n_nodes; i++) {
        if (source->modes[i] == TN_MODE_LEAF) continue;
        count_parent(w, source->children[i][0]);
        count_parent(w, source->children[i][1]);
    }
}

/* What the walk notes of the source's nodes and leaves. */
static tn_status begin_notes(struct walk *w) {
    struct tn_forest_maker *m = w->maker;
    const struct tn_tree_source *source = m->source;
    w->seen = tn__blocks_array(&m->temp, source->n_nodes, 4, 0);
    w->leaf_seen = source->leaves_are_nodes
                       ? w->seen
                       : tn__blocks_array(&m->temp, source->n_leaves, 4, 0);
    w->parents = m->has_sets ? tn__blocks_array(&m->temp, source->n_nodes, 1, 1) : NULL;
    if (!w->seen || !w->leaf_seen || (m->has_sets && !w->parents))
        return TN_OUT_OF_MEMORY;
    memset(w->seen, 0xff, (size_t)source->n_nodes * 4);
    if (w->leaf_seen != w->seen) memset(w->leaf_seen, 0xff, (size_t)source->n_leaves * 4);
    if (w->parents) count_parents(w);
    return TN_OK;
}

static tn_status begin_walk(struct walk *w) {
    struct tn_forest_maker *m = w->maker;
    const struct tn_tree_source *source = m->source;
    uint32_t size = m->rules.wide ? 8 : 4, n = 0;
    TN_TRY(begin_notes(w));
    for (uint32_t i = 0; i < source->n_nodes; i++)
        n += source->modes[i] != TN_MODE_LEAF;
    m->leaf_of = tn__blocks_array(&m->temp, source->n_leaves, 4, 0);
    w->depths = tn__blocks_array(&m->temp, n, 4, 0);
    m->columns_of = tn__blocks_array(m->blocks, n, 4, 0);
    m->children = tn__blocks_array(m->blocks, n, 8, 0);
    m->thresholds = tn__blocks_array(m->blocks, n, size, 0);
    m->trees = tn__blocks_array(m->blocks, source->n_roots, sizeof *m->trees, 1);
    if (!m->leaf_of || !w->depths || !m->columns_of || !m->children || !m->thresholds ||
        !m->trees)
        return TN_OUT_OF_MEMORY;
    return TN_OK;
}

/* ---- sets ----------------------------------------------------------------------------- */

static bool is_set_mode(uint32_t mode) {
    return mode == TN_MODE_EQ || mode == TN_MODE_NEQ || mode == TN_MODE_MEMBER;
}

/* Adds the values that lead a set-like node to its yes side: NEQ's is its false child. */
static void add_members(struct tn_forest_maker *m, uint32_t i) {
    const struct tn_tree_source *source = m->source;
    const struct tn_reals *from = &source->thresholds;
    uint32_t begin = i, end = i + 1;
    if (source->modes[i] == TN_MODE_MEMBER) {
        from = &source->members;
        begin = source->member_begin[i];
        end = source->member_begin[i + 1];
    }
    for (uint32_t k = begin; k < end; k++) {
        double value = tn__reals_get(from, k);
        if (value == value) m->members[m->n_members++] = value;
    }
}

static uint32_t member_child(const struct tn_tree_source *source, uint32_t i) {
    return source->children[i][source->modes[i] == TN_MODE_NEQ];
}

static uint32_t other_child(const struct tn_tree_source *source, uint32_t i) {
    return source->children[i][source->modes[i] != TN_MODE_NEQ];
}

/* Whether NaN goes the members' way. It equals nothing, so NEQ holds for it. */
static bool nan_is_member(const struct tn_tree_source *source, uint32_t i) {
    return source->modes[i] != TN_MODE_NEQ && source->nan_true && source->nan_true[i];
}

/* Asks for membership, and takes along the nodes behind it that ask for more members of the
 * same target: x == a or else x == b or else … is one question. Targets are the same when
 * they are the same node; a node that others lead to as well stays one of its own. */
static void ask_set(struct walk *w, struct frame *frame) {
    struct tn_forest_maker *m = w->maker;
    const struct tn_tree_source *source = m->source;
    uint32_t i = frame->source, begin = m->n_members;
    uint32_t target = member_child(source, i), rest = other_child(source, i);
    bool nan_left = nan_is_member(source, i);
    add_members(m, i);
    while (!(rest & TN_LEAF_BIT) && w->seen[rest] == UNSEEN && w->parents[rest] == 1 &&
           is_set_mode(source->modes[rest]) &&
           source->features[rest] == source->features[i] &&
           member_child(source, rest) == target) {
        w->seen[rest] = ON_PATH;
        add_members(m, rest);
        nan_left = nan_left || nan_is_member(source, rest);
        rest = other_child(source, rest);
    }
    frame->column = tn__columns_add_set(
        m, (uint32_t)source->features[i], nan_left && !m->rules.whole, begin);
    frame->threshold = 0.5;
    frame->next[0] = target;
    frame->next[1] = rest;
}

/* ---- the walk ------------------------------------------------------------------------- */

static void ask(struct walk *w, struct frame *frame) {
    struct tn_forest_maker *m = w->maker;
    const struct tn_tree_source *source = m->source;
    uint32_t i = frame->source;
    if (is_set_mode(source->modes[i])) {
        ask_set(w, frame);
        return;
    }
    struct tn_question q = tn__question(&m->rules, source->modes[i],
        tn__reals_get(&source->thresholds, i), source->nan_true && source->nan_true[i]);
    frame->next[0] = source->children[i][q.left];
    frame->next[1] = source->children[i][q.right];
    frame->threshold = q.threshold;
    if (q.left != q.right)
        frame->column = tn__columns_find(m, &q.column, (uint32_t)source->features[i]);
}

static tn_status push(struct walk *w, uint32_t source) {
    struct tn_forest_maker *m = w->maker;
    if (w->n_frames == w->cap_frames) {
        uint32_t cap = w->cap_frames ? w->cap_frames * 2 : 256;
        struct frame *more = tn__blocks_array(&m->temp, cap, sizeof *more, 0);
        if (!more) return TN_OUT_OF_MEMORY;
        if (w->n_frames) memcpy(more, w->frames, w->n_frames * sizeof *more);
        tn__blocks_release(w->frames);
        w->frames = more;
        w->cap_frames = cap;
    }
    struct frame *frame = &w->frames[w->n_frames++];
    memset(frame, 0, sizeof *frame);
    frame->source = source;
    w->seen[source] = ON_PATH;
    ask(w, frame);
    frame->node = frame->next[0] == frame->next[1] ? NO_NODE : m->forest->n_nodes++;
    return TN_OK;
}

static tn_status refuse_cycle(struct walk *w, uint32_t i) {
    const struct tn_tree_source *source = w->maker->source;
    if (source->nodeids)
        return tn_fail(w->maker->diag, TN_INVALID_MODEL,
            "node %lld of tree %lld is its own descendant: nodes_truenodeids and "
            "nodes_falsenodeids (element %u) form a cycle",
            (long long)source->nodeids[i], (long long)source->treeids[i], i);
    return tn_fail(w->maker->diag, TN_INVALID_MODEL,
        "node %u is its own descendant: nodes_truenodeids and nodes_falsenodeids form a "
        "cycle",
        i);
}

/* What a child of the source became here: a leaf or a node that is done. False when it has
 * to be walked first. */
static bool find(struct walk *w, uint32_t ref, bool waiting, uint32_t *out) {
    struct tn_forest *forest = w->maker->forest;
    uint32_t i = ref & ~TN_LEAF_BIT, known;
    bool leaf = (ref & TN_LEAF_BIT) != 0;
    known = leaf ? w->leaf_seen[i] : w->seen[i];
    if (!leaf && (known == UNSEEN || known == ON_PATH)) return false;
    if (leaf && known == UNSEEN) {
        known = w->leaf_seen[i] = forest->n_leaves | TN_LEAF_BIT;
        w->maker->leaf_of[forest->n_leaves++] = i;
    } else if (!waiting) {
        forest->flags |= TN_FOREST_DAG;
        if (known & TN_LEAF_BIT ? (known & ~TN_LEAF_BIT) < w->first_leaf
                                : known < w->first_node)
            forest->flags |= TN_FOREST_SHARED;
    }
    *out = known;
    return true;
}

static uint32_t depth_of(const struct walk *w, uint32_t ref) {
    return ref & TN_LEAF_BIT ? 0 : w->depths[ref];
}

/* All children of the top frame are done. */
static void pop(struct walk *w) {
    struct tn_forest_maker *m = w->maker;
    const struct frame *frame = &w->frames[--w->n_frames];
    uint32_t node = frame->node;
    if (node == NO_NODE) {
        w->seen[frame->source] = frame->got[0];
        return;
    }
    uint32_t left = depth_of(w, frame->got[0]), right = depth_of(w, frame->got[1]);
    w->depths[node] = 1 + (left > right ? left : right);
    m->columns_of[node] = frame->column;
    m->children[node][0] = frame->got[0];
    m->children[node][1] = frame->got[1];
    if (m->rules.wide)
        ((double *)m->thresholds)[node] = frame->threshold;
    else
        ((float *)m->thresholds)[node] = (float)frame->threshold;
    w->seen[frame->source] = node;
}

/* Walks what hangs on a root that is a node. */
static tn_status walk_node(struct walk *w, uint32_t root) {
    TN_TRY(push(w, root));
    while (w->n_frames) {
        struct frame *frame = &w->frames[w->n_frames - 1];
        if (frame->stage == 2) {
            pop(w);
            continue;
        }
        uint32_t ref = frame->next[frame->stage];
        if (frame->stage == 1 && frame->node == NO_NODE) {
            frame->stage = 2;
        } else if (find(w, ref, frame->waiting, &frame->got[frame->stage])) {
            frame->stage++;
            frame->waiting = 0;
        } else if (w->seen[ref] == ON_PATH) {
            return refuse_cycle(w, ref);
        } else {
            frame->waiting = 1;
            TN_TRY(push(w, ref));
        }
    }
    return TN_OK;
}

static tn_status walk_tree(struct walk *w, uint32_t root, struct tn_tree *tree) {
    struct tn_forest *forest = w->maker->forest;
    w->first_node = forest->n_nodes;
    w->first_leaf = forest->n_leaves;
    if (!(root & TN_LEAF_BIT) && w->seen[root] == UNSEEN) TN_TRY(walk_node(w, root));
    bool fresh = w->first_node != forest->n_nodes || w->first_leaf != forest->n_leaves;
    find(w, root, fresh, &tree->root);
    tree->first_node = w->first_node;
    tree->n_nodes = forest->n_nodes - w->first_node;
    tree->first_leaf = w->first_leaf;
    tree->n_leaves = forest->n_leaves - w->first_leaf;
    tree->depth = depth_of(w, tree->root);
    if (tree->depth > forest->depth) forest->depth = tree->depth;
    return TN_OK;
}

static tn_status walk_all(struct tn_forest_maker *m) {
    struct walk w = {.maker = m};
    TN_TRY(begin_walk(&w));
    for (uint32_t r = 0; r < m->source->n_roots; r++)
        TN_TRY(walk_tree(&w, m->source->roots[r], &m->trees[r]));
    m->forest->n_trees = m->source->n_roots;
    m->forest->trees = m->trees;
    m->forest->columns_of = m->columns_of;
    m->forest->children = (const uint32_t(*)[2])m->children;
    m->forest->thresholds = m->thresholds;
    if (w.leaf_seen != w.seen) tn__blocks_release(w.leaf_seen);
    tn__blocks_release(w.seen);
    tn__blocks_release(w.parents);
    tn__blocks_release(w.frames);
    tn__blocks_release(w.depths);
    return TN_OK;
}

/* ---- obliviousness -------------------------------------------------------------------- */

static bool same_question(const struct tn_forest *forest, uint32_t a, uint32_t b) {
    if (forest->columns_of[a] != forest->columns_of[b]) return false;
    if (forest->flags & TN_FOREST_WIDE)
        return ((const double *)forest->thresholds)[a] ==
               ((const double *)forest->thresholds)[b];
    return ((const float *)forest->thresholds)[a] ==
           ((const float *)forest->thresholds)[b];
}

/* A tree with 2^depth - 1 nodes is full; so only the questions of its levels are compared.
 * In preorder a node's level follows from the sizes of the subtrees: node i of a subtree of
 * depth d that begins at b is its root, or lies in one of two of depth d - 1. */
static bool is_oblivious_tree(
    const struct tn_forest *forest, const struct tn_tree *tree) {
    enum { DEEPEST = 20 };
    uint32_t model[DEEPEST]; /* the first node of each level: down the left side */
    if (tree->depth > DEEPEST || tree->n_nodes != (UINT32_C(1) << tree->depth) - 1)
        return false;
    for (uint32_t d = 0; d < tree->depth; d++)
        model[d] = tree->first_node + d;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        uint32_t at = i, level = 0, half = tree->n_nodes / 2;
        while (at != 0) {
            at = at - 1 < half ? at - 1 : at - 1 - half;
            half /= 2;
            level++;
        }
        if (!same_question(forest, tree->first_node + i, model[level])) return false;
    }
    return true;
}

static bool is_oblivious(const struct tn_forest *forest) {
    if (forest->flags & TN_FOREST_DAG) return false;
    for (uint32_t t = 0; t < forest->n_trees; t++)
        if (!is_oblivious_tree(forest, &forest->trees[t])) return false;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------ */

static tn_status compile(struct tn_forest_maker *maker) {
    struct tn_forest *forest = maker->forest;
    if (maker->rules.wide) forest->flags |= TN_FOREST_WIDE;
    TN_TRY(tn__columns_begin(maker));
    TN_TRY(walk_all(maker));
    TN_TRY(tn__columns_end(maker));
    TN_TRY(tn__leaves_make(maker));
    if (is_oblivious(forest)) forest->flags |= TN_FOREST_OBLIVIOUS;
    return TN_OK;
}

tn_status tn__forest_compile(const struct tn_host *host, struct tn_tree_source *source,
    int32_t input, uint32_t aggregate, struct tn_forest **out, struct tn_diag *diag) {
    struct tn_forest_owner *owner = host->alloc(host->self, sizeof *owner, 0, "trees");
    if (!owner) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a tree ensemble");
    memset(owner, 0, sizeof *owner);
    owner->blocks.host = host;
    owner->forest.aggregate = aggregate;
    owner->forest.n_outputs = source->n_targets;
    struct tn_forest_maker maker = {.source = source,
        .rules = tn__question_rules(input, source->thresholds.dtype),
        .forest = &owner->forest,
        .blocks = &owner->blocks,
        .temp = {.host = host},
        .diag = diag};
    tn_status status = compile(&maker);
    tn__blocks_free(&maker.temp);
    if (status == TN_OUT_OF_MEMORY)
        status = tn_fail(
            diag, status, "no memory for a tree ensemble of %u nodes", source->n_nodes);
    if (status != TN_OK)
        tn__forest_destroy(&owner->forest);
    else
        *out = &owner->forest;
    return status;
}

void tn__forest_destroy(struct tn_forest *forest) {
    struct tn_forest_owner *owner = (struct tn_forest_owner *)forest;
    if (!owner) return;
    const struct tn_host *host = owner->blocks.host;
    tn__blocks_free(&owner->blocks);
    host->free(host->self, owner);
}

void tn__forest_drop_nodes(struct tn_forest *forest) {
    tn__blocks_release(forest->columns_of);
    tn__blocks_release(forest->thresholds);
    tn__blocks_release(forest->children);
    forest->columns_of = NULL;
    forest->thresholds = NULL;
    forest->children = NULL;
}
