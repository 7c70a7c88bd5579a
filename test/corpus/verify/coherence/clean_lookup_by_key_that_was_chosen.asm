# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
ldxw %r3, [%r1+28]
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
out:
mov %r0, 0
exit
