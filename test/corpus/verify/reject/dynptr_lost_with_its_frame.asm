# SPDX-License-Identifier: MIT
# golden
# expect: reject dynptr_leak 2
# opts: held
call local f
mov %r0, 0
exit
f:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
# near: mov %r1, %r10
# near: add %r1, -16
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
