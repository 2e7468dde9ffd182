/* Numbers in texts have a point, whatever the host program's locale says. */
#ifndef TENON_TEXT_LOCALE_H
#define TENON_TEXT_LOCALE_H

#include <locale.h>
#include <stdbool.h>

struct tn__plain_numbers {
    locale_t plain, before;
};

/* Sets the thread's number format; false when there is no memory. */
static inline bool tn__plain_numbers_begin(struct tn__plain_numbers *numbers) {
    numbers->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (numbers->plain) numbers->before = uselocale(numbers->plain);
    return numbers->plain != (locale_t)0;
}

/* Puts it back; nothing to do when begin failed or never ran. */
static inline void tn__plain_numbers_end(const struct tn__plain_numbers *numbers) {
    if (!numbers->plain) return;
    uselocale(numbers->before);
    freelocale(numbers->plain);
}

#endif
