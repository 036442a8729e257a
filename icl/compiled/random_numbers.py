"""Random numbers in compiled loops: Philox-4x32 and the transform of Box and Muller.

Philox (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random numbers: as easy as 1, 2, 3") scrambles a
counter in ten rounds of multiplication. Number i needs none of those before it.
"""

import numpy as np

from icl.compiled.elementary import (
    compiled,
    cos_sin_pi,
    f32,
    i32,
    inline,
    log,
    u32,
    u64,
)


@inline
def philox(a, b, c, d, key, other):
    """Philox-4x32-10: four words from a counter of four words and a key of two."""
    for _ in range(10):
        left, right = u64(0xD2511F53) * u64(a), u64(0xCD9E8D57) * u64(c)
        a, b = u32(u32(right >> u64(32)) ^ b ^ key), u32(right)
        c, d = u32(u32(left >> u64(32)) ^ d ^ other), u32(left)
        key, other = u32(key + u32(0x9E3779B9)), u32(other + u32(0xBB67AE85))
    return a, b, c, d


@inline
def unit_interval(word):
    """A uniform number, 0 < u < 1, from the upper 24 bits of a word.

    The largest words would round to one, and a normal pair of that is no direction on the circle.
    """
    return min(
        f32((f32(i32(word >> u32(8))) + f32(0.5)) * f32(2.0**-24)), f32(1 - 2.0**-24)
    )


@inline
def normal_pair(word, other):
    """Two independent normal numbers from two words (Box and Muller)."""
    radius = f32(np.sqrt(f32(-2) * log(unit_interval(word))))
    cosine, sine = cos_sin_pi(f32(f32(i32(other)) * f32(2.0**-31)))
    return f32(radius * cosine), f32(radius * sine)


@compiled
def fill_normal(out, key, call, step, name):
    """Fill ``out``, a multiple of 4 normal numbers: those of one call to a stream at that step."""
    rows = out.reshape(4, -1)
    for i in range(rows.shape[1]):
        a, b, c, d = philox(u32(i), u32(call), u32(step), u32(name), key[0], key[1])
        (x, y), (z, t) = normal_pair(a, b), normal_pair(c, d)
        rows[0, i], rows[1, i], rows[2, i], rows[3, i] = x, y, z, t


@compiled
def fill_uniform(out, key, call, step, name, low, high):
    """Fill ``out``, a multiple of 4 uniform numbers between low and high, likewise."""
    rows = out.reshape(4, -1)
    for i in range(rows.shape[1]):
        words = philox(u32(i), u32(call), u32(step), u32(name), key[0], key[1])
        for j in range(4):
            rows[j, i] = low + (high - low) * unit_interval(words[j])
