# SPDX-License-Identifier: MIT
# golden
# expect: reject dynptr_place 9
# opts: held
ldxw %r6, [%r1+32]
and %r6, 8
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -32
add %r4, %r6 # near:
call 198
# near: mov %r1, %r10
# near: add %r1, -32
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
