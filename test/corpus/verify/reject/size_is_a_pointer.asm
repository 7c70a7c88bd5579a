# SPDX-License-Identifier: MIT
# expect: reject arg_scalar 4
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
mov %r2, %r10 # near: mov %r2, 1
call 6
mov %r0, 0
exit
