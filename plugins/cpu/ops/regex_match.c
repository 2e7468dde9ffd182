/* Runs a compiled pattern over a text: the set of steps that all ways have reached, character
 * by character. */
#include "ops/regex.h"
#include "ops/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Steps that were reached, each once; `marks` says in which round. */
struct ways {
    uint32_t *now, *next, *stack, *marks;
    uint32_t n_now, n_next, round;
};

/* Where in the text the ways stand. */
struct place {
    bool first, last;
    uint32_t before, after; /* characters; TN_UTF8_INVALID where there is none */
};

static bool is_word(uint32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= 'a' && c <= 'z');
}

static bool holds(int32_t assertion, const struct place *at) {
    switch (assertion) {
    case TN_REGEX_TEXT_BEGIN: return at->first;
    case TN_REGEX_TEXT_END: return at->last;
    case TN_REGEX_LINE_BEGIN: return at->first || at->before == '\n';
    case TN_REGEX_LINE_END: return at->last || at->after == '\n';
    default:
        return (is_word(at->before) != is_word(at->after)) ==
               (assertion == TN_REGEX_WORD_EDGE);
    }
}

static bool in_ranges(
    const struct tn__regex *re, const struct tn__regex_step *step, uint32_t c) {
    const struct tn__regex_range *range = re->ranges + step->x;
    for (int32_t i = 0; i < step->y; i++)
        if (c >= range[i].low && c <= range[i].high) return true;
    return false;
}

static bool accepts(
    const struct tn__regex *re, const struct tn__regex_step *step, uint32_t c) {
    if (c == TN_UTF8_INVALID) return false;
    bool inside = in_ranges(re, step, c);
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!inside && letter && (step->flags & TN_REGEX_FOLDED))
        inside = in_ranges(re, step, c ^ 0x20);
    return inside != ((step->flags & TN_REGEX_NEGATED) != 0);
}

/* Adds a step to `next`, or those that it leads to without a character. */
static void reach(const struct tn__regex *re, struct ways *ways, uint32_t step,
    const struct place *at) {
    uint32_t depth = 0;
    ways->stack[depth++] = step;
    while (depth > 0) {
        uint32_t i = ways->stack[--depth];
        const struct tn__regex_step *s = &re->steps[i];
        if (ways->marks[i] == ways->round) continue;
        ways->marks[i] = ways->round;
        if (s->op == TN_REGEX_SPLIT) {
            ways->stack[depth++] = i + (uint32_t)s->y;
            ways->stack[depth++] = i + (uint32_t)s->x;
        } else if (s->op == TN_REGEX_JUMP) {
            ways->stack[depth++] = i + (uint32_t)s->x;
        } else if (s->op == TN_REGEX_ASSERT) {
            if (holds(s->x, at)) ways->stack[depth++] = i + 1;
        } else {
            ways->next[ways->n_next++] = i;
        }
    }
}

size_t tn__regex_scratch(const struct tn__regex *re) {
    return ((size_t)re->n_steps * 5 + 2) * sizeof(uint32_t);
}

static uint32_t char_at(const char *text, size_t size, size_t *length) {
    *length = 0;
    return size ? tn__utf8_decode(text, size, length) : TN_UTF8_INVALID;
}

int tn__regex_full_match(
    const struct tn__regex *re, struct tn_string text, void *scratch) {
    uint32_t n = re->n_steps, c = TN_UTF8_INVALID;
    size_t at = 0, length = 0;
    struct ways ways = {.now = scratch};
    ways.next = ways.now + n;
    ways.marks = ways.next + n;
    ways.stack = ways.marks + n; /* 2 n + 2: a step puts in two and is taken once */
    memset(ways.marks, 0, n * sizeof *ways.marks);
    for (;;) {
        uint32_t after = char_at(text.data + at, text.size - at, &length);
        const struct place place = {at == 0, at == text.size, c, after};
        if (++ways.round == 0) { /* the rounds have run over */
            memset(ways.marks, 0, n * sizeof *ways.marks);
            ways.round = 1;
        }
        ways.n_next = 0;
        if (at == 0) reach(re, &ways, 0, &place);
        for (uint32_t i = 0; i < ways.n_now; i++) {
            const struct tn__regex_step *step = &re->steps[ways.now[i]];
            if (step->op == TN_REGEX_SET && accepts(re, step, c))
                reach(re, &ways, ways.now[i] + 1, &place);
        }
        uint32_t *kept = ways.now;
        ways.now = ways.next;
        ways.next = kept;
        ways.n_now = ways.n_next;
        if (at == text.size || ways.n_now == 0) break;
        c = after;
        at += length;
    }
    for (uint32_t i = 0; at == text.size && i < ways.n_now; i++)
        if (re->steps[ways.now[i]].op == TN_REGEX_MATCH) return 1;
    return 0;
}
