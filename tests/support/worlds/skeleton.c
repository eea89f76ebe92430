#include "tests/support/worlds/skeleton.h"

#include "sim/core/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of skeletons, with ' for ". "?" is drawn from the field's row; "?3": with three items. "$2-8": a whole number;
 * "$5-60s": with a unit; "$gpu", "$llm": names of the catalog; "$site": a GPU that the world has. */

#define SERVICE                                                                                                        \
    "{'llm': '$llm', 'replicas': '$1-3', 'batching': '?', 'routing': '?', 'cost': '?',"                                \
    " 'trace': {'format': 'generate', 'count': '$4-40', 'arrival': '?', 'prompt': '?', 'output': '?',"                 \
    "           'max_prompt_tokens': '$40-2000', 'max_output_tokens': '$4-100'}}"

static const char serving[] = "{'cluster': {'gpu': '$gpu', 'nodes': '$2-4', 'gpus_per_node': '$4-8'},"
                              " 'services': {'a': " SERVICE "}, 'until': '$5-90s'}";

/* Jobs of each source, and with rented GPUs instead of a cluster of their own. */
static const char *const batches[] = {
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$2-8'}, 'until': '$1-30d',"
    " 'jobs': {'scheduler': '?', 'placement': '?',"
    "          'trace': {'format': 'generate-jobs', 'mix': '?', 'count': '$3-30', 'max_gpus': '$1-16'}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$2-8'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': '?', 'placement': '?', 'trace': {'format': 'inline-jobs', 'jobs': ["
    "    {'submit': '0s', 'duration': '$0-600s'}, {'submit': '$0-9s', 'duration': '$0-60s'},"
    "    {'submit': '$9-20s', 'duration': '$0-600s'}, {'submit': '20s', 'duration': '$0-60s'},"
    "    {'submit': '$20-30s', 'duration': '$0-600s'}, {'submit': '$30-90s', 'duration': '$0-60s'},"
    "    {'submit': '$90-99s', 'duration': '$0-60s'}, {'submit': '$99-300s', 'duration': '$0-6s'}]}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$1-4'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': '?', 'placement': '?', 'trace': {'format': 'inline-jobs', 'jobs': ["
    "    {'submit': '0s', 'duration': '$0-60s', 'gpus': '$0-4'},"
    "    {'submit': '0s', 'duration': '$0-60s', 'gpus': '$1-9', 'after': [{'job': 0}], 'enough': '$0-1'},"
    "    {'submit': '0s', 'duration': '$1-60s', 'after': [{'job': 0, 'delay': '$0-20s'}, {'job': 1, 'delay': '$0-9s'}],"
    "     'enough': '$0-2'},"
    "    {'submit': '0s', 'duration': '$0-60s', 'gpus': '$0-3', 'after': [{'job': 1}, {'job': 2}], 'enough': '$0-2'},"
    "    {'submit': '$0-40s', 'duration': '$0-90s', 'gpus': '$1-2'}, {'submit': '40s', 'duration': '$0-60s'},"
    "    {'submit': '40s', 'duration': '$0-60s', 'gpus': '$1-2', 'enough': '$0-2',"
    "     'after': [{'job': 3, 'delay': '$0-9s'}, {'job': 0}]}]}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$1-4'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': '?', 'placement': '?', 'trace': {'format': 'generate-rounds', 'rounds': '$1-4', 'clients':"
    " '$1-6', 'run_time': {'law': '?', 'mean': '$1-60s'}, 'gpus': '$0-2', 'enough': '$0-1', 'fold': '$0-3s',"
    " 'hop': '$0-3s'}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$1-8', 'network': {'bandwidth': '5GB/s', 'per': '?'},"
    " 'storage': {'files': {'device': 'rdma-h800'}}}, 'until': '$20-2000s', 'jobs': {'scheduler': '?', 'placement': '?',"
    " 'types': {'trial': {'load': {'bytes': '$1-90GB', 'from': 'files'}}, 'loader': {'load': {'bytes': '9GB', 'from':"
    " 'files'}}}, 'trace': {'format': 'generate-evaluation', 'datasets': '$1-20', 'inference': '$0-60s', 'spread': '?',"
    " 'prepare': '$0-9s', 'metric': '$0-9s', 'metric_datasets': '$0-2', 'coordinator': '?', 'nodes': '$1-2',"
    " 'gpus_per_node': '$1-4', 'copy': '$0-2s', 'pieces': '$1-4'}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': 1, 'gpus_per_node': 1, 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 1,"
    " 'gpu': '$gpu'}, 'c': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '$gpu'}}}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': {'policy': 'heft', 'order': '?', 'choice': '?', 'insertion': '?'}, 'trace': {'format':"
    " 'inline-jobs', 'jobs': ["
    "    {'submit': '0s', 'duration': '$0-60s'},"
    "    {'submit': '0s', 'duration': '$0-60s', 'gpus': '$0-1', 'enough': '$0-1',"
    "     'after': [{'job': 0, 'delay': '$0-9s'}]},"
    "    {'submit': '0s', 'duration': '$1-60s', 'after': [{'job': 0, 'delay': '$0-20s'}, {'job': 1, 'delay': '$0-9s'}],"
    "     'enough': '$0-2'},"
    "    {'submit': '$0-40s', 'duration': '$0-60s', 'after': [{'job': 1}, {'job': 2}], 'enough': '$0-2'},"
    "    {'submit': '40s', 'duration': '$0-60s', 'enough': '$0-2',"
    "     'after': [{'job': 3, 'delay': '$0-9s'}, {'job': 0}]}]}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-3', 'gpus_per_node': '$1-4'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': {'policy': 'halving', 'algorithm': '?', 'eta': '$2-4', 'trials': '$0-5', 'rungs': '$1-2'},"
    "          'loss_noise': '?', 'trace': {'format': 'inline-jobs', 'jobs': ["
    "    {'duration': '$1-60s', 'loss': '?'}, {'duration': '$1-60s'}, {'duration': '$1-60s', 'gpus': '$1-2'},"
    "    {'submit': '$0-40s', 'duration': '$1-60s', 'loss': '?'}, {'submit': '40s', 'duration': '$1-60s'}]}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-2', 'gpus_per_node': '$1-4'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': {'policy': 'dispatch', 'swap': '?'}, 'trace': {'format': 'inline-jobs', 'jobs': ["
    "    {'duration': '$0-60s'}, {'duration': '$0-60s', 'after': [{'job': 0, 'keeps_gpus': '?'}]},"
    "    {'duration': '$1-60s', 'after': [{'job': 1, 'keeps_gpus': '?'}]}, {'duration': '$1-60s'},"
    "    {'submit': '$0-40s', 'duration': '$1-60s', 'after': [{'job': 3, 'keeps_gpus': true}]}]}}}",
    "{'cluster': {'gpu': '$gpu', 'nodes': '$1-4', 'gpus_per_node': '$2-8'}, 'until': '$20-2000s',"
    " 'jobs': {'scheduler': '?', 'placement': '?',"
    "          'trace': {'format': 'generate-job-types', 'count': '$3-30', 'types':"
    "                    {'default': {'arrival': {'process': 'poisson', 'rate': '?'}}, 'a': {'arrival': '?'}}}}}",
    "{'cluster': {'unlimited': true}, 'until': '$1-10d', 'market': {'offers': {'a': {'price': '?'}}, 'renting': '?'},"
    " 'jobs': {'trace': {'format': 'generate-job-types', 'count': '$3-30', 'types': '?2'}}}"};

/* Reinforcement learning, beside no other subsystem: the LLM must be that of the service, and fit into the GPUs. */
#define ROLLOUTS                                                                                                       \
    "'services': {'a': {'llm': 'phi-2', 'replicas': '$1-3', 'batching': '?', 'routing': '?', 'cost': '?',"             \
    " 'trace': {'format': 'generate', 'count': '$4-60', 'arrival': {'process': 'poisson', 'rate': '?'}, 'prompt': '?',"  \
    " 'output': '?', 'max_prompt_tokens': '$40-900', 'max_output_tokens': '$4-100'}}}, 'until': '$5-90s'"
#define PLAN "'training': {'llm': 'phi-2', 'sequence_tokens': '$128-512', 'recompute': 'full'}"

static const char *const learning[] = {
    "{'cluster': {'gpu': 'h100-sxm', 'nodes': '$2-3', 'gpus_per_node': '$4-8', 'network': '?'}, " ROLLOUTS ","
    " 'rl': {'service': 'a', 'gpus': '$1-4', 'prompts': '$1-6', 'samples': '$1-3', 'steps': '$1-6', 'staleness': '$0-2',"
    " 'update': '?', 'updates': '$1-2', 'forward_passes': '$0-2', " PLAN "}}",
    "{'cluster': {'gpu': 'h100-sxm', 'nodes': '$1-2', 'gpus_per_node': '$4-8'}, " ROLLOUTS ","
    " 'rl': {'service': 'a', 'layout': 'together', 'prompts': '$1-6', 'samples': '$1-3', 'steps': '$1-6', " PLAN "}}"};

enum { N_BATCHES = sizeof batches / sizeof *batches };

enum needs { ANY = 0, SERVICES = 1, JOBS = 2, BOTH = 3, POWER = 4 };

/* Subsystems, each switched on with its own probability. */
static const struct fragment {
    unsigned needs; /* enum needs, all of them */
    unsigned percent;
    const char *json;
} fragments[] = {
    {ANY, 20, "{'cluster': {'node_types': {'b': {'nodes': '$1-2', 'gpus_per_node': '$1-8', 'gpu': '$gpu'}}}}"},
    {ANY, 15, "{'cluster': {'network': '?'}}"},
    {ANY, 3, "{'cluster': {'gpu': 'h100-sxm', 'mig': '2g.20gb'}}"},
    {ANY, 2, "{'cluster': {'node_types': {'b': {'nodes': 1, 'gpus_per_node': '$1-2', 'gpu': 'h200-sxm', 'mig': '3g.71gb'}}}}"},
    {ANY, 6, "{'cluster': {'nodes_per_rack': '$1-2'}}"},
    {ANY, 6, "{'cluster': {'cpus_per_node': '$4-96', 'memory_per_node': '?'}}"},
    {ANY, 4, "{'failures': {'causes': {'a': {'scope': 'node', 'lifetime': '?', 'repair': '?'}}}}"},
    {ANY, 4, "{'failures': {'causes': {'a': {'scope': 'switch', 'lifetime': '?', 'repair': '?'}}}}"},
    {ANY, 4, "{'failures': {'causes': {'a': {'scope': 'site', 'lifetime': '?', 'repair': '?'}}}}"},
    {ANY, 3, "{'failures': {'causes': {'a': {'scope': 'job', 'lifetime': '?'}}}}"},
    {ANY, 3,
     "{'cluster': {'network': {'bandwidth': '10GB/s'}}, 'failures': {'causes': {'c': {'scope': 'nic', 'slow': 0.5,"
     " 'lifetime': '?', 'repair': '?'}}}}"},
    {ANY, 6, "{'failures': {'causes': {'b': {'scope': 'gpu', 'lifetime': '?', 'repair': '?', 'restart': '?'}}}}"},
    {ANY, 8, "{'failures': {'domains': {'a': {'nodes': '$1-2', 'shock': '?', 'hit': '?', 'repair': '?'}}}}"},
    {ANY, 5, "{'failures': {'spare_nodes': 1, 'causes': {'a': {'scope': 'node', 'lifetime': '?', 'repair': '?'}}}}"},
    {JOBS, 3, "{'cluster': {'cpus_per_node': '$4-96', 'memory_per_node': '64GB'}, 'jobs': {'placement': 'best-fit', 'types':"
              " {'default': {'host': {'cpus': [{'per_gpu': '$0-9', 'speed': 1}], 'memory': [{'per_gpu': '$0-9GB', 'speed': 1},"
              " {'per_gpu': '$10-90GB', 'speed': '$1-3'}]}}}}}"},
    {JOBS, 3, "{'cluster': {'cpus_per_node': '$4-96'}, 'jobs': {'scheduler': {'policy': 'synergy', 'order': '?',"
              " 'division': '?'}, 'placement': 'consolidated', 'types': {'default': {'host': {'cpus': [{'per_gpu': '$1-4',"
              " 'speed': 1}, {'per_gpu': '$5-30', 'speed': 2}]}}}}}"},
    {ANY, 4, "{'failures': {'outages': {'o': {'node': 0, 'from': '$200-900s', 'jobs': '?'},"
             " 'p': {'node': 0, 'from': '$0-90s', 'until': '$91-3000s', 'jobs': '?'}}}}"},
    {ANY, 4, "{'failures': {'outages': {'q': {'node': 0, 'from': '$0-60s', 'until': '$61-300s', 'jobs': '?'},"
             " 'r': {'node': 0, 'from': '$30-90s', 'until': '$91-3000s', 'jobs': '?'}}}}"},
    {ANY, 3, "{'cluster': {'nodes': '$2-4'}, 'failures': {'spare_nodes': 1, 'outages': {'o': {'node': '$0-1', 'from':"
             " '$0-60s', 'until': '$61-300s', 'jobs': '?'}}, 'causes': {'a': {'scope': 'node', 'lifetime': '?'}}}}"},
    {ANY, 4, "{'cluster': {'host': {'memory': '?'}}}"},
    {ANY, 4, "{'cluster': {'storage': {'drives': {'device': 'samsung-980-pro', 'way': '?', 'ceiling': '?'}}}}"},
    {POWER, 40, "{'cluster': {'power': {'telemetry': '?', 'commands': '?'}}}"},
    {POWER, 20, "{'cluster': {'power': {'breaker': '?'}}}"},
    {POWER, 10, "{'cluster': {'power': {'clock_share': '?'}}}"},
    {JOBS | POWER, 50, "{'jobs': {'types': {'default': {'power': '?'}}}}"},
    {SERVICES | POWER, 20, "{'services': {'a': {'priority': '?', 'clock_share': '?'}}}"},
    {ANY, 8, "{'market': {'offers': {'a': {'price': '?'}}}}"},
    {ANY, 4, "{'market': {'prices': '?', 'offers': {'a': {'kind': '?', 'price': '?'}, 'b': {'gpu': '$site', 'price': '?'}}}}"},
    {ANY, 4, "{'market': {'offers': {'a': {'kind': 'spot', 'price': '?', 'billing': '?', 'start_up': '?',"
             " 'spot': {'mean_life': '?', 'law': '?', 'notice': '?'}}}}}"},
    {ANY, 10, "{'warmup': '$1-4s'}"},
    {ANY, 10, "{'sample': '?'}"},
    {SERVICES, 15, "{'services': {'b': " SERVICE "}}"},
    {SERVICES, 20, "{'services': {'a': {'kv': {'blocks': '$40-300'}}}}"},
    {SERVICES, 15, "{'cluster': {'network': '?'}, 'services': {'a': {'kv_transfer': '?', 'pools':"
                   " {'p': {'role': 'prefill'}, 'd': {'role': 'decode', 'batching': 'vllm-v1'}}}}}"},
    {SERVICES, 4, "{'market': {'offers': {'small': {'price': '?'}}, 'renting': {'policy': 'melange', 'service': 'a', 'rate': '?',"
                  " 'buckets': [0.5, 0.5], 'kinds': {'small': {'max_throughput': ['20/s', '5/s']}}}},"
                  " 'services': {'a': {'pools': {'small': {}}}}}"},
    {SERVICES, 6, "{'services': {'a': {'pools': {'small': {}, 'large': {'gpu': '$site', 'batching': '?'}}}}}"},
    {SERVICES, 6, "{'services': {'a': {'batching': {'policy': 'vllm-v0', 'preemption': 'swap'}, 'kv': {'blocks': 60}}}}"},
    {SERVICES, 15, "{'services': {'a': {'kv': {'offload': '?', 'slo_ttft': '?', 'slo_tpot': '?',"
                   " 'tiers': {'host': {'device': 'host-dram-pcie4'}, 'disk': {'device': 'samsung-980-pro'},"
                   " 'csd': {'device': 'instcsd'}}}}}}"},
    {SERVICES, 15, "{'services': {'a': {'kv': {'prefix_cache': '?', 'blocks': '$40-400'},"
                   " 'trace': {'sessions': {'continue': '?', 'block_tokens': 16, 'system_blocks': '?'}}}}}"},
    {SERVICES, 12, "{'cluster': {'storage': {'drives': {'device': 'samsung-980-pro'}}}, 'services': {'a': {'kv': {"
                   "'prefix_cache': '?', 'blocks': '$40-400', 'prefix_store': {'load': '?', 'prefetch': '?', 'promote':"
                   " '?', 'tiers': {'host': {'capacity': '$20-300MB', 'eviction': '?', 'write': '?', 'scope': '?'},"
                   "'disk': {'device': 'drives', 'capacity': '$20-900MB', 'eviction': '?', 'write': '?', 'scope': '?',"
                   " 'prefetch': '?', 'promote': '?'}}}},"
                   " 'trace': {'sessions': {'continue': '?', 'block_tokens': 16, 'system_blocks': '?'}}}}}"},
    {SERVICES, 8, "{'cluster': {'storage': {'drives': {'device': 'samsung-980-pro'}}}, 'services': {'a': {'batching': {"
                  "'policy': 'vllm-v1'}, 'kv': {'prefix_cache': '?', 'blocks': '$40-400', 'prefix_store': {'load': '?',"
                  " 'waits': '?', 'prefetch': '?', 'promote': '?', 'tiers': {'host': {'capacity': '$20-300MB', 'eviction':"
                  " '?', 'write': '?', 'scope': '?'}, 'disk': {'device': 'drives', 'capacity': '$20-900MB', 'eviction':"
                  " '?', 'write': '?', 'scope': '?', 'prefetch': '?', 'promote': '?'}}}}, 'trace': {'sessions': {'continue': '?', 'block_tokens': 16, 'system_blocks':"
                  " '?'}}}}}"},
    {SERVICES, 12, "{'services': {'s': {'llm': '$llm', 'replicas': '$1-3', 'batching': '?', 'routing': '?', 'cost': '?',"
                   " 'kv': {'prefix_cache': '?', 'blocks': '$80-400'}, 'trace': {'format': 'generate-sessions', 'count':"
                   " '$2-8', 'arrival': {'process': 'poisson', 'rate': '?'}, 'block_tokens': 16, 'classes': {'a':"
                   " {'shape': '?', 'think': {'mean': '$0-3s'}, 'branches': '?', 'system_tokens': '$0-200',"
                   " 'max_turns': '$3-12', 'max_context': '$500-2000'}}}}}}"},
    {SERVICES, 10, "{'cluster': {'storage': {'drives': {'device': 'samsung-980-pro'}}}, 'services': {'g': {'llm': '$llm',"
                   " 'replicas': '$1-2', 'batching': '?', 'routing': '?', 'kv': {'blocks': '$120-500', 'chunk_store':"
                   " {'alpha': '?', 'variants': '?', 'chunks': '?', 'inter': '?', 'sigma': '?', 'keeps': '?', 'tiers':"
                   " {'gpu': {'device': 'gpu', 'capacity': '$10-90MB', 'eviction': '?'}, 'host': {'capacity':"
                   " '$20-300MB'}, 'disk': {'device': 'drives', 'capacity': '$20-900MB'}}}}, 'trace': {'format':"
                   " 'generate-rag', 'count': '$5-40', 'arrival': {'process': 'poisson', 'rate': '$1-9/s'}, 'corpus':"
                   " '$8-30', 'retrieved': '$1-6', 'order': '?', 'system_tokens': '$0-40', 'chunk': {'distribution':"
                   " 'uniform', 'min': 10, 'max': 90}, 'question': {'distribution': 'uniform', 'min': 1, 'max': 90},"
                   " 'output': {'distribution': 'uniform', 'min': 1, 'max': 90}}}}}"},
    {SERVICES, 10,
     "{'cluster': {'network': '?'}, 'services': {'a': {'kv_transfer': '?', 'pools': {'p': {'role': 'prefill',"
     " 'scaling': {'policy': '?', 'min': '$0-1', 'max': '$1-3', 'interval': '?', 'start_delay': '$0-3s'}},"
     " 'd': {'role': 'decode', 'batching': 'vllm-v1', 'scaling': {'policy': '?', 'min': 1, 'max': '$1-3',"
     " 'interval': '?', 'start_delay': '$0-3s'}}}}}}"},
    {SERVICES, 15, "{'services': {'a': {'scaling': {'policy': '?', 'min': '$0-1', 'max': '$1-4', 'interval': '?'}}}}"},
    {SERVICES, 10, "{'services': {'a': {'restart': '?'}}}"},
    {SERVICES, 10, "{'services': {'a': {'slo': '?', 'information_delay': '?'}}}"},
    {SERVICES, 5, "{'services': {'a': {'trace': {'classes': {'a': {'share': '?'}, 'b': {'share': '?'}}}}}}"},
    {SERVICES, 3, "{'services': {'a': {'trace': {'classes': {'a': {'arrival': '?'}, 'b': {'arrival': '?'}}}}}}"},
    {SERVICES, 6, "{'services': {'a': {'tensor_parallel': 2}}}"},
    {SERVICES, 2, "{'services': {'a': {'tensor_parallel': 4}}}"},
    {SERVICES, 8, "{'services': {'a': {'pipeline_parallel': '$2-3'}}}"},
    {SERVICES, 4, "{'cluster': {'network': '?'}, 'services': {'a': {'llm': 'mixtral-8x7b', 'tensor_parallel': 4,"
                  " 'data_parallel': '$1-2', 'kv': {'blocks': '$40-300'}}}}"},
    {SERVICES, 6, "{'cluster': {'nodes': '$2-4', 'gpus_per_node': 2, 'network': {'bandwidth': '5GB/s', 'collectives': '?'}},"
                  " 'services': {'a': {'tensor_parallel': 4, 'cost': 'operators', 'kv': {'blocks': '$40-300'}}}}"},
    {SERVICES, 4, "{'services': {'a': {'decode_routing': '?', 'priority': '?'}}}"},
    {JOBS, 20,
     "{'jobs': {'types': {'default': {'checkpoint': {'policy': '?', 'model': '?', 'bytes': '?', 'write': '?',"
     " 'overlap': '?', 'node_write': '?', 'gpu_copy': '?'}}}}}"},
    {JOBS, 15, "{'jobs': {'types': {'default': {'speedup': '?'}, 'a': {'speedup': '?', 'priority': '?'}}}}"},
    {JOBS, 10, "{'jobs': {'types': {'default': {'speeds': '?2'}}}}"},
    {JOBS, 10, "{'jobs': {'restart': {'start': '?', 'resume': '?', 'migrate': '?'}}}"},
    {JOBS, 10, "{'jobs': {'estimates': '?'}}"},
    {JOBS, 8, "{'jobs': {'round': '?'}}"},
    {JOBS, 10, "{'jobs': {'network_penalty': '?'}}"},
    {JOBS, 8, "{'jobs': {'fragmentation': {'measure': true}}}"},
    {JOBS, 8,
     "{'cluster': {'network': {'bandwidth': '10GB/s'}}, 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b',"
     " 'shape': {'layers': '$2-4', 'hidden': 512, 'heads': 8}, 'tensor_parallel': '$1-2', 'context_parallel': '$1-2',"
     " 'pipeline_parallel': '$1-2', 'context_form': '?', 'overlap_gradients': '?', 'overlap_weights': '?', 'zero': '?',"
     " 'global_batch': '$1-64', 'sequence_tokens': 512}}}}}"},
    {JOBS, 5,
     "{'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'shape': {'layers': '$2-4', 'hidden': 512,"
     " 'heads': 8}, 'tensor_parallel': '$1-2', 'zero': '?', 'recompute': '?', 'global_batch': '$1-64', 'sequence_tokens':"
     " 512, 'tiers': {'weights': '?', 'gradients': '?', 'optimizer': 'disk', 'activations': '?', 'flow': '?', 'gather':"
     " '?', 'disk_read': '9GB/s', 'disk_write': '4GB/s', 'cpu_update': '?'}}}}}}"},
    {JOBS, 6,
     "{'cluster': {'gpus_per_node': '$2-4', 'pcie_switch': {'gpus': 2, 'bandwidth': '$1-30GB/s'}, 'host': {'device':"
     " 'host-dram-pcie4'}, 'storage': {'drives': {'device': 'samsung-980-pro'}}}, 'jobs': {'types': {'default': {"
     "'training': {'llm': 'llama-3.1-8b', 'shape': {'layers': '$2-4', 'hidden': 512, 'heads': 8}, 'zero': '?',"
     " 'global_batch': '$1-64', 'sequence_tokens': 512, 'tiers': {'weights': '?', 'gradients': '?', 'optimizer': 'disk',"
     " 'activations': '?', 'flow': '?', 'disk_read': '9GB/s', 'disk_write': '4GB/s', 'cpu_update': '?'}}}}}}"},
    {JOBS, 4,
     "{'cluster': {'gpus_per_node': '$2-4', 'pcie': '$1-30GB/s', 'pcie_switch': {'gpus': 2, 'bandwidth': '$1-30GB/s'}},"
     " 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'shape': {'layers': '$2-4', 'hidden': 512,"
     " 'heads': 8}, 'global_batch': '$1-64', 'sequence_tokens': 512, 'offload': {'optimizer': 1, 'flush': '?',"
     " 'gpu_stride': '$0-4', 'link': '9GB/s'}}}}}}"},
    {JOBS, 5,
     "{'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'shape': {'layers': '$2-5', 'hidden': 512,"
     " 'heads': 8}, 'pipeline_parallel': 2, 'schedule': '?', 'recompute': '?', 'global_batch': '$1-64',"
     " 'sequence_tokens': 512, 'nics': {'clusters': [{'stages': 1, 'network': '9GB/s'}, {'stages': 1, 'network': '?'}],"
     " 'between': '?', 'groups': '?', 'layers': '?'}}}}}}"},
    {JOBS, 8,
     "{'cluster': {'network': {'bandwidth': '10GB/s'}, 'storage': {'files': {'device': 'rdma-h800', 'ceiling':"
     " '$1-40GB/s'}}}, 'jobs': {'types': {'default': {'data': {'from': 'files', 'step_bytes': '$1-9GB', 'step_time':"
     " '$1-3s', 'prefetch': '$1-9', 'node_read': '?'}}}}}"},
    {JOBS, 3,
     "{'cluster': {'network': {'bandwidth': '10GB/s'}, 'storage': {'files': {'device': 'rdma-h800', 'ceiling':"
     " '$1-40GB/s'}}}, 'jobs': {'types': {'default': {'step': {'compute': '$1-3s', 'collectives': '?2'}, 'data': {'from':"
     " 'files', 'step_bytes': '$1-9GB'}}}}}"},
    {BOTH, 50, "{'jobs': {'preemptible': true, 'yield': '?'}}"},
    {JOBS, 4,
     "{'cluster': {'network': {'bandwidth': '10GB/s'}}, 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b',"
     " 'shape': {'layers': 4, 'hidden': 512, 'heads': 8, 'linear_layers': '$0-4'}, 'context_parallel': '$1-2',"
     " 'context_form': '?', 'global_batch': '$1-64', 'sequence_tokens': 512, 'lengths': {'law': '?', 'split': '?',"
     " 'median': '$1-600', 'spread': '?', 'batches': '$1-3'}}}}}}"},
};

enum { N_FRAGMENTS = sizeof fragments / sizeof *fragments, KEY_CHARS = 64 };

static const char power[] =
    "{'cluster': {'server_power': '?', 'power': {'budget': '$1-12kW', 'level': '?', 'capping': '?'}}}";

static cJSON *parse(const char *json)
{
    char text[1280];
    SIM_REQUIRE(strlen(json) < sizeof text);
    snprintf(text, sizeof text, "%s", json);
    for (char *quote = text; (quote = strchr(quote, '\'')) != NULL;) *quote = '"';
    cJSON *parsed = cJSON_Parse(text);
    SIM_REQUIRE(parsed != NULL);
    return parsed;
}

/* Lays an object over another one, which is deleted. */
static void lay(cJSON *base, cJSON *over)
{
    for (cJSON *member = over->child, *next; member != NULL; member = next) {
        next = member->next;
        char key[KEY_CHARS];
        snprintf(key, sizeof key, "%s", member->string);
        cJSON *below = cJSON_GetObjectItemCaseSensitive(base, key);
        cJSON_DetachItemViaPointer(over, member);
        if (cJSON_IsObject(below) && cJSON_IsObject(member))
            lay(below, member);
        else if (below != NULL)
            cJSON_ReplaceItemInObjectCaseSensitive(base, key, member);
        else
            cJSON_AddItemToObject(base, key, member);
    }
    cJSON_Delete(over);
}

/* The value of "$2-8" or "$5-60s". */
static cJSON *draw_range(struct drawing *drawing, const char *range)
{
    char *rest, text[64];
    const long long least = strtoll(range, &rest, 10), most = strtoll(rest + 1, &rest, 10);
    const int64_t drawn = drawing_between(drawing, least, most);
    snprintf(text, sizeof text, "%lld%s", (long long)drawn, rest);
    return *rest == 0 ? cJSON_CreateNumber((double)drawn) : cJSON_CreateString(text);
}

static cJSON *draw_special(struct drawing *drawing, const char *special, bool has_power)
{
    const bool is_llm = strcmp(special, "$llm") == 0, is_site = strcmp(special, "$site") == 0;
    if (!is_llm && !is_site && strcmp(special, "$gpu") != 0) return draw_range(drawing, special + 1);
    const char *key = is_llm ? WORDS_SMALL_LLM : has_power ? WORDS_POWERED_GPU : "gpu";
    const char *name = is_site ? drawing_used(drawing, "gpu") : NULL;
    if (name == NULL) name = words_draw(drawing->words, key, &drawing->rng);
    SIM_REQUIRE(name != NULL);
    drawing_use(drawing, is_llm ? "llm" : "gpu", name);
    return cJSON_CreateString(name);
}

/* Draws the values that begin with a dollar. */
static void fill(struct drawing *drawing, cJSON *object, bool has_power)
{
    for (cJSON *member = object->child, *next; member != NULL; member = next) {
        next = member->next;
        fill(drawing, member, has_power);
        if (!cJSON_IsString(member) || member->valuestring[0] != '$') continue;
        cJSON *value = draw_special(drawing, member->valuestring, has_power);
        char key[KEY_CHARS];
        snprintf(key, sizeof key, "%s", member->string);
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    }
}

/* What goes with stated speeds alone, beside a plan from which they follow. */
static void drop_speeds(cJSON *world)
{
    cJSON *types = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(world, "jobs"), "types");
    cJSON *type = cJSON_GetObjectItemCaseSensitive(types, "default");
    cJSON_DeleteItemFromObjectCaseSensitive(type, "speeds");
    cJSON_DeleteItemFromObjectCaseSensitive(type, "speedup");
    cJSON_DeleteItemFromObjectCaseSensitive(world, "market");
}

/* Plans of two fragments exclude each other: lengths, tiers and clusters. */
static bool has_plan(const struct fragment *fragment)
{
    return strstr(fragment->json, "'training'") != NULL;
}

/* A service scales as a whole or pool by pool. */
static bool scales_twice(const struct fragment *fragment, const cJSON *world)
{
    static const char whole[] = "{'services': {'a': {'scaling'";
    const cJSON *service = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(world, "services"), "a");
    return strncmp(fragment->json, whole, strlen(whole)) == 0 && cJSON_HasObjectItem(service, "pools");
}

cJSON *skeleton_draw(struct drawing *drawing)
{
    static const unsigned scales[] = {0, 50, 100, 100, 200};
    const unsigned scale = scales[rng_below(&drawing->rng, 5)];
    const uint64_t kind = rng_below(&drawing->rng, 10);
    const bool has_services = kind<6, has_jobs = kind> 3, has_power = drawing_chance(drawing, 12 * scale / 100);
    const unsigned has = (has_services ? SERVICES : 0u) | (has_jobs ? JOBS : 0u) | (has_power ? POWER : 0u);
    const uint64_t n_sources = has_services ? N_BATCHES - 1 : N_BATCHES;
    cJSON *world = parse("{'keep': 'decisions', 'seed': '$1-1000'}");
    if (has_services && !has_jobs && !has_power && drawing_chance(drawing, 8)) {
        lay(world, parse(learning[rng_below(&drawing->rng, 2)]));
        fill(drawing, world, false);
        return world;
    }
    if (has_jobs) lay(world, parse(batches[rng_below(&drawing->rng, n_sources)]));
    if (has_services) lay(world, parse(serving));
    if (has_power) lay(world, parse(power));
    for (const struct fragment *fragment = fragments; fragment < fragments + N_FRAGMENTS; fragment++)
        if ((has & fragment->needs) == fragment->needs && drawing_chance(drawing, fragment->percent * scale / 100) &&
            !(has_plan(fragment) && drawing_trains(world)) && !scales_twice(fragment, world))
            lay(world, parse(fragment->json));
    if (drawing_trains(world)) drop_speeds(world);
    fill(drawing, world, has_power);
    return world;
}
