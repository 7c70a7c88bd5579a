# SPDX-License-Identifier: MIT
# Both keys are coherent, which of them is looked up is not.
# expect: reject local_control 12
# flow: look-up
mov %r6, %r1
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+28]
and %r3, 8
stdw [%r10-8], 1
stdw [%r10-16], 2
mov %r2, %r10
sub %r2, %r3
add %r2, -8
lddw map %r1, @chosen
call 1
jeq %r0, 0, out
stw [%r6+76], 4
