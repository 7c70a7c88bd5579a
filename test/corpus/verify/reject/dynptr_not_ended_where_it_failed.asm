# SPDX-License-Identifier: MIT
# expect: reject dynptr_leak 15
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
jne %r0, 0, no
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
no:
# near: mov %r1, %r10
# near: add %r1, -16
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
