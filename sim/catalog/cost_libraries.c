#include "sim/catalog/cost_libraries.h"

#include "sim/core/text.h"

/* The release that relates to the engine as asked, among those that a class was measured with; NULL: none. */
static const struct library_release *find_related(const struct config_list *measured_with,
                                                  const struct engine_preset *engine, enum library_relation relation)
{
    const struct library_release *releases = measured_with != NULL ? measured_with->items : NULL;
    for (size_t i = 0; releases != NULL && i < measured_with->n; i++)
        if (library_relate(&releases[i], &engine->libraries) == relation) return &releases[i];
    return NULL;
}

/* The release that makes a class older than the engine, or else of another library; *relation says which. */
static const struct library_release *find_misfit(const struct calibration *calibration,
                                                 const struct engine_preset *engine, size_t class,
                                                 enum library_relation *relation)
{
    const struct config_list *measured_with = calibration->measured_with[class];
    *relation = LIBRARY_OLDER;
    const struct library_release *found = find_related(measured_with, engine, LIBRARY_OLDER);
    if (found != NULL) return found;
    *relation = LIBRARY_OTHER;
    return find_related(measured_with, engine, LIBRARY_OTHER);
}

/* Adds the classes from `first` on that have the release and the relation: "norm, rotary of Vidur (2024)". */
static void say_release(const struct calibration *calibration, const struct engine_preset *engine, const bool *needed,
                        size_t first, bool *told, struct text *text)
{
    enum library_relation relation, asked;
    const struct library_release *release = find_misfit(calibration, engine, first, &asked);
    for (size_t class = first; class < KERNEL_CLASS_COUNT; class ++) {
        const struct library_release *other = needed[class] ? find_misfit(calibration, engine, class, &relation) : NULL;
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
        if (find_misfit(calibration, engine, class, &relation) == NULL || relation != asked) continue;
        text_add(text, is_begun ? ", " : intro);
        is_begun = true;
        say_release(calibration, engine, needed, class, told, text);
    }
}

int cost_libraries_say(const struct calibration *calibration, const bool *needed, const struct engine_preset *engine,
                       struct arena *arena, const char **text)
{
    struct text said;
    *text = NULL;
    if (engine->libraries.n == 0) return 0;
    text_init(&said);
    text_printf(&said, "engine %s is of ", engine->name);
    library_say(engine->libraries.items, &said);
    const size_t n_intro = said.length;
    say_relation(calibration, engine, needed, LIBRARY_OLDER, "; older are ", &said);
    say_relation(calibration, engine, needed, LIBRARY_OTHER, "; of other libraries are ", &said);
    const bool is_needed = said.length > n_intro;
    if (is_needed && !said.failed) *text = arena_strdup(arena, said.chars);
    const int code = said.failed || (is_needed && *text == NULL) ? SIM_E_NOMEM : 0;
    text_fini(&said);
    return code;
}
