#include "tests/support/profile_fixture.h"

#include "tests/support/harness.h"

static int note(struct profile_fixture *fixture, int code)
{
    if (code != 0 && fixture->diag.n_items > 0)
        diag_format(&fixture->diag.items[0], fixture->message, sizeof fixture->message);
    return code;
}

int profile_fixture_init(struct profile_fixture *fixture, const char *gpu)
{
    memset(fixture, 0, sizeof *fixture);
    arena_init(&fixture->arena);
    diag_init(&fixture->diag);
    fixture->catalog = (struct catalog){.root = "configs"};
    fixture->options = (struct profile_options){.catalog = &fixture->catalog, .gpu = &fixture->gpu};
    return note(fixture, catalog_gpu(&fixture->catalog, gpu, "t", &fixture->arena, &fixture->gpu, &fixture->diag));
}

void profile_fixture_fini(struct profile_fixture *fixture)
{
    arena_fini(&fixture->arena);
}

int profile_fixture_read(struct profile_fixture *fixture, const char *path)
{
    const char *kept = arena_strdup(&fixture->arena, path);
    const int code = profile_read(kept, &fixture->options, &fixture->arena, &fixture->files[fixture->n_files],
                                  &fixture->diag);
    if (code == 0) fixture->n_files++;
    return note(fixture, code);
}

int profile_fixture_text(struct profile_fixture *fixture, const char *name, const char *text)
{
    return profile_fixture_read(fixture, test_file(name, "%s", text));
}

int profile_fixture_join(struct profile_fixture *fixture)
{
    return note(fixture,
                profile_join(fixture->files, fixture->n_files, &fixture->arena, &fixture->joined, &fixture->diag));
}
