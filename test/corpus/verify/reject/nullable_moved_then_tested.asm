# SPDX-License-Identifier: MIT
# expect: reject null_arith 6
lookup @counts, 4
# near: jeq %r0, 0, out
add %r0, 8
jeq %r0, 0, out # near:
ldxdw %r1, [%r0]
