"""A model of Llama-3.1-8B's shape with random weights, operator by operator as an engine launches them; norms add the
residual up in passing."""
import torch

from . import attention, kernels, timing

LAYERS, HIDDEN, FFN, VOCAB, Q_HEADS, KV_HEADS, DIM = 32, 4096, 14336, 128256, 32, 8, 128
Q_WIDTH, KV_WIDTH = Q_HEADS * DIM, KV_HEADS * DIM


def random_ids(count):
    return torch.randint(0, VOCAB, (count,), device="cuda")


class Model:
    def __init__(self, cache_tokens):
        make = lambda rows, columns: timing.random_bf16(rows * columns, 0.02).view(rows, columns)
        self.layers = [(make(Q_WIDTH + 2 * KV_WIDTH, HIDDEN), make(HIDDEN, Q_WIDTH), make(2 * FFN, HIDDEN),
                        make(HIDDEN, FFN)) for _ in range(LAYERS)]
        self.embedding, self.head = make(VOCAB, HIDDEN), make(VOCAB, HIDDEN)
        self.norm = torch.ones(HIDDEN, dtype=timing.BF16, device="cuda")
        self.cache = [[timing.random_bf16(cache_tokens * KV_WIDTH, 1.0) for _ in range(2)] for _ in range(LAYERS)]
        angles = torch.rand(1 << 16, DIM // 2, device="cuda") * 6.28
        self.turns = torch.cat([angles.cos(), angles.sin()], 1).contiguous()
        self.cache_tokens = cache_tokens

    def iteration(self, ids, last, positions, slots, attend):
        """A function that launches one iteration over tokens `ids`, of which the rows `last` make logits; attend(qkv,
        layer, y) is its attention."""
        tokens = len(ids)
        empty = lambda rows, columns: torch.empty(rows, columns, dtype=timing.BF16, device="cuda")
        residual, x, qkv = empty(tokens, HIDDEN), empty(tokens, HIDDEN), empty(tokens, Q_WIDTH + 2 * KV_WIDTH)
        attended, up, act = empty(tokens, Q_WIDTH), empty(tokens, 2 * FFN), empty(tokens, FFN)
        y, logits = empty(tokens, HIDDEN), empty(len(last), VOCAB)

        def launch(_=0):
            torch.index_select(self.embedding, 0, ids, out=residual)
            kernels.norm(residual, self.norm, x)
            for layer, (w_qkv, w_out, w_up, w_down) in enumerate(self.layers):
                torch.mm(x, w_qkv.t(), out=qkv)
                kernels.rotary(qkv, self.turns, positions, Q_HEADS + KV_HEADS)
                kernels.kv_write(qkv, slots, *self.cache[layer], Q_WIDTH, KV_WIDTH)
                result = attend(qkv, layer, attended)
                torch.mm(result, w_out.t(), out=y)
                kernels.add_norm(y, residual, self.norm, x)
                torch.mm(x, w_up.t(), out=up)
                kernels.activation(up, act)
                torch.mm(act, w_down.t(), out=y)
                kernels.add_norm(y, residual, self.norm, x)
            torch.mm(x if len(last) == tokens else x[last], self.head.t(), out=logits)
            return logits
        return launch

    def decode(self, sequences, context, ids=None):
        """Sequences whose new token is the last of `context`."""
        attend = kernels.Decode(sequences, context, Q_HEADS, KV_HEADS,
                                torch.cuda.get_device_properties(0).multi_processor_count)
        slots = torch.arange(sequences, device="cuda") * context + context - 1
        positions = torch.full((sequences,), context - 1, device="cuda")

        def attention_of(qkv, layer, y):
            attend(qkv, *self.cache[layer], y)
            return y
        ids = random_ids(sequences) if ids is None else ids
        return self.iteration(ids, torch.arange(sequences, device="cuda"), positions, slots, attention_of)

    def prefill(self, sequences, tokens, past, kernel, ids=None):
        """Prompts of `tokens` each on top of `past`; of one sequence where past > 0."""
        n = sequences * tokens
        slots = past + torch.arange(n, device="cuda")
        positions = past + torch.arange(n, device="cuda") % tokens

        def attention_of(qkv, layer, y):
            heads = qkv.view(sequences, tokens, -1, DIM).transpose(1, 2)
            if past > 0:
                keys, values = (part[:(past + n) * KV_WIDTH].view(1, past + n, KV_HEADS, DIM).transpose(1, 2)
                                for part in self.cache[layer])
            else:
                keys, values = heads[:, Q_HEADS:Q_HEADS + KV_HEADS], heads[:, Q_HEADS + KV_HEADS:]
            return kernel(heads[:, :Q_HEADS], keys, values, True).transpose(1, 2).reshape(n, Q_WIDTH)
        last = torch.arange(sequences, device="cuda") * tokens + tokens - 1
        return self.iteration(random_ids(n) if ids is None else ids, last, positions, slots, attention_of)

    def check(self):
        """How far the logits of a prompt's last token lie from those of decoding it on top of the others' cache."""
        ids = torch.randint(0, VOCAB, (256,), device="cuda")
        whole = self.prefill(1, 256, 0, attention.flash2, ids)()
        last = self.decode(1, 256, ids[255:])()
        return attention.difference(last, whole.double())
