/* Loading and merging: a document, what it extends, and what those extend. */
#include "sim/core/config/config_tree.h"

#include "sim/core/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EXTENDS_DEPTH = 16, MAX_DOCUMENTS = 256 };

struct loading {
    struct config *config;
    const char *const *roots; /* directories to look in as well; NULL-terminated, or NULL */
    const char *home;         /* for hints about absent files, as in config_load_within */
    struct diag *diag;
    int n_documents; /* read, one that is extended twice counted twice */
    int code; /* of the first error, or SIM_E_NOMEM */
};

/* The documents that are being extended, innermost first. */
struct chain {
    const struct chain *outer;
    const char *path;
    int depth;
};

static void fail(struct loading *loading, int code)
{
    if (loading->code == 0 || code == SIM_E_NOMEM) loading->code = code;
}

static void fail_nomem(struct loading *loading)
{
    if (loading->code == SIM_E_NOMEM) return;
    loading->code = diag_nomem(loading->diag);
}

void config_merge(struct json_node *base, struct json_node *over)
{
    struct json_node before = *base;
    bool both_objects = base->kind == JSON_OBJECT && over->kind == JSON_OBJECT;
    *base = *over;
    base->key = before.key != NULL ? before.key : over->key;
    base->next = before.next;
    base->removes = over->kind == JSON_NULL;
    if (before.kind == JSON_STRING && over->kind == JSON_OBJECT) base->text = before.text;
    if (!both_objects) return;

    base->n = before.n;
    base->first = before.first;
    base->last = before.last;
    if (base->text == NULL) base->text = before.text;
    for (struct json_node *member = over->first, *next; member != NULL; member = next) {
        next = member->next;
        struct json_node *old = json_member(base, member->key);
        if (old != NULL)
            config_merge(old, member);
        else
            json_append(base, member);
    }
}

/* Unlinks and returns a member of the root; NULL when it has none of that name. */
static struct json_node *take_member(struct json_node *object, const char *key)
{
    struct json_node *before = NULL, *member = object->first;
    while (member != NULL && strcmp(member->key, key) != 0) {
        before = member;
        member = member->next;
    }
    if (member == NULL) return NULL;
    if (before != NULL)
        before->next = member->next;
    else
        object->first = member->next;
    if (object->last == member) object->last = before;
    object->n--;
    return member;
}

/* The first of directory/name and root/name that can be read; else NULL, with errno of the first. */
static const char *find_file(struct loading *loading, const char *directory, const char *name)
{
    const char *path = path_join(&loading->config->arena, directory, name);
    if (path == NULL) fail_nomem(loading);
    if (path == NULL || access(path, R_OK) == 0) return path;
    int saved = errno;
    for (const char *const *root = loading->roots; name[0] != '/' && root != NULL && *root != NULL; root++) {
        path = path_join(&loading->config->arena, *root, name);
        if (path == NULL) fail_nomem(loading);
        if (path == NULL || access(path, R_OK) == 0) return path;
    }
    errno = saved;
    return NULL;
}

/* Reports a file of "extends" that was not found, with errno. A copied document has left its files behind. */
static void report_absent(struct loading *loading, const char *where, const char *name)
{
    char hint[2 * DIAG_TEXT_CHARS];
    const int why = errno;
    struct arena *arena = &loading->config->arena;
    const char *path = loading->home != NULL ? path_join(arena, loading->home, name) : NULL;
    const char *folder = path != NULL && access(path, R_OK) == 0 ? path_directory(arena, path) : NULL;
    if (folder != NULL)
        snprintf(hint, sizeof hint, "a file of this name is in '%s': write \"%s\", or let the copy extend the original",
                 folder, path);
    fail(loading, diag_error(loading->diag, SIM_E_CONFIG, where, folder != NULL ? hint : NULL, "cannot read '%s': %s",
                             name, strerror(why)));
}

static struct json_node *load_file(struct loading *loading, const char *path, const struct chain *outer);

static bool chain_holds(const struct chain *chain, const char *path)
{
    while (chain != NULL && strcmp(chain->path, path) != 0) chain = chain->outer;
    return chain != NULL;
}

/* Loads the document that an "extends" names; NULL after an error. */
static struct json_node *load_extended(struct loading *loading, const struct json_node *name, const struct chain *chain)
{
    char where[DIAG_WHERE_CHARS], shown[DIAG_TEXT_CHARS];
    json_where(name, where, sizeof where);
    const char *path = NULL;
    if (name->kind != JSON_STRING) {
        fail(loading, diag_error(loading->diag, SIM_E_CONFIG, where, NULL, "'extends' must name files, got %s",
                                 json_show(name, shown, sizeof shown)));
    } else if ((path = find_file(loading, name->source->directory, name->text)) == NULL) {
        if (loading->code != SIM_E_NOMEM) report_absent(loading, where, name->text);
    } else if (chain_holds(chain, path)) {
        fail(loading, diag_error(loading->diag, SIM_E_CONFIG, where, NULL, "'%s' extends itself%s", path,
                                 strcmp(chain->path, path) == 0 ? "" : " through other documents"));
    } else if (chain->depth >= MAX_EXTENDS_DEPTH) {
        fail(loading, diag_error(loading->diag, SIM_E_CONFIG, where, NULL, "'extends' is more than %d documents deep",
                                 MAX_EXTENDS_DEPTH));
    } else if (loading->n_documents >= MAX_DOCUMENTS) {
        if (loading->n_documents++ == MAX_DOCUMENTS) /* said once */
            fail(loading,
                 diag_error(loading->diag, SIM_E_CONFIG, where, "documents that several others extend count each time",
                            "cannot read '%s': 'extends' names more than %d documents in all", path, MAX_DOCUMENTS));
    } else {
        return load_file(loading, path, chain);
    }
    return NULL;
}

/* Lays `root` on the documents it extends, of which later ones go over earlier ones. */
static struct json_node *merge_extended(struct loading *loading, struct json_node *root, const struct chain *chain)
{
    struct json_node *extends = take_member(root, "extends"), *merged = NULL;
    take_member(root, "$schema");
    if (extends == NULL || extends->kind == JSON_NULL) return root;
    bool is_list = extends->kind == JSON_LIST;
    const struct json_node *name = is_list ? extends->first : extends;
    for (; name != NULL && loading->code != SIM_E_NOMEM; name = is_list ? name->next : NULL) {
        struct json_node *extended = load_extended(loading, name, chain);
        if (merged == NULL)
            merged = extended;
        else if (extended != NULL)
            config_merge(merged, extended);
    }
    if (merged == NULL) return root;
    config_merge(merged, root);
    return merged;
}

/* Checks a parsed document and merges it with what it extends; NULL after an error. */
static struct json_node *finish_document(struct loading *loading, struct json_node *root, const struct chain *chain)
{
    if (root->kind != JSON_OBJECT) {
        char where[DIAG_WHERE_CHARS], shown[DIAG_TEXT_CHARS];
        fail(loading, diag_error(loading->diag, SIM_E_CONFIG, json_where(root, where, sizeof where), NULL,
                                 "a document must be an object, got %s", json_show(root, shown, sizeof shown)));
        return NULL;
    }
    return merge_extended(loading, root, chain);
}

/* Notes that a file was loaded. Returns 0 or SIM_E_NOMEM. */
static int note_file(struct loading *loading, const char *path, const struct hash_sum *bytes)
{
    struct config *config = loading->config;
    struct config_file *file = arena_alloc(&config->arena, sizeof *file);
    if (file == NULL) return diag_nomem_at(loading->diag, path);
    *file = (struct config_file){.path = path};
    if (config->last_file != NULL)
        config->last_file->next = file;
    else
        config->first_file = file;
    config->last_file = file;
    hash_sum_join(&config->files, bytes);
    return 0;
}

static struct json_node *load_file(struct loading *loading, const char *path, const struct chain *outer)
{
    struct chain chain = {outer, path, outer != NULL ? outer->depth + 1 : 0};
    struct json_node *root;
    loading->n_documents++;
    int code = json_load(&loading->config->arena, path, &root, loading->diag);
    if (code == 0) code = note_file(loading, path, &root->source->bytes);
    if (code == 0) return finish_document(loading, root, &chain);
    fail(loading, code);
    return NULL;
}

static int config_create(struct loading *loading, const char *const *roots, struct diag *diag)
{
    *loading = (struct loading){.roots = roots, .diag = diag};
    loading->config = mem_zalloc(1, sizeof *loading->config);
    if (loading->config == NULL) fail_nomem(loading);
    return loading->code;
}

/* Hands the config over, or destroys it after an error. */
static int finish_loading(struct loading *loading, struct config **config)
{
    *config = NULL;
    if (loading->code == 0)
        *config = loading->config;
    else
        config_destroy(loading->config);
    return loading->code;
}

int config_load_within(const char *path, const char *const *roots, const char *home, struct config **config,
                       struct diag *diag)
{
    struct loading loading;
    if (config_create(&loading, roots, diag) == 0) {
        loading.home = home;
        const char *found = find_file(&loading, ".", path);
        if (found != NULL)
            loading.config->root = load_file(&loading, found, NULL);
        else if (loading.code == 0)
            fail(&loading, diag_error(diag, SIM_E_IO, path, errno == EISDIR ? "name a file in it" : NULL,
                                      "cannot read the file: %s", strerror(errno)));
    }
    return finish_loading(&loading, config);
}

int config_load(const char *path, struct config **config, struct diag *diag)
{
    return config_load_within(path, NULL, NULL, config, diag);
}

int config_parse(const char *name, const char *directory, const char *text, size_t bytes, struct config **config,
                 struct diag *diag)
{
    struct loading loading;
    if (config_create(&loading, NULL, diag) == 0) {
        struct arena *arena = &loading.config->arena;
        struct json_source *source = arena_alloc(arena, sizeof *source);
        struct json_node *root = NULL;
        if (source != NULL)
            *source = (struct json_source){arena_strdup(arena, name), arena_strdup(arena, directory), .has_lines = true};
        if (source == NULL || source->name == NULL || source->directory == NULL)
            fail_nomem(&loading);
        else
            fail(&loading, json_parse(arena, source, text, bytes, &root, diag));
        struct chain chain = {.path = name};
        if (loading.code == 0) loading.config->root = finish_document(&loading, root, &chain);
    }
    return finish_loading(&loading, config);
}

struct hash_sum config_files(const struct config *config)
{
    return config->files;
}

const char *config_path(const struct config *config, size_t index)
{
    const struct config_file *file = config->first_file;
    while (file != NULL && index-- > 0) file = file->next;
    return file != NULL ? file->path : NULL;
}

int config_list_append(struct config_list *list, struct arena *arena, const void *item, size_t item_bytes)
{
    if ((list->n & (list->n - 1)) == 0) {
        char *items = arena_alloc(arena, (list->n > 0 ? 2 * list->n : 1) * item_bytes);
        if (items == NULL) return SIM_E_NOMEM;
        if (list->n > 0) memcpy(items, list->items, list->n * item_bytes);
        list->items = items;
    }
    memcpy((char *)list->items + list->n++ * item_bytes, item, item_bytes);
    return 0;
}

void config_destroy(struct config *config)
{
    if (config == NULL) return;
    arena_fini(&config->arena);
    mem_free(config);
}
