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
mov %r0, 0
exit
