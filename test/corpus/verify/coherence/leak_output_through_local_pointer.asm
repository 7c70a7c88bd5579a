# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: branch
ldxw %r2, [%r1+64]
mov %r3, %r1
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
add %r3, 4
mov %r4, 1
stxw [%r3+68], %r4
mov %r0, 0
exit
