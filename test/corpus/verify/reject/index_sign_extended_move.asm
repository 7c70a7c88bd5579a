# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
find @counts
ldxdw %r1, [%r0] # near: ldxsb %r1, [%r0]
movsx864 %r1, %r1 # near:
jsgt %r1, 63, out
# near: jslt %r1, 0, out
add %r0, %r1
ldxb %r2, [%r0]
