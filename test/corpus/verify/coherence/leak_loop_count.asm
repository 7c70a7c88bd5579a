# SPDX-License-Identifier: MIT
# expect: reject local_output 7
# flow: loop count
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
and %r2, 7
mov %r3, 0
l:
jge %r3, %r2, done
add %r3, 1
ja l
done:
mov %r4, %r3
stxw [%r1+76], %r4
mov %r0, 0
exit
