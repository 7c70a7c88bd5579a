# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 14
# opts: held
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -24 # near: add %r1, -48
mov %r2, 32
mov %r3, %r10
add %r3, -16
mov %r4, 0
mov %r5, 0
call 201
mov %r0, 0
exit
