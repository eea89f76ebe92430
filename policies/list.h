/* Every policy, one line each: POLICY(struct of its family, symbol). Listings keep this order. The includer defines
 * POLICY first; declared.h turns the lines into declarations, registry.c into the table. */

/* batching */
POLICY(batcher, batching_vllm_v0)
POLICY(batcher, batching_vllm_v1)
POLICY(batcher, batching_sarathi)
POLICY(batcher, batching_orca)
POLICY(batcher, batching_fastertransformer)
POLICY(batcher, batching_splitwise)
POLICY(batcher, batching_distserve)
POLICY(batcher, batching_sglang)
POLICY(batcher, batching_trtllm)

/* routing */
POLICY(router, routing_round_robin)
POLICY(router, routing_least_outstanding)
POLICY(router, routing_random)
POLICY(router, routing_power_of_two)
POLICY(router, routing_jsq_tokens)
POLICY(router, routing_least_kv)
POLICY(router, routing_splitwise)
POLICY(router, routing_prefix_aware)
POLICY(router, routing_session_affinity)
POLICY(router, routing_distserve)

/* kv_offload */
POLICY(kv_offloader, kv_offload_none)
POLICY(kv_offloader, kv_offload_recompute)
POLICY(kv_offloader, kv_offload_swap)
POLICY(kv_offloader, kv_offload_vllm_cpu)
POLICY(kv_offloader, kv_offload_flexgen)
POLICY(kv_offloader, kv_offload_flexgen_slo)
POLICY(kv_offloader, kv_offload_zero_inference)
POLICY(kv_offloader, kv_offload_select_n)
POLICY(kv_offloader, kv_offload_instinfer)

/* scheduler */
POLICY(scheduler, scheduler_fifo)
POLICY(scheduler, scheduler_fifo_skip)
POLICY(scheduler, scheduler_fifo_migrate)
POLICY(scheduler, scheduler_easy)
POLICY(scheduler, scheduler_conservative)
POLICY(scheduler, scheduler_sjf)
POLICY(scheduler, scheduler_fewest_gpus)
POLICY(scheduler, scheduler_srtf)
POLICY(scheduler, scheduler_srsf)
POLICY(scheduler, scheduler_gavel)
POLICY(scheduler, scheduler_gavel_fifo)
POLICY(scheduler, scheduler_gavel_fifo_perf)
POLICY(scheduler, scheduler_gavel_isolated)
POLICY(scheduler, scheduler_gandiva)
POLICY(scheduler, scheduler_tiresias)
POLICY(scheduler, scheduler_tiresias_gittins)
POLICY(scheduler, scheduler_lucid_tiresias)
POLICY(scheduler, scheduler_equi)
POLICY(scheduler, scheduler_hesrpt)
POLICY(scheduler, scheduler_all_to_shortest)
POLICY(scheduler, scheduler_pollux)
POLICY(scheduler, scheduler_sia)
POLICY(scheduler, scheduler_optimus)
POLICY(scheduler, scheduler_afs)
POLICY(scheduler, scheduler_themis)
POLICY(scheduler, scheduler_gavel_packed)

/* placement */
POLICY(placer, placement_counted)
POLICY(placer, placement_first_fit)
POLICY(placer, placement_consolidated)
POLICY(placer, placement_best_fit)
POLICY(placer, placement_worst_fit)
POLICY(placer, placement_topology_aware)
POLICY(placer, placement_random)
POLICY(placer, placement_dot_product)
POLICY(placer, placement_clustering)
POLICY(placer, placement_packing)
POLICY(placer, placement_fgd)

/* checkpointing */
POLICY(checkpointer, checkpointing_none)
POLICY(checkpointer, checkpointing_periodic)
POLICY(checkpointer, checkpointing_young)
POLICY(checkpointer, checkpointing_daly)

/* eviction */
POLICY(evictor, eviction_lru)
POLICY(evictor, eviction_fifo)
POLICY(evictor, eviction_lfu)
POLICY(evictor, eviction_s3_fifo)
POLICY(evictor, eviction_marking)
POLICY(evictor, eviction_discard_bit)
POLICY(evictor, eviction_phase_bit)
POLICY(evictor, eviction_belady)

/* autoscaling */
POLICY(autoscaler, autoscaling_schedule)
POLICY(autoscaler, autoscaling_target_outstanding)
POLICY(autoscaler, autoscaling_target_utilisation)

/* power_cap */
POLICY(power_capper, power_cap_none)
POLICY(power_capper, power_cap_brake)
POLICY(power_capper, power_cap_static_cap)
POLICY(power_capper, power_cap_static_lock)
POLICY(power_capper, power_cap_single_threshold)
POLICY(power_capper, power_cap_polca)

/* rental */
POLICY(renter, rental_fixed_fleet)
POLICY(renter, rental_as_asked)
POLICY(renter, rental_fixed_width)
POLICY(renter, rental_melange)
POLICY(renter, rental_cheapest_single_type)

/* speculation */
POLICY(speculator, speculation_none)
POLICY(speculator, speculation_fixed)
POLICY(speculator, speculation_smartspec)
POLICY(speculator, speculation_ngram)
POLICY(speculator, speculation_mtp)
POLICY(speculator, speculation_eagle)
POLICY(speculator, speculation_ppd)
