/* The folder of the measuring kit: which GPU of the catalog its manifest means, and which rates are plausible. */
#include "analysis/calibrate/kit/kit.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* The GPU that a manifest means; NULL: none, or several. */
static const char *found(struct arena *arena, const char *reported, int64_t sms, double memory_mib, struct diag *diag)
{
    const struct kit kit = {.folder = "rows", .gpu = reported, .sms = sms, .memory_bytes = memory_mib * 1048576.0};
    const char *name;
    return kit_find_gpu(&kit, &catalog, arena, &name, diag) == 0 ? name : NULL;
}

/* Names as drivers report them. SMs and memory are those of the catalog. */
TEST(reported_names_lead_to_the_catalog)
{
    static const struct {
        const char *reported, *gpu;
    } names[] = {{"NVIDIA H100 80GB HBM3", "h100-sxm"},      {"NVIDIA H100 PCIe", "h100-pcie"},
                 {"NVIDIA H200", "h200-sxm"},                {"NVIDIA A100-SXM4-80GB", "a100-80-sxm"},
                 {"NVIDIA A100 80GB PCIe", "a100-80-pcie"},  {"NVIDIA A100-SXM4-40GB", "a100-40-sxm"},
                 {"NVIDIA A10", "a10"},                      {"NVIDIA A10G", "a10g"},
                 {"NVIDIA L40S", "l40s"},                    {"NVIDIA RTX A6000", "a6000"},
                 {"NVIDIA GeForce RTX 4090", "rtx-4090"},    {"NVIDIA B200", "b200-sxm"},
                 {"Tesla V100-SXM2-32GB", "v100-32-sxm"},    {"Tesla V100-PCIE-32GB", "v100-32-pcie"},
                 {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"}};
    struct arena arena;
    struct diag diag;
    arena_init(&arena);
    diag_init(&diag);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gpu_spec gpu;
        MUST(catalog_gpu(&catalog, names[i].gpu, "test", &arena, &gpu, &diag) == 0);
        const char *name = found(&arena, names[i].reported, gpu.sm_count, gpu.memory_bytes / 1048576.0, &diag);
        CHECK_EQ_STR(name != NULL ? name : "none", names[i].gpu);
    }
    CHECK_EQ_INT(diag.n_errors, 0);
    arena_fini(&arena);
}

TEST(a_name_alone_is_no_match)
{
    struct arena arena;
    struct diag diag;
    arena_init(&arena);
    diag_init(&diag);
    CHECK(found(&arena, "NVIDIA H100 NVL", 132, 95830.0, &diag) == NULL); /* other memory */
    CHECK(found(&arena, "NVIDIA H100 80GB HBM3", 114, 81559.0, &diag) != NULL);
    CHECK(found(&arena, "NVIDIA H100 80GB HBM3", 100, 81559.0, &diag) == NULL); /* other SMs */
    CHECK(found(&arena, "NVIDIA H1000", 132, 81559.0, &diag) == NULL);
    CHECK(found(&arena, "NVIDIA A100", 108, 81920.0, &diag) == NULL); /* of two form factors */
    CHECK_EQ_INT(diag.n_errors, 4);
    arena_fini(&arena);
}

/* A product that reads its weights at half the bandwidth, and one at twice of it; rows that fit into the cache do not
 * count. */
TEST(rates_are_shares_of_the_data_sheet)
{
    struct arena arena;
    struct diag diag;
    struct gpu_spec gpu;
    arena_init(&arena);
    diag_init(&diag);
    MUST(catalog_gpu(&catalog, "h100-sxm", "test", &arena, &gpu, &diag) == 0);
    struct profile_row rows[3];
    const double sides[] = {32768.0, 32768.0, 1024.0}, speeds[] = {0.5, 2.0, 9.0};
    for (int i = 0; i < 3; i++) {
        rows[i] = (struct profile_row){
            .gpu = &gpu, .call = {.class = KERNEL_GEMM, .shape.gemm = {.m = 1.0, .n = sides[i], .k = sides[i],
                                                                       .weights = FORMAT_BF16, .compute = FORMAT_BF16}}};
        rows[i].measured_s = profile_row_work(&rows[i]).bytes / (speeds[i] * gpu.memory_bytes_per_s);
    }
    const struct profile profile = {.path = "rows.csv", .rows = rows, .n = 3};
    const struct kit_rates rates = kit_rates_of(&profile, KERNEL_GEMM);
    CHECK_EQ_INT(rates.rows, 3);
    CHECK_NEAR(rates.memory_frac, 2.0, 1e-9);
    CHECK_EQ_INT(rates.beyond_memory, 1);
    CHECK_EQ_INT(kit_rates_of(&profile, KERNEL_NORM).rows, 0);
    kit_check_rates(&rates, "gemm", &profile, &gpu, &diag);
    CHECK_EQ_INT(diag.n_warnings, 1);
    arena_fini(&arena);
}
