/* Reading measured collectives: bytes of messages, links of a topology, rows that measure something else. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

#include <limits.h>
#include <sys/stat.h>

#define VIDUR_HEADER                                                                                                   \
    ",time_stats.all_reduce.min,time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node,"      \
    "max_devices_per_node\r\n"

static const struct collective_shape *shape_of(const struct profile *profile, size_t i)
{
    return &profile->rows[i].call.shape.collective;
}

static int64_t dropped(const struct profile *profile, const char *reason)
{
    for (size_t i = 0; i < profile->n_dropped; i++)
        if (strcmp(profile->dropped[i].reason, reason) == 0) return profile->dropped[i].rows;
    return 0;
}

static const char between_nodes[] = "between nodes, whose network the file's name (a100_dgx, h100_dgx) does not tell";

TEST(nccl_counts_numbers)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const char *text = "op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\r\n"
                       "all_reduce,NCCL,half,8,1024,0.0158\r\n"
                       "all_reduce,NCCL,int8,8,2048,0.0160\r\n"
                       "alltoall,NCCL,half,4,512,0.0068\r\n"
                       "broadcast,NCCL,half,4,512,0.0068\r\n"
                       "all_reduce,NCCL,half,,512,0.0068\r\n";
    MUST(profile_fixture_text(&fixture, "nccl.csv", text) == 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->set, "isolated");
    MUST(profile->n == 3);
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_ALL_REDUCE);
    CHECK(shape_of(profile, 0)->bytes == 2048.0 && shape_of(profile, 1)->bytes == 2048.0);
    CHECK(shape_of(profile, 0)->switch_adds && !shape_of(profile, 1)->switch_adds);
    CHECK_EQ_INT(profile->rows[0].group, profile->rows[1].group);
    CHECK_NEAR(profile->rows[0].measured_s, 15.8e-6, 1e-12);
    CHECK_EQ_INT(profile->rows[2].call.class, KERNEL_ALL_TO_ALL);
    CHECK(shape_of(profile, 2)->gpus == 4.0 && shape_of(profile, 2)->link_bytes_per_s == 450e9);
    CHECK_EQ_INT(dropped(profile, "operation not read"), 1);
    CHECK_EQ_INT(dropped(profile, "no number of GPUs"), 1);
}

TEST(only_graphs_time_the_custom_kernel)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = "kernel_source,allreduce_dtype,num_gpus,message_size,latency,backend\r\n"
                       "vLLM_custom_graph,bfloat16,8,4096,0.0063,vllm_graph\r\n"
                       "vLLM_custom_eager,bfloat16,8,4096,0.0449,vllm_eager\r\n"
                       "vLLM_custom_eager,bfloat16,8,4194304,0.138,vllm_eager\r\n";
    MUST(profile_fixture_text(&fixture, "custom.csv", text) == 0);
    const struct profile *profile = &fixture.files[0];
    MUST(profile->n == 1);
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_DIRECT_ALL_REDUCE);
    CHECK(shape_of(profile, 0)->bytes == 8192.0 && !shape_of(profile, 0)->switch_adds);
    CHECK_EQ_INT(dropped(profile, "launched by the host"), 2);
}

/* TensorRT-LLM's table has three columns. Their names tell what they are, in any order; others are not collectives. */
TEST(a_table_of_three_columns_is_known_by_their_names)
{
    static const char *const headers[] = {"num_gpus,message_size,latency", "message_size,num_gpus,latency",
                                          "num_gpus,size,latency",         "num_gpus,message_size,time",
                                          "gpus,message_size,latency",     "num_gpus,message_size,latency,dtype"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        SCOPED(profile_fixture) fixture;
        char text[128];
        MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
        snprintf(text, sizeof text, "%s\n%s,0.0027%s\n", headers[i], i == 1 ? "128,2" : "2,128", i == 5 ? ",half" : "");
        const int code = profile_fixture_text(&fixture, "custom.csv", text);
        CHECK_EQ_INT(code, i < 2 ? 0 : SIM_E_DATA);
        if (code != 0) continue;
        MUST(fixture.files[0].n == 1);
        CHECK_EQ_INT(fixture.files[0].rows[0].call.class, KERNEL_DIRECT_ALL_REDUCE);
        CHECK(shape_of(&fixture.files[0], 0)->bytes == 256.0 && shape_of(&fixture.files[0], 0)->gpus == 2.0);
    }
}

TEST(messages_of_8_mib_leave_the_custom_kernel)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = "kernel_source,allreduce_dtype,num_gpus,message_size,latency,backend\r\n"
                       "vLLM_custom_graph,bfloat16,8,2097152,0.0454,vllm_graph\r\n"
                       "vLLM_custom_graph,bfloat16,8,4194304,0.129,vllm_graph\r\n";
    MUST(profile_fixture_text(&fixture, "custom.csv", text) == 0);
    CHECK_EQ_INT(fixture.files[0].n, 1);
    CHECK_EQ_INT(dropped(&fixture.files[0], "not done by the custom kernel"), 1);
}

TEST(a_machine_with_a_switch_has_one_adapter)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = VIDUR_HEADER "0,0.6,0.662,0,8,65536000,all_reduce,8,8\r\n"
                                    "1,5.0,5.385,0,8,65536000,all_reduce,4,8\r\n"
                                    "2,11.0,11.19,0,2,65536000,all_reduce,1,8\r\n"
                                    "3,5.0,5.400,1,8,65536000,all_reduce,4,8\r\n";
    MUST(profile_fixture_text(&fixture, "network__a100_dgx__all_reduce.csv", text) == 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->set, "in-model");
    MUST(profile->n == 2);
    CHECK(shape_of(profile, 0)->nodes == 1.0 && shape_of(profile, 0)->link_bytes_per_s == 300e9);
    CHECK(shape_of(profile, 1)->nodes == 2.0 && shape_of(profile, 1)->network_bytes_per_s == 25e9 / 4.0);
    CHECK_EQ_INT(profile->n_dropped, 2);
    CHECK_EQ_STR(profile->dropped[0].reason, "too few GPUs of a node to fill its adapter");
    CHECK_EQ_STR(profile->dropped[1].reason, "another rank of the same operation");
}

TEST(pairs_are_joined_by_pcie)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-pcie") == 0);
    const char *text = VIDUR_HEADER "0,0.4,0.424,0,2,65536000,all_reduce,2,4\r\n"
                                    "1,4.0,4.026,0,4,62914560,all_reduce,4,4\r\n"
                                    "2,9.0,9.026,0,2,62914560,all_reduce,1,4\r\n";
    MUST(profile_fixture_text(&fixture, "network__a100_pairwise_nvlink__all_reduce.csv", text) == 0);
    const struct profile *profile = &fixture.files[0];
    MUST(profile->n == 2);
    CHECK(shape_of(profile, 0)->link_bytes_per_s == 300e9);
    CHECK(shape_of(profile, 1)->link_bytes_per_s == 32e9 && shape_of(profile, 1)->nodes == 1.0);
    CHECK_EQ_INT(dropped(profile, between_nodes), 1);
}

TEST(what_has_no_nodes_has_no_shape)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = VIDUR_HEADER "0,0.6,0.662,0,8,65536000,all_reduce,8,8\r\n"
                                    "1,0.6,0.662,0,8,65536000,all_reduce,,8\r\n";
    MUST(profile_fixture_text(&fixture, "network__a100_dgx__all_reduce.csv", text) == 0);
    CHECK_EQ_INT(fixture.files[0].n, 1);
    CHECK_EQ_INT(dropped(&fixture.files[0], "no shape"), 1);
}

TEST(a_folder_names_no_topology)
{
    SCOPED(profile_fixture) fixture = {0};
    char folder[PATH_MAX / 2], path[PATH_MAX];
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    snprintf(folder, sizeof folder, "%s/a100_dgx", test_tmpdir());
    MUST(mkdir(folder, 0777) == 0);
    const char *text = VIDUR_HEADER "0,0.6,0.662,0,8,65536000,all_reduce,8,8\r\n"
                                    "1,5.0,5.385,0,8,65536000,all_reduce,4,8\r\n";
    snprintf(path, sizeof path, "%s/all_reduce.csv", folder);
    test_write(path, "%s", text);
    MUST(profile_fixture_read(&fixture, path) == 0);
    CHECK_EQ_INT(fixture.files[0].n, 1);
    CHECK_EQ_INT(dropped(&fixture.files[0], between_nodes), 1);
}

/* --- DeepEP's kernels --- */

TEST(deepep_rows_are_a_dispatch_and_a_combine)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const char *normal = "hidden_size,num_token,num_topk,num_experts,dispatch_sms,combine_sms,dispatch_transmit_us,"
                         "combine_transmit_us\r\n"
                         "7168,4096,8,256,20,24,500.5,990.25\r\n";
    const char *low = "hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,combine_bandwidth_gbps,"
                      "dispatch_avg_t_us,dispatch_bandwidth_gbps\r\n"
                      "7168,128,8,256,65.5,224.15,37.25,203.66\r\n";
    MUST(profile_fixture_text(&fixture, "normal.csv", normal) == 0);
    MUST(profile_fixture_text(&fixture, "low.csv", low) == 0);
    static const enum kernel_class classes[] = {KERNEL_DISPATCH, KERNEL_COMBINE, KERNEL_LOW_DISPATCH,
                                                KERNEL_LOW_COMBINE};
    static const double seconds[] = {500.5e-6, 990.25e-6, 37.25e-6, 65.5e-6}, sms[] = {20, 24, 0, 0};
    for (size_t i = 0; i < 4; i++) {
        const struct profile *profile = &fixture.files[i / 2];
        MUST(profile->n == 2);
        const struct profile_row *row = &profile->rows[i % 2];
        const struct exchange_shape *shape = &row->call.shape.exchange;
        CHECK_EQ_INT(row->call.class, classes[i]);
        CHECK_NEAR(row->measured_s, seconds[i], 1e-12);
        CHECK(shape->gpus == 8.0 && shape->nodes == 1.0 && shape->link_bytes_per_s == 450e9);
        CHECK(shape->hidden == 7168.0 && shape->chosen == 8.0 && shape->experts == 256.0 && shape->sms == sms[i]);
        CHECK_EQ_INT(shape->sent, i % 2 == 0 ? FORMAT_FP8 : FORMAT_BF16);
        CHECK_EQ_INT(shape->low_latency, i >= 2);
        /* The bandwidth beside a time says which bytes were counted: GB/s times seconds. */
        const double gb_per_s[] = {0, 0, 203.66, 224.15};
        const double bytes = shape->tokens * shape->chosen * exchange_token_bytes(shape);
        if (i >= 2) CHECK_NEAR(bytes / (1e9 * gb_per_s[i] * seconds[i]), 1.0, 0.002);
    }
}
