#include "policies/glpk.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stddef.h>

/* GLPK calls this where it would abort. */
static void leave(void *where)
{
    longjmp(*(jmp_buf *)where, 1);
}

/* Also of its errors, which it tells of even with its terminal off. */
static int say_nothing(void *context, const char *text)
{
    (void)context, (void)text;
    return 1;
}

bool glpk_run(void (*work)(void *context), void *context)
{
    jmp_buf here;
    volatile bool is_done = false;
    glp_term_out(GLP_OFF);
    glp_term_hook(say_nothing, NULL);
    glp_error_hook(leave, &here);
    if (setjmp(here) == 0) {
        work(context);
        is_done = true;
    }
    glp_error_hook(NULL, NULL);
    glp_free_env(); /* with the problems */
    return is_done;
}

int glpk_bound_kind(double lower, double upper)
{
    if (lower == upper) return GLP_FX;
    if (isinf(lower)) return isinf(upper) ? GLP_FR : GLP_UP;
    return isinf(upper) ? GLP_LO : GLP_DB;
}
