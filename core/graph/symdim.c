/* Symbolic dimensions: integers that are not known yet, with arithmetic that recognises
 * equal expressions.
 *
 * A symbol is an atom (a name of the model, or a nameless size), a sum of products of
 * atoms in canonical order, or an interned operation that does not simplify (floor
 * division, minimum, maximum), which then serves as an atom of others. Everything is
 * interned: equal expressions have equal numbers. Sizes of expressions are bounded, and
 * what exceeds a bound is TN_DIM_UNKNOWN. */
#include "core/graph/graph.h"
#include "tenon/op.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_TERMS = 12,
    MAX_DEGREE = 6,
    MAX_DEPTH = 64, /* operations within operations; bounds recursion below */
    MAX_SYMBOLS = 1 << 20,
    MAX_KEY = MAX_TERMS * (24 + MAX_DEGREE * 9) + 32,
    MAX_TEXT = 256
};

enum { ATOM, SUM, OPERATION };

struct term {
    int64_t coef;
    uint32_t degree;
    uint32_t atoms[MAX_DEGREE]; /* ascending; an atom may repeat */
};

struct poly {
    int64_t constant;
    uint32_t n;
    struct term terms[MAX_TERMS]; /* in the order of compare_terms, no zero coef */
};

struct entry {
    uint32_t kind;
    uint32_t depth; /* of operations below, 0 for an atom */
    uint32_t op;    /* OPERATION: TN_DIM_DIV, _MIN or _MAX of a and b */
    bool nonneg;    /* never negative when its atoms are sizes */
    int64_t a, b;
    int64_t constant; /* SUM */
    uint32_t n_terms;
    const struct term *terms;
    const char *name; /* ATOM, NULL for a nameless one */
    const char *text; /* printed form, made when first asked for */
    int64_t bound;    /* -1 while open */
    int64_t resolved; /* what it came to … */
    uint32_t stamp;   /* … when so many sizes were bound */
};

struct tn__symbols {
    struct tn_arena *arena;
    struct entry *entries;
    uint32_t n, cap;
    uint32_t n_bound;
    struct tn_str_map names;       /* name → index */
    struct tn_str_map expressions; /* canonical key → index */
};

/* ---- numbers and entries --------------------------------------------------------------
 */

static bool is_number(int64_t dim) {
    return dim > TN_DIM_SYMBOL_MAX;
}

static int64_t to_dim(uint32_t index) {
    return TN_DIM_SYMBOL_MAX - (int64_t)index;
}

/* Entry of a symbol, NULL for numbers and unknowns. */
static struct entry *entry_of(const struct tn__symbols *s, int64_t dim) {
    if (is_number(dim) || !s) return NULL;
    uint64_t index = (uint64_t)TN_DIM_SYMBOL_MAX - (uint64_t)dim;
    return index < s->n ? &s->entries[index] : NULL;
}

/* The interval that numbers may take, so that none looks like a symbol. */
static int64_t number(int64_t value) {
    return is_number(value) ? value : TN_DIM_UNKNOWN;
}

static int64_t add_entry(struct tn__symbols *s, const struct entry *entry) {
    if (s->n >= MAX_SYMBOLS || entry->depth > MAX_DEPTH ||
        !tn__arena_grow(
            s->arena, (void **)&s->entries, &s->cap, s->n + 1, sizeof *s->entries))
        return TN_DIM_UNKNOWN;
    s->entries[s->n] = *entry;
    s->entries[s->n].bound = -1;
    return to_dim(s->n++);
}

/* The entry of a canonical key, made from `entry` when it is new. */
static int64_t intern(struct tn__symbols *s, const char *key, const struct entry *entry) {
    uint32_t found = tn__map_get(&s->expressions, key);
    if (found != UINT32_MAX) return to_dim(found);
    char *copy = tn__arena_string(s->arena, key, strlen(key));
    if (!copy) return TN_DIM_UNKNOWN;
    int64_t dim = add_entry(s, entry);
    if (dim == TN_DIM_UNKNOWN) return dim;
    return tn__map_put(&s->expressions, copy, s->n - 1) ? dim : TN_DIM_UNKNOWN;
}

struct tn__symbols *tn__symbols_create(struct tn_arena *arena) {
    struct tn__symbols *s = tn__arena_alloc(arena, sizeof *s);
    if (s) s->arena = arena;
    return s;
}

void tn__symbols_destroy(struct tn__symbols *symbols) {
    if (!symbols) return;
    tn__map_clear(&symbols->names);
    tn__map_clear(&symbols->expressions);
}

uint32_t tn__symbols_count(const struct tn__symbols *symbols) {
    return symbols->n;
}

int64_t tn__symbol_find(const struct tn__symbols *symbols, const char *name) {
    uint32_t found = tn__map_get(&symbols->names, name);
    return found == UINT32_MAX ? TN_DIM_UNKNOWN : to_dim(found);
}

const char *tn__symbol_name(const struct tn__symbols *symbols, uint32_t index) {
    return index < symbols->n ? symbols->entries[index].name : NULL;
}

int64_t tn__symbol_named(struct tn__symbols *symbols, const char *name) {
    int64_t found = tn__symbol_find(symbols, name);
    if (found != TN_DIM_UNKNOWN) return found;
    char *copy = tn__arena_string(symbols->arena, name, strlen(name));
    if (!copy) return TN_DIM_UNKNOWN;
    struct entry atom = {.kind = ATOM, .nonneg = true, .name = copy, .text = copy};
    int64_t dim = add_entry(symbols, &atom);
    if (dim == TN_DIM_UNKNOWN) return dim;
    return tn__map_put(&symbols->names, copy, symbols->n - 1) ? dim : TN_DIM_UNKNOWN;
}

int64_t tn__symbol_fresh(struct tn__symbols *symbols) {
    return add_entry(symbols, &(struct entry){.kind = ATOM, .nonneg = true});
}

/* ---- sums of products -----------------------------------------------------------------
 */

static int compare_terms(const struct term *x, const struct term *y) {
    if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
    for (uint32_t i = 0; i < x->degree; i++) {
        if (x->atoms[i] != y->atoms[i]) return x->atoms[i] < y->atoms[i] ? -1 : 1;
    }
    return 0;
}

/* False when nothing is known of dim. */
static bool to_poly(const struct tn__symbols *s, int64_t dim, struct poly *out) {
    const struct entry *e = entry_of(s, dim);
    out->constant = 0;
    out->n = 0;
    if (is_number(dim)) {
        out->constant = dim;
    } else if (!e) {
        return false;
    } else if (e->kind == SUM) {
        out->constant = e->constant;
        out->n = e->n_terms;
        memcpy(out->terms, e->terms, e->n_terms * sizeof *e->terms);
    } else {
        out->n = 1;
        out->terms[0] = (struct term){1, 1, {(uint32_t)(e - s->entries)}};
    }
    return true;
}

/* dst += factor * term; false on overflow or too many terms. */
static bool add_term(struct poly *dst, const struct term *term, int64_t factor) {
    int64_t coef;
    if (__builtin_mul_overflow(term->coef, factor, &coef)) return false;
    if (coef == 0) return true;
    uint32_t at = 0;
    int order = 1;
    while (at < dst->n && (order = compare_terms(&dst->terms[at], term)) < 0)
        at++;
    struct term *slot = &dst->terms[at];
    if (at < dst->n && order == 0) {
        if (__builtin_add_overflow(slot->coef, coef, &slot->coef)) return false;
        if (slot->coef != 0) return true;
        memmove(slot, slot + 1, (--dst->n - at) * sizeof *slot);
        return true;
    }
    if (dst->n == MAX_TERMS) return false;
    memmove(slot + 1, slot, (dst->n++ - at) * sizeof *slot);
    *slot = *term;
    slot->coef = coef;
    return true;
}

static bool add_poly(struct poly *dst, const struct poly *src, int64_t factor) {
    int64_t constant;
    if (__builtin_mul_overflow(src->constant, factor, &constant) ||
        __builtin_add_overflow(dst->constant, constant, &dst->constant))
        return false;
    for (uint32_t i = 0; i < src->n; i++) {
        if (!add_term(dst, &src->terms[i], factor)) return false;
    }
    return true;
}

static bool mul_terms(const struct term *x, const struct term *y, struct term *out) {
    if (x->degree + y->degree > MAX_DEGREE ||
        __builtin_mul_overflow(x->coef, y->coef, &out->coef))
        return false;
    uint32_t i = 0, j = 0, n = 0;
    while (i < x->degree || j < y->degree) {
        bool first = j == y->degree || (i < x->degree && x->atoms[i] <= y->atoms[j]);
        out->atoms[n++] = first ? x->atoms[i++] : y->atoms[j++];
    }
    out->degree = n;
    return true;
}

/* dst += src * term */
static bool add_product(
    struct poly *dst, const struct poly *src, const struct term *term) {
    struct term product;
    for (uint32_t i = 0; i < src->n; i++) {
        if (!mul_terms(&src->terms[i], term, &product) || !add_term(dst, &product, 1))
            return false;
    }
    return add_term(dst, term, src->constant);
}

static bool mul_poly(const struct poly *x, const struct poly *y, struct poly *out) {
    *out = (struct poly){0};
    for (uint32_t i = 0; i < y->n; i++) {
        if (!add_product(out, x, &y->terms[i])) return false;
    }
    return add_poly(out, x, y->constant);
}

/* Least value when every atom is at its least; false when there is none. */
static bool lower_bound(const struct tn__symbols *s, const struct poly *p, int64_t *out) {
    for (uint32_t i = 0; i < p->n; i++) {
        const struct term *t = &p->terms[i];
        if (t->coef < 0) return false;
        for (uint32_t k = 0; k < t->degree; k++) {
            if (!s->entries[t->atoms[k]].nonneg) return false;
        }
    }
    *out = p->constant;
    return true;
}

static bool is_nonneg(const struct tn__symbols *s, int64_t dim) {
    const struct entry *e = entry_of(s, dim);
    return e ? e->nonneg : dim >= 0;
}

static void write_key(const struct poly *p, char *key) {
    int used = snprintf(key, MAX_KEY, "%lld", (long long)p->constant);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct term *t = &p->terms[i];
        used += snprintf(key + used, MAX_KEY - (size_t)used, "|%lld", (long long)t->coef);
        for (uint32_t k = 0; k < t->degree; k++)
            used += snprintf(
                key + used, MAX_KEY - (size_t)used, ".%x", (unsigned)t->atoms[k]);
    }
}

static int64_t from_poly(struct tn__symbols *s, const struct poly *p) {
    if (p->n == 0) return number(p->constant);
    const struct term *lead = &p->terms[0];
    if (p->n == 1 && p->constant == 0 && lead->coef == 1 && lead->degree == 1)
        return to_dim(lead->atoms[0]);
    char key[MAX_KEY];
    write_key(p, key);
    uint32_t found = tn__map_get(&s->expressions, key);
    if (found != UINT32_MAX) return to_dim(found);
    int64_t least;
    struct entry sum = {.kind = SUM, .constant = p->constant, .n_terms = p->n};
    sum.nonneg = lower_bound(s, p, &least) && least >= 0;
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            uint32_t depth = s->entries[p->terms[i].atoms[k]].depth;
            if (depth > sum.depth) sum.depth = depth;
        }
    }
    sum.terms = tn__arena_copy(s->arena, p->terms, p->n * sizeof *p->terms);
    return sum.terms ? intern(s, key, &sum) : TN_DIM_UNKNOWN;
}

/* ---- operations that stay -------------------------------------------------------------
 */

static int64_t keep_op(struct tn__symbols *s, uint32_t op, int64_t a, int64_t b) {
    if (a == TN_DIM_UNKNOWN || b == TN_DIM_UNKNOWN) return TN_DIM_UNKNOWN;
    char key[80];
    snprintf(key, sizeof key, "op%u,%lld,%lld", op, (long long)a, (long long)b);
    const struct entry *ea = entry_of(s, a), *eb = entry_of(s, b);
    uint32_t depth_a = ea ? ea->depth : 0, depth_b = eb ? eb->depth : 0;
    bool na = is_nonneg(s, a), nb = is_nonneg(s, b);
    struct entry e = {.kind = OPERATION, .op = op, .a = a, .b = b};
    e.depth = 1 + (depth_a > depth_b ? depth_a : depth_b);
    e.nonneg = op == TN_DIM_MAX ? na || nb : na && nb;
    return intern(s, key, &e);
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int64_t gcd(int64_t a, int64_t b) {
    uint64_t x = magnitude(a), y = magnitude(b);
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return (int64_t)x;
}

static int64_t divide(struct tn__symbols *s, int64_t a, int64_t b);

/* floor(rest / c) where every coefficient of rest lies in [0, c): drops common factors
 * and folds floor((floor(x / k) + d) / c) into floor((x + k d) / (k c)). */
static int64_t divide_rest(struct tn__symbols *s, struct poly *rest, int64_t c) {
    int64_t common = c;
    for (uint32_t i = 0; i < rest->n; i++)
        common = gcd(common, rest->terms[i].coef);
    for (uint32_t i = 0; i < rest->n; i++)
        rest->terms[i].coef /= common;
    rest->constant = floor_div(rest->constant, common);
    c /= common;
    if (c == 1) return from_poly(s, rest);
    const struct term *t = &rest->terms[0];
    if (rest->n == 1 && t->coef == 1 && t->degree == 1) {
        const struct entry *e = &s->entries[t->atoms[0]];
        int64_t product;
        if (e->kind == OPERATION && e->op == TN_DIM_DIV && is_number(e->b) && e->b > 0 &&
            !__builtin_mul_overflow(e->b, c, &product)) {
            int64_t inner = e->a;
            int64_t shift = tn__symbol_op(s, TN_DIM_MUL, e->b, rest->constant);
            return divide(s, tn__symbol_op(s, TN_DIM_ADD, inner, shift), number(product));
        }
    }
    return keep_op(s, TN_DIM_DIV, from_poly(s, rest), c);
}

static int64_t divide_by_number(struct tn__symbols *s, const struct poly *a, int64_t c) {
    if (c == 0 || c == INT64_MIN) return TN_DIM_UNKNOWN;
    struct poly whole = {0}, rest = {0};
    struct poly negated = {0};
    if (c < 0) {
        if (!add_poly(&negated, a, -1)) return TN_DIM_UNKNOWN;
        return divide_by_number(s, &negated, -c);
    }
    whole.constant = floor_div(a->constant, c);
    rest.constant = a->constant - whole.constant * c;
    for (uint32_t i = 0; i < a->n; i++) {
        struct term t = a->terms[i];
        int64_t q = floor_div(t.coef, c), r = t.coef - q * c;
        t.coef = q;
        if (!add_term(&whole, &t, 1)) return TN_DIM_UNKNOWN;
        t.coef = r;
        if (!add_term(&rest, &t, 1)) return TN_DIM_UNKNOWN;
    }
    int64_t quotient = from_poly(s, &whole);
    if (rest.n == 0) return quotient;
    return tn__symbol_op(s, TN_DIM_ADD, quotient, divide_rest(s, &rest, c));
}

/* *out = x / y when the product is exact. */
static bool divide_terms(const struct term *x, const struct term *y, struct term *out) {
    if (y->coef == 0 || y->coef == -1 || x->coef % y->coef) return false;
    *out = (struct term){.coef = x->coef / y->coef};
    uint32_t j = 0;
    for (uint32_t i = 0; i < x->degree; i++) {
        if (j < y->degree && x->atoms[i] == y->atoms[j])
            j++;
        else
            out->atoms[out->degree++] = x->atoms[i];
    }
    return j == y->degree;
}

/* a = b * product for one product of atoms: that, else the operation. */
static int64_t divide_by_symbol(
    struct tn__symbols *s, const struct poly *a, const struct poly *b) {
    struct term factor;
    struct poly whole = {0}, rest = *a;
    bool single = b->n == 1 && b->constant == 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!divide_terms(&a->terms[i], &b->terms[0], &factor)) continue;
        struct poly product = {0}, left = rest;
        if (factor.degree == 0) {
            if (!add_poly(&product, b, factor.coef)) continue;
        } else if (!add_product(&product, b, &factor)) {
            continue;
        }
        if (!add_poly(&left, &product, -1)) continue;
        if (!single && (left.n || left.constant)) continue;
        rest = left;
        if (factor.degree == 0)
            whole.constant += factor.coef;
        else if (!add_term(&whole, &factor, 1))
            return TN_DIM_UNKNOWN;
        if (rest.n == 0 && rest.constant == 0) break;
    }
    int64_t quotient = from_poly(s, &whole);
    if (rest.n == 0 && rest.constant == 0) return quotient;
    int64_t kept = keep_op(s, TN_DIM_DIV, from_poly(s, &rest), from_poly(s, b));
    return tn__symbol_op(s, TN_DIM_ADD, quotient, kept);
}

static int64_t divide(struct tn__symbols *s, int64_t a, int64_t b) {
    struct poly x, y;
    if (!to_poly(s, a, &x) || !to_poly(s, b, &y)) return TN_DIM_UNKNOWN;
    return y.n == 0 ? divide_by_number(s, &x, y.constant) : divide_by_symbol(s, &x, &y);
}

static int64_t ceil_divide(struct tn__symbols *s, int64_t a, int64_t b) {
    if (is_number(b) && b > 0)
        return divide(s, tn__symbol_op(s, TN_DIM_ADD, a, b - 1), b);
    int64_t negated = tn__symbol_op(s, TN_DIM_SUB, 0, a);
    return tn__symbol_op(s, TN_DIM_SUB, 0, divide(s, negated, b));
}

static int64_t pick(struct tn__symbols *s, uint32_t op, int64_t a, int64_t b) {
    bool want_max = op == TN_DIM_MAX;
    struct poly x, y, forth, back;
    int64_t least;
    if (!to_poly(s, a, &x) || !to_poly(s, b, &y)) return TN_DIM_UNKNOWN;
    if (a == b) return a;
    /* the ends of slices: as good as infinite */
    if (is_number(a) && a >= -TN_DIM_SYMBOL_MAX) return want_max ? a : b;
    if (is_number(b) && b >= -TN_DIM_SYMBOL_MAX) return want_max ? b : a;
    forth = x;
    back = y;
    if (add_poly(&forth, &y, -1) && lower_bound(s, &forth, &least) && least >= 0)
        return want_max ? a : b;
    if (add_poly(&back, &x, -1) && lower_bound(s, &back, &least) && least >= 0)
        return want_max ? b : a;
    return a < b ? keep_op(s, op, a, b) : keep_op(s, op, b, a);
}

/* Both are numbers: most of all dimensions. */
static int64_t compute(uint32_t op, int64_t a, int64_t b) {
    int64_t r = 0;
    bool divides = op == TN_DIM_DIV || op == TN_DIM_CEIL_DIV || op == TN_DIM_MOD;
    if (divides && (b == 0 || (a == INT64_MIN && b == -1))) return TN_DIM_UNKNOWN;
    switch (op) {
    case TN_DIM_ADD: return __builtin_add_overflow(a, b, &r) ? TN_DIM_UNKNOWN : number(r);
    case TN_DIM_SUB: return __builtin_sub_overflow(a, b, &r) ? TN_DIM_UNKNOWN : number(r);
    case TN_DIM_MUL: return __builtin_mul_overflow(a, b, &r) ? TN_DIM_UNKNOWN : number(r);
    case TN_DIM_DIV: return floor_div(a, b);
    case TN_DIM_CEIL_DIV: return floor_div(a, b) + (a % b != 0);
    case TN_DIM_MIN: return a < b ? a : b;
    case TN_DIM_MAX: return a > b ? a : b;
    case TN_DIM_MOD: return a - floor_div(a, b) * b;
    default: return TN_DIM_UNKNOWN;
    }
}

int64_t tn__symbol_op(struct tn__symbols *symbols, uint32_t op, int64_t a, int64_t b) {
    struct poly x, y, product;
    if (is_number(a) && is_number(b)) return compute(op, a, b);
    if (!to_poly(symbols, a, &x) || !to_poly(symbols, b, &y)) return TN_DIM_UNKNOWN;
    switch (op) {
    case TN_DIM_ADD:
    case TN_DIM_SUB:
        if (!add_poly(&x, &y, op == TN_DIM_ADD ? 1 : -1)) return TN_DIM_UNKNOWN;
        return from_poly(symbols, &x);
    case TN_DIM_MUL:
        if (!mul_poly(&x, &y, &product)) return TN_DIM_UNKNOWN;
        return from_poly(symbols, &product);
    case TN_DIM_DIV: return divide(symbols, a, b);
    case TN_DIM_CEIL_DIV: return ceil_divide(symbols, a, b);
    case TN_DIM_MIN:
    case TN_DIM_MAX: return pick(symbols, op, a, b);
    case TN_DIM_MOD: {
        int64_t whole = tn__symbol_op(symbols, TN_DIM_MUL, divide(symbols, a, b), b);
        return tn__symbol_op(symbols, TN_DIM_SUB, a, whole);
    }
    default: return TN_DIM_UNKNOWN;
    }
}

/* ---- sizes ----------------------------------------------------------------------------
 */

bool tn__symbol_bind(struct tn__symbols *symbols, int64_t symbol, int64_t size) {
    int64_t now = tn__symbol_resolve(symbols, symbol);
    if (is_number(now)) return now == size;
    struct entry *e = entry_of(symbols, now);
    if (!e || size < 0) return false;
    e->bound = size;
    symbols->n_bound++;
    return true;
}

static int64_t resolve_sum(struct tn__symbols *s, uint32_t index) {
    int64_t sum = s->entries[index].constant;
    for (uint32_t i = 0; i < s->entries[index].n_terms; i++) {
        const struct term *t = &s->entries[index].terms[i];
        int64_t product = t->coef;
        for (uint32_t k = 0; k < t->degree; k++) {
            int64_t atom = tn__symbol_resolve(s, to_dim(t->atoms[k]));
            product = tn__symbol_op(s, TN_DIM_MUL, product, atom);
        }
        sum = tn__symbol_op(s, TN_DIM_ADD, sum, product);
    }
    return sum;
}

int64_t tn__symbol_resolve(struct tn__symbols *symbols, int64_t dim) {
    const struct entry *e = entry_of(symbols, dim);
    if (!e || symbols->n_bound == 0) return dim;
    if (e->bound >= 0) return e->bound;
    if (e->stamp == symbols->n_bound) return e->resolved;
    uint32_t index = (uint32_t)(e - symbols->entries);
    int64_t result = dim;
    if (e->kind == SUM) {
        result = resolve_sum(symbols, index);
    } else if (e->kind == OPERATION) {
        uint32_t op = e->op;
        int64_t right = e->b;
        int64_t a = tn__symbol_resolve(symbols, e->a);
        int64_t b = tn__symbol_resolve(symbols, right);
        result = tn__symbol_op(symbols, op, a, b);
    }
    struct entry *own = &symbols->entries[index];
    own->resolved = result;
    own->stamp = symbols->n_bound;
    return result;
}

/* ---- text -----------------------------------------------------------------------------
 */

struct printer {
    struct tn__symbols *symbols;
    char text[MAX_TEXT];
    size_t used;
    bool failed; /* a nameless part, or too long */
};

static void put(struct printer *p, const char *text) {
    size_t n = strlen(text);
    if (p->failed || p->used + n >= sizeof p->text) {
        p->failed = true;
        return;
    }
    memcpy(p->text + p->used, text, n + 1);
    p->used += n;
}

static void put_number(struct printer *p, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put(p, text);
}

static void put_dim(struct printer *p, int64_t dim);

static void put_term(struct printer *p, const struct term *t) {
    bool one = t->coef == 1 || t->coef == -1;
    if (!one) put_number(p, magnitude(t->coef));
    for (uint32_t k = 0; k < t->degree; k++) {
        if (k || !one) put(p, "*");
        put_dim(p, to_dim(t->atoms[k]));
    }
}

static void put_sum(struct printer *p, const struct entry *e) {
    for (uint32_t i = 0; i < e->n_terms; i++) {
        bool minus = e->terms[i].coef < 0;
        put(p, i ? (minus ? " - " : " + ") : minus ? "-" : "");
        put_term(p, &e->terms[i]);
    }
    if (e->constant == 0) return;
    put(p, e->constant < 0 ? " - " : " + ");
    put_number(p, magnitude(e->constant));
}

static void put_operation(struct printer *p, const struct entry *e) {
    bool fraction = e->op == TN_DIM_DIV;
    const struct entry *top = entry_of(p->symbols, e->a);
    const struct entry *bottom = entry_of(p->symbols, e->b);
    bool wrap = fraction && top && top->kind == SUM;
    put(p, fraction ? "floor(" : e->op == TN_DIM_MIN ? "min(" : "max(");
    put(p, wrap ? "(" : "");
    put_dim(p, e->a);
    put(p, wrap ? ")" : "");
    put(p, fraction ? "/" : ", ");
    wrap = fraction && bottom && bottom->kind == SUM;
    put(p, wrap ? "(" : "");
    put_dim(p, e->b);
    put(p, wrap ? "))" : ")");
}

/* Depth is bounded by MAX_DEPTH, width by the size of the text. */
static void put_dim(struct printer *p, int64_t dim) {
    const struct entry *e = entry_of(p->symbols, dim);
    if (p->failed) return;
    if (is_number(dim)) {
        put(p, dim < 0 ? "-" : "");
        put_number(p, magnitude(dim));
    } else if (!e) {
        p->failed = true;
    } else if (e->kind == SUM) {
        put_sum(p, e);
    } else if (e->kind == OPERATION) {
        put_operation(p, e);
    } else if (e->name) {
        put(p, e->name);
    } else {
        p->failed = true;
    }
}

const char *tn__symbol_text(struct tn__symbols *symbols, int64_t dim) {
    struct entry *e = entry_of(symbols, dim);
    if (e && e->text) return e->text;
    struct printer p = {.symbols = symbols};
    put_dim(&p, dim);
    if (p.failed) return NULL;
    const char *text = tn__arena_string(symbols->arena, p.text, p.used);
    if (e) e->text = text;
    return text;
}
