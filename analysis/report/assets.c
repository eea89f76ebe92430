#include "analysis/report/assets.h"

#include <stddef.h>

const char *const report_style[] = {
#include "analysis/report/style.css.inc"
    NULL};

const char *const report_script[] = {
#include "analysis/report/script.js.inc"
    NULL};
