#include "html.h"

#include "cli.h"

#include <string.h>

static const char page[] =
#include "assign_page.inc"
    ;

/* JSON inside a script element: no "</" may end the element early. */
static void put_json(FILE *to, const char *text) {
    for (; *text; text++) {
        if (text[0] == '<')
            fputs("\\u003c", to);
        else
            putc(*text, to);
    }
}

bool html_placement(FILE *to, const char *model, const char *placement) {
    static const char mark[] = "@DATA@";
    const char *hole = strstr(page, mark);
    fwrite(page, 1, (size_t)(hole - page), to);
    char name[1024];
    FILE *text = fmemopen(name, sizeof name, "w");
    if (!text) return false;
    fprintf(text, "{\"model\": ");
    cli_json_string(text, model);
    fputc(',', text);
    if (fclose(text) != 0) return false;
    put_json(to, name);
    fputs("\"placement\": ", to);
    put_json(to, placement);
    fputs("}", to);
    fputs(hole + sizeof mark - 1, to);
    return fflush(to) == 0 && !ferror(to);
}
