/* The leaves of a forest: one number each when every tree serves one target, rows when they
 * are mostly full, lists of votes otherwise. */
#include "trees/forest_impl.h"

/* The votes of a leaf: [*begin, *end) of vote_of. */
static void votes_of(
    const struct tn_tree_source *source, uint32_t leaf, uint32_t *begin, uint32_t *end) {
    *begin = source->votes_begin ? source->votes_begin[leaf] : leaf;
    *end = source->votes_begin ? source->votes_begin[leaf + 1] : leaf + 1;
}

static uint32_t vote_at(const struct tn_tree_source *source, uint32_t k) {
    return source->votes_begin && source->vote_of ? source->vote_of[k] : k;
}

/* Whether each leaf of a tree has at most one vote, all for one target: then that is the
 * tree's. */
static bool has_one_target(const struct tn_forest_maker *m, struct tn_tree *tree) {
    const struct tn_tree_source *source = m->source;
    bool any = false;
    for (uint32_t i = 0; i < tree->n_leaves; i++) {
        uint32_t begin, end;
        votes_of(source, m->leaf_of[tree->first_leaf + i], &begin, &end);
        if (begin == end) continue;
        uint32_t target = (uint32_t)source->vote_targets[vote_at(source, begin)];
        if (end - begin > 1 || (any && target != tree->target)) return false;
        tree->target = target;
        any = true;
    }
    return true;
}

static uint64_t count_votes(const struct tn_forest_maker *m) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->forest->n_leaves; i++) {
        uint32_t begin, end;
        votes_of(m->source, m->leaf_of[i], &begin, &end);
        n += end - begin;
    }
    return n;
}

/* Whether no leaf votes twice for a target: two votes are two additions, not one. */
static bool votes_are_distinct(struct tn_forest_maker *m) {
    const struct tn_tree_source *source = m->source;
    uint32_t *last = tn__blocks_array(&m->temp, source->n_targets, sizeof *last, 1);
    bool distinct = last != NULL;
    for (uint32_t i = 0; distinct && i < m->forest->n_leaves; i++) {
        uint32_t begin, end;
        votes_of(source, m->leaf_of[i], &begin, &end);
        for (uint32_t k = begin; distinct && k < end; k++) {
            int64_t target = source->vote_targets[vote_at(source, k)];
            distinct = last[target] != i + 1;
            last[target] = i + 1;
        }
    }
    tn__blocks_release(last);
    return distinct;
}

static uint32_t choose_form(struct tn_forest_maker *m, uint64_t n_votes) {
    const struct tn_forest *forest = m->forest;
    bool one = true;
    if (forest->aggregate != TN_AGGREGATE_SUM) return TN_LEAVES_LIST;
    /* a shared leaf lies in one tree's range only */
    for (uint32_t t = 0; one && t < forest->n_trees; t++)
        one = !(forest->flags & TN_FOREST_SHARED) && has_one_target(m, &m->trees[t]);
    if (one) return TN_LEAVES_ONE;
    uint64_t cells = (uint64_t)forest->n_leaves * forest->n_outputs; /* each < 2^32 */
    if (cells > 3 * n_votes + 4096) return TN_LEAVES_LIST;
    return votes_are_distinct(m) ? TN_LEAVES_ROW : TN_LEAVES_LIST;
}

static void store(struct tn_forest *forest, void *values, uint64_t at, double value) {
    if (forest->flags & TN_FOREST_WIDE_SUM)
        ((double *)values)[at] = value;
    else
        ((float *)values)[at] = (float)value;
}

static tn_status make_list(struct tn_forest_maker *m, uint64_t n_votes) {
    struct tn_forest *forest = m->forest;
    uint32_t *begins = tn__blocks_array(m->blocks, (uint64_t)forest->n_leaves + 1, 4, 0);
    uint32_t *targets = tn__blocks_array(m->blocks, n_votes, 4, 0);
    if (!begins || !targets) return TN_OUT_OF_MEMORY;
    forest->votes_begin = begins;
    forest->vote_targets = targets;
    uint32_t n = 0;
    for (uint32_t i = 0; i < forest->n_leaves; i++) {
        uint32_t begin, end;
        begins[i] = n;
        votes_of(m->source, m->leaf_of[i], &begin, &end);
        for (uint32_t k = begin; k < end; k++)
            targets[n++] = (uint32_t)m->source->vote_targets[vote_at(m->source, k)];
    }
    begins[forest->n_leaves] = n;
    return TN_OK;
}

static void copy_numbers(struct tn_forest_maker *m, void *values) {
    struct tn_forest *forest = m->forest;
    const struct tn_tree_source *source = m->source;
    uint64_t n = 0;
    for (uint32_t i = 0; i < forest->n_leaves; i++) {
        uint32_t begin, end;
        votes_of(source, m->leaf_of[i], &begin, &end);
        for (uint32_t k = begin; k < end; k++) {
            uint32_t vote = vote_at(source, k);
            uint64_t at = n++;
            if (forest->leaf_form == TN_LEAVES_ONE) at = i;
            if (forest->leaf_form == TN_LEAVES_ROW)
                at = (uint64_t)i * forest->n_outputs +
                     (uint64_t)source->vote_targets[vote];
            store(forest, values, at, tn__reals_get(&source->weights, vote));
        }
    }
}

tn_status tn__leaves_make(struct tn_forest_maker *m) {
    struct tn_forest *forest = m->forest;
    uint64_t n_votes = count_votes(m), cells = forest->n_leaves;
    if (n_votes > UINT32_MAX)
        return tn_fail(
            m->diag, TN_LIMIT_EXCEEDED, "the leaves have more than 2^32 votes");
    if (m->source->weights.dtype == TN_DOUBLE) forest->flags |= TN_FOREST_WIDE_SUM;
    forest->leaf_form = choose_form(m, n_votes);
    if (forest->leaf_form == TN_LEAVES_ROW) cells *= forest->n_outputs;
    if (forest->leaf_form == TN_LEAVES_LIST) {
        cells = n_votes;
        TN_TRY(make_list(m, n_votes));
    }
    void *values =
        tn__blocks_array(m->blocks, cells, forest->flags & TN_FOREST_WIDE_SUM ? 8 : 4, 1);
    if (!values) return TN_OUT_OF_MEMORY;
    copy_numbers(m, values);
    forest->leaf_values = values;
    return TN_OK;
}
