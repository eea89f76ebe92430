#include "sim/catalog/cost_libraries.h"

#include "sim/catalog/calibration_file.h"
#include "sim/core/text.h"

#include <string.h>

/* The release that relates to the engine as asked, among those that a class was measured with; NULL: none. */
static const struct library_release *find_related(const struct config_list *measured_with,
                                                  const struct engine_preset *engine, enum library_relation relation)
{
    const struct library_release *releases = measured_with != NULL ? measured_with->items : NULL;
    for (size_t i = 0; releases != NULL && i < measured_with->n; i++)
        if (library_relate(&releases[i], &engine->libraries) == relation) return &releases[i];
    return NULL;
}

/* The release by which a class does not fit the engine, an older one first; *relation says how. NULL: it fits. */
static const struct library_release *find_misfit(const struct config_list *measured_with,
                                                 const struct engine_preset *engine, enum library_relation *relation)
{
    static const enum library_relation order[] = {LIBRARY_OLDER, LIBRARY_NEWER, LIBRARY_OTHER};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct library_release *found = find_related(measured_with, engine, order[i]);
        *relation = order[i];
        if (found != NULL) return found;
    }
    return NULL;
}

/* Adds the classes from `first` on that have the release and the relation: "norm, rotary of Vidur (2024)". */
static void say_release(const struct calibration *calibration, const struct engine_preset *engine, const bool *needed,
                        size_t first, bool *told, struct text *text)
{
    enum library_relation relation, asked;
    const struct library_release *release = find_misfit(calibration->measured_with[first], engine, &asked);
    for (size_t class = first; class < KERNEL_CLASS_COUNT; class ++) {
        const struct library_release *other = needed[class]
                                                  ? find_misfit(calibration->measured_with[class], engine, &relation)
                                                  : NULL;
        if (other == NULL || relation != asked || !library_is_same(release, other)) continue;
        text_printf(text, "%s%s", class > first ? ", " : "", kernel_class_info((enum kernel_class) class)->name);
        told[class] = true;
    }
    text_add(text, " of ");
    library_say(release, text);
}

/* Adds all classes with a relation, behind `intro`. */
static void say_relation(const struct calibration *calibration, const struct engine_preset *engine, const bool *needed,
                         enum library_relation asked, const char *intro, struct text *text)
{
    bool told[KERNEL_CLASS_COUNT] = {false}, is_begun = false;
    for (size_t class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        enum library_relation relation;
        if (!needed[class] || told[class]) continue;
        if (find_misfit(calibration->measured_with[class], engine, &relation) == NULL || relation != asked) continue;
        text_add(text, is_begun ? ", " : intro);
        is_begun = true;
        say_release(calibration, engine, needed, class, told, text);
    }
}

/* Whether a class of a set was measured with libraries of the engine that fit it. Kernels asked for do not. */
static bool fits(const struct calibration_class *class, const struct engine_preset *engine)
{
    enum library_relation relation;
    return class->rows > 0 && class->measured_with.n > 0 && !calibration_class_is_of_one_kernel(class) &&
           find_misfit(&class->measured_with, engine, &relation) == NULL;
}

/* Whether some set of a file has a class. A class comes from the first file that has it, whatever set is asked for. */
static bool has_class(const struct calibration_measured *file, size_t class)
{
    const struct calibration_set *sets = file->sets.items;
    for (size_t i = 0; i < file->sets.n; i++)
        if (sets[i].classes[class].rows > 0) return true;
    return false;
}

static bool is_behind(const struct calibration *calibration, size_t file, size_t class)
{
    for (size_t i = 0; i < file; i++)
        if (has_class(&calibration->measured[i], class)) return true;
    return false;
}

/* Adds the needed classes that do not fit, but would from this set of a file: "set 'vllm-0.24' has fitting gemm". */
static void say_fitting(const struct calibration *calibration, const bool *needed, const struct engine_preset *engine,
                        size_t file, const struct calibration_set *set, struct text *text)
{
    size_t n = 0;
    enum library_relation relation;
    for (size_t class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        if (!needed[class] || !fits(&set->classes[class], engine) || is_behind(calibration, file, class)) continue;
        if (find_misfit(calibration->measured_with[class], engine, &relation) == NULL) continue;
        if (n == 0) text_printf(text, "%sset '%s' has fitting ", text->length > 0 ? "; " : "", set->name);
        text_printf(text, "%s%s", n++ > 0 ? ", " : "", kernel_class_info((enum kernel_class) class)->name);
    }
}

/* Of a GPU that nobody measured: ", with kernels measured on other GPUs (b200-sxm, the fit 'default'),". */
static void say_origins(const struct calibration *calibration, const bool *needed, struct text *text)
{
    size_t n = 0;
    if (calibration->calibrated) return;
    for (size_t class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        const char *origin = calibration->origin[class];
        bool is_told = !needed[class] || calibration->measured_with[class] == NULL;
        for (size_t k = 0; k < class && !is_told; k++)
            is_told = needed[k] && calibration->measured_with[k] != NULL && strcmp(calibration->origin[k], origin) == 0;
        if (is_told) continue;
        const bool is_fit = strcmp(origin, "default") == 0;
        text_printf(text, "%s%s%s%s", n++ == 0 ? ", with kernels measured on other GPUs (" : ", ",
                    is_fit ? "the fit '" : "", origin, is_fit ? "'" : "");
    }
    if (n > 0) text_add(text, "),");
}

/* Copies a text into the arena, unless it has no more than its first `n_least` bytes, and frees it. */
static int keep(struct text *said, size_t n_least, struct arena *arena, const char **kept)
{
    const bool is_needed = said->length > n_least;
    if (is_needed && !said->failed) *kept = arena_strdup(arena, said->chars);
    const int code = said->failed || (is_needed && *kept == NULL) ? SIM_E_NOMEM : 0;
    text_fini(said);
    return code;
}

int cost_libraries_say(const struct calibration *calibration, const bool *needed, const struct engine_preset *engine,
                       const char *gpu, struct arena *arena, struct library_statement *statement)
{
    struct text said, fitting;
    *statement = (struct library_statement){.misfits = NULL};
    if (engine->libraries.n == 0) return 0;
    text_init(&said);
    text_init(&fitting);
    text_printf(&said, "engine %s on %s", engine->name, gpu);
    say_origins(calibration, needed, &said);
    text_add(&said, " is of ");
    library_say(engine->libraries.items, &said);
    const size_t n_intro = said.length;
    say_relation(calibration, engine, needed, LIBRARY_OLDER, "; older are ", &said);
    say_relation(calibration, engine, needed, LIBRARY_NEWER, "; newer by years are ", &said);
    say_relation(calibration, engine, needed, LIBRARY_OTHER, "; of other libraries are ", &said);
    for (size_t i = 0; i < calibration->n_measured; i++) {
        const struct calibration_set *sets = calibration->measured[i].sets.items;
        for (size_t j = 0; j < calibration->measured[i].sets.n; j++)
            say_fitting(calibration, needed, engine, i, &sets[j], &fitting);
    }
    const int code = keep(&said, n_intro, arena, &statement->misfits);
    const int fitting_code = keep(&fitting, 0, arena, &statement->fitting);
    return code != 0 ? code : fitting_code;
}
