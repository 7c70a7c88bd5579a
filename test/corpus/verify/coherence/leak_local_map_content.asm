# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: map value
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts # near: lddw map %r1, @limits
call 1
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2
out:
mov %r0, 0
exit
