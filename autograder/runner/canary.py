"""The program that any sound runner can do: x + x for float32[4].

A StableHLO artifact of version 1.8, which every JAX of these years reads, made of

    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }

It lies here as bytes: the judge, which hands it out, imports no JAX.
"""

from __future__ import annotations

import base64

import numpy as np

from autograder.arrays import Spec
from autograder.runner.client import Canary, Job

_VECTOR = Spec((4,), "float32")
_ARTIFACT = base64.b85decode(
    r"O-%1n4O4VsVr*qdOiy2SF)lbRFaQA=1px&K0RsyI2M-"
    r"e$11l8=0SyZi6B82?0|^TY3kw4W6Bh>pQ3VYb0RsaU0Rt5m0Rux90Rx#A0R!U$0V4w)4;>LH0}%xg0|5g82?R|A0Z;=02LwF"
    r">0R;n41p@~JDFX!y0|N&D1qKNN0R;g82LuZP0|o;D1pxqy6Audo6%P>)3lU;<X>4?9ZUA;@Y;OQ<Z)A0BWdLS%Zew3|F#us?"
    r"WM6hM0CHt?b#iWBb};}g0BvDuZUAs~Vr*$+00<QY1pxsI4G#?w69"
)
CANARY = Canary(Job(_ARTIFACT, (_VECTOR,), (_VECTOR,)), (np.arange(4, dtype=np.float32),))
