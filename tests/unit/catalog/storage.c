#include "models/storage.h"
#include "tests/support/harness.h"

/* A drive of round numbers: 2 GB/s read, 1 GB/s write over a link of 4 GB/s, 4 KiB granules. */
static struct storage_device make_drive(void)
{
    return (struct storage_device){
        .capacity_bytes = 1e12,
        .granularity_bytes = 4096.0,
        .queue_depth = 64.0,
        .media = {{2e9, 2e9}, {1e9, 1e9}},
        .link = {4e9, 4e9},
        .latency_s = {100e-6, 20e-6},
        .requests_per_s = {(double)NAN, (double)NAN},
    };
}

TEST(the_slowest_part_sets_the_rate)
{
    struct storage_device drive = make_drive();
    const struct storage_software slow = {{0.5e9, (double)NAN}, 1e-3};
    CHECK_NEAR(storage_rate_bytes_per_s(&drive, NULL, STORAGE_READ), 2e9, 0.0);
    CHECK_NEAR(storage_rate_bytes_per_s(&drive, &slow, STORAGE_READ), 0.5e9, 0.0);
    CHECK_NEAR(storage_rate_bytes_per_s(&drive, &slow, STORAGE_WRITE), 1e9, 0.0);
    drive.link.sustained_bytes_per_s = 1.5e9;
    CHECK_NEAR(storage_rate_bytes_per_s(&drive, NULL, STORAGE_READ), 1.5e9, 0.0);
}

/* InstInfer's drive in round numbers: 8 GB/s of flash, pages of 16 tokens of one head. */
static struct csd_spec make_csd(void)
{
    return (struct csd_spec){
        .channels = 8.0,
        .channel_bytes_per_s = 1e9,
        .read_frac = 1.0,
        .page_bytes = 4096.0,
        .stream_bytes_per_s = 100e9,
        .flop_per_s = 500e9,
        .dual_key = true,
        .page_channels = 4.0,
        .token_run = 6.0,
    };
}

static struct csd_attention make_attention(double context, double kept_frac)
{
    return (struct csd_attention){.sequences = 8.0,
                                  .context = context,
                                  .q_heads = 40.0,
                                  .kv_heads = 40.0,
                                  .head_dim = 128.0,
                                  .number_bytes = 2.0,
                                  .kept_frac = kept_frac};
}

static struct csd_time attention_time(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const struct storage_device drive = make_drive();
    return csd_attention_time(csd, &drive, attention);
}

/* With as many heads of keys as of queries, in 16 bits: 4 b s h bytes, as many operations, 8 b h bytes on the link. */
TEST(dense_attention_in_closed_form)
{
    const struct csd_spec csd = make_csd();
    const struct csd_attention attention = make_attention(1024.0, 1.0);
    const struct csd_time time = attention_time(&csd, &attention);
    const double bsh = 8.0 * 1024.0 * 5120.0;
    CHECK_NEAR(time.flash_bytes, 4.0 * bsh, 0.0);
    CHECK_NEAR(time.flop, 4.0 * bsh, 0.0);
    CHECK_NEAR(time.link_bytes, 8.0 * 8.0 * 5120.0, 0.0);
    CHECK_NEAR(time.seconds, 4.0 * bsh / 8e9 + 100e-6 + time.link_bytes / 4e9, 1e-12);
    CHECK_EQ_INT(time.bound, CSD_BOUND_FLASH);
}

/* Without computing in the drive, keys and values cross the link: 4 s h to read and 4 h to write, against 8 h (HILOS:
 * the ratio is (s + 1) / 2). */
TEST(only_queries_and_results_cross_the_link)
{
    const struct csd_spec csd = make_csd();
    for (double s = 64.0; s <= 65536.0; s *= 4.0) {
        const struct csd_attention attention = make_attention(s, 1.0);
        const double h = 8.0 * 5120.0, base_bytes = 4.0 * s * h + 4.0 * h;
        CHECK_NEAR(base_bytes / attention_time(&csd, &attention).link_bytes, 0.5 * (s + 1.0), 1e-9);
    }
}

TEST(pages_are_whole)
{
    const struct csd_spec csd = make_csd();
    const struct csd_attention one = make_attention(1.0, 1.0), page = make_attention(16.0, 1.0);
    const struct csd_attention more = make_attention(17.0, 1.0);
    CHECK_NEAR(attention_time(&csd, &one).flash_bytes, attention_time(&csd, &page).flash_bytes, 0.0);
    CHECK_NEAR(attention_time(&csd, &more).flash_bytes, 2.0 * attention_time(&csd, &page).flash_bytes, 0.0);
}

/* Both steps together read more than the share that is kept, as flash gives whole pages, and less than everything
 * while little is kept; more kept is more read. */
TEST(sparse_attention_reads_in_two_steps)
{
    struct csd_spec csd = make_csd();
    const struct csd_attention dense = make_attention(2048.0, 1.0);
    const double all = attention_time(&csd, &dense).flash_bytes;
    double last = 0.0;
    for (double kept = 1.0 / 128.0; kept <= 1.0 / 8.0; kept *= 2.0) {
        const struct csd_attention sparse = make_attention(2048.0, kept);
        const double bytes = attention_time(&csd, &sparse).flash_bytes;
        CHECK(bytes > 1.5 * kept * all && bytes < all && bytes > last);
        last = bytes;
    }
    const struct csd_attention sparse = make_attention(2048.0, 1.0 / 8.0);
    csd.token_run = 16.0;
    csd.page_channels = 1.0;
    CHECK_NEAR(attention_time(&csd, &sparse).flash_bytes / all, 1.5 / 8.0, 1e-12);
    csd.dual_key = false;
    CHECK_NEAR(attention_time(&csd, &sparse).flash_bytes, all, 0.0);
}

/* The probability that a page of c of d channels holds one of the chosen, against drawing in turn. */
TEST(channel_pages_follow_the_draw)
{
    struct csd_spec csd = make_csd();
    csd.token_run = 16.0;
    const struct csd_attention sparse = make_attention(2048.0, 0.125), dense = make_attention(2048.0, 1.0);
    const double rows = attention_time(&csd, &dense).flash_bytes;
    for (double c = 1.0; c <= 8.0; c *= 2.0) {
        csd.page_channels = c;
        double none = 1.0;
        for (int i = 0; i < (int)c; i++) none *= (112.0 - i) / (128.0 - i);
        const double expected = 0.5 * (1.0 - none) + 0.125;
        CHECK_NEAR(attention_time(&csd, &sparse).flash_bytes / rows, expected, 1e-9);
    }
}

/* Queries that share keys read them once when dense, and choose different ones when sparse. */
TEST(grouped_queries_share_reads)
{
    const struct csd_spec csd = make_csd();
    struct csd_attention dense = make_attention(2048.0, 1.0), sparse = make_attention(2048.0, 0.125);
    dense.kv_heads = sparse.kv_heads = 10.0;
    const struct csd_attention sparse_alone = make_attention(2048.0, 0.125), dense_alone = make_attention(2048.0, 1.0);
    const double alone = attention_time(&csd, &sparse_alone).flash_bytes /
                         attention_time(&csd, &dense_alone).flash_bytes;
    const double grouped = attention_time(&csd, &sparse).flash_bytes / attention_time(&csd, &dense).flash_bytes;
    CHECK_NEAR(attention_time(&csd, &dense).flash_bytes * 4.0, attention_time(&csd, &dense_alone).flash_bytes, 0.0);
    CHECK_NEAR(attention_time(&csd, &dense).flop, attention_time(&csd, &dense_alone).flop, 0.0);
    CHECK(grouped > alone && grouped < 4.0 * alone);
}

/* Heads split over devices: work is conserved, and each takes its share of the time. */
TEST(heads_split_over_devices)
{
    const struct csd_spec csd = make_csd();
    struct csd_attention all = make_attention(4096.0, 0.125), part = all;
    part.q_heads = part.kv_heads = 10.0;
    const struct csd_time whole = attention_time(&csd, &all), quarter = attention_time(&csd, &part);
    CHECK_NEAR(4.0 * quarter.flash_bytes, whole.flash_bytes, 0.0);
    CHECK_NEAR(4.0 * quarter.link_bytes, whole.link_bytes, 0.0);
    CHECK_NEAR(4.0 * (quarter.seconds - 100e-6), whole.seconds - 100e-6, 1e-12);
}

TEST(every_part_of_a_csd_can_bind)
{
    struct csd_spec csd = make_csd();
    const struct csd_attention attention = make_attention(1024.0, 1.0);
    csd.flop_per_s = 1e9;
    CHECK_EQ_INT(attention_time(&csd, &attention).bound, CSD_BOUND_COMPUTE);
    csd.flop_per_s = 500e9;
    csd.stream_bytes_per_s = 4e9;
    CHECK_NEAR(attention_time(&csd, &attention).compute_s, 4.0 * 8.0 * 1024.0 * 5120.0 / 4e9, 1e-12);
    CHECK_EQ_INT(attention_time(&csd, &attention).bound, CSD_BOUND_COMPUTE);
    csd = make_csd();
    const struct csd_attention shortest = make_attention(1.0, 1.0);
    csd.channels = 1e6;
    CHECK_EQ_INT(attention_time(&csd, &shortest).bound, CSD_BOUND_LINK);
}

TEST(a_second_copy_of_the_keys_is_stored)
{
    struct csd_spec csd = make_csd();
    CHECK_NEAR(csd_copies(&csd), 1.5, 0.0);
    csd.dual_key = false;
    CHECK_NEAR(csd_copies(&csd), 1.0, 0.0);
}
