# SPDX-License-Identifier: MIT
# expect: reject dynptr_place 6
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -20
call 198
mov %r0, 0
exit
