/* The body of the ragged descents, for one vector width and one width of ranks.
 *
 * Wants: NAME, the function; T; BYTES, a vector of ROWS bytes; CUTS, a vector of ranks;
 * CUT(T value); BYTE(value); LOAD(address), STORE(address, bytes); OR(a, b);
 * CHOOSE(address of ROWS ranks, cut, left, right). */
static void NAME(uint8_t *slots, const void *ranks, const struct tn_ragged_step *steps,
    size_t n_steps, size_t n) {
    for (size_t r = 0; r < n; r += ROWS)
        STORE(slots + r, BYTE(0));
    for (const struct tn_ragged_step *step = steps; step < steps + n_steps; step++) {
        const char *column = (const char *)ranks + step->column;
        const uint8_t *left = slots + step->from[0] * n,
                      *right = slots + step->from[1] * n;
        uint8_t *to = slots + step->to * n;
        const BYTES left_leaf = BYTE(step->leaf[0]), right_leaf = BYTE(step->leaf[1]);
        const CUTS cut = CUT((T)step->cut);
        for (size_t r = 0; r < n; r += ROWS)
            STORE(
                to + r, CHOOSE(column + r * sizeof(T), cut, OR(LOAD(left + r), left_leaf),
                            OR(LOAD(right + r), right_leaf)));
    }
}

#undef NAME
#undef T
#undef BYTES
#undef ROWS
#undef CUTS
#undef CUT
#undef BYTE
#undef LOAD
#undef STORE
#undef OR
#undef CHOOSE
