#include "sim/cli/calibrate/profile_kit.h"

#include "sim/cli/calibrate/calibrate_print.h"
#include "sim/cli/paths.h"
#include "sim/core/json_doc.h"
#include "sim/core/output.h"
#include "sim/core/path.h"

#include <errno.h>

/* The folders of the kit, below its own. */
static const char *const folders[] = {".", "orrery_kit"};

void profile_kit_recipe(FILE *out)
{
    fputs("Calibrate your GPU in about twenty minutes:\n\n"
          "  orrery profile --kit kit            write the measuring kit, some Python files, into the folder 'kit'\n"
          "  (copy 'kit' to the machine with the GPU, which needs Python, PyTorch for CUDA and Triton)\n"
          "  python3 kit/measure.py --plan       what would be measured there, and what would be skipped\n"
          "  python3 kit/measure.py --out rows   measure; stopped, the same call goes on\n"
          "  (copy 'rows' back)\n"
          "  orrery profile rows -o my-gpu.json  check the rows, fit, print the errors, write the calibration\n\n"
          "'orrery profile --help' lists the options, the README.md in 'kit' explains each part.\n",
          out);
}

static int copy_file(struct cli *cli, const char *from, const char *to)
{
    struct output *output = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int code = json_read_file(from, &text, &bytes);
    if (code == SIM_E_IO) return diag_system_error(&cli->diag, from, "cannot read", errno);
    if (code == 0) code = output_open(to, &output, &cli->diag);
    if (code == 0) {
        text_add_bytes(output_text(output), text, bytes);
        code = output_close(output, false, &cli->diag);
    }
    mem_free(text);
    return code;
}

static int copy_folder(struct cli *cli, const char *from, const char *to, struct arena *arena, int *n_files)
{
    static const char *const endings[] = {".py", ".md", NULL}; /* no compiled modules */
    struct file_names files;
    int code = paths_list_files(arena, from, endings, &files);
    if (code == SIM_E_IO)
        return diag_error(&cli->diag, SIM_E_CONFIG, from, "install again, or set ORRERY_DATA to the sources",
                          "this installation has no measuring kit");
    if (code == 0) code = calibrate_make_directory(cli, to);
    for (size_t i = 0; code == 0 && i < files.n; i++) {
        const char *source = path_join(arena, from, files.names[i]), *target = path_join(arena, to, files.names[i]);
        code = source != NULL && target != NULL ? copy_file(cli, source, target) : SIM_E_NOMEM;
        *n_files += code == 0;
    }
    return code;
}

int profile_kit_write(struct cli *cli, const char *folder)
{
    struct arena arena;
    int n_files = 0;
    arena_init(&arena);
    const char *data = paths_data(&arena);
    const char *kit = data != NULL ? path_join(&arena, data, "analysis/calibrate/kit") : NULL;
    int code = kit != NULL ? 0 : SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < sizeof folders / sizeof *folders; i++) {
        const char *from = path_join(&arena, kit, folders[i]), *to = path_join(&arena, folder, folders[i]);
        code = from != NULL && to != NULL ? copy_folder(cli, from, to, &arena, &n_files) : SIM_E_NOMEM;
    }
    if (code == 0)
        answer_print(cli->out, "%s: %d files; on the machine with the GPU: python3 %s/measure.py --out rows\n", folder,
                     n_files, folder);
    arena_fini(&arena);
    return code;
}
