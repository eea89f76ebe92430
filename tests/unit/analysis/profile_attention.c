/* Reading measured attention: which rows are prompts, which decode, what counts as context, and what is left out. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

static const struct prefill_shape *prefill_of(const struct profile *profile, size_t i)
{
    CHECK_EQ_INT(profile->rows[i].call.class, KERNEL_PREFILL_ATTENTION);
    CHECK_EQ_INT(profile->rows[i].op,
                 profile->rows[i].call.shape.prefill.decodes > 0.0 ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION);
    return &profile->rows[i].call.shape.prefill;
}

static const struct decode_shape *decode_of(const struct profile *profile, size_t i)
{
    CHECK_EQ_INT(profile->rows[i].call.class, KERNEL_DECODE_ATTENTION);
    CHECK_EQ_INT(profile->rows[i].op, OP_DECODE_ATTENTION);
    return &profile->rows[i].call.shape.decode;
}

static int64_t dropped(const struct profile *profile, size_t i, const char *reason)
{
    if (!CHECK(i < profile->n_dropped)) return -1;
    CHECK_EQ_STR(profile->dropped[i].reason, reason);
    return profile->dropped[i].rows;
}

static const struct profile *read_text(struct profile_fixture *fixture, const char *gpu, const char *name,
                                       const char *text)
{
    CHECK(profile_fixture_init(fixture, gpu) == 0);
    CHECK_EQ_INT(profile_fixture_text(fixture, name, text), 0);
    CHECK_EQ_STR(fixture->message, "");
    return &fixture->files[0];
}

/* Heads share one latent vector and one rotary key per token, which are read once. */
TEST(latent_vectors_are_shared_by_all_heads)
{
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(&fixture, "b200-sxm", "generation_mla.csv",
                                              "kv_cache_dtype,num_heads,batch_size,tp_size,step,latency\n"
                                              "fp8,16,32,8,1023,0.017\n"
                                              "bfloat16,128,1,1,63,0.009\n"
                                              "float32,128,1,1,63,0.009\n"
                                              "bfloat16,128,1024,1,131071,0.009\n");
    MUST(profile->n == 2);
    CHECK_EQ_STR(profile->format, "aiconfigurator-latent");
    const struct kernel_call *call = &profile->rows[0].call;
    CHECK_EQ_INT(call->class, KERNEL_LATENT_DECODE);
    CHECK(call->shape.decode.sequences == 32.0 && call->shape.decode.context == 1024.0);
    CHECK(call->shape.decode.q_heads == 16.0 && call->shape.decode.kv_heads == 1.0 && call->shape.decode.shared_kv);
    CHECK(call->shape.decode.key_dim == 576.0 && call->shape.decode.value_dim == 512.0);
    CHECK_EQ_INT(call->shape.decode.kv, FORMAT_FP8);
    CHECK_EQ_INT(profile->rows[1].call.shape.decode.kv, FORMAT_BF16);
    CHECK_EQ_INT(dropped(profile, 0, "type of numbers not read"), 1);
    CHECK_EQ_INT(dropped(profile, 1, "faster than the memory"), 1);
    CHECK_EQ_INT(profile->n_groups, 2);
}

/* TensorRT-LLM's prompts have expanded keys and values, one pair for each head. */
TEST(prompts_expand_latent_vectors)
{
    static const char text[] = "kv_cache_dtype,num_heads,batch_size,isl,tp_size,latency\n"
                               "fp8,16,4,512,8,0.06\n"
                               "bfloat16,128,1,16,1,0.02\n"
                               "bfloat16,128,1,1,1,0.015\n";
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(&fixture, "b200-sxm", "b200__trtllm1.3__context_mla_perf.csv", text);
    MUST(profile->n == 2);
    CHECK_EQ_STR(profile->format, "aiconfigurator-latent-prompts");
    const struct kernel_call *call = &profile->rows[0].call;
    const struct prefill_shape *shape = &call->shape.prefill;
    CHECK_EQ_INT(call->class, KERNEL_LATENT_PREFILL);
    CHECK(shape->sequences == 4.0 && shape->tokens == 2048.0 && shape->pairs == 4.0 * 512.0 * 512.0);
    CHECK(shape->q_heads == 16.0 && shape->kv_heads == 16.0 && !shape->shared_kv);
    CHECK(shape->key_dim == 192.0 && shape->value_dim == 128.0);
    CHECK_EQ_INT(shape->kv, FORMAT_FP8);
    CHECK_EQ_INT(profile->rows[1].call.shape.prefill.kv, FORMAT_BF16);
    CHECK_EQ_INT(dropped(profile, 0, "a prompt of less than 16 tokens"), 1);
    SCOPED(profile_fixture) other = {0};
    profile = read_text(&other, "b200-sxm", "b200__sglang0.5.14__context_mla_perf.csv", text);
    CHECK_EQ_INT((int64_t)profile->n, 0);
    CHECK_EQ_INT(dropped(profile, 0, "prompts by kernels that SGLang does not serve with"), 3);
}

TEST(aiconfigurator_decodes_rows_of_one_token)
{
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(
        &fixture, "a100-80-sxm", "generation.csv",
        "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,latency\r\n"
        "vllm_flash_attn,32,1,64,8,128,bfloat16,bfloat16,4095,0.421\r\n"
        "vllm_flash_attn,4,512,64,4,128,bfloat16,bfloat16,0,0.2\r\n"
        "vllm_flash_attn,2,64,64,4,128,bfloat16,fp8,1024,0.05\r\n"
        "vllm_flash_attn,4,8,64,4,128,bfloat16,bfloat16,0,0.02\r\n"
        "vllm_flash_attn,4,1,64,4,128,bfloat16,bfloat16,0,0.02\r\n"
        "vllm_flash_attn,4,512,64,4,128,int8,bfloat16,0,0.2\r\n");
    MUST(profile->n == 3);
    CHECK_EQ_STR(profile->format, "aiconfigurator-attention");
    CHECK_EQ_STR(profile->set, "isolated");
    const struct decode_shape *decode = decode_of(profile, 0);
    CHECK(decode->sequences == 32.0 && decode->context == 4096.0 && decode->q_heads == 64.0 && decode->kv_heads == 8.0);
    CHECK_NEAR(profile->rows[0].measured_s, 421e-6, 1e-12);
    CHECK_NEAR(profile->rows[0].tokens, 32.0, 0.0);
    const struct prefill_shape *prompt = prefill_of(profile, 1), *chunk = prefill_of(profile, 2);
    CHECK(prompt->tokens == 2048.0 && prompt->past == 0.0 && prompt->pairs == 4.0 * 512.0 * 512.0);
    CHECK(prompt->writes_kv && decode->writes_kv && prompt->kv == FORMAT_BF16 && chunk->kv == FORMAT_FP8);
    CHECK(chunk->past == 2048.0 && chunk->pairs == 2.0 * 64.0 * (64.0 + 2048.0));
    CHECK_NEAR(profile->rows[1].tokens, 2048.0, 0.0);
    CHECK_EQ_INT(profile->n_groups, 2);
    CHECK_EQ_STR(profile->groups[0], "64/8 heads");
    CHECK_EQ_INT(dropped(profile, 0, "a prompt of less than 16 tokens"), 2);
    CHECK_EQ_INT(dropped(profile, 1, "type of numbers not read"), 1);
}

/* Columns that are constant in a table may be absent. Of rows with a window those are read whose sequences it cuts. */
TEST(aiconfigurator_tables_may_lack_constant_columns)
{
    SCOPED(profile_fixture) fixture = {0}, prompts = {0};
    const struct profile *decodes = read_text(
        &fixture, "b200-sxm", "generation.csv",
        "kv_cache_dtype,batch_size,num_heads,num_key_value_heads,head_dim,step,window_size,latency\n"
        "fp8,8,64,8,64,1023,0,0.05\nfp8,8,64,8,64,1023,128,0.02\nfp8,8,64,8,64,127,128,0.01\n");
    MUST(decodes->n == 2);
    const struct decode_shape *decode = decode_of(decodes, 0);
    CHECK(decode->context == 1024.0 && decode->key_dim == 64.0);
    CHECK(decode->kv == FORMAT_FP8 && decode->compute == FORMAT_BF16);
    CHECK(decode->window == 0.0 && decode_of(decodes, 1)->window == 128.0);
    CHECK_NEAR(decode_of(decodes, 1)->context, 1024.0, 0.0);
    CHECK_EQ_INT(dropped(decodes, 0, "a sliding window that cuts nothing"), 1);
    const struct profile *prefills = read_text(
        &prompts, "b200-sxm", "context.csv",
        "kv_cache_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,latency\n"
        "bfloat16,2,1024,64,8,128,0,0.5\nbfloat16,2,1024,64,8,128,128,0.2\n");
    MUST(prefills->n == 1);
    CHECK_EQ_INT(dropped(prefills, 0, "a prompt with a sliding window"), 1);
    CHECK(prefill_of(prefills, 0)->past == 0.0 && prefill_of(prefills, 0)->tokens == 2048.0);
}

#define VIDUR_COLUMNS                                                                                                  \
    "time_stats.attn_prefill.median,time_stats.attn_decode.median,n_embd,n_q_head,n_kv_head,"                          \
    "num_tensor_parallel_workers,batch_size,prefill_chunk_size,kv_cache_size,is_prefill"

TEST(vidur_counts_what_came_before)
{
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(
        &fixture, "a100-80-sxm", "attention.csv",
        "time_stats.attn_input_reshape.median," VIDUR_COLUMNS ",attention_backend\n"
        "0.0,0.073,,8192,64,8,2,1,256,1024,True,AttentionBackend.FLASH_ATTENTION\n"
        "0.0,,0.062,8192,64,8,2,16,0,992,False,AttentionBackend.FLASH_ATTENTION\n");
    MUST(profile->n == 2);
    CHECK_EQ_STR(profile->format, "vidur-attention");
    CHECK_EQ_STR(profile->set, "in-model");
    const struct prefill_shape *chunk = prefill_of(profile, 0);
    CHECK(chunk->tokens == 256.0 && chunk->past == 1024.0 && !chunk->writes_kv && chunk->full);
    CHECK(chunk->q_heads == 32.0 && chunk->kv_heads == 4.0 && chunk->key_dim == 128.0);
    const struct decode_shape *decode = decode_of(profile, 1);
    CHECK(decode->sequences == 16.0 && decode->context == 993.0);
    CHECK_NEAR(profile->rows[0].measured_s, 73e-6, 1e-12);
    CHECK_NEAR(profile->rows[1].measured_s, 62e-6, 1e-12);
}

/* 64 sequences of 2049 tokens hold 537 MB of keys and values; 768 GB/s take 0.7 ms to read them. */
TEST(llmservingsim_counted_the_chunk_and_shared_blocks)
{
    SCOPED(profile_fixture) fixture;
    const struct profile *profile = read_text(&fixture, "a6000", "attention.csv",
                                              VIDUR_COLUMNS "\n0.0558,,4096,32,8,1,1,512,512,True\n"
                                                            ",0.0552,4096,32,8,1,64,0,2048,False\n"
                                                            ",0.750,4096,32,8,1,64,0,2048,False\n");
    MUST(profile->n == 2);
    CHECK_EQ_STR(profile->format, "llmservingsim-attention-v0");
    CHECK(prefill_of(profile, 0)->past == 0.0 && prefill_of(profile, 0)->tokens == 512.0);
    CHECK(!prefill_of(profile, 0)->full);
    CHECK(decode_of(profile, 1)->context == 2049.0);
    CHECK_EQ_INT(dropped(profile, 0, "faster than the memory"), 1);
}

TEST(most_decodes_too_fast_discredit_the_others)
{
    SCOPED(profile_fixture) fixture;
    const struct profile *profile = read_text(&fixture, "a6000", "attention.csv",
                                              VIDUR_COLUMNS "\n,0.0552,4096,32,8,1,64,0,2048,False\n"
                                                            "0.0558,,4096,32,8,1,1,512,512,True\n"
                                                            ",0.0552,4096,32,8,1,48,0,2048,False\n"
                                                            ",0.750,4096,32,8,1,64,0,2048,False\n");
    MUST(profile->n == 1);
    CHECK(prefill_of(profile, 0)->tokens == 512.0);
    CHECK_EQ_INT(dropped(profile, 0, "faster than the memory"), 2);
    CHECK_EQ_INT(dropped(profile, 1, "decodes beside too many that are faster than the memory"), 1);
}

TEST(a_chunk_is_no_longer_than_its_context)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a6000") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "attention.csv", VIDUR_COLUMNS "\n0.05,,4096,32,8,1,1,512,256,True\n"),
                 SIM_E_DATA);
    CHECK(fixture.message[0] != '\0');
}

/* Three launches, of 15 sequences with 1024 tokens and one with 4096, alone and beside a chunk. */
TEST(llmservingsim_has_sequences_of_two_lengths)
{
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(
        &fixture, "rtx-4090", "RTX4090__Llama-3.1-8B__bf16_tp1__skew.csv",
        "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha\n"
        "pure,16,1,0.06,4.0,0,0,1024,4096,1216,300,900,330,0.05\n"
        "mixed,16,1,0.06,4.0,256,512,1024,4096,1216,600,1200,660,0.1\n");
    MUST(profile->n == 2);
    CHECK_EQ_STR(profile->format, "llmservingsim-skew");
    CHECK(decode_of(profile, 0)->context == 1217.0 && decode_of(profile, 0)->longest == 4097.0);
    const struct prefill_shape *mixed = prefill_of(profile, 1);
    CHECK(mixed->tokens == 256.0 && mixed->past == 512.0 && mixed->decodes == 16.0);
    CHECK(mixed->decode_context == 1217.0 && mixed->decode_longest == 4097.0);
    CHECK_NEAR(profile->rows[0].measured_s, 110e-6, 1e-12);
    CHECK_NEAR(profile->rows[1].measured_s, 220e-6, 1e-12);
}

TEST(llmservingsim_takes_heads_from_its_llm)
{
    SCOPED(profile_fixture) fixture = {0};
    const struct profile *profile = read_text(
        &fixture, "rtx-4090", "RTX4090__Llama-3.1-8B__bf16_tp2__attention.csv",
        "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\r\n"
        "512,1024,0,0,104.6\r\n0,0,16,2048,171.8\r\n512,1024,16,2048,290\r\n0,0,0,0,3\r\n");
    MUST(profile->n == 3);
    CHECK_EQ_STR(profile->format, "llmservingsim-attention");
    const struct prefill_shape *mixed = prefill_of(profile, 2);
    CHECK(mixed->decodes == 16.0 && mixed->decode_context == 2049.0 && mixed->tokens == 512.0);
    CHECK_EQ_INT(profile->rows[2].op, OP_MIXED_ATTENTION);
    const struct prefill_shape *chunk = prefill_of(profile, 0);
    CHECK(chunk->sequences == 1.0 && chunk->tokens == 512.0 && chunk->past == 1024.0);
    CHECK(chunk->q_heads == 16.0 && chunk->kv_heads == 4.0 && chunk->kv == FORMAT_BF16);
    CHECK(decode_of(profile, 1)->context == 2049.0);
    CHECK(chunk->writes_kv && decode_of(profile, 1)->writes_kv);
    CHECK_NEAR(profile->rows[1].measured_s, 171.8e-6, 1e-12);
    CHECK_EQ_INT(dropped(profile, 0, "empty batch"), 1);
}
