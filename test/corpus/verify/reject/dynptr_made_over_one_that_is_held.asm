# SPDX-License-Identifier: MIT
# golden
# expect: reject object_write 13
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -24 # near: add %r4, -32
call 198
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
# near: mov %r1, %r10
# near: add %r1, -32
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
