# SPDX-License-Identifier: MIT
# size with a bound too large
# expect: reject arg_size 8
ldxdw %r2, [%r1]
rsh %r2, 1 # near: mov %r2, 1
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -8
mov %r3, 0
mov %r4, 0
mov %r5, 0
call 6
mov %r0, 0
exit
