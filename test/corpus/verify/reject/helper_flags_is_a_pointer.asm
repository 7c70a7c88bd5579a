# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_scalar 10
stdw [%r10-8], 1
stdw [%r10-16], 1
stdw [%r10-24], 1
mov %r2, %r10
add %r2, -8
mov %r3, %r10
add %r3, -24
mov %r4, %r10 # near: mov %r4, 0
lddw map %r1, @seen
call 2
mov %r0, 0
exit
