#include "tests/support/worlds/words.h"

#include "models/transformer.h"
#include "sim/catalog/catalog.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"
#include "sim/core/vec.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { KEY_CHARS = 64 };

static const char name_prefix[] = "name below ";

static int add(struct words *words, const char *key, const char *text)
{
    for (const struct word *word = words->items; word < words->items + words->n; word++)
        if (strcmp(word->key, key) == 0 && strcmp(word->text, text) == 0) return 0;
    const struct word word = {arena_strdup(&words->arena, key), arena_strdup(&words->arena, text)};
    if (word.key == NULL || word.text == NULL) return SIM_E_NOMEM;
    return vec_push(&words->items, &words->n, &words->capacity, word);
}

static int add_name(struct words *words, const char *map_key, const char *name)
{
    char key[KEY_CHARS];
    snprintf(key, sizeof key, "%s%s", name_prefix, map_key);
    return add(words, key, name);
}

/* Adds the texts below a node, without paths, and the names of members. `key` is that of the nearest object. */
static int add_node(struct words *words, const char *key, const struct json_node *node)
{
    int code = node->kind == JSON_STRING && !path_is_json(node->text) ? add(words, key, node->text) : 0;
    for (const struct json_node *child = node->first; child != NULL && code == 0; child = child->next) {
        if (node->kind == JSON_OBJECT) code = add_name(words, key, child->key);
        if (code == 0) code = add_node(words, node->kind == JSON_OBJECT ? child->key : key, child);
    }
    return code;
}

/* Calls `visit` with every file of a pattern. */
static int each_file(const char *pattern, int (*visit)(struct words *words, const char *path), struct words *words)
{
    glob_t files = {0};
    int code = 0;
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && code == 0; i++) code = visit(words, files.gl_pathv[i]);
    globfree(&files);
    return code;
}

static int add_scenario(struct words *words, const char *path)
{
    struct arena arena = {0};
    struct json_node *root;
    arena_init(&arena);
    int code = json_load(&arena, path, &root, NULL);
    if (code == 0) code = add_node(words, "", root);
    arena_fini(&arena);
    return code;
}

/* --- Catalogs --- */

static void stem_of(const char *path, char stem[KEY_CHARS])
{
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    snprintf(stem, KEY_CHARS, "%.*s", (int)(strlen(name) - strlen(".json")), name);
}

/* Whether one of the words of a key is the name of one of the files. */
static bool names_one(const struct words *words, const char *key, const glob_t *files)
{
    char stem[KEY_CHARS];
    for (const struct word *word = words->items; word < words->items + words->n; word++)
        for (size_t i = 0; i < files->gl_pathc && strcmp(word->key, key) == 0; i++) {
            stem_of(files->gl_pathv[i], stem);
            if (strcmp(word->text, stem) == 0) return true;
        }
    return false;
}

static int add_stems(struct words *words, const char *key, const glob_t *files)
{
    char stem[KEY_CHARS];
    int code = 0;
    for (size_t i = 0; i < files->gl_pathc && code == 0; i++) {
        stem_of(files->gl_pathv[i], stem);
        code = add(words, key, stem);
    }
    return code;
}

/* Keys that name one file of the folder may name all. */
static int extend(struct words *words, const char *folder)
{
    char pattern[256];
    glob_t files = {0};
    int code = 0;
    snprintf(pattern, sizeof pattern, "%s/*.json", folder);
    const size_t n_words = words->n;
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < n_words && code == 0; i++)
            if (names_one(words, words->items[i].key, &files)) code = add_stems(words, words->items[i].key, &files);
    globfree(&files);
    return code;
}

static int add_powered(struct words *words, const char *path)
{
    char stem[KEY_CHARS];
    stem_of(path, stem);
    return add(words, WORDS_POWERED_GPU, stem);
}

/* LLMs whose weights take less than a fifth of the largest GPUs. */
static int add_small_llm(struct words *words, const char *path)
{
    const double most_bytes = 16e9;
    const struct catalog catalog = {.root = "configs"};
    struct arena arena = {0};
    struct llm_spec llm;
    char stem[KEY_CHARS];
    stem_of(path, stem);
    arena_init(&arena);
    int code = catalog_llm(&catalog, stem, path, &arena, &llm, NULL);
    if (code == 0 && llm_weight_bytes(&llm) < most_bytes) code = add(words, WORDS_SMALL_LLM, stem);
    arena_fini(&arena);
    return code;
}

int words_load(struct words *words)
{
    static const char *const scenarios[] = {"configs/scenarios/*.json", "configs/figures/*/*.scenario.json", NULL};
    static const char *const folders[] = {"hardware", "llms", "engines", "storage", "prices", NULL};
    *words = (struct words){0};
    arena_init(&words->arena);
    int code = 0;
    for (const char *const *pattern = scenarios; *pattern != NULL && code == 0; pattern++)
        code = each_file(*pattern, add_scenario, words);
    for (const char *const *folder = folders; *folder != NULL && code == 0; folder++) {
        char path[KEY_CHARS];
        snprintf(path, sizeof path, "configs/%s", *folder);
        code = extend(words, path);
    }
    if (code == 0) code = each_file("configs/calibration/power/*.json", add_powered, words);
    if (code == 0) code = each_file("configs/llms/*.json", add_small_llm, words);
    return code;
}

void words_fini(struct words *words)
{
    mem_free(words->items);
    arena_fini(&words->arena);
}

const char *words_draw(const struct words *words, const char *key, struct rng *rng)
{
    const char *drawn = NULL;
    uint64_t n = 0;
    for (const struct word *word = words->items; word < words->items + words->n; word++)
        if (strcmp(word->key, key) == 0 && rng_below(rng, ++n) == 0) drawn = word->text;
    return drawn;
}

const char *words_draw_name(const struct words *words, const char *map_key, struct rng *rng)
{
    char key[KEY_CHARS];
    snprintf(key, sizeof key, "%s%s", name_prefix, map_key);
    return words_draw(words, key, rng);
}
