"""One forged program for each thing that the runner refuses, with the code of the refusal."""

# ruff: noqa: E501 (a table of programs)

from __future__ import annotations

from autograder.tests.runner.forged import T, custom_call, doubling, main, nested

SINE = f"%0 = stablehlo.sine %x : {T}\n return %0 : {T}"
IDENTITY = f"return %x : {T}"
COMPARATOR = """({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1> })"""
SUM = """({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32> })"""


def convert(there: str) -> str:
    return main(f"""%0 = stablehlo.convert %x : ({T}) -> tensor<4x{there}>
      %1 = stablehlo.convert %0 : (tensor<4x{there}>) -> {T}
      return %1 : {T}""")


def window(size: int, width: int) -> str:
    return main(f"""%w = stablehlo.constant dense<1.0> : tensor<{size}xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%w, %z) <{{window_dimensions = array<i64: {width}>,
        padding = dense<[[{width - 1}, 0]]> : tensor<1x2xi64>}}> {SUM} : (tensor<{size}xf32>, tensor<f32>) -> tensor<{size}xf32>
      {IDENTITY}""")


ATTACKS = {
    "sort": ("sort", main(f'%0 = "stablehlo.sort"(%x) <{{dimension = 0 : i64}}> {COMPARATOR} : ({T}) -> {T}\n return %0 : {T}')),
    "top_k composite": ("sort", main(
        f'%0 = stablehlo.composite "chlo.top_k" %x {{decomposition = @f}} : ({T}) -> {T}\n return %0 : {T}',
        more=f"func.func private @f(%x: {T}) -> {T} {{ return %x : {T} }}")),
    "rng": ("random", main(f"""%a = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.constant dense<4> : tensor<1xi64>
      %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> {T}
      return %0 : {T}""")),
    "rng_bit_generator": ("random", main(f"""%a = stablehlo.constant dense<0> : tensor<2xui64>
      %0, %1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
      {IDENTITY}""")),
    "threefry": ("random", custom_call("cu_threefry2x32_ffi")),
    "python callback": ("callback", custom_call("xla_ffi_python_cpu_callback", "api_version = 4 : i32, backend_config = {index = 0 : ui64}")),
    "python callback 2": ("callback", custom_call("xla_python_cpu_callback")),
    "lapack": ("linalg", custom_call("lapack_spotrf_ffi")),
    "cusolver": ("linalg", custom_call("cusolver_getrf_ffi")),
    "cholesky": ("linalg", main(f"%m = stablehlo.constant dense<1.0> : tensor<2x2xf32>\n %0 = stablehlo.cholesky %m, lower = true : tensor<2x2xf32>\n {IDENTITY}")),
    "mosaic": ("kernel", custom_call("mosaic_gpu_v2")),
    "triton": ("kernel", custom_call('"__gpu$xla.gpu.triton"')),
    "uninitialised": ("memory", custom_call("AllocateBuffer")),
    "other custom call": ("operation", custom_call("whatever")),
    "cuDNN where it is not allowed": ("cudnn", custom_call('"__cudnn$fmhaSoftmax"')),
    "infeed": ("operation", main(f'%t = stablehlo.create_token : !stablehlo.token\n {IDENTITY}')),
    "infeed op": ("operation", main(f'''%t = stablehlo.after_all : !stablehlo.token
      %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
      return %0#0 : {T}''')),
    "all_reduce": ("sharding", main(f'%0 = "stablehlo.all_reduce"(%x) <{{replica_groups = dense<0> : tensor<1x1xi64>}}> {SUM} : ({T}) -> {T}\n return %0 : {T}')),
    "partition_id": ("sharding", main(f"%p = stablehlo.partition_id : tensor<ui32>\n {IDENTITY}")),
    "sharding call": ("sharding", custom_call("Sharding")),
    "dynamic": ("dynamic", main(f"""%s = stablehlo.constant dense<4> : tensor<1xi64>
      %0 = stablehlo.dynamic_reshape %x, %s : ({T}, tensor<1xi64>) -> tensor<?xf32>
      {IDENTITY}""")),
    "bounded": ("dynamic", main(f"%s = stablehlo.constant dense<3> : tensor<i32>\n %0 = stablehlo.set_dimension_size %x, %s, dim = 0 : ({T}, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>\n {IDENTITY}")),
    "complex": ("complex", main(f"%0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>\n {IDENTITY}")),
    "float64": ("float64", convert("f64")),
    "int4": ("type", convert("i4")),
    "float8": ("type", convert("f8E4M3FN")),
    "float8 of another kind": ("type", convert("f8E4M3B11FNUZ")),
    "no body": ("structure", main(f"%0 = call @f(%x) : ({T}) -> {T}\n return %0 : {T}", more=f"func.func private @f({T}) -> {T}")),
    "no body, not called": ("structure", main(IDENTITY, more=f"func.func private @f({T}) -> {T}")),
    "recursion": ("structure", main(f"%0 = call @main(%x) : ({T}) -> {T}\n return %0 : {T}")),
    "recursion of two": ("structure", main(IDENTITY, more=f"""
      func.func private @f(%x: {T}) -> {T} {{ %0 = call @g(%x) : ({T}) -> {T}\n return %0 : {T} }}
      func.func private @g(%x: {T}) -> {T} {{ %0 = call @f(%x) : ({T}) -> {T}\n return %0 : {T} }}""")),
    "blocks": ("structure", main(f"cf.br ^end(%x : {T})\n ^end(%y: {T}):\n return %y : {T}")),
    "doubling calls": ("too_large", doubling(40)),
    "hidden doubling calls": ("too_large", doubling(13)),
    "windows": ("too_large", window(100_000, 100_000)),
    "splat": ("too_large", main(f"%0 = stablehlo.constant dense<1.0> : tensor<1600000000xf32>\n {IDENTITY}")),
    "many large values": ("too_large", main("\n".join(f"%{i} = stablehlo.constant dense<1.0> : tensor<60000000xf32>" for i in range(20)) + IDENTITY)),
    "depth": ("too_large", nested(20)),
    "rank": ("too_large", main(f"%0 = stablehlo.reshape %x : ({T}) -> tensor<4x1x1x1x1x1x1x1x1x1x1xf32>\n {IDENTITY}")),
    "operations": ("too_large", main("\n".join(f"%{i} = stablehlo.sine %x : {T}" for i in range(5001)) + IDENTITY)),
    "aliasing": ("attribute", main(SINE, argument="{tf.aliasing_output = 0 : i32}")),
    "donor": ("attribute", main(SINE, argument="{jax.buffer_donor = true}")),
    "argument sharding": ("sharding", main(SINE, argument='{mhlo.sharding = "{replicated}"}')),
    "argument layout": ("attribute", main(SINE, argument='{mhlo.layout_mode = "default"}')),
    "result layout": ("attribute", main(SINE, result=f'{T} {{mhlo.layout_mode = "default"}}')),
    "operation sharding": ("sharding", main(f'%0 = stablehlo.sine %x {{mhlo.sharding = "{{replicated}}"}} : {T}\n return %0 : {T}')),
    "frontend attributes": ("attribute", main(f'%0 = stablehlo.sine %x {{mhlo.frontend_attributes = {{a = "b"}}}} : {T}\n return %0 : {T}')),
    "partitions": ("attribute", main(SINE, attributes="mhlo.num_partitions = 2 : i32")),
    "replicas": ("attribute", main(SINE, attributes="mhlo.num_replicas = 2 : i32")),
    "polymorphism": ("attribute", main(SINE, attributes="jax.uses_shape_polymorphism = true")),
    "module attribute": ("attribute", main(SINE, attributes="mhlo.input_output_alias = []")),
    "result type": ("type", main(f"%0 = stablehlo.convert %x : ({T}) -> tensor<4xi32>\n return %0 : tensor<4xi32>", result="tensor<4xi32>")),
    "no main": ("invalid", f"module {{ func.func public @other(%x: {T}) -> {T} {{ return %x : {T} }} }}"),
    "module in module": ("operation", f"module {{ module {{ }} \n func.func public @main(%x: {T}) -> {T} {{ return %x : {T} }} }}"),
    **{f"{name} of another dialect": ("operation", main(f'%0 = "{name}"(%x, %x) : ({T}, {T}) -> {T}\n return %0 : {T}'))
       for name in ("mhlo.add", "arith.addf", "chlo.zeta")},
    "memory of another dialect": ("operation", main(f"%0 = memref.alloc() : memref<4xf32>\n {IDENTITY}")),
}  # fmt: skip
