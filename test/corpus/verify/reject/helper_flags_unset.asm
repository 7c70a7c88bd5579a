# SPDX-License-Identifier: MIT
# expect: reject uninit 8
stdw [%r10-8], 0
stdw [%r10-16], 0
stdw [%r10-24], 0
mov %r2, %r10
add %r2, -8
mov %r3, %r10
# near: mov %r4, 0
# near: add %r3, -24
lddw map %r1, @seen
call 2
mov %r0, 0
exit
