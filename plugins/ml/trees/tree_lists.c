/* Reading of the older operators' lists: see tree_lists.h. Nodes are named by (tree id, node
 * id). Files of every known writer list each tree's nodes together under rising ids, which is
 * recognised and costs nothing; other orders are sorted once. */
#include "trees/tree_lists.h"

#include <stdlib.h>

/* ---- names of nodes ------------------------------------------------------------------- */

struct key {
    int64_t tree, node;
    uint32_t index;
};

/* A stretch of nodes of one tree whose ids rise by one. */
struct run {
    int64_t tree, first_id;
    uint32_t first, end;
};

struct names {
    const int64_t *treeids, *nodeids;
    uint32_t n;
    struct run *runs;      /* by tree id; NULL when the keys are needed */
    uint32_t n_runs, last; /* last: the run that was asked for before */
    struct key *keys;      /* by tree, then node id */
};

static int by_tree(const void *a, const void *b) {
    const struct run *x = a, *y = b;
    return (x->tree > y->tree) - (x->tree < y->tree);
}

static int by_key(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Whether each tree is one run: then runs (with room for every tree) has them by tree id. */
static bool find_runs(struct names *names) {
    for (uint32_t i = 0; i < names->n; i++) {
        struct run *run = names->n_runs ? &names->runs[names->n_runs - 1] : NULL;
        if (run && run->tree == names->treeids[i]) {
            if (names->nodeids[i - 1] == INT64_MAX ||
                names->nodeids[i] != names->nodeids[i - 1] + 1)
                return false;
            run->end = i + 1;
        } else {
            names->runs[names->n_runs++] =
                (struct run){names->treeids[i], names->nodeids[i], i, i + 1};
        }
    }
    qsort(names->runs, names->n_runs, sizeof *names->runs, by_tree);
    for (uint32_t r = 1; r < names->n_runs; r++)
        if (names->runs[r].tree == names->runs[r - 1].tree) return false;
    return true;
}

static tn_status sort_keys(
    struct names *names, struct tn_blocks *blocks, struct tn_diag *diag) {
    names->keys = tn__blocks_array(blocks, names->n, sizeof *names->keys, 0);
    if (!names->keys)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u tree nodes", names->n);
    for (uint32_t i = 0; i < names->n; i++)
        names->keys[i] = (struct key){names->treeids[i], names->nodeids[i], i};
    qsort(names->keys, names->n, sizeof *names->keys, by_key);
    for (uint32_t i = 1; i < names->n; i++)
        if (by_key(&names->keys[i], &names->keys[i - 1]) == 0)
            return tn_fail(diag, TN_INVALID_MODEL,
                "nodes_nodeids: tree %lld has node %lld twice, expected distinct ids",
                (long long)names->keys[i].tree, (long long)names->keys[i].node);
    return TN_OK;
}

static uint32_t count_changes(const int64_t *values, uint32_t n) {
    uint32_t changes = n > 0;
    for (uint32_t i = 1; i < n; i++)
        changes += values[i] != values[i - 1];
    return changes;
}

static tn_status find_names(struct names *names, const struct tn_tree_lists *lists,
    struct tn_blocks *blocks, struct tn_diag *diag) {
    *names = (struct names){lists->treeids.v, lists->nodeids.v, lists->treeids.n};
    uint32_t room = count_changes(names->treeids, names->n);
    names->runs = tn__blocks_array(blocks, room, sizeof *names->runs, 0);
    if (!names->runs)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u trees", room);
    if (find_runs(names)) return TN_OK;
    tn__blocks_release(names->runs);
    names->runs = NULL;
    return sort_keys(names, blocks, diag);
}

/* Index of a node, UINT32_MAX when there is none. */
static uint32_t find_in_runs(struct names *names, int64_t tree, int64_t node) {
    if (names->runs[names->last].tree != tree) {
        uint32_t low = 0, high = names->n_runs;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (names->runs[middle].tree < tree)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == names->n_runs || names->runs[low].tree != tree) return UINT32_MAX;
        names->last = low;
    }
    const struct run *run = &names->runs[names->last];
    if (node < run->first_id) return UINT32_MAX;
    uint64_t offset = (uint64_t)node - (uint64_t)run->first_id;
    return offset < run->end - run->first ? run->first + (uint32_t)offset : UINT32_MAX;
}

static uint32_t find_node(struct names *names, int64_t tree, int64_t node) {
    if (names->runs) return find_in_runs(names, tree, node);
    const struct key key = {tree, node, 0};
    const struct key *found = bsearch(&key, names->keys, names->n, sizeof key, by_key);
    return found ? found->index : UINT32_MAX;
}

/* The first listed node of each tree, in the order of the list. */
static tn_status find_roots(
    const struct names *names, struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = names->n_runs;
    if (!names->runs) {
        n = names->n > 0;
        for (uint32_t i = 1; i < names->n; i++)
            n += names->keys[i].tree != names->keys[i - 1].tree;
    }
    uint32_t *roots = tn__blocks_array(&out->blocks, n, sizeof *roots, 0), k = 0;
    if (!roots) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u trees", n);
    for (uint32_t r = 0; names->runs && r < n; r++)
        roots[k++] = names->runs[r].first;
    for (uint32_t i = 0; !names->runs && i < names->n; i++) {
        const struct key *key = &names->keys[i];
        if (i == 0 || key->tree != key[-1].tree) roots[k++] = key->index;
        if (key->index < roots[k - 1]) roots[k - 1] = key->index;
    }
    qsort(roots, n, sizeof *roots, by_number);
    for (uint32_t r = 0; r < n; r++)
        if (out->modes[roots[r]] == TN_MODE_LEAF) roots[r] |= TN_LEAF_BIT;
    out->roots = roots;
    out->n_roots = n;
    return TN_OK;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static tn_status check_length(
    const char *name, uint64_t n, uint32_t expected, struct tn_diag *diag) {
    if (n == expected) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "%s has %llu elements, expected %u, as many as nodes_treeids", name,
        (unsigned long long)n, expected);
}

static tn_status check_lengths(const struct tn_tree_lists *lists, struct tn_diag *diag) {
    uint32_t n = lists->treeids.n;
    if (n == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "nodes_treeids is empty, expected one element for each node of the trees");
    if (n >= TN_LEAF_BIT)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "nodes_treeids has %u elements, at most %u are supported", n,
            TN_LEAF_BIT - 1);
    TN_TRY(check_length("nodes_nodeids", lists->nodeids.n, n, diag));
    TN_TRY(check_length("nodes_featureids", lists->featureids.n, n, diag));
    TN_TRY(check_length("nodes_modes", lists->modes.n, n, diag));
    TN_TRY(check_length("nodes_values", lists->values.n, n, diag));
    TN_TRY(check_length("nodes_truenodeids", lists->truenodeids.n, n, diag));
    TN_TRY(check_length("nodes_falsenodeids", lists->falsenodeids.n, n, diag));
    if (lists->tracks_true.n)
        TN_TRY(check_length(
            "nodes_missing_value_tracks_true", lists->tracks_true.n, n, diag));
    return TN_OK;
}

static const struct {
    const char *name;
    uint32_t length;
} mode_names[] = {
    [TN_MODE_LEQ] = {"BRANCH_LEQ", 10},
    [TN_MODE_LT] = {"BRANCH_LT", 9},
    [TN_MODE_GTE] = {"BRANCH_GTE", 10},
    [TN_MODE_GT] = {"BRANCH_GT", 9},
    [TN_MODE_EQ] = {"BRANCH_EQ", 9},
    [TN_MODE_NEQ] = {"BRANCH_NEQ", 10},
    [TN_MODE_MEMBER] = {"", UINT32_MAX}, /* TreeEnsemble's only */
    [TN_MODE_LEAF] = {"LEAF", 4},
};

static uint32_t find_mode(struct tn_string text) {
    for (uint32_t m = 0; m <= TN_MODE_LEAF; m++)
        if (text.size == mode_names[m].length &&
            memcmp(text.data, mode_names[m].name, text.size) == 0)
            return m;
    return UINT32_MAX;
}

static tn_status read_modes(
    const struct tn_tree_lists *lists, struct tn_tree_source *out, struct tn_diag *diag) {
    uint8_t *modes = tn__blocks_array(&out->blocks, out->n_nodes, 1, 0);
    if (!modes)
        return tn_fail(
            diag, TN_OUT_OF_MEMORY, "no memory for %u tree nodes", out->n_nodes);
    for (uint32_t i = 0; i < out->n_nodes; i++) {
        struct tn_string text = lists->modes.v[i];
        /* neighbours are alike: leaves among nodes of one mode */
        uint32_t mode =
            i && text.size == lists->modes.v[i - 1].size &&
                    memcmp(text.data, lists->modes.v[i - 1].data, text.size) == 0
                ? modes[i - 1]
                : find_mode(text);
        if (mode == UINT32_MAX)
            return tn_fail(diag, TN_INVALID_MODEL,
                "nodes_modes[%u] of node %lld in tree %lld is '%.*s', expected LEAF, "
                "BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ or BRANCH_NEQ",
                i, (long long)lists->nodeids.v[i], (long long)lists->treeids.v[i],
                (int)(text.size < 40 ? text.size : 40), text.data ? text.data : "");
        modes[i] = (uint8_t)mode;
    }
    out->modes = modes;
    out->nan_true = lists->tracks_true.n ? lists->tracks_true.v : NULL;
    return TN_OK;
}

static tn_status read_child(const struct tn_tree_lists *lists, struct names *names,
    struct tn_tree_source *out, uint32_t i, uint32_t side, struct tn_diag *diag) {
    int64_t id = side ? lists->falsenodeids.v[i] : lists->truenodeids.v[i];
    uint32_t child = find_node(names, lists->treeids.v[i], id);
    if (child == UINT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s[%u] of node %lld in tree %lld is %lld, which is no node of that tree",
            side ? "nodes_falsenodeids" : "nodes_truenodeids", i,
            (long long)lists->nodeids.v[i], (long long)lists->treeids.v[i],
            (long long)id);
    out->children[i][side] =
        out->modes[child] == TN_MODE_LEAF ? child | TN_LEAF_BIT : child;
    return TN_OK;
}

static tn_status read_nodes(const struct tn_tree_lists *lists, struct names *names,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = out->n_nodes;
    out->children = tn__blocks_array(&out->blocks, n, sizeof *out->children, 0);
    if (!out->children)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u tree nodes", n);
    for (uint32_t i = 0; i < n; i++) {
        if (out->modes[i] == TN_MODE_LEAF) continue;
        int64_t feature = lists->featureids.v[i];
        if (feature < 0 || feature >= TN_TREE_FEATURES)
            return tn_fail(diag, TN_INVALID_MODEL,
                "nodes_featureids[%u] of node %lld in tree %lld is %lld, expected 0 to "
                "%d",
                i, (long long)lists->nodeids.v[i], (long long)lists->treeids.v[i],
                (long long)feature, TN_TREE_FEATURES - 1);
        TN_TRY(read_child(lists, names, out, i, 0, diag));
        TN_TRY(read_child(lists, names, out, i, 1, diag));
    }
    out->features = lists->featureids.v;
    out->thresholds = lists->values;
    return TN_OK;
}

/* ---- votes ---------------------------------------------------------------------------- */

static tn_status check_votes(const struct tn_tree_lists *lists, struct tn_diag *diag) {
    const struct {
        const char *name;
        uint64_t n;
    } rows[] = {{"nodeids", lists->vote_nodeids.n}, {"ids", lists->vote_ids.n},
        {"weights", lists->weights.n}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n != lists->vote_treeids.n)
            return tn_fail(diag, TN_INVALID_MODEL,
                "%s_%s has %llu elements, expected %u, as many as %s_treeids",
                lists->prefix, rows[i].name, (unsigned long long)rows[i].n,
                lists->vote_treeids.n, lists->prefix);
    return TN_OK;
}

/* The node of vote v, or the refusal that says what is wrong with it. */
static tn_status read_vote(const struct tn_tree_lists *lists, struct names *names,
    uint32_t v, uint32_t *out_node, struct tn_diag *diag) {
    int64_t tree = lists->vote_treeids.v[v], node = lists->vote_nodeids.v[v];
    int64_t id = lists->vote_ids.v[v];
    *out_node = find_node(names, tree, node);
    if (*out_node == UINT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s_nodeids[%u] is node %lld of tree %lld, which nodes_nodeids does not list",
            lists->prefix, v, (long long)node, (long long)tree);
    if (id < 0 || id >= lists->n_targets)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s_ids[%u] of node %lld in tree %lld is %lld, expected 0 to %lld",
            lists->prefix, v, (long long)node, (long long)tree, (long long)id,
            (long long)lists->n_targets - 1);
    return TN_OK;
}

/* Counts the votes of each leaf into begin[leaf + 2], which read_votes makes places of.
 * *out_sorted: all votes stand at leaves, in their order. */
static tn_status count_votes(const struct tn_tree_lists *lists, struct names *names,
    const struct tn_tree_source *out, uint32_t *begin, bool *out_sorted,
    struct tn_diag *diag) {
    uint32_t before = 0, node;
    *out_sorted = true;
    for (uint32_t v = 0; v < lists->vote_treeids.n; v++) {
        TN_TRY(read_vote(lists, names, v, &node, diag));
        bool leaf = out->modes[node] == TN_MODE_LEAF;
        *out_sorted = *out_sorted && leaf && node >= before;
        before = node;
        if (leaf) begin[node + 2]++;
    }
    return TN_OK;
}

/* Sorts the votes by leaf, those of a leaf in the order of the file. Weights that stand at
 * interior nodes, as some writers leave there, are dropped. */
static tn_status read_votes(const struct tn_tree_lists *lists, struct names *names,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = lists->vote_treeids.n, node, *of = NULL;
    bool sorted;
    uint32_t *begin =
        tn__blocks_array(&out->blocks, (uint64_t)out->n_nodes + 2, sizeof *begin, 1);
    if (!begin) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u leaves", n);
    TN_TRY(count_votes(lists, names, out, begin, &sorted, diag));
    for (uint32_t i = 2; i < out->n_nodes + 2; i++)
        begin[i] += begin[i - 1];
    if (!sorted) of = tn__blocks_array(&out->blocks, n, sizeof *of, 0);
    if (!sorted && !of)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u votes of leaves", n);
    for (uint32_t v = 0; of && v < n; v++) {
        TN_TRY(read_vote(lists, names, v, &node, diag));
        if (out->modes[node] == TN_MODE_LEAF) of[begin[node + 1]++] = v;
    }
    /* where sorting has moved each place one leaf on, nothing has without it */
    out->votes_begin = of ? begin : begin + 1;
    out->vote_of = of;
    out->vote_targets = lists->vote_ids.v;
    out->weights = lists->weights;
    out->n_leaves = out->n_nodes;
    out->leaves_are_nodes = true;
    return TN_OK;
}

static tn_status read_all(
    const struct tn_tree_lists *lists, struct tn_tree_source *out, struct tn_diag *diag) {
    struct names names;
    TN_TRY(check_lengths(lists, diag));
    TN_TRY(check_votes(lists, diag));
    out->n_nodes = lists->treeids.n;
    out->n_targets = lists->n_targets;
    out->treeids = lists->treeids.v;
    out->nodeids = lists->nodeids.v;
    TN_TRY(find_names(&names, lists, &out->blocks, diag));
    TN_TRY(read_modes(lists, out, diag));
    TN_TRY(find_roots(&names, out, diag));
    TN_TRY(read_nodes(lists, &names, out, diag));
    TN_TRY(read_votes(lists, &names, out, diag));
    tn__blocks_release(names.runs ? (void *)names.runs : (void *)names.keys);
    return TN_OK;
}

tn_status tn__tree_lists_read(const struct tn_host *host,
    const struct tn_tree_lists *lists, struct tn_tree_source *out, struct tn_diag *diag) {
    memset(out, 0, sizeof *out);
    out->blocks.host = host;
    tn_status status = read_all(lists, out, diag);
    if (status != TN_OK) tn__tree_source_free(out);
    return status;
}
