"""What a learner can run beside each function, before its checks; open cells, theirs to change."""

from __future__ import annotations

EXAMPLES = {
    "naive_attention": """\
keys = jax.random.split(jax.random.key(0), 3)
query = jax.random.normal(keys[0], (1, 3, 2, 8))  # (B, T, N, H)
key = jax.random.normal(keys[1], (1, 4, 2, 8))  # (B, S, N, H)
value = jax.random.normal(keys[2], (1, 4, 2, 8))  # (B, S, N, H)

output = naive_attention(query, key, value)
print(output.shape, output.dtype)
library = jax.nn.dot_product_attention(query, key, value)
print("furthest from the library:", jnp.abs(output - library).max())""",
    "attention_with_fallback": """\
ones = jnp.ones((1, 4, 2, 8), jnp.bfloat16)  # (B, T, N, H)

run = attention_with_fallback(ones, ones, ones)
print("on", jax.devices()[0].platform, "ran", run.backend, "because:", run.reason)""",
    "causal_attention": """\
keys = jax.random.split(jax.random.key(0), 3)
query, key, value = (jax.random.normal(each, (1, 5, 2, 8)) for each in keys)  # (B, T, N, H)

before = causal_attention(query, key, value)
after = causal_attention(query, key.at[:, 3].add(3), value)  # another key at position 3
print("moved by, position by position:", jnp.abs(after - before).max(axis=(0, 2, 3)))""",
    "first_last_difference": """\
first, last = first_last_difference(query, key, value)
print(f"causal and full attention differ by {first:.3f} at the first position, {last:.1e} at the last")""",
    "is_causal": """\
print("causal attention:", is_causal(causal_attention, query, key, value))
print("full attention:  ", is_causal(jax.nn.dot_product_attention, query, key, value))""",
    "grouped_query_attention": """\
keys = jax.random.split(jax.random.key(0), 3)
query = jax.random.normal(keys[0], (1, 3, 8, 16))  # (B, T, N, H)
key, value = (jax.random.normal(each, (1, 5, 2, 16)) for each in keys[1:])  # (B, S, K, H): 4 heads share one

output = grouped_query_attention(query, key, value)
print(output.shape, output.dtype)
library = jax.nn.dot_product_attention(query, key, value)
print("furthest from the library:", jnp.abs(output - library).max())""",
    "kv_cache_bytes": """\
size = kv_cache_bytes(1, 8192, 8, 128, jnp.bfloat16)
print(f"{size / 2**20:.0f} MiB a layer")""",
    "fp8_support": """\
for op in ("matmul", "attention"):
    print(op, "on this machine:", fp8_support(jax.devices()[0], op))""",
    "run_with_fp8": """\
support = Support(False, "no GPU here")
output, variables = run_with_fp8(
    nn.Dense(4), jax.random.key(0), (jnp.ones((2, 8)),), support=support, recipe=None
)
print(output.shape, jax.tree.map(jnp.shape, variables))""",
    "delayed_scale": """\
print("seen so far 0.5, 7 and 2:", delayed_scale(jnp.array([0.5, 7.0, 2.0]), 1.0))
print("nothing seen yet:        ", delayed_scale(jnp.zeros(3), 1.0))""",
    "quantize_e4m3": """\
print(quantize_e4m3(jnp.array([0.1, 1.0, 7.0, 100.0]), 64.0))""",
    "ran_fp8": """\
def product(x, y):
    return x @ y

for dtype in (jnp.bfloat16, jnp.float8_e4m3fn):
    x = jnp.ones((8, 8), dtype)
    print(jnp.dtype(dtype).name, ran_fp8(jax.jit(product).lower(x, x).as_text()))""",
}
"""By function. Each runs after the cells of its notebook that stand before it."""
