/* What the elementwise rows say of one element where C has no operator for it. Included once
 * per element type by elementwise_type_tmpl.h, with T, W, BITS, SIGNED and FLOAT set. */

static inline T NAME(at_most)(T a, T b) {
#if FLOAT
    return ((a < b) | (a != a)) ? a : b; /* a NaN in either is the result */
#else
    return a < b ? a : b;
#endif
}

static inline T NAME(at_least)(T a, T b) {
#if FLOAT
    return ((a > b) | (a != a)) ? a : b;
#else
    return a > b ? a : b;
#endif
}

/* A NaN passes; high wins over low. */
static inline T NAME(clamp)(T x, T low, T high) {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
}

#if FLOAT

/* The sign of b, as a - floor(a / b) b has in exact arithmetic. */
static inline T NAME(floor_mod)(T a, T b) {
    T rest = M(fmod)(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#else

static inline W NAME(bits)(T a) {
    return (W)a & (W)((W) ~(W)0 >> (sizeof(W) * 8 - BITS));
}

static inline int NAME(is_negative)(T a) {
#if SIGNED
    return a < 0;
#else
    (void)a;
    return 0;
#endif
}

/* Only numbers that are not negative are shifted; the others as their complement. */
static inline T NAME(shift_right)(T a, T b) {
    const W sign = NAME(is_negative)(a) ? ~(W)0 : 0, by = NAME(bits)(b);
    const W shifted = by < BITS ? NAME(bits)((T)((W)a ^ sign)) >> by : 0;
    return (T)(shifted ^ sign);
}

static inline int NAME(is_minus_one)(T a) {
    return SIGNED && a == (T)-1;
}

static inline T NAME(divide)(T a, T b) {
    if (b == 0) return 0;
    return NAME(is_minus_one)(b) ? (T)(0 - (W)a) : (T)(a / b);
}

static inline T NAME(remainder)(T a, T b) {
    return b == 0 || NAME(is_minus_one)(b) ? 0 : (T)(a % b);
}

static inline T NAME(floor_mod)(T a, T b) {
    T rest = NAME(remainder)(a, b);
    int crosses = rest != 0 && NAME(is_negative)(rest) != NAME(is_negative)(b);
    return crosses ? (T)(rest + b) : rest;
}

/* Wraps. The reference computes 1 / a^-b in floating point and truncates: that is nothing
 * but 0 unless |a| <= 1. */
static inline T NAME(power)(T a, T b) {
    if (NAME(is_negative)(b)) {
        if (a == 0) return (T)((W) ~(W)0 >> (sizeof(W) * 8 - BITS + 1));
        if (NAME(is_minus_one)(a)) return (T)((b & 1) ? -1 : 1);
        return a == 1;
    }
    W result = 1, square = (W)a;
    for (W rest = (W)b; rest != 0; rest >>= 1) {
        if (rest & 1) result *= square;
        square *= square;
    }
    return (T)result;
}

#endif
