# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0] # near: ldxsb %r1, [%r0]
movsx864 %r1, %r1 # near:
jsgt %r1, 63, out
# near: jslt %r1, 0, out
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
