/* Pages that stand alone: a template with a report in JSON inside. */
#ifndef TENON_HTML_H
#define TENON_HTML_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the placement page of a model; `placement` is the report. False when the file
 * could not be written. */
bool html_placement(FILE *to, const char *model, const char *placement);

#endif
