/* Storage models against public measurements: what of a device's entry was fitted is said beside each table, the rest
 * is predicted. Bounds are what was found, rounded up.
 *
 * Sources: Defibrilator/smartssd-setup @ 1b72f32f (fio), kvcache-ai/Mooncake (vLLM, two nodes of H800),
 * xaskasdf/gpu-nvme-direct (a GPU that reads drives by itself), FMInference/FlexGen @ 19753bc0 (one T4), InstInfer
 * (arXiv 2409.04992), HILOS (arXiv 2502.09921). */
#include "sim/catalog/storage.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* An entry of the catalog, and what reading it allocates. */
struct shelf_entry {
    struct arena arena;
    struct storage_spec spec;
};

static bool entry_open(struct shelf_entry *entry, const char *name)
{
    struct diag diag = {0};
    arena_init(&entry->arena);
    return CHECK(catalog_storage(&catalog, name, "test", &entry->arena, &entry->spec, &diag) == 0);
}

static void entry_close(struct shelf_entry *entry)
{
    arena_fini(&entry->arena);
}

/* The asymptotic bounds of a closed queueing system (Little's law; Denning and Buzen 1978): pieces of at most
 * `piece_bytes`, of which `in_flight` (0: as many as the device takes) are requested at once. */
static double bounds_s(const struct storage_device *device, const struct storage_software *software, enum storage_op op,
                       double bytes, double piece_bytes, double in_flight)
{
    const double granule = device->granularity_bytes, pieces = piece_bytes > 0.0 ? ceil(bytes / piece_bytes) : 1.0;
    const double depth = fmin(in_flight > 0.0 ? fmin(in_flight, device->queue_depth) : device->queue_depth, pieces);
    const double latency_s = device->latency_s[op] + (software ? software->latency_s : 0.0);
    const double whole = pieces * ceil(bytes / pieces / granule) * granule;
    const double moving_s = whole / storage_rate_bytes_per_s(device, software, op);
    const double issuing_s = fmax(pieces / device->requests_per_s[op], 0.0);
    return fmax(latency_s + fmax(moving_s, issuing_s), (pieces * latency_s + moving_s) / depth);
}

/* Seconds to move bytes, over a stack of software of the entry (NULL: the bare device). */
static double move_s(const struct shelf_entry *entry, const char *software, enum storage_op op, double bytes,
                     double piece_bytes, double in_flight)
{
    if (!(bytes > 0.0)) return 0.0;
    const struct storage_software *limits = software ? storage_spec_software(&entry->spec, software) : NULL;
    CHECK(!software || limits);
    return bounds_s(&entry->spec.device, limits, op, bytes, piece_bytes, in_flight);
}

static double error_of(double predicted, double measured)
{
    return predicted / measured - 1.0;
}

/* 12 jobs: 4 KiB anywhere with 256 requests each, 1 MiB in order with 64 each. The two rates of reading differ by a
 * tenth, and the entry stands between them; it takes writing in order, which a cache does not help. */
TEST(smartssd_under_fio)
{
    struct shelf_entry entry;
    if (entry_open(&entry, "smartssd")) {
        const double bytes = 64e9;
        CHECK_NEAR(error_of(bytes / move_s(&entry, NULL, STORAGE_READ, bytes, 4096.0, 3072.0), 3136e6), -0.05, 0.005);
        CHECK_NEAR(error_of(bytes / move_s(&entry, NULL, STORAGE_READ, bytes, 0x1p20, 768.0), 2835e6), 0.05, 0.005);
        CHECK_NEAR(error_of(bytes / move_s(&entry, NULL, STORAGE_WRITE, bytes, 0x1p20, 768.0), 1809e6), 0.0, 0.005);
        CHECK_NEAR(error_of(bytes / move_s(&entry, NULL, STORAGE_WRITE, bytes, 4096.0, 3072.0), 2796e6), -0.35, 0.01);
    }
    entry_close(&entry);
}

/* The KV cache of one prompt of Qwen3-8B (36 layers, 8 heads of 128, 16 bits) between two nodes. Latency and bandwidth
 * were fitted on the first and last row; the seven between are predicted. */
TEST(kv_transfers_over_rdma)
{
    static const struct {
        double tokens, ms;
    } rows[] = {{128, 0.54}, {256, 0.61},  {512, 0.92},   {1024, 1.50},  {2048, 2.51},
                {4096, 4.75}, {8192, 8.84}, {16384, 16.43}, {32768, 31.65}};
    const double token_bytes = 2.0 * 36.0 * 8.0 * 128.0 * 2.0;
    struct shelf_entry entry;
    if (entry_open(&entry, "rdma-h800"))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const double s = move_s(&entry, "mooncake", STORAGE_READ, rows[i].tokens * token_bytes, 0.0, 0.0);
            CHECK(fabs(error_of(s, rows[i].ms * 1e-3)) < (i == 0 || i == 8 ? 0.01 : 0.10));
        }
    entry_close(&entry);
}

/* Layers streamed in order, in requests of 1 MiB and 512 KiB. Nothing fitted: the first is bound by PCIe 3.0 x4, the
 * second by the drive, of which only the data sheet is known. */
TEST(drives_that_a_gpu_reads)
{
    struct shelf_entry sn740, sn530;
    const bool open = entry_open(&sn740, "wd-sn740-pcie3"), open_too = entry_open(&sn530, "wd-sn530");
    if (open && open_too) {
        const double bytes = 16e9;
        CHECK_NEAR(error_of(bytes / move_s(&sn740, NULL, STORAGE_READ, bytes, 0x1p20, 0.0), 3.35e9), -0.01, 0.005);
        CHECK_NEAR(error_of(bytes / move_s(&sn530, NULL, STORAGE_READ, bytes, 0x1p19, 0.0), 2.1e9), 0.14, 0.01);
    }
    entry_close(&sn740);
    entry_close(&sn530);
}

/* A model and a policy of FlexGen, in its own terms: shares of weights, KV cache and hidden states on CPU and disk. */
struct flexgen_run {
    double layers, hidden, prompt, outputs;
    double batch, block; /* sequences at once; of a whole block */
    double weights_cpu, weights_disk, cache_cpu, cache_disk, hidden_cpu;
    double tokens_per_s; /* measured */
};

/* What a layer of a block takes to move and compute, in seconds. */
struct flexgen_times {
    double to_gpu, from_gpu, from_disk, to_disk, compute;
};

/* A T4 and its host, FLOP/s (FlexGen's fitted constants): products and batched products of prompts and of tokens. */
static const double prompt_flop_per_s = 21.24e12, prompt_batched_flop_per_s = 9.97e12, token_flop_per_s = 4.3e12;

/* Attention on the CPU, which small batches and narrow models use badly. */
static double cpu_flop_per_s(const struct flexgen_run *run)
{
    const double x = fmax(0.0, log2(64.0 / run->batch)), y = fmax(0.0, log2(4096.0 / run->hidden));
    return 0.0123e12 * fmax(0.1, 1.0 + 0.0168 * x * y - 0.0328 * x - 0.0621 * y);
}

static double layer_weight_bytes(const struct flexgen_run *run)
{
    return 24.0 * run->hidden * run->hidden;
}

static struct flexgen_times prompt_times(const struct flexgen_run *run, const struct shelf_entry *dram,
                                         const struct shelf_entry *disk)
{
    const double weights = layer_weight_bytes(run), h = run->hidden, s = run->prompt;
    const double cache = 4.0 * run->block * (s + 1.0) * h, hidden = 2.0 * s * h * run->block * run->hidden_cpu;
    return (struct flexgen_times){
        .to_gpu = move_s(dram, "flexgen", STORAGE_READ,
                         weights * (run->weights_cpu + run->weights_disk) + hidden, 0.0, 0.0),
        .from_gpu = move_s(dram, "flexgen", STORAGE_WRITE, cache * (run->cache_cpu + run->cache_disk), 0.0, 0.0) +
                    move_s(dram, "flexgen-activations", STORAGE_WRITE, hidden, 0.0, 0.0),
        .from_disk = move_s(disk, NULL, STORAGE_READ, weights * run->weights_disk, 0.0, 0.0),
        .to_disk = move_s(disk, "flexgen", STORAGE_WRITE, cache * run->cache_disk, 0.0, 0.0),
        .compute = 24.0 * run->block * s * h * h / prompt_flop_per_s +
                   4.0 * run->block * s * s * h / prompt_batched_flop_per_s,
    };
}

static struct flexgen_times token_times(const struct flexgen_run *run, const struct shelf_entry *dram,
                                        const struct shelf_entry *disk)
{
    const double weights = layer_weight_bytes(run), h = run->hidden, context = run->prompt + 0.5 * run->outputs;
    const double cache = 4.0 * run->block * context * h, hidden = 2.0 * h * run->block * run->hidden_cpu;
    return (struct flexgen_times){
        .to_gpu = move_s(dram, "flexgen", STORAGE_READ,
                         weights * (run->weights_cpu + run->weights_disk) + hidden, 0.0, 0.0),
        .from_gpu = move_s(dram, "flexgen-activations", STORAGE_WRITE, hidden, 0.0, 0.0),
        .from_disk = move_s(disk, NULL, STORAGE_READ, cache * run->cache_disk + weights * run->weights_disk, 0.0, 0.0),
        .to_disk = move_s(disk, "flexgen-activations", STORAGE_WRITE, 4.0 * run->block * h * run->cache_disk, 0.0, 0.0),
        .compute = 24.0 * run->block * h * h / token_flop_per_s +
                   cache * (run->cache_cpu + run->cache_disk) / cpu_flop_per_s(run),
    };
}

static double flexgen_tokens_per_s(const struct flexgen_run *run, const struct shelf_entry *dram,
                                   const struct shelf_entry *disk)
{
    const struct flexgen_times prompt = prompt_times(run, dram, disk), token = token_times(run, dram, disk);
    const double prompt_s = fmax(prompt.to_gpu + prompt.from_disk,
                                 fmax(prompt.from_gpu + prompt.to_disk, prompt.compute));
    const double token_s = token.to_gpu +
                           fmax(fmax(token.from_gpu, token.from_disk), fmax(token.to_disk, token.compute));
    return run->block * run->outputs / (run->layers * (prompt_s + token_s * (run->outputs - 1.0)));
}

/* FlexGen's schedule (appendix A.3, as its code adds it up) with our times to move data: OPT-30B from host memory and
 * OPT-175B from disk, and both under DeepSpeed's policy. The rates between GPU and host are FlexGen's fits, the disk's
 * is the data sheet's. Of 0.01 tokens/s only one digit is known. */
TEST(flexgen_on_a_t4)
{
    static const struct flexgen_run host = {48, 7168, 512, 32, 48, 144, 0.8, 0.0, 1.0, 0.0, 1.0, 7.32};
    static const struct flexgen_run host_1024 = {48, 7168, 1024, 32, 20, 80, 0.96, 0.0, 1.0, 0.0, 1.0, 3.50};
    static const struct flexgen_run disk_run = {96, 12288, 512, 32, 32, 256, 0.5, 0.5, 0.0, 1.0, 1.0, 0.69};
    static const struct flexgen_run streamed = {96, 12288, 512, 32, 1, 1, 0.0, 1.0, 0.0, 0.0, 0.0, 0.01};
    struct shelf_entry dram, disk;
    const bool open = entry_open(&dram, "host-dram-pcie3"), open_too = entry_open(&disk, "flexgen-t4-nvme");
    if (open && open_too) {
        CHECK_NEAR(error_of(flexgen_tokens_per_s(&host, &dram, &disk), host.tokens_per_s), -0.02, 0.02);
        CHECK_NEAR(error_of(flexgen_tokens_per_s(&host_1024, &dram, &disk), host_1024.tokens_per_s), 0.03, 0.03);
        CHECK_NEAR(error_of(flexgen_tokens_per_s(&disk_run, &dram, &disk), disk_run.tokens_per_s), -0.24, 0.04);
        CHECK_NEAR(flexgen_tokens_per_s(&streamed, &dram, &disk), streamed.tokens_per_s, 0.005);
    }
    entry_close(&dram);
    entry_close(&disk);
}

/* One layer of OPT-13B (40 heads of 128), all of it on one device. */
static struct csd_attention opt_13b(double sequences, double context, double kept_frac)
{
    return (struct csd_attention){sequences, context, 40.0, 40.0, 128.0, 2.0, kept_frac, false};
}

/* Bytes written to flash for new tokens of one layer: keys, values and the second copy of the keys, if any. */
static double append_bytes(const struct csd_spec *csd, const struct csd_attention *attention, double tokens)
{
    return 2.0 * csd_copies(csd) * tokens * attention->kv_heads * attention->head_dim * attention->number_bytes;
}

/* Bytes that one layer reads from flash for 1024 tokens of 64 sequences after 1024 of prompt. */
static double decode_read_bytes(const struct storage_spec *spec, double kept_frac)
{
    double bytes = 0.0;
    for (int context = 1025; context <= 2048; context++) {
        const struct csd_attention attention = opt_13b(64.0, context, kept_frac);
        bytes += csd_attention_time(&spec->csd, &spec->device, &attention).flash_bytes;
    }
    return bytes;
}

/* Fitted: the volume read while decoding (the run of chosen tokens) and its rate. Predicted: what is written, what
 * SparF gains at most, the rate of tokens that flash allows. */
TEST(instinfer_table_iii)
{
    struct shelf_entry entry;
    if (entry_open(&entry, "instcsd")) {
        const struct storage_spec *spec = &entry.spec;
        const struct csd_attention one = opt_13b(1.0, 1536.0, 1.0), step = opt_13b(64.0, 1024.0, 1.0);
        const double dense = decode_read_bytes(spec, 1.0), sparse = decode_read_bytes(spec, 0.125);
        CHECK_NEAR(error_of(sparse, 1085.65e9), 0.0, 0.005);
        CHECK_NEAR(error_of(dense / sparse, 2.08), -0.08, 0.01);
        CHECK_NEAR(error_of(append_bytes(&spec->csd, &step, 64.0 * 1024.0), 1.93e9), 0.043, 0.005);
        const struct csd_time time = csd_attention_time(&spec->csd, &spec->device, &one);
        CHECK_NEAR(error_of(1.0 / (40.0 * time.seconds), 6.1), 0.0, 0.02);
        CHECK_EQ_INT(time.bound, CSD_BOUND_FLASH);
    }
    entry_close(&entry);
}

/* A unit multiplies one head's page of 16 tokens in 0.32 us. */
TEST(instinfer_unit)
{
    struct shelf_entry entry;
    if (entry_open(&entry, "instcsd"))
        CHECK_NEAR(error_of(4096.0 / entry.spec.csd.stream_bytes_per_s, 0.32e-6), 0.0, 0.01);
    entry_close(&entry);
}

/* Rates of HILOS' units by queries per key: the ends were fitted, the middle is predicted. */
TEST(hilos_units)
{
    static const struct {
        double queries, flop_per_s;
    } rows[] = {{1.0, 11.9e9}, {4.0, 46.8e9}, {5.0, 56.3e9}};
    struct shelf_entry entry;
    if (entry_open(&entry, "smartssd"))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const struct csd_attention attention = {16.0, 32768.0, 8.0 * rows[i].queries, 8.0, 128.0, 2.0, 1.0, false};
            const struct csd_time time = csd_attention_time(&entry.spec.csd, &entry.spec.device, &attention);
            CHECK(fabs(error_of(time.flop / time.compute_s, rows[i].flop_per_s)) < 0.02);
            CHECK_EQ_INT(time.bound, CSD_BOUND_FLASH);
        }
    entry_close(&entry);
}
